//! Slice of a page in real cells: the cells of one codeword, programmed, aged and read.
//!
//! A drive decodes a part of a page: as many cells of a wordline as a codeword has bits. They are
//! programmed in the order of the block's pages together with all rows that disturb them: the other
//! pages and bitlines of the wordline, and the next wordline. All of those hold random data. Then
//! the cells age as their page has. So errors are those of [`CellBlock`]. Each word is drawn from
//! its own seed, independently of others.

use crate::array::PageState;
use crate::block::cells::CellBlock;
use crate::block::draw::Draws;
use crate::cell::Cell;
use base::{Error, Result};
use std::sync::Arc;

/// Page of a drive, and its history.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PageAt {
    /// Block of the page, by number.
    pub block: u64,
    /// Page number in the block.
    pub page: u32,
    /// Type, wear, age and reads of the page.
    pub state: PageState,
}

/// Cells that hold one word at a time.
pub struct CellSlice {
    block: CellBlock,
    /// Page that the word lies in.
    page: u32,
    /// Data of one program of the block.
    data: Vec<u8>,
    random: Vec<u32>,
}

impl CellSlice {
    /// Creates cells for words of `bytes` bytes in blocks of `pages` pages. Widths of rows are
    /// drawn from `seed`.
    pub fn new(cell: Arc<Cell>, pages: u32, bytes: u32, seed: u64) -> Result<Self> {
        let mut block = CellBlock::new(cell, pages, bytes, seed, 0)?;
        // The state of a page has the reads of its neighbours in its dose.
        block.disturb_alike();
        let data = vec![0; block.program_bytes()];
        let random = vec![0; data.len().div_ceil(4)];
        Ok(Self { block, page: 0, data, random })
    }

    /// Number of bytes of a word.
    pub fn bytes(&self) -> usize {
        self.data.len() / self.block.pages_per_program()
    }

    /// Writes `word` to cells of page `at`, all of them drawn from the seed `luck`. A word written
    /// again with the same seed is in the same cells.
    pub fn write(&mut self, at: &PageAt, luck: u64, word: &[u8]) -> Result<()> {
        let own = self.block.site(at.page)?;
        if word.len() != self.bytes() {
            return Err(Error::new("cell slice", format!("a word of {} bytes", word.len()))
                .expected(format!("{} bytes", self.bytes())));
        }
        self.page = at.page;
        self.block.redraw(at.block, luck, at.state.pe_cycles);
        let coupling = self.block.cell().coupling();
        let mut others = Draws::stream(luck, "cells/data");
        let step = self.block.pages_per_program();
        for page in (0..self.block.pages()).step_by(step) {
            let site = self.block.site(page)?;
            // Neighbours of the first order: what moves them moves the word in the second.
            let touches = match (site.wordline.checked_sub(own.wordline), site.parity == own.parity)
            {
                (Some(0), true) => true,
                (Some(0), false) => coupling.wordline != 0.0,
                (Some(1), true) => coupling.bitline != 0.0,
                _ => false,
            };
            if !touches {
                continue;
            }
            others.bits(&mut self.random);
            for (bytes, random) in self.data.chunks_mut(4).zip(&self.random) {
                bytes.copy_from_slice(&random.to_le_bytes()[..bytes.len()]);
            }
            if let Some(first) = at.page.checked_sub(page).filter(|&first| first < step as u32) {
                self.data[first as usize * word.len()..][..word.len()].copy_from_slice(word);
            }
            self.block.program(page, &self.data)?;
        }
        self.block.age_at_reference(at.state.retention);
        self.block.disturb(at.state.reads.into());
        // All of it shows, however little it is: reads at other references find the same cells.
        self.block.voltages(at.page)?;
        Ok(())
    }

    /// Reads the word with the references of its page moved by `shifts_v`, from the lowest.
    pub fn read(&mut self, shifts_v: &[f32], out: &mut [u8]) -> Result<()> {
        self.block.sense(self.page, shifts_v, out).map(drop)
    }

    /// Reads the word at each of `offsets_v` around every reference. Gives for each of its cells
    /// the number of references below it.
    pub fn read_soft(&mut self, shifts_v: &[f32], offsets_v: &[f32], out: &mut [u8]) -> Result<()> {
        self.block.sense_soft(self.page, shifts_v, offsets_v, out).map(drop)
    }
}

#[cfg(test)]
mod tests;
