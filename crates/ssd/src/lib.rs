//! Floor 3 of nandlab: the drive.
//!
//! `controller` follows one request through it: read that first, then `reading`, `writing` and
//! `collecting`. `flash` runs the dies (`die`) and the buses (`channel`); `ftl`, `gc`, `scheduler`
//! and `retry` are the families of policies; `build` puts a drive together from parameters and
//! `precondition` brings it into the state to be studied.

pub mod block_wear;
pub mod buffer;
pub mod build;
pub mod candidates;
pub mod capacity;
pub mod cell_medium;
pub mod channel;
mod chip_failures;
mod codewords;
mod collecting;
pub mod command;
pub mod config;
pub mod controller;
pub mod die;
pub mod die_set;
pub mod draining;
pub mod failed;
pub mod flash;
pub mod flushes;
pub mod free_blocks;
pub mod frontier;
pub mod ftl;
pub mod gc;
mod given_up;
mod lost;
pub mod pace;
pub mod payload;
pub mod precondition;
mod read_reclaim;
mod reading;
pub mod request;
pub mod retirement;
pub mod retry;
pub mod scheduler;
pub mod stage;
#[cfg(test)]
mod test_drive;
pub mod timeline;
mod writing;

pub use controller::{Completion, Parts, Ssd, Step};
