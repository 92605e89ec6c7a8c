//! Floor 3 of nandlab: the drive.
//!
//! Read `drive` first: the life of one request, from the host's queue to its completion. The rooms
//! of this crate lie on floors, and use rooms on lower floors only (`tools/tidy.py` checks it):
//!
//! 1. `terms`: requests, logical units, programs and jobs, the terms that all rooms share
//! 2. `space`: parts of FTLs; `recovery`: what flash holds after a power cut; `medium`: stored
//!    data; `buffer`: host data that are not yet on flash; `cache`: flash data kept for reads
//! 3. `flash`: dies, buses and their commands; `ftl`: the place of each logical unit
//! 4. `failure`: lost data, failed blocks, refresh, reads that are repeated
//! 5. `config`: parameters of a drive
//! 6. `conflicts`: features that exclude each other
//! 7. `build`: chips, FTL and codes, built from the parameters
//! 8. `drive`: the drive itself
//! 9. `precondition`: the state before a run; `ageing`: wear by writes without time
//! 10. `conformance`: FTLs are held to their promises
//!
//! Uses that go up: `config -> conflicts` (a drive file is complete when no two features exclude
//! each other), `conflicts -> build` (a refusal names the members that would do, which asks them).

pub mod ageing;
pub mod buffer;
pub mod build;
pub mod cache;
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

pub use drive::{
    CodeCounts, Completion, Cut, Losses, Parts, PowerCounts, Renewed, Ssd, Started, Step, UnitPlace,
};
pub use failure::retry;
pub use flash::{blame, doing, scheduler, timeline};
pub use space::gc;
pub use terms::request;
