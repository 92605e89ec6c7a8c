//! The contract of a code: from data to a codeword.

use super::bch::Bch;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use base::params::Table;
use base::{Error, Result};
use std::sync::Arc;

/// Builds a code from its checked parameters.
pub type Build = fn(&Table) -> Result<Arc<dyn Code>>;

/// What a decoder may know of a code beyond its words. Decoders take the structure that they were
/// made for and refuse others.
#[derive(Clone, Copy)]
pub enum Structure<'a> {
    /// Checks by circulants.
    QuasiCyclic(&'a QuasiCyclic),
    /// Roots in a finite field.
    Bch(&'a Bch),
}

impl<'a> Structure<'a> {
    /// The circulants, for the decoder of this name; refused for other codes.
    pub fn quasi_cyclic(self, decoder: &str) -> Result<&'a QuasiCyclic> {
        match self {
            Self::QuasiCyclic(checks) => Ok(checks),
            _ => Err(Error::new(
                "decoder.name",
                format!("{decoder} decodes quasi-cyclic codes only"),
            )
            .hint("choose a decoder for this kind of code")),
        }
    }
}

/// A binary linear code, systematic: data bits come first, parity after them, both packed
/// ([`bits`](crate::bits)).
///
/// Promises: encoding keeps the data and gives a codeword; the zero word is a codeword; the sum of
/// two codewords is one; the same parameters give the same code on every machine.
pub trait Code: Send + Sync {
    /// Bits of a codeword.
    fn length(&self) -> usize;

    /// Data bits of a codeword.
    fn dimension(&self) -> usize;

    /// Writes the parity of the data in `word` (packed, `length` bits) after them.
    fn encode(&self, word: &mut [u64]);

    /// Whether `word` (packed, `length` bits) is a codeword.
    fn is_codeword(&self, word: &[u64]) -> bool;

    /// Errors that its decoder corrects for certain, where the code has such a number.
    fn certain_errors(&self) -> Option<usize> {
        None
    }

    /// What decoders work on.
    fn structure(&self) -> Structure<'_>;

    /// Data bits over all bits.
    fn rate(&self) -> f64 {
        self.dimension() as f64 / self.length() as f64
    }
}
