//! Floor 4 of nandlab: hosts, workloads, traces and the run.
//!
//! The text of a drive, and a trace or a fio job file, come in; a report goes out:
//!
//! - `config`: drive files and presets, to one checked configuration
//! - `request`: the contract between senders of requests and the run loop
//! - `workload`: start addresses of random requests (a family of distributions)
//! - `fio`: job files, and the requests of their jobs
//! - `trace`: recorded traces, replayed (with the family of their formats)
//! - `run`: the run loop and its statistics
//! - `drive`: a drive between runs: preconditioned, aged, cloned
//! - `device`: a drive as a block device that clients mount
//! - `lifetime`: a drive that is aged by the writes of a workload, without time
//! - `lockstep`: a drive whose requests and time come from another simulator
//! - `session`: all of these joined, step by step
//! - `replicates`: sessions from one state of a drive, each with a seed of its own, on threads
//! - `tenants`: jobs that share a drive, each run alone too
//! - `window`: a drive that a page advances and looks at
//! - `report`: the JSON of a run, and the laws it is checked against

pub mod config;
#[cfg(feature = "device")]
pub mod device;
pub mod drive;
pub mod fio;
pub mod lifetime;
pub mod lockstep;
pub mod replicates;
pub mod report;
pub mod request;
mod rewriting;
pub mod run;
mod saved;
pub mod session;
pub mod tenants;
pub mod trace;
pub mod window;
pub mod workload;
