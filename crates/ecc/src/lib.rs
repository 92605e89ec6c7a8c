//! Floor 2 of nandlab: error correction.
//!
//! In: bit error rates. Out: outcomes of decoding. Flash is unknown here. Each room uses the rooms
//! above it in this list:
//!
//! - `bits`: packed bits, checksum, finite fields
//! - `bch`, `ldpc`: parts of the codes and decoders of the two kinds
//! - `wom`: write-once codes, between an outer code and the cells
//! - `code`: codes and their encoders (a family), and code files
//! - `decoder`: decoders (a family); `codec` joins a code and its decoder
//! - `channel`: channels between encoder and decoder (a family)
//! - `lab`: measured error-rate curves and profiles
//! - `model`: outcome and time of decoding in a drive (a family)

mod bch;
pub mod bits;
pub mod channel;
pub mod code;
pub mod codec;
pub mod decoder;
pub mod lab;
pub mod ldpc;
pub mod model;
pub mod stripe;
pub mod wom;

pub use model::named_code;
