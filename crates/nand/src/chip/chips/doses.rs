//! Doses of reads: how much the reads of a block have disturbed its pages.
//!
//! With an activation energy of read disturb (`chip.cell.read_disturb.activation_ev`) a read of a
//! cold or a warm chip counts as more or fewer reads at the temperature of the model of errors.
//! With a `neighbour_factor` a read counts more on the two wordlines beside it: the dose of a page
//! is that of its block, and more for the reads of its two neighbours. The firmware counts reads of
//! blocks, and errors go by doses. Drives whose reads disturb all pages alike, at all times, have
//! no such tables.

use super::Chips;
use super::kinds::{Kinds, Silicon};
use crate::block::wordline::Height;
use crate::chip::geometry::{Block, Geometry};
use base::Result;
use base::archive::Archive;
use base::memory::table;

/// Doses of the reads of blocks, and of single wordlines, since the erase.
#[derive(Clone, Default)]
pub(super) struct Doses {
    /// Doses of blocks; empty where every read is a dose of one.
    of_block: Vec<f64>,
    /// Doses of the reads of each wordline, block by block; empty where all wordlines of a block
    /// are disturbed alike.
    of_wordline: Vec<f64>,
    /// Wordlines that a block has in the table.
    wordlines: usize,
}

impl Doses {
    /// Creates the tables of a drive in which reads disturb the neighbours of a wordline by a
    /// factor of their own; there are none in others.
    pub(super) fn of_wordlines(kinds: &Kinds, geometry: &Geometry) -> Self {
        if kinds.all().all(|kind| kind.neighbour_factor == 1.0) {
            return Self::default();
        }
        let blocks = geometry.blocks() as usize;
        let most = kinds.all().map(|kind| kind.rules.wordlines() as usize).max();
        let wordlines = most.unwrap_or(0);
        let of_wordline = table(blocks * wordlines, 0.0);
        Self { of_block: table(blocks, 0.0), of_wordline, wordlines }
    }

    /// Whether there are none: every read disturbs all pages of its block by one.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.of_block.is_empty()
    }

    /// Counts a read of a wordline of a block of the chip `kind`. Returns the dose of its pages.
    pub(super) fn read(&mut self, block: Block, height: Height, kind: &Silicon) -> u32 {
        self.of_block[block.0 as usize] += kind.dose_of_read;
        if let Some(dose) = self.wordlines_of_mut(block).get_mut(height.wordline as usize) {
            *dose += kind.dose_of_read;
        }
        self.of_page(block, height, 0.0, kind)
    }

    /// Dose of the pages of a wordline after `more` reads, which go to all wordlines alike.
    fn of_page(&self, block: Block, height: Height, more: f64, kind: &Silicon) -> u32 {
        let more = more * kind.dose_of_read;
        let mut dose = self.of_block[block.0 as usize] + more;
        if !self.of_wordline.is_empty() {
            let first = block.0 as usize * self.wordlines;
            let Height { wordline, wordlines } = height;
            let share = more / f64::from(wordlines);
            let neighbours = [wordline.checked_sub(1), Some(wordline + 1)].into_iter().flatten();
            let near: f64 = neighbours
                .filter(|&beside| beside < wordlines)
                .map(|beside| self.of_wordline[first + beside as usize] + share)
                .sum();
            dose += (kind.neighbour_factor - 1.0) * near;
        }
        dose.round() as u32
    }

    /// Adds `reads` reads of a block, which go to all its wordlines alike.
    fn add(&mut self, block: Block, reads: u32, kind: &Silicon) {
        let more = f64::from(reads) * kind.dose_of_read;
        self.of_block[block.0 as usize] += more;
        let wordlines = kind.rules.wordlines();
        let doses = self.wordlines_of_mut(block);
        let used = doses.len().min(wordlines as usize);
        doses[..used].iter_mut().for_each(|dose| *dose += more / f64::from(wordlines));
    }

    /// Forgets the reads of a block, which has been erased.
    #[inline]
    pub(super) fn erase(&mut self, block: Block) {
        if let Some(dose) = self.of_block.get_mut(block.0 as usize) {
            *dose = 0.0;
            self.wordlines_of_mut(block).fill(0.0);
        }
    }

    /// Doses of the wordlines of a block; empty without a table of them.
    fn wordlines_of_mut(&mut self, block: Block) -> &mut [f64] {
        let first = block.0 as usize * self.wordlines;
        &mut self.of_wordline[first..first + self.wordlines]
    }

    /// Saves or loads the doses.
    pub(super) fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        // Whether there are any follows from the configuration, which a saved drive keeps.
        for doses in [&mut self.of_block, &mut self.of_wordline] {
            if !doses.is_empty() {
                archive.table(doses)?;
            }
        }
        Ok(())
    }
}

impl Chips {
    /// Sets the temperature of reads from now on, in a drive that has one.
    pub fn read_at(&mut self, celsius: f64) {
        for kind in self.kinds.all_mut().filter(|kind| kind.errs) {
            kind.dose_of_read = kind.arrays[0].equivalent_reads(1.0, celsius);
        }
    }

    /// Counts doses from now on, if reads disturb some of the chips by their temperature.
    pub(super) fn count_doses(&mut self) {
        let differs = |celsius: f64| {
            let mut erring = self.kinds.all().filter(|kind| kind.errs);
            erring.any(|kind| kind.arrays[0].equivalent_reads(1.0, celsius) != 1.0)
        };
        if self.doses.is_empty() && (differs(0.0) || differs(100.0)) {
            self.doses.of_block = self.blocks.iter().map(|block| block.reads.into()).collect();
        }
    }

    /// Reads at the temperature of the model of errors that disturb the pages of a wordline as
    /// `reads` reads of their block do. Those beyond its present ones are at the present
    /// temperature, and go to all wordlines alike.
    pub(super) fn dose(&self, block: Block, reads: u32, height: Height) -> u32 {
        if self.doses.is_empty() {
            return reads;
        }
        let more = f64::from(reads) - f64::from(self.reads(block));
        self.doses.of_page(block, height, more, self.kinds.of(block))
    }

    /// Adds `reads` to the reads of a block since its erase, those of its wordlines alike. No
    /// simulated time passes.
    pub fn disturb(&mut self, block: Block, reads: u32) {
        if !self.doses.is_empty() {
            self.doses.add(block, reads, self.kinds.of(block));
        }
        let state = &mut self.blocks[block.0 as usize];
        state.reads = state.reads.saturating_add(reads);
    }
}
