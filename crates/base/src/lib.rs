//! Floor 1 of nandlab: the base of every other floor.
//!
//! Simulated time, the event queue, seeded randomness, statistics that keep their tails,
//! information of soft reads, parameter files, rosters of families, models shared by threads, and
//! the one error type. Nothing here knows of flash.

pub mod allocations;
pub mod archive;
pub mod counts;
pub mod error;
pub mod event;
pub mod family;
pub mod information;
pub mod memory;
pub mod params;
pub mod permutation;
pub mod pool;
pub mod rng;
pub mod shared;
pub mod stats;
pub mod tails;
pub mod time;
pub mod units;
pub mod vectors;

pub use error::{Error, Refusal, Result};
pub use time::Time;
