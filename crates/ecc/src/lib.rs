//! Floor 2 of nandlab: error correction.
//!
//! Codes (`code`), what decodes them (`decoder`), what lies between the two (`channel`), and what
//! all that means for a drive (`model`). Knows nothing of flash: bit error rates come in, outcomes
//! go out.

mod absorbing;
pub mod alias;
pub mod alist;
#[cfg(target_arch = "x86_64")]
mod bch_fold;
mod bch_key_equation;
mod bch_remainder;
mod bch_roots;
mod bch_syndromes;
#[cfg(test)]
mod bch_tests;
mod bit_slice;
pub mod bits;
pub mod cells;
pub mod channel;
mod check_rule;
mod circulant_ring;
pub mod code;
pub mod code_facts;
pub mod code_file;
pub mod code_text;
pub mod codec;
pub mod construct;
pub mod crc;
pub mod curve;
mod cycles;
pub mod decoder;
mod elimination;
mod gf;
pub mod information;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_x86;
mod layered;
pub mod model;
pub mod named_code;
pub mod profile;
pub mod quasi_cyclic;
pub mod rehearsal;
pub mod sample;
pub mod survey;
mod syndrome;
