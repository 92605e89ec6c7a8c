//! What goes wrong in a drive, and what is done about it.
//!
//! In come codewords that do not decode, blocks that chips report failed, and blocks that are read
//! too often. Out go reads that are repeated with other references (`retry`, a family), units whose
//! data are lost, and blocks that are retired or written anew.

mod failed_blocks;
pub mod failed_words;
pub(crate) mod given_up;
pub(crate) mod lost;
pub(crate) mod read_reclaim;
pub mod retirement;
pub mod retry;
