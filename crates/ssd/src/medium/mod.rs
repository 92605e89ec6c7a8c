//! Stored data, for runs that track them: versions of units, or real cells.
//!
//! Ordinary runs keep neither: there the map says where data are, and a rate says how many bits
//! are wrong. `versions` lets tests hold what is read against what was written; `cells` keeps the
//! threshold voltages that a real decoder reads; `words` the codewords of a drive with real bytes;
//! `unreadable` says which bytes a read has lost.

pub(crate) mod cells;
pub(crate) mod codewords;
pub(crate) mod luck;
pub mod unreadable;
pub mod versions;
pub mod words;
