//! Decoders: the roster.

mod berlekamp;
mod bit_flip;
pub mod contract;
mod min_sum;
mod sum_product;

pub use contract::{Build, Decoded, Decoder, MOST_REGIONS, Received, Status};

use base::family::Member;

/// Every decoder.
pub const ROSTER: &[Member<Build>] =
    &[min_sum::MEMBER, bit_flip::MEMBER, sum_product::MEMBER, berlekamp::MEMBER];
