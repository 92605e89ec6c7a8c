//! Floor 3 of nandlab: the drive.
//!
//! `controller` follows one request through it: read that first.

pub mod ftl;
pub mod gc;
pub mod precondition;
pub mod request;
