//! Copies inside a chip (copyback): bit errors that a page inherited from its source page, and the
//! number of copies of its data since they were last corrected.
//!
//! A copied page has the wrong bits of the reading that was programmed into it, whatever happens to
//! its own cells. Each copy adds the errors of its own cells: `p + q - 2 p q` for rates `p` and
//! `q`, since a bit that is wrong twice is right. The store takes 5 bytes a page, so only a drive
//! that copies has one.

use super::Chips;
use crate::chip::geometry::{Block, Geometry};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;

/// Inherited bit errors and copy counts of the pages of a drive.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    /// Bit error rate of the data at the time of their program, for each page.
    rber: Vec<f32>,
    /// Copies since the data were corrected, for each page.
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

    /// Index of a page of data; `None` for the pages of a summary behind them.
    fn index(&self, block: Block, page: u32) -> Option<usize> {
        let index = block.0 as usize * self.pages_per_block as usize + page as usize;
        (page < self.pages_per_block).then_some(index)
    }

    /// Bit error rate of a page, inherited errors and `own` errors of its cells together.
    pub(super) fn with(&self, block: Block, page: u32, own: f64) -> f64 {
        let taken = self.index(block, page).map_or(0.0, |index| f64::from(self.rber[index]));
        own + taken - 2.0 * own * taken
    }

    /// Resets pages that are programmed with corrected data of the controller.
    pub(super) fn forget(&mut self, block: Block, pages: std::ops::Range<u32>) {
        for page in pages {
            if let Some(index) = self.index(block, page) {
                (self.rber[index], self.count[index]) = (0.0, 0);
            }
        }
    }
}

impl Chips {
    /// Starts the account of copies. Must precede the first write and follow the final geometry.
    pub fn keep_copies(&mut self) {
        self.copies = Some(Box::new(Copies::new(&self.geometry)));
    }

    /// Copies of the data of a page since they were last corrected.
    pub fn copies_of(&self, block: Block, page: u32) -> u8 {
        let Some(copies) = &self.copies else { return 0 };
        copies.index(block, page).map_or(0, |index| copies.count[index])
    }

    /// Records that a page was programmed from the page register: with the error rate `rber` of the
    /// sensed page, and data that have now been copied `count` times.
    pub fn take_over(&mut self, block: Block, page: u32, rber: f64, count: u8) {
        if let Some(copies) = &mut self.copies
            && let Some(index) = copies.index(block, page)
        {
            (copies.rber[index], copies.count[index]) = (rber as f32, count);
        }
    }
}
