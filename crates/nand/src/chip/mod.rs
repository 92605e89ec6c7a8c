//! The chip: layout, rules, times, energy and faults, the same for the drive and the test board.
//!
//! In: a [`ChipConfig`]. Out: `rules` (which pages a block has in each [`BlockMode`], and which one
//! may be programmed next), `timing`, `energy` and `fault`, by which a
//! [`RawChip`](crate::board::raw_chip) of real cells goes as well as [`Chips`], all the chips of a

mod cell_times;
mod chips;
pub mod command;
mod config;
pub mod energy;
pub mod fault;
pub mod geometry;
pub mod mode;
pub mod rules;
pub mod timing;

pub use chips::Chips;
pub use config::{ChipConfig, CombinedRead, FeaturesConfig, MultiPlaneRead};
pub use mode::BlockMode;
