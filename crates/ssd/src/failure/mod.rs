//! Failures of a drive: lost data, failed blocks, read reclaim, and rereading.
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

use base::Time;
use lost::LostUnits;
use read_reclaim::ReadReclaim;

/// The failures of a drive so far.
#[derive(Clone)]
pub(crate) struct Failures {
    /// Units whose data are lost.
    pub(crate) lost: LostUnits,
    /// From when on the drive takes no writes: a block has failed, and its plane had none to spare.
    pub(crate) read_only_at: Time,
    /// Blocks that are read too often.
    pub(crate) reclaim: ReadReclaim,
}

impl Failures {
    /// None yet.
    pub(crate) fn new(reclaim: ReadReclaim) -> Self {
        Self { lost: LostUnits::default(), read_only_at: Time::NEVER, reclaim }
    }

    /// Whether the drive takes no writes any more.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only_at != Time::NEVER
    }
}
