//! Decoders: the roster.

mod berlekamp;
pub mod contract;
mod min_sum;

pub use contract::{Build, Decoded, Decoder, Received, Status};

use base::family::Member;

/// Every decoder.
pub const ROSTER: &[Member<Build>] = &[min_sum::MEMBER, berlekamp::MEMBER];
