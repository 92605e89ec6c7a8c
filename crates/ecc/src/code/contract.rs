//! Contract of a code: from data to a codeword.

use super::bch::Bch;
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use base::params::Table;
use base::{Error, Result};
use std::sync::Arc;

/// Constructor of a code from its checked parameters.
pub type Build = fn(&Table) -> Result<Arc<dyn Code>>;

/// Structure of a code that decoders work on. A decoder takes the structure that it was made for
/// and refuses others.
#[derive(Clone, Copy)]
pub enum Structure<'a> {
    /// Parity checks made of circulants.
    QuasiCyclic(&'a QuasiCyclic),
    /// Roots in a finite field.
    Bch(&'a Bch),
}

impl<'a> Structure<'a> {
    /// Quasi-cyclic checks, for the decoder of this name. Refuses other codes.
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
/// Promises: encoding keeps the data and gives a codeword. The zero word is a codeword. The sum of
/// two codewords is a codeword. The same parameters give the same code on every machine.
pub trait Code: Send + Sync {
    /// Number of bits of a codeword.
    fn length(&self) -> usize;

    /// Number of data bits of a codeword.
    fn dimension(&self) -> usize;

    /// Writes the parity of the data in `word` (packed, `length` bits) after them.
    fn encode(&self, word: &mut [u64]);

    /// Whether `word` (packed, `length` bits) is a codeword.
    fn is_codeword(&self, word: &[u64]) -> bool;

    /// Bit errors t that the code's decoder always corrects, if there is such a number.
    fn certain_errors(&self) -> Option<usize> {
        None
    }

    /// Structure of the code, for decoders.
    fn structure(&self) -> Structure<'_>;

    /// Code rate: data bits / all bits.
    fn rate(&self) -> f64 {
        self.dimension() as f64 / self.length() as f64
    }
}
