//! Codes of a drive, with their decoders and encoders: the one of `[ecc]`, and those of kinds of
//! chips.
//!
//! Codes are numbered: 0 is that of `[ecc]`, which all dies of a drive with one code have. Each
//! kind's code has decoders and encoders of its own; codes by age share those of the first. In
//! comes a die, or a block where codes change with age, out comes its code. `codewords` says how
//! the units of a page lie in codewords, `luck` how lucky each of them is. `xor` is the engine of
//! parity over dies.

mod xor;

use super::stage::Stage;
use crate::build::BuiltCode;
use crate::config::SsdConfig;
use crate::ftl::Ftl;
use crate::medium::codewords::Codewords;
use base::{Time, counts};
use ecc::model::Model;
use ecc::model::named_code::NamedCode;
use nand::chip::Chips;
use nand::geometry::{Block, Die};
use schemars::JsonSchema;
use serde::Serialize;
use xor::Xor;

/// Code of a drive, with its decoders and encoders.
pub(crate) struct Code {
    pub(crate) model: Box<dyn Model>,
    /// The code itself, if it has a name.
    pub(crate) named: Option<NamedCode>,
    pub(crate) words: Codewords,
    pub(crate) decoders: Stage,
    pub(crate) encoders: Stage,
    pub(crate) encode_time: Time,
    /// Decoding time of a word where none can fail; `None` where each word is really decoded.
    pub(crate) clean_decode: Option<Time>,
    /// Energy of one iteration of one codeword, in microjoules.
    iteration_uj: f64,
    /// Number of decoders, and of encoders, of the codes before this one.
    pub(crate) servers_before: u32,
}

impl Code {
    /// Whether the code supports `soft_level` soft reads.
    pub(crate) fn takes(&self, soft_level: u8) -> bool {
        soft_level == 0 || self.model.soft_levels().is_none_or(|most| soft_level <= most)
    }
}

/// Counts of codewords, of all chips or of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CodeCounts {
    /// Codewords read and decoded; further attempts do not count here.
    pub codewords: u64,
    /// Codewords among these that failed at the first attempt.
    pub hard_failures: u64,
    /// Codewords decoded again after a retry or a soft read: those of the page that had failed.
    pub further_decodes: u64,
    /// Uncorrectable page reads, including those of garbage collection.
    pub uncorrectable: u64,
    /// Wrong bits of first reads; 0 with `chip.array.name = "ideal"` or `ecc.model = "ideal"`,
    /// which count none.
    pub raw_bit_errors: u64,
    /// Iterations of all decodes; 0 for models without iterations.
    pub iterations: u64,
    /// Codewords encoded, padding included.
    pub encoded: u64,
}

counts!(CodeCounts {
    codewords,
    hard_failures,
    further_decodes,
    uncorrectable,
    raw_bit_errors,
    iterations,
    encoded,
});

/// The codes of a drive.
pub(crate) struct Codes {
    pub(crate) first: Code,
    others: Vec<Code>,
    /// Most bytes of a page on the bus where the others are stronger codes of worn blocks, in order
    /// of stages: the page and its spare area.
    most_bytes: Option<u32>,
    /// By kind of chips: number of its code.
    of_kind: Vec<usize>,
    /// By kind of chips: its counts. Empty for a drive with one kind.
    counts: Vec<CodeCounts>,
    /// Engine of parity over dies, where it takes time.
    pub(crate) xor: Option<Xor>,
}

impl Codes {
    pub(crate) fn new(config: &SsdConfig, chips: &Chips, built: Vec<BuiltCode>) -> Self {
        let mut before = 0;
        let has_stages = built.first().is_some_and(|code| !code.common.stages.is_empty());
        let page = &config.chip.geometry;
        let mut codes = built.into_iter().map(|BuiltCode { common, model }| {
            let given = if common.decoders == 0 { config.drive.channels } else { common.decoders };
            let servers_before = before;
            before += given;
            // Where the flash never errs or the decoder always corrects, decoding is a plain delay.
            let is_clean = !chips.errs() || model.is_ideal();
            Code {
                words: Codewords::new(&chips.geometry, &common),
                decoders: Stage::new(given),
                encoders: Stage::new(given),
                encode_time: Time::from_us(common.t_encode_us),
                clean_decode: is_clean.then(|| common.decode_time(0, 0)),
                iteration_uj: common.iteration_uj(),
                servers_before,
                named: common.named,
                model,
            }
        });
        let first = codes.next().expect("every drive has a code");
        let kinds = chips.kinds().count();
        Self {
            most_bytes: has_stages.then(|| page.page_bytes + page.spare_bytes),
            first,
            others: codes.collect(),
            of_kind: config.code_of_kinds(),
            counts: vec![CodeCounts::default(); if kinds > 1 { kinds } else { 0 }],
            xor: Xor::of(&config.parity),
        }
    }

