//! Ageing without time, by writes, hours or reads, on flash that wears and fails.
//!
//! `uniform` overwrites a drive at random until its blocks have a number of cycles more. `lifetime`
//! ages it by the writes and trims of a host, through as much of a life as is wanted: these become
//! rows of the FTL (`rows`) and go to the flash (`worn`), all of them, or a part that stands for
//! the rest (`leap`). `refresh` lets the hours of an idle drive pass at once, `passes`
//! the reads of a host that reads all data over and over; both have the FTL move data without time
//! (`rewriting`).

mod leap;
mod lifetime;
mod passes;
mod refresh;
mod rewriting;
mod rows;
mod uniform;
mod worn;

pub use lifetime::{Goal, Lifetime, Totals};
pub use passes::{Reclaimed, read_passes};
pub use refresh::{Refreshed, refresh};
pub use rows::Touch;
pub use uniform::Ageing;
pub(crate) use worn::Worn;
