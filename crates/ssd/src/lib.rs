//! Floor 3 of nandlab: the drive.
//!
//! `controller` follows one request through it: read that first. `channel` runs the dies and the
//! buses; `ftl`, `gc`, `scheduler` and `retry` are the families of policies; `build` puts a drive
//! together from parameters and `precondition` brings it into the state to be studied.

pub mod buffer;
pub mod build;
pub mod channel;
pub mod config;
pub mod controller;
pub mod flushes;
pub mod ftl;
pub mod gc;
pub mod payload;
pub mod precondition;
pub mod request;
pub mod retry;
pub mod scheduler;
pub mod stage;
pub mod timeline;

pub use controller::{Completion, Ssd, Step};
