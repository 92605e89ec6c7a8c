//! Contract of a decoder model: from a codeword's bit error rate and luck to an outcome and a time.

use crate::channel::Reading;
use crate::model::named_code::NamedCode;
use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stronger code of worn blocks: a stage of `ecc.stages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeStage {
    /// P/E cycles of a block from which on it has this code.
    pub from_cycles: u32,
    /// Bit errors that the code corrects in a codeword.
    pub t: u32,
    /// Parity bytes of a codeword, metadata included.
    pub parity_bytes: u32,
}

/// Error correction: keys that all decoder models share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// Code: a preset of `params/codes` or a path; it defines the codeword. Empty: no code.
    pub code: String,
    /// Hash of code, decoder and profile; filled in if omitted.
    pub code_hash: String,
    /// Data bytes of a codeword; 0 is the code's or, without a code, the smaller of 4096 and the
    /// page size.
    pub payload_bytes: u32,
    /// Parity bytes of a codeword, metadata included; the bus transfers them with the data. 0 is
    /// the code's.
    pub parity_bytes: u32,
    /// Parallel decoders, shared by the whole drive; 0 is one for each channel.
    pub decoders: u32,
    /// Fixed time of decoding one codeword after a hard read.
    pub t_decode_us: f64,
    /// Fixed time of decoding one codeword after a soft read; 0 takes `t_decode_us`.
    pub t_soft_decode_us: f64,
    /// Time of one iteration, for models that count iterations; default: 1 us of `bates2014`.
    pub t_iteration_us: f64,
    /// Time of encoding one codeword; there are as many encoders as decoders.
    pub t_encode_us: f64,
    /// Energy of one iteration for each bit of the codeword, in picojoules.
    pub iteration_pj_per_bit: f64,
    /// Stronger codes that a block changes to as it wears, in order of cycles; `threshold` alone.
    /// Parity that the spare area has no room for takes data of the block.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<CodeStage>,
    /// The code of `code`, once its file has been read.
    #[serde(skip)]
    #[schemars(skip)]
    pub named: Option<NamedCode>,
}

impl Default for EccConfig {
    fn default() -> Self {
        Self {
            code: String::new(),
            code_hash: String::new(),
            payload_bytes: 0,
            parity_bytes: 0,
            decoders: 0,
            t_decode_us: 0.0,
            t_soft_decode_us: 0.0,
            // bates2014, its table: 1, 4 and 20 us for 1, 4 and 20 iterations.
            t_iteration_us: 1.0,
            t_encode_us: 0.0,
            // Assumed: the order of published decoders, 10 to 20 pJ a bit in about ten iterations.
            iteration_pj_per_bit: 1.5,
            stages: Vec::new(),
            named: None,
        }
    }
}

impl EccConfig {
    /// Takes the layout of a codeword from a code. Given values must agree.
    pub fn take_code(&mut self, code: NamedCode) -> Result<()> {
        if code.payload_bytes() == 0 {
            let problem = format!("`{}` has payload_bytes = 0", self.code);
            return Err(Error::new("ecc.code", problem)
                .expected("a code with room for a sector of user data"));
        }
        for (key, given, own) in [
            ("payload_bytes", &mut self.payload_bytes, code.payload_bytes()),
            ("parity_bytes", &mut self.parity_bytes, code.parity_bytes()),
        ] {
            if *given != 0 && *given != own {
                let problem = format!("{given} with the code `{}`", self.code);
                return Err(Error::new(format!("ecc.{key}"), problem)
                    .expected(format!("{own}"))
                    .hint("leave it out: the code gives it"));
            }
            *given = own;
        }
        if !self.code_hash.is_empty() && self.code_hash != code.hash() {
            let problem = format!("{}, but `{}` is another code", self.code_hash, self.code);
            return Err(Error::new("ecc.code_hash", problem)
                .expected(code.hash())
                .hint("leave it out: the code gives it"));
        }
        code.hash().clone_into(&mut self.code_hash);
        self.named = Some(code);
        Ok(())
    }

    /// The code, for a model that needs one. Refuses a drive without a code.
    pub fn needs_code(&self, model: &str) -> Result<&NamedCode> {
        self.named.as_ref().ok_or_else(|| {
            Error::new("ecc.code", format!("`ecc.model = \"{model}\"` without a code"))
                .expected("the name of a code (see `nandlab presets code`) or a path")
        })
    }

    /// Errors t that the code always corrects, for codes such as BCH.
    pub fn certain_errors(&self) -> Option<u32> {
        self.named.as_ref()?.codec().code().certain_errors().map(|t| t as u32)
    }

    /// Bits of a codeword, parity included: the code's, which may not fill its last byte.
    pub fn codeword_bits(&self) -> u32 {
        match &self.named {
            Some(code) => code.codec().code().length() as u32,
            None => 8 * (self.payload_bytes + self.parity_bytes),
        }
    }

    /// Checks that all values are in range.
    pub fn check(&self) -> Result<()> {
        let refuse = |key: &str, value: f64, expected: &str| {
            Err(Error::new(format!("ecc.{key}"), format!("{value} is out of range"))
                .expected(expected))
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

    /// Energy of one iteration of one codeword, in microjoules.
    pub fn iteration_uj(&self) -> f64 {
        1e-6 * self.iteration_pj_per_bit * f64::from(self.codeword_bits())
    }

    /// Time of a decode of `iterations` iterations after `level` soft reads.
    #[inline]
    pub fn decode_time(&self, level: u8, iterations: u32) -> Time {
        let soft = level > 0 && self.t_soft_decode_us > 0.0;
        let base = if soft { self.t_soft_decode_us } else { self.t_decode_us };
        Time::from_us(base + f64::from(iterations) * self.t_iteration_us)
    }
}

/// Bit error rate below which reads have no errors. That is wrong once in 10^11 codewords at most,
/// for the longest, of a page of 1 MiB.
pub const LEAST_RBER: f64 = 1.0 / (1u64 << 60) as f64;

/// Codeword as it was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Word {
    /// Bit error rate of the hard read.
    pub rber: f64,
    /// Number of soft reads: two extra references each, on either side of the hard one.
    pub level: u8,
    /// Luck of the word, uniform in [0, 1); higher is worse. A word that is decoded again keeps its
    /// luck, so its outcome is not drawn again.
    pub luck: f64,
}

