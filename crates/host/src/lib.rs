//! Floor 4 of nandlab: who talks to the drive.

mod addresses;
mod block_size;
mod checks;
pub mod config;
mod config_preset;
mod config_schema;
mod flushes;
mod job_file;
mod job_ignored;
mod job_options;
mod job_plan;
mod job_replay;
mod job_text;
mod job_value;
mod permutation;
mod rates;
pub mod report;
pub mod request;
pub mod run;
mod runner;
pub mod session;
mod shares;
pub mod stats;
mod synthetic;
pub mod trace;
mod trace_clock;
#[cfg(test)]
mod trace_conformance;
mod trace_device;
mod trace_field;
mod trace_input;
mod trace_policy;
mod trace_summary;
pub mod workload;
