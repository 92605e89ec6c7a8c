//! Contract of a decoder: from a read to a codeword or a failure.

use crate::code::Code;
use base::family;
use base::params::Table;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// Constructor of a decoder for a code, from its checked parameters. Refuses codes of a structure
/// that the decoder was not made for.
pub type Build = fn(&Arc<dyn Code>, &Table) -> Result<Box<dyn Decoder>>;

/// Constructor of a decoder, with its defaults.
pub struct Constructor {
    /// Adds parameters that are not given and whose default depends on the code.
    pub complete: fn(&dyn Code, &mut Table),
    /// Builds the decoder of a code.
    pub build: Build,
}

/// Adds nothing: the `complete` of decoders whose defaults are the same for every code.
pub(crate) fn as_given(_: &dyn Code, _: &mut Table) {}

/// Most regions of a soft read.
pub const MOST_REGIONS: usize = 16;

/// Read of a codeword, as decoders take it. A log-likelihood ratio is ln(P(0) / P(1)), in nats:
/// positive for a 0.
#[derive(Clone, Copy)]
pub enum Received<'a> {
    /// Hard read, one bit for each cell.
    Hard {
        /// Bits of the read, packed.
        bits: &'a [u64],
        /// Magnitude of the log-likelihood ratio of every bit: ln((1 - p) / p) at bit error rate p.
        llr: f64,
    },
    /// Soft read: several reads at references side by side.
    Soft {
        /// Region between references in which each bit's cell was found.
        regions: &'a [u8],
        /// Log-likelihood ratio of each region, of which there are at most [`MOST_REGIONS`].
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

/// Success or failure of a decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The word is a codeword, maybe not the one that was written.
    Corrected,
    /// No codeword was found; the word is the decoder's last guess.
    Failed,
}

/// Outcome of decoding one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Whether a codeword was found.
    pub status: Status,
    /// Number of iterations: 0 if the hard decisions were a codeword already. An algebraic decoder
    /// counts 1 for every other decode.
    pub iterations: u32,
}

/// Decoder: finds the codeword that was written.
///
/// Promises: a decode allocates nothing. `Corrected` comes only with a codeword in `word`. A word
/// without errors comes back at once with 0 iterations. The same input gives the same outcome,
/// independent of earlier decodes and of the instructions of the machine.
pub trait Decoder: Send {
    /// Decodes into `word` (packed, `length` bits; its content on entry does not matter).
    fn decode(&mut self, received: Received<'_>, word: &mut [u64]) -> Decoded;
}

/// Largest number of iterations of a word: a word that is not correct by then is lost, and all
/// iterations count.
pub(crate) const MOST_ITERATIONS: u32 = 10_000;

/// Reads `P` strictly, every number within the range of its schema, and writes it back complete:
/// the `check` of a decoder.
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
