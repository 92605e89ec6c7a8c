//! Floor 2 of nandlab: error correction.
//!
//! Codes (`code`), what decodes them (`decoder`), what lies between the two (`channel`), and what
//! all that means for a drive (`model`). Knows nothing of flash: bit error rates come in, outcomes
//! go out.

pub mod bits;
pub mod channel;
mod circulant_ring;
pub mod code;
pub mod code_file;
pub mod code_text;
pub mod construct;
pub mod decoder;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_x86;
mod layered;
pub mod model;
pub mod quasi_cyclic;
pub mod sample;
mod syndrome;