    /// Whether the bit error rates of `chips` decide which codewords are corrected.
    pub(crate) fn go_by_errors(&self, chips: &Chips) -> bool {
        chips.errs() && self.first.model.goes_by_errors()
    }

    /// The number of the code of a die.
    #[inline]
    pub(crate) fn number(&self, chips: &Chips, die: Die) -> usize {
        if self.others.is_empty() { 0 } else { self.of_kind[chips.kind(die)] }
    }

    /// Whether blocks change their code with age.
    #[inline]
    pub(crate) fn are_stages(&self) -> bool {
        self.most_bytes.is_some()
    }

    /// Number of codes that a block has in its life; 0 for a drive whose blocks keep theirs.
    pub(crate) fn stages(&self) -> usize {
        if self.are_stages() { 1 + self.others.len() } else { 0 }
    }

    /// Bytes of a page on the bus when it is programmed with this code. Parity that it has no room
    /// for goes with rows of its own.
    #[inline]
    pub(crate) fn page_bytes(&self, number: usize) -> u32 {
        let words = &self.at(number).words;
        let bytes = words.of_page() * words.bytes;
        self.most_bytes.map_or(bytes, |most| bytes.min(most))
    }

    /// The number of the code of a block of a die.
    #[inline]
    pub(crate) fn number_of(&self, chips: &Chips, ftl: &dyn Ftl, die: Die, block: Block) -> usize {
        match self.are_stages() {
            true => ftl.code_stage(block).into(),
            false => self.number(chips, die),
        }
    }

    /// Code whose decoders serve words of the code with this number.
    #[inline]
    pub(crate) fn decoders_of(&mut self, number: usize) -> &mut Code {
        if self.are_stages() { &mut self.first } else { self.at_mut(number) }
    }

    /// Code with this number.
    #[inline]
    pub(crate) fn at(&self, number: usize) -> &Code {
        if number == 0 { &self.first } else { &self.others[number - 1] }
    }

    /// Code with this number, to be used.
    #[inline]
    pub(crate) fn at_mut(&mut self, number: usize) -> &mut Code {
        if number == 0 { &mut self.first } else { &mut self.others[number - 1] }
    }

    /// Codewords of the pages of a die.
    #[inline]
    pub(crate) fn words(&self, chips: &Chips, die: Die) -> &Codewords {
        &self.at(self.number(chips, die)).words
    }

    /// Codes with decoders and encoders of their own.
    fn all(&self) -> impl Iterator<Item = &Code> {
        let others = if self.are_stages() { &[][..] } else { &self.others };
        std::iter::once(&self.first).chain(others)
    }

    /// Whether kinds of chips are counted apart.
    #[inline]
    pub(crate) fn count_apart(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Counts of the kind of a die's chips, if kinds are counted apart.
    #[inline]
    pub(crate) fn account(&mut self, chips: &Chips, die: Die) -> Option<&mut CodeCounts> {
        if self.counts.is_empty() { None } else { self.counts.get_mut(chips.kind(die)) }
    }

    /// Counts of a kind of chips, of a drive with several.
    pub(crate) fn counts_of_kind(&self, kind: usize) -> CodeCounts {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    /// Energy that all decoders have used, in microjoules, in a drive with so many `iterations`.
    pub(crate) fn energy_uj(&self, iterations: u64) -> f64 {
        if self.counts.is_empty() {
            return iterations as f64 * self.first.iteration_uj;
        }
        let of = |(counts, &code): (&CodeCounts, &usize)| {
            counts.iterations as f64 * self.at(code).iteration_uj
        };
        self.counts.iter().zip(&self.of_kind).map(of).sum()
    }

    /// Time that all decoders together were busy, and how many there are.
    pub(crate) fn decoders_busy(&self, now: Time) -> (Time, usize) {
        sum(self.all().map(|code| &code.decoders), now)
    }

    /// Time that all encoders together were busy, and how many there are.
    pub(crate) fn encoders_busy(&self, now: Time) -> (Time, usize) {
        sum(self.all().map(|code| &code.encoders), now)
    }

    /// Forgets words that are being decoded or encoded, as the power is gone.
    pub(crate) fn stop(&mut self, now: Time) {
        for code in std::iter::once(&mut self.first).chain(&mut self.others) {
            code.decoders.stop(now);
            code.encoders.stop(now);
        }
        if let Some(xor) = &mut self.xor {
            xor.stop(now);
        }
    }
}

fn sum<'a>(stages: impl Iterator<Item = &'a Stage>, now: Time) -> (Time, usize) {
    let add = |(busy, servers): (Time, usize), stage: &Stage| {
        (busy + stage.busy(now), servers + stage.servers())
    };
    stages.fold((Time::ZERO, 0), add)
}
