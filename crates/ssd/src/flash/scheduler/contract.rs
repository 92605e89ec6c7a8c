//! The contract of a scheduler: the oldest command of each class goes in, the class to serve comes
//! out.

use base::params::Table;
use base::{Result, Time};

/// The class of a command: for whom it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// A host request waits for these data.
    Read = 0,
    /// Host data on their way to the flash.
    Write = 1,
    /// Garbage collection: its reads, programs and erases.
    Collect = 2,
    /// Patrol reads: nobody waits for them.
    Patrol = 3,
}

/// Number of classes in [`Class`].
pub const CLASSES: usize = 4;

/// The oldest waiting command of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Time since which the command waits.
    pub since: Time,
    /// Place in the order of arrival, over all classes.
    pub order: u64,
}

/// Builds a scheduler from its checked parameters.
pub type Build = fn(&Table) -> Result<Box<dyn Scheduler>>;

/// Scheduler that picks the command to go next.
///
/// Commands of one class on one die are served in their order; a scheduler chooses between
/// classes. It is asked for dies (commands) and for buses (transfers) alike. Promises: it picks a
/// class that has a head; no class waits for ever while it is asked; and a head of `Collect` never
/// goes before an older one of `Read`, because the collection that erases a block has been asked
/// for after every read of what it held. Patrol reads may be overtaken by anything.
pub trait Scheduler: Send {
    /// The class to serve, as an index into `heads`; at least one head is there.
    fn pick(&self, now: Time, heads: &[Option<Head>; CLASSES]) -> usize;

    /// Whether a host read may suspend a program or an erase (if the chip can).
    fn reads_suspend(&self) -> bool;

    /// Whether a host read goes ahead of the other classes, older commands included.
    fn reads_first(&self) -> bool;
}
