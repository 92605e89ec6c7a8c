//! Luck of codewords: each keeps its own as long as it is stored.

use super::codewords::Codewords;
use base::rng::{Rng, mix, unit};
use nand::chip::Chips;
use nand::geometry::Ppn;

/// Luck of each codeword of a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Luck {
    /// Key that tells this drive's words from those of others.
    key: u64,
}

impl Luck {
    /// Creates the luck of the drive with this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { key: Rng::stream(seed, "ecc").bits() }
    }

    /// The luck of a codeword of the page that `first` lies in, the `number`th from there on:
    /// uniform in [0, 1).
    #[inline]
    pub(crate) fn of(&self, chips: &Chips, words: &Codewords, first: Ppn, number: u32) -> f64 {
        let geometry = &chips.geometry;
        let word = words.before(geometry, first) + number;
        let place = u64::from(geometry.page_index(first)) << 32 | u64::from(word);
        let cycle = chips.pe_cycles(geometry.block_of(first));
        unit(mix(mix(self.key ^ place) ^ u64::from(cycle)))
    }
}
