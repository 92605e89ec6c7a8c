//! Floor 2 of nandlab: error correction.
//!
//! Bit error rates come in, outcomes of decoding go out; flash is unknown here. Each room uses the
//! rooms above it in this list:
//!
//! - `bits`: packed bits, checksum, finite fields
//! - `bch`, `ldpc`: what codes and decoders of the two kinds are made of
//! - `wom`: write-once codes, which lie between an outer code and the cells
//! - `code`: which words are codewords (a family), and code files
//! - `decoder`: how a codeword is found again (a family); `codec` joins a code and its decoder
//! - `channel`: what lies between encoder and decoder (a family)
//! - `lab`: error-rate curves and profiles, measured
//! - `model`: what decoding costs a drive and whether it works (a family)

mod bch;
pub mod bits;
pub mod channel;
pub mod code;
pub mod codec;
pub mod decoder;
pub mod lab;
pub mod ldpc;
pub mod model;
pub mod wom;

pub use model::named_code;
