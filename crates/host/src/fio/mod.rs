//! fio job files: requests made up by fio's rules.
//!
//! A job file and the capacity of a drive come in, jobs for the run loop go out. The way of a file:
//! `text` (lines), `options` and `value` (what each option says; `ignored` lists those without
//! effect), `plan` (what that means on this drive), then `synthetic` (the requests, with
//! `block_size`, `rates` and `flushes`) or `replay` (a trace).

mod block_size;
mod file;
mod flushes;
mod ignored;
mod options;
mod plan;
mod rates;
mod replay;
mod synthetic;
mod text;
mod value;

pub use file::{Loaded, load, parse};
