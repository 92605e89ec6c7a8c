//! The contract of a decoder model: a codeword's bit error rate in, an outcome and a time out.

use base::rng::Rng;
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
    /// Time of decoding one codeword.
    pub t_decode_us: f64,
}

impl Default for EccConfig {
    fn default() -> Self {
        Self { payload_bytes: 0, parity_bytes: 0, decoders: 0, t_decode_us: 0.0 }
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
        if !(0.0..=1e6).contains(&self.t_decode_us) {
            return refuse("t_decode_us", self.t_decode_us, "0 to 1e6");
        }
        Ok(())
    }
}

/// The outcome of one codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decode {
    /// Raw bit errors it held.
    pub errors: u32,
    /// Whether the data came back.
    pub corrected: bool,
    /// How long a decoder was busy with it.
    pub time: Time,
}

/// What decoding costs and whether it works.
///
/// Promises: a codeword at rate 0 is corrected with 0 errors; `errors` is at most the bits of a
/// codeword; the same stream of calls with the same generator gives the same outcomes.
pub trait Model: Send {
    /// Decodes one codeword read at bit error rate `rber`.
    fn decode(&mut self, rber: f64, rng: &mut Rng) -> Decode;

    /// Corrects everything: lets the engine skip drawing errors.
    fn is_ideal(&self) -> bool {
        false
    }
}
