//! The NAND device, floor 2 of nandlab: from the voltage of a cell to the chips of a drive.
//!
//! The modules follow the physics: a cell and its mechanisms (`cell`, `level`), reading it
//! (`sense`), blocks of real cells (`block`), the error rate of a page (`array`), the chip with its
//! layout, rules, times and energy (`chip`), and a test board with its procedures (`board`,
//! `procedure`). A drive uses `chip::Chips`. Nothing here knows of error correction or of drives.

pub mod array;
pub mod block;
pub mod board;
pub mod cell;
pub mod chip;
pub mod level;
pub mod procedure;
pub mod sense;

// What every floor above names, by its short name.
pub use block::{slice as cell_slice, wordline};
pub use chip::{energy, fault, geometry, timing};
pub use level::gray;
pub use sense::soft_read;
