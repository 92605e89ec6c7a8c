//! Floor 3 of nandlab: the drive.
//!
//! Read `drive` first: the life of one request, from the host's queue to its completion. `buffer`
//! holds host data that are not yet on flash; `flash` runs the dies and the buses; `ftl` places
//! data, with the components in `space`; `failure` handles failures; `recovery`
//! finds the data again after a power cut; `medium` holds stored data;
//! `blame` keeps account of what requests wait for. `build` constructs a drive from its parameters
//! (`config`), `precondition` brings it into its state before a run, and `ageing` wears it by
//! writes without time. `conflicts` says which features exclude each other. `conformance` holds
//! FTLs to their promises.

pub mod ageing;
pub mod buffer;
pub mod build;
pub mod config;
pub mod conflicts;
pub mod conformance;
pub mod drive;
pub mod failure;
pub mod flash;
pub mod ftl;
pub mod medium;
pub mod precondition;
pub mod recovery;
pub mod space;
pub mod terms;
#[cfg(test)]
mod test_drive;

pub use drive::{CodeCounts, Completion, Cut, Parts, PowerCounts, Ssd, Started, Step, UnitPlace};
pub use failure::retry;
pub use flash::{blame, doing, scheduler, timeline};
pub use space::gc;
pub use terms::request;
