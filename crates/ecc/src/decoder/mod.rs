//! Decoders: from a read with errors back to the codeword. A family; its roster is here.
//!
//! In: hard bits or soft regions of a read. Out: a codeword or a failure.

mod berlekamp;
mod bit_flip;
pub mod contract;
mod min_sum;
mod sum_product;

pub use contract::{Constructor, Decoded, Decoder, MOST_REGIONS, Received, Status};

use crate::code::Code;
use base::Result;
use base::family::{Choice, Member, find};

/// Roster of all decoders.
pub const ROSTER: &[Member<Constructor>] =
    &[min_sum::MEMBER, bit_flip::MEMBER, sum_product::MEMBER, berlekamp::MEMBER];

/// Finds the decoder that `choice` names and completes its parameters for a code.
pub fn resolve(code: &dyn Code, choice: &mut Choice) -> Result<&'static Member<Constructor>> {
    let member = find(ROSTER, "decoder.name", &choice.name)?;
    (member.build.complete)(code, &mut choice.params);
    choice.params = (member.check)(&choice.params, "decoder")?;
    Ok(member)
}
