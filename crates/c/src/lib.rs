//! Floor 5 of nandlab: the C doors. Text and numbers in, text and numbers out, no logic.
//!
//! `drive` opens drives and has what a caller does with one, `request` the types that cross the
//! border, `guard` keeps panics and the text of the last error, `text` reads and gives C strings.
//! `include/nandlab.h` is made from these files. Every door is `unsafe`, for one reason: its caller
//! promises what the head of the header says of pointers.
#![allow(unsafe_code)] // Pointers of C are read, and names for C must not be mangled.

mod drive;
mod guard;
pub mod request;
mod text;
