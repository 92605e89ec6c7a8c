//! Decoders: the roster.

mod berlekamp;
pub mod contract;

pub use contract::{Build, Decoded, Decoder, Received, Status};

use base::family::Member;

/// Every decoder.
pub const ROSTER: &[Member<Build>] = &[berlekamp::MEMBER];
