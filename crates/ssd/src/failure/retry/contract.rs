//! The contract of a retry policy: from the number of failed attempts to the next kind of read.

pub use crate::terms::Reread;
use base::Result;
use base::params::Table;

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
