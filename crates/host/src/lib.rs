//! Floor 4 of nandlab: who talks to the drive.

pub mod request;
pub mod trace;
pub mod workload;
