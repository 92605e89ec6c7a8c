//! The contract of a decoder: what was read in, a codeword or an honest failure out.

use crate::code::Code;
use base::params::Table;
use base::{Error, Result};
use std::sync::Arc;

/// Builds a decoder of a code from its checked parameters; refuses codes of a structure that it
/// was not made for.
pub type Build = fn(&Arc<dyn Code>, &Table) -> Result<Box<dyn Decoder>>;

/// Most regions of a soft read.
pub const MOST_REGIONS: usize = 16;

/// What is known of the bits of a codeword. A log-likelihood ratio is ln(P(0) / P(1)), in nats:
/// positive for a 0.
#[derive(Clone, Copy)]
pub enum Received<'a> {
    /// One read.
    Hard {
        /// The bits, packed.
        bits: &'a [u64],
        /// Size of the log-likelihood ratio of every bit: ln((1 - p) / p) at bit error rate p.
        llr: f64,
    },
    /// Several reads at references side by side.
    Soft {
        /// For each bit, the region between references in which its cell was found.
        regions: &'a [u8],
        /// The log-likelihood ratio of each region, of which there are at most [`MOST_REGIONS`].
        llr: &'a [f64],
    },
}

impl Received<'_> {
    /// Writes the hard decision of every bit to `word`: a 0 where the ratio is not negative.
    pub fn decide(&self, word: &mut [u64]) {
        match *self {
            Self::Hard { bits, .. } => word.copy_from_slice(bits),
            Self::Soft { regions, llr } => {
                let ones = llr.iter().enumerate().map(|(i, &llr)| u64::from(llr < 0.0) << i);
                let ones: u64 = ones.sum();
                for (word, regions) in word.iter_mut().zip(regions.chunks(64)) {
                    let bits = regions.iter().enumerate();
                    *word = bits.map(|(i, region)| (ones >> (region & 63) & 1) << i).sum();
                }
            }
        }
    }
}

/// How a decode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The word is a codeword (whether it is the right one, only who wrote it knows).
    Corrected,
    /// No codeword was found; the word is the decoder's last guess.
    Failed,
}

/// The outcome of a decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// How it ended.
    pub status: Status,
    /// Iterations: 0 where the hard decisions were a codeword already; 1 for every decode of an
    /// algebraic decoder beyond that.
    pub iterations: u32,
}

/// Finds the codeword that was written.
///
/// Promises: no allocation in a decode; `Corrected` only with a codeword in `word`; a word without
/// errors comes back at once with 0 iterations; the same input gives the same outcome, whatever
/// was decoded before and whatever instructions the machine has.
pub trait Decoder: Send {
    /// Decodes into `word` (packed, `length` bits; its content on entry does not matter).
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded;
}

/// Iterations of a word, at most: one that so many do not correct is lost, and all are counted.
const MOST_ITERATIONS: u32 = 10_000;

/// Refuses iterations without end; `key` is that of the parameter.
pub(crate) fn check_iterations(key: &str, iterations: u32) -> Result<()> {
    if iterations <= MOST_ITERATIONS {
        return Ok(());
    }
    Err(Error::new(format!("decoder.{key}"), format!("{iterations}: out of range"))
        .allow(format!("0 to {MOST_ITERATIONS}")))
}
