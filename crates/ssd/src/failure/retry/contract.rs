//! The contract of a retry policy: from the number of failed attempts to the next kind of read.

use base::Result;
use base::params::Table;

/// One more round of reading a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// Soft reads that the decoder has when it is done, this one included; 0 for a hard read,
    /// which takes the place of the one before it if it is better.
    pub level: u8,
    /// Transfers, each with its own array reads and each scheduled by itself; the decoder starts
    /// when the last has arrived.
    pub transfers: u8,
    /// Array reads before each transfer: the results of two are combined in the chip.
    pub senses: u8,
    /// Hard reads: how far the references of the page are moved. (Those of soft reads lie on
    /// either side of the best hard read's.)
    pub shift_v: f64,
}

impl Reread {
    /// A hard read with the references moved.
    pub fn hard(shift_v: f64) -> Self {
        Self { level: 0, transfers: 1, senses: 1, shift_v }
    }

    /// Soft read `level`: two reads, transferred each by itself.
    pub fn soft(level: u8) -> Self {
        Self { level, transfers: 2, senses: 1, shift_v: 0.0 }
    }

    /// Soft read `level`: two reads, combined in the chip and transferred once.
    pub fn combined(level: u8) -> Self {
        Self { level, transfers: 1, senses: 2, shift_v: 0.0 }
    }
}

/// Builds a policy from its checked parameters.
pub type Build = fn(&Table) -> Result<Box<dyn Retry>>;

/// Chooses the next read after decoding failed. The read passes through scheduler, die, bus and
/// decoder like any other. Promises: the attempts are finite; soft reads come in their order, each
/// at most once, with no hard read after them.
pub trait Retry: Send {
    /// The next round after attempt `attempt` (from 0) has failed; `None` gives the page up.
    fn after_failure(&self, attempt: u8) -> Option<Reread>;

    /// Soft reads that it goes up to.
    fn soft_levels(&self) -> u8 {
        0
    }

    /// Whether each transfer of a round is asked for when the one before it has arrived, and waits
    /// behind the reads of its die; or all of them at once, ahead of the others.
    fn in_turn(&self) -> bool {
        false
    }

    /// Uncorrectable pages of a block after which the block is retired; 0 retires none.
    fn retire_after(&self) -> u32 {
        0
    }
}
