//! Terms that all rooms share: requests, logical units, programs, jobs, and sets of dies.
//!
//! This is the lowest floor of the crate. The FTL's contract passes these types on to FTLs
//! (`ftl::contract`); flash, buffer and drive take them from here.

pub mod answers;
pub mod die_set;
pub mod names;
pub mod page_read;
pub mod program;
pub mod request;
pub mod reread;

pub use answers::{Access, Known, Place, Reason, Step, Until, Urgency, Work};
pub use die_set::DieSet;
pub use names::{Hint, Job, Key, Lpn, MOST_STREAMS, Stream};
pub use page_read::{PageRead, ReadOwner};
pub use program::{Carried, Move, Program};
pub use reread::Reread;