/// Outcome of decoding one codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decode {
    /// Raw bit errors of the hard read.
    pub errors: u32,
    /// Whether the data were corrected.
    pub corrected: bool,
    /// Iterations of the decoder; 0 where the model counts none.
    pub iterations: u32,
    /// Time for which a decoder was busy.
    pub time: Time,
}

/// Outcome of decoding a codeword of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Outcome as the controller knows it.
    pub outcome: Decode,
    /// Whether the word was decoded to another codeword, unnoticed.
    pub is_miscorrected: bool,
}

/// Real cells of the page that is being read, for a model that writes and reads its codewords.
///
/// Promises: a word of the same luck is in the same cells, whatever was read before: further soft
/// reads and moved references find the same voltages. `reading` holds the bits and errors of the
/// hard read, and with soft reads the region of each bit. The ratio of a region is that of all such
/// cells, not of the cells at hand. (The model itself computes the ratio of a hard read.)
pub trait Medium {
    /// Writes `sent` (packed, `length` bits) to the cells and reads it with the levels of `word`.
    fn read(&mut self, word: &Word, sent: &[u64], length: usize, reading: &mut Reading);
}

/// Decoder model: the outcome and the time of decoding a codeword.
///
/// Promises: a codeword at rate 0 is corrected with 0 errors. `errors` is at most the bits of a
/// codeword. The same word has the same outcome, independent of earlier decodes. A word that was
/// corrected is corrected too at a lower rate, with a lower luck number or with a further soft
/// level. (A model that really decodes breaks the last promise as rarely as its decoder is misled.
/// For one that reads real cells the luck only names the cells.)
pub trait Model: Send {
    /// Decodes one codeword at its bit error rate.
    fn decode(&mut self, word: &Word) -> Decode;

    /// Decodes one codeword that is read from real cells. A model of rates uses its rate.
    fn decode_from(&mut self, word: &Word, _medium: &mut dyn Medium) -> Decode {
        self.decode(word)
    }

    /// Decodes a codeword of stored data: `stored` is what was written (packed), and the decoded
    /// word goes to `decoded`. The outcome is what the controller sees: its decoder, and the
    /// checksum of the code if it has one. With cells the word is written to them and read.
    ///
    /// A model of rates returns the stored data, whatever the outcome.
    fn decode_stored(
        &mut self,
        word: &Word,
        stored: &[u64],
        _medium: Option<&mut dyn Medium>,
        decoded: &mut [u64],
    ) -> Stored {
        decoded.copy_from_slice(stored);
        Stored { outcome: self.decode(word), is_miscorrected: false }
    }

    /// Second instance that gives the same outcomes for the same words, on another thread at the
    /// same time. `None` where decoding takes too little time for that.
    fn twin(&self) -> Option<Box<dyn Model>> {
        None
    }

    /// Bits of the words that the model writes to a medium; `None` where it uses no medium.
    fn medium_bits(&self) -> Option<usize> {
        None
    }

    /// Largest number of soft reads that the model distinguishes: a further one would cost time and
    /// save nothing. `None` where there is no limit.
    fn soft_levels(&self) -> Option<u8> {
        None
    }

    /// Whether every word is corrected: the engine then skips drawing errors.
    fn is_ideal(&self) -> bool {
        false
    }

    /// Whether the bit error rate of a word decides if it is corrected: a worn page then loses data
    /// that a fresh one keeps.
    fn goes_by_errors(&self) -> bool {
        !self.is_ideal()
    }
}
