//! Floor 2 of nandlab: error correction.
//!
//! For now the models of a decoder that a drive needs (`model`) and exact sampling of error
//! counts (`sample`). Knows nothing of flash: bit error rates come in, outcomes go out.

pub mod model;
pub mod sample;
