//! A drive as a block device: clients send requests, and are answered with bytes.
//!
//! `message` is the contract between those who speak with clients and the drive; `nbd` is the
//! protocol by which clients speak.

pub mod message;
pub mod nbd;
