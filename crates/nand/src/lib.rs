//! Floor 2 of nandlab: the NAND device.
//!
//! How it is laid out (`geometry`, `wordline`), how long and how much energy its operations take
//! (`timing`, `energy`), what a read gives back (`array`), and the rules a raw chip insists on
//! (`chip`). Nothing here knows of error correction or of drives.

pub mod array;
pub mod cell;
mod cell_bits;
pub mod cell_block;
pub mod chip;
pub mod distribution;
pub mod draw;
pub mod energy;
pub mod geometry;
pub mod gray;
pub mod level;
pub mod sense;
pub mod timing;
pub mod wordline;
