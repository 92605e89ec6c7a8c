//! Recovery: the start-up of a drive whose memory is gone. A family; its roster is here.
//!
//! In comes flash as a power cut has left it, out comes what it holds (`found`), from which an FTL
//! rebuilds its tables. A member says which pages are read for that, and what a running drive
//! writes so that they suffice. `log` is the space on flash that the drive itself writes to;
//! `trims` keeps the trims that a flush has made durable, `backup` pages that a cut could spoil,
//! `dump` what a power-protected buffer holds at a cut. `stripes` says which pages of failed dies
//! can be found by those of others.
//! `drive::power` cuts the power, `drive::start_up` runs a member on the dies.

pub(crate) mod backup;
mod checkpoint;
pub mod contract;
pub(crate) mod dump;
pub mod found;
mod journal;
pub(crate) mod log;
mod none;
mod scan_blocks;
mod scan_pages;
pub(crate) mod stripes;
pub(crate) mod trims;

pub use contract::{Build, Look, Recovery, RecoveryConfig, Seen};
pub use found::Found;
pub(crate) use found::Part;

use base::family::Member;

/// Every kind of recovery.
pub const ROSTER: &[Member<Build>] =
    &[none::MEMBER, scan_pages::MEMBER, scan_blocks::MEMBER, checkpoint::MEMBER, journal::MEMBER];
