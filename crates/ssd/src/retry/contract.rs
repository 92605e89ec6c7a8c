//! The contract of a retry policy: how many attempts have failed in, how to read again out.

use base::Result;
use base::params::Table;

/// One more round of reading a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reread {
    /// Array reads before each transfer: their results are combined in the page buffer.
    pub senses: u8,
    /// Transfers, each with its own array reads and each scheduled by itself; the decoder starts
    /// when the last has arrived.
    pub transfers: u8,
}

/// Builds a policy from its checked parameters.
pub type Build = fn(&Table) -> Result<Box<dyn Retry>>;

/// What to do when decoding fails. The read goes round again through scheduler, die, bus and
/// decoder like any other. Promises: it gives up after finitely many attempts.
pub trait Retry: Send {
    /// The next round after attempt `attempt` (from 0) has failed; `None` gives the page up.
    fn after_failure(&self, attempt: u8) -> Option<Reread>;
}
