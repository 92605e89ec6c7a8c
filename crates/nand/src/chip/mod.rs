//! The chip: layout, rules, times, energy and faults, the same for the drive and the test board.
//!
//! In: a [`ChipConfig`], with the levels of its data (`content`). Out: `rules` (which pages a block
//! has in each [`BlockMode`], and which one may be programmed next), `timing`, `energy`, `fault`.
//! A [`RawChip`](crate::board::raw_chip) of real cells goes by them, and so does [`Chips`]: all
//! chips of a drive, with a flat state of each block, and with what pages keep beside their data
//! ([`Oob`]) where it asks for that.

mod cell_times;
mod chips;
pub mod coded;
pub mod command;
mod config;
mod content;
pub mod energy;
pub mod fault;
pub mod geometry;
pub mod mode;
pub mod rules;
pub mod timing;

pub use chips::{Chips, DataRber, MOST_KINDS, Oob, Owned, Silicon};
pub use config::{ChipConfig, CombinedRead, FeaturesConfig, MultiPlaneRead};
pub use content::{Content, ContentConfig};
pub use mode::BlockMode;
