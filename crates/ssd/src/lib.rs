//! Floor 3 of nandlab: the drive.
//!
//! Read `drive` first: the life of one request, from the host's queue to its completion. `buffer`
//! holds what the host has written and the flash does not have yet; `flash` runs the dies and the
//! buses; `ftl` decides where data live, out of the parts in `space`; `failure` is what goes wrong
//! and what is done about it; `medium` is what is stored. `build` puts a drive together from its
//! parameters (`config`), and `precondition` brings it into the state to be studied.

pub mod buffer;
pub mod build;
pub mod config;
pub mod drive;
pub mod failure;
pub mod flash;
pub mod ftl;
pub mod medium;
pub mod precondition;
pub mod space;
#[cfg(test)]
mod test_drive;

pub use drive::{Completion, Parts, Ssd, Step, request, timeline};
pub use failure::retry;
pub use flash::{die, scheduler};
pub use space::gc;
