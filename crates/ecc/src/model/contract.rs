//! The contract of a decoder model: a codeword's bit error rate and luck in, an outcome and a time
//! out.

use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every decoder model shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// Data bytes of a codeword; 0 takes the smaller of 4096 and the page.
    pub payload_bytes: u32,
    /// Parity bytes of a codeword: they travel on the bus with the data.
    pub parity_bytes: u32,
    /// Decoders that work side by side, shared by the whole drive; 0 means one for each channel.
    pub decoders: u32,
    /// Time of decoding one codeword, whatever it takes.
    pub t_decode_us: f64,
    /// The same after a soft read; 0 takes `t_decode_us`.
    pub t_soft_decode_us: f64,
    /// Time of one iteration, for models that count them.
    pub t_iteration_us: f64,
    /// Time of encoding one codeword, in one of as many encoders as there are decoders.
    pub t_encode_us: f64,
    /// Energy of one iteration for each bit of the codeword, in picojoules.
    pub iteration_pj_per_bit: f64,
}

impl Default for EccConfig {
    fn default() -> Self {
        Self {
            payload_bytes: 0,
            parity_bytes: 0,
            decoders: 0,
            t_decode_us: 0.0,
            t_soft_decode_us: 0.0,
            // Bates 2014: 1, 4 and 20 us for 1, 4 and 20 iterations.
            t_iteration_us: 1.0,
            t_encode_us: 0.0,
            // Assumed: the order of published decoders, 10 to 20 pJ a bit in about ten iterations.
            iteration_pj_per_bit: 1.5,
        }
    }
}

impl EccConfig {
    /// Bits of a codeword, parity included.
    pub fn codeword_bits(&self) -> u32 {
        8 * (self.payload_bytes + self.parity_bytes)
    }

    /// Refuses what cannot be.
    pub fn check(&self) -> Result<()> {
        let refuse = |key: &str, value: f64, allowed: &str| {
            Err(Error::new(format!("ecc.{key}"), format!("{value} is out of range")).allow(allowed))
        };
        if self.payload_bytes == 0
            || !self.payload_bytes.is_multiple_of(512)
            || self.payload_bytes > 1 << 20
        {
            return refuse(
                "payload_bytes",
                self.payload_bytes.into(),
                "a multiple of 512 up to 1 MiB",
            );
        }
        if self.parity_bytes > self.payload_bytes {
            return refuse("parity_bytes", self.parity_bytes.into(), "0 to payload_bytes");
        }
        if self.decoders > 4096 {
            return refuse("decoders", self.decoders.into(), "0 to 4096");
        }
        for (key, value) in [
            ("t_decode_us", self.t_decode_us),
            ("t_soft_decode_us", self.t_soft_decode_us),
            ("t_iteration_us", self.t_iteration_us),
            ("t_encode_us", self.t_encode_us),
            ("iteration_pj_per_bit", self.iteration_pj_per_bit),
        ] {
            if !(0.0..=1e6).contains(&value) {
                return refuse(key, value, "0 to 1e6");
            }
        }
        Ok(())
    }

    /// Energy of one iteration of one codeword.
    pub fn iteration_uj(&self) -> f64 {
        1e-6 * self.iteration_pj_per_bit * f64::from(self.codeword_bits())
    }

    /// How long a decode of so many iterations takes after `level` soft levels.
    #[inline]
    pub fn decode_time(&self, level: u8, iterations: u32) -> Time {
        let soft = level > 0 && self.t_soft_decode_us > 0.0;
        let base = if soft { self.t_soft_decode_us } else { self.t_decode_us };
        Time::from_us(base + f64::from(iterations) * self.t_iteration_us)
    }
}

/// Bit error rates below this give no errors, wrongly once in 10^11 codewords at most (the
/// longest, of a page of 1 MiB).
pub const LEAST_RBER: f64 = 1.0 / (1u64 << 60) as f64;

/// A codeword as it was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Word {
    /// Bit error rate of its hard read.
    pub rber: f64,
    /// Soft levels read besides: two more references each, on either side of the hard one.
    pub level: u8,
    /// Its luck, uniform in [0, 1) and the worse the higher. A word that is decoded again keeps
    /// it: what is decided by it once is not drawn anew.
    pub luck: f64,
}

/// The outcome of one codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decode {
    /// Raw bit errors it held.
    pub errors: u32,
    /// Whether the data came back.
    pub corrected: bool,
    /// Iterations that the decoder took, where the model knows of any.
    pub iterations: u32,
    /// How long a decoder was busy with it.
    pub time: Time,
}

/// What decoding costs and whether it works.
///
/// Promises: a codeword at rate 0 is corrected with 0 errors; `errors` is at most the bits of a
/// codeword; the same word has the same outcome, whatever was decoded before; a word that is
/// corrected at one level would be at any higher one.
pub trait Model: Send {
    /// Decodes one codeword.
    fn decode(&mut self, word: &Word) -> Decode;

    /// Corrects everything: lets the engine skip drawing errors.
    fn is_ideal(&self) -> bool {
        false
    }
}
