//! Contract of a channel: from a codeword to hard bits or to regions of a soft read.

use crate::decoder::Received;
use base::Result;
use base::params::Table;
use base::rng::Rng;

/// Constructor of a channel, from the raw bit error rate of the hard read, the number of extra
/// references (those beyond the first on one boundary: 0, 2, 4 or 6) and checked parameters.
pub type Build = fn(f64, u8, &Table) -> Result<Box<dyn Channel>>;

/// Output of a channel, in buffers that are reused for each word.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Hard bits of the word, packed.
    pub bits: Vec<u64>,
    /// Region of each bit; empty for a hard read.
    pub regions: Vec<u8>,
    /// Log-likelihood ratio of each region, or the one ratio of all bits of a hard read.
    pub llr: Vec<f64>,
    /// Number of wrong hard decisions.
    pub errors: usize,
}

impl Reading {
    /// Reading in the form that decoders take.
    pub fn received(&self) -> Received<'_> {
        if self.regions.is_empty() {
            Received::Hard { bits: &self.bits, llr: self.llr[0] }
        } else {
            Received::Soft { regions: &self.regions, llr: &self.llr }
        }
    }
}

/// Channel between encoder and decoder: the errors of a read.
///
/// Promises: no allocation once `reading` has held a word of the length. Hard bits are wrong at the
/// channel's rate. The ratio of each region is exact.
/// the channel's rate; the ratio of each region is the exact one.
pub trait Channel: Send + Sync {
    /// Sends `word` (packed, `length` bits) and writes its read to `reading`.
    fn send(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading);

    /// Capacity in bits of information for each bit of the word: codes of a higher rate cannot
    /// work.
    fn capacity(&self) -> f64;
}
