//! Floor 2 of nandlab: the NAND device.
//!
//! How it is laid out (`geometry`, `wordline`), how long and how much energy its operations take
//! (`timing`, `energy`), what a read gives back (`array`), and the rules that the chips of a drive
//! insist on (`chip`). A test bench has a single die with all its commands (`raw_chip`, `command`)
//! on a board (`board`), and does to it what a `procedure` says. Nothing here knows of error
//! correction or of drives.

pub mod array;
pub mod bench;
pub mod board;
pub mod cell;
mod cell_bits;
pub mod cell_block;
pub mod cell_slice;
mod cell_times;
pub mod chip;
pub mod command;
pub mod distribution;
pub mod draw;
pub mod energy;
pub mod fault;
pub mod geometry;
pub mod gray;
pub mod level;
mod level_tails;
mod misread;
pub mod procedure;
mod rate_grid;
pub mod raw_chip;
pub mod sense;
pub mod soft_read;
pub mod timing;
pub mod wordline;
