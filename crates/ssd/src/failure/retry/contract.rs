//! The contract of a retry policy: from the number of failed attempts to the next kind of read.

use base::Result;
use base::params::Table;

/// Further round of reading a page, after a failed decode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// Soft reads that the decoder has after this round, this one included. 0 is a hard read, which
    /// takes the place of the one before it if it is better.
    pub level: u8,
    /// Transfers, each with its own array reads and each scheduled by itself; the decoder starts
    /// when the last has arrived.
    pub transfers: u8,
    /// Array reads before each transfer: the results of two are combined in the chip.
    pub senses: u8,
    /// Hard reads: shift of the page's references, in volts. (References of soft reads lie on
    /// either side of those of the best hard read.)
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

/// Policy that chooses the next read after decoding failed. The read passes through scheduler, die,
/// bus and decoder like any other. Promises: the attempts are finite; soft reads come in their
/// order, each at most once, with no hard read after them.
pub trait Retry: Send {
    /// The next round after attempt `attempt` (from 0) has failed; `None` gives the page up.
    fn after_failure(&self, attempt: u8) -> Option<Reread>;

    /// Most soft reads of a page that the policy asks for.
    fn soft_levels(&self) -> u8 {
        0
    }

    /// Whether the transfers of a round are issued one after the other, each behind the waiting
    /// reads of its die. Otherwise all are issued at once, ahead of other reads.
    fn in_turn(&self) -> bool {
        false
    }

    /// Uncorrectable pages of a block after which the block is retired; 0 retires none.
    fn retire_after(&self) -> u32 {
        0
    }
}
