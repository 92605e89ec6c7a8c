//! The contract of a channel: from a codeword to hard bits or to regions of a soft read.

use crate::decoder::Received;
use base::Result;
use base::params::Table;
use base::rng::Rng;

/// Builds a channel: raw bit error rate of the hard read, extra references (those beyond the
/// first on one boundary: 0, 2, 4 or 6), checked parameters.
pub type Build = fn(f64, u8, &Table) -> Result<Box<dyn Channel>>;

/// Buffers for the output of a channel, reused for each word.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Hard bits, packed.
    pub bits: Vec<u64>,
    /// Region of each bit; empty for a hard read.
    pub regions: Vec<u8>,
    /// Log-likelihood ratio of each region, or the one of all bits of a hard read.
    pub llr: Vec<f64>,
    /// Hard decisions that are wrong.
    pub errors: usize,
}

impl Reading {
    /// As a decoder takes it.
    pub fn received(&self) -> Received<'_> {
        if self.regions.is_empty() {
            Received::Hard { bits: &self.bits, llr: self.llr[0] }
        } else {
            Received::Soft { regions: &self.regions, llr: &self.llr }
        }
    }
}

/// What happens to a codeword between encoder and decoder.
///
/// Promises: no allocation once `reading` has held a word of the length; hard bits are wrong at
/// the channel's rate; the ratio of each region is the exact one.
pub trait Channel: Send + Sync {
    /// Sends `word` (packed, `length` bits).
    fn send(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading);

    /// Bits of information that one bit through this channel carries at best: no code of a higher
    /// rate can work.
    fn capacity(&self) -> f64;
}
