//! The chip: layout, rules, times, energy and faults, common to the drive and the test board.
//!
//! In: a [`ChipConfig`], with the levels of its data (`content`). Out: `rules` (the pages of a
//! block in each [`BlockMode`], and the next one to program), `timing`, `energy`, `fault`. A
//! [`RawChip`](crate::board::raw_chip) of real cells and [`Chips`] follow them. [`Chips`] are all
//! chips of a drive, with a flat state of each block and, on request, out-of-band data ([`Oob`]).

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
mod reduced;
pub mod rules;
pub mod spread;
pub mod timing;

pub use chips::{Chips, DataRber, MOST_KINDS, Oob, Owned, Silicon};
pub use config::{ChipConfig, CombinedRead, FeaturesConfig, MultiPlaneRead};
pub use content::{Content, ContentConfig};
pub use mode::BlockMode;
pub use reduced::ReducedConfig;
