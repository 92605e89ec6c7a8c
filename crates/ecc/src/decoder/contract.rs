//! The contract of a decoder: from a read to a codeword or a failure.

use crate::code::Code;
use base::family;
use base::params::Table;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// Builds a decoder of a code from its checked parameters; refuses codes of a structure that it
/// was not made for.
pub type Build = fn(&Arc<dyn Code>, &Table) -> Result<Box<dyn Decoder>>;

/// How a decoder is made.
pub struct Constructor {
    /// Adds to parameters that were given those whose default depends on the code.
    pub complete: fn(&dyn Code, &mut Table),
    /// Builds it.
    pub build: Build,
}

/// Nothing to add: the `complete` of decoders whose defaults are the same for every code.
pub(crate) fn as_given(_: &dyn Code, _: &mut Table) {}

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
/// errors comes back at once with 0 iterations; the same input gives the same outcome, independent
/// of earlier decodes and of the instructions of the machine.
pub trait Decoder: Send {
    /// Decodes into `word` (packed, `length` bits; its content on entry does not matter).
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded;
}

/// Largest number of iterations of a word: a word that is not correct by then is lost, and all
/// iterations count.
pub(crate) const MOST_ITERATIONS: u32 = 10_000;

/// Reads `P` strictly, every number within the range that its schema says, and writes it back
/// complete: the `check` of a decoder.
pub(crate) fn ranged<P>(table: &Table, place: &str) -> Result<Table>
where
    P: DeserializeOwned + Serialize + JsonSchema,
{
    let schema = family::schema::<P>();
    for (key, value) in table {
        let property = &schema["properties"][key];
        let ends = [&property["minimum"], &property["maximum"]];
        let [Some(least), Some(most)] = ends.map(serde_json::Value::as_f64) else { continue };
        let whole = value.as_integer();
        let is_whole = property["type"] == "integer";
        let number = if is_whole { None } else { value.as_float() };
        if number.or(whole.map(|n| n as f64)).is_none_or(|n| !(least..=most).contains(&n)) {
            let numbers = if is_whole { "whole numbers" } else { "numbers" };
            return Err(Error::new(format!("{place}.{key}"), format!("{value}: out of range"))
                .expected(format!("{numbers} from {least} to {most}")));
        }
    }
    family::check::<P>(table, place)
}
