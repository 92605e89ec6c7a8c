//! Copies inside a chip (copyback): bit errors that a page has taken over from the one that it was
//! copied from, and how often its data were copied since they were last corrected.
//!
//! A page that is sensed and programmed again has the wrong bits of that reading, whatever happens
//! to its own cells. Each copy adds those of its own page: `p + q - 2 p q` of rates `p` and `q`,
//! since a bit that is wrong twice is right. The rates take 5 bytes a page, so only a drive that
//! copies has them.

use super::Chips;
use crate::chip::geometry::{Block, Geometry};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;

/// What the pages of a drive have taken over.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    /// Bit error rate that a page had when it was programmed.
    rber: Vec<f32>,
    /// Copies since the data were corrected.
    count: Vec<u8>,
    pages_per_block: u32,
}

impl State for Copies {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { rber, count, pages_per_block: _ } = self;
        archive.table(rber)?;
        archive.table(count)
    }
}

impl Copies {
    fn new(geometry: &Geometry) -> Self {
        let pages = geometry.blocks() as usize * geometry.pages_per_block as usize;
        let pages_per_block = geometry.pages_per_block;
        Self { rber: table(pages, 0.0), count: table(pages, 0), pages_per_block }
    }

    /// A page of data; nothing of the pages of a summary behind them.
    fn index(&self, block: Block, page: u32) -> Option<usize> {
        let index = block.0 as usize * self.pages_per_block as usize + page as usize;
        (page < self.pages_per_block).then_some(index)
    }

    /// The rate of a page with `own` errors of its cells.
    pub(super) fn with(&self, block: Block, page: u32, own: f64) -> f64 {
        let taken = self.index(block, page).map_or(0.0, |index| f64::from(self.rber[index]));
        own + taken - 2.0 * own * taken
    }

    /// Pages are programmed with data of the controller.
    pub(super) fn forget(&mut self, block: Block, pages: std::ops::Range<u32>) {
        for page in pages {
            if let Some(index) = self.index(block, page) {
                (self.rber[index], self.count[index]) = (0.0, 0);
            }
        }
    }
}

impl Chips {
    /// Keeps account of copies. Before anything is written, and once the geometry is settled.
    pub fn keep_copies(&mut self) {
        self.copies = Some(Box::new(Copies::new(&self.geometry)));
    }

    /// How often the data of a page were copied since they were last corrected.
    pub fn copies_of(&self, block: Block, page: u32) -> u8 {
        let Some(copies) = &self.copies else { return 0 };
        copies.index(block, page).map_or(0, |index| copies.count[index])
    }

    /// A page was programmed with what a reading with this rate of errors had left in the page
    /// register, of data that have now been copied so often.
    pub fn take_over(&mut self, block: Block, page: u32, rber: f64, count: u8) {
        if let Some(copies) = &mut self.copies
            && let Some(index) = copies.index(block, page)
        {
            (copies.rber[index], copies.count[index]) = (rber as f32, count);
        }
    }
}
