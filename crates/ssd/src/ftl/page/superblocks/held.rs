//! Pages of stripes that stand in the controller's memory, as the flash has no place for them, and
//! rows of stripes that lack pages for good.
//!
//! A program that has failed may be in parity already, and the failure of a die may come between
//! the data of a row and its parity. The controller keeps such rows in memory until the superblock
//! is erased, so that their stripes stay whole. A start-up has no such memory: rows that a power
//! cut has left without a page are covered by nothing, and their superblocks are moved off at once.

use super::Spans;
use crate::ftl::contract::Program;
use nand::geometry::{Block, Die};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rows of a superblock that parity does not cover.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Uncovered {
    superblock: u32,
    pages: Range<u32>,
}

impl Spans {
    /// Keeps the pages of a failed program in memory.
    pub(super) fn hold_program(&mut self, program: &Program) {
        if !self.page.stripes.are_on() {
            return;
        }
        let pages = program.page..program.page + self.page.rows_in(program.mode).program_pages;
        self.hold(program.blocks(), pages);
    }

    /// Keeps the pages in memory that a frontier of a failed die lacks and other dies have: parity
    /// that was to come, or nothing.
    pub(super) fn hold_lacking(&mut self, index: usize, die: Die) {
        let blocks = self.page.frontiers[index].blocks;
        self.hold(&blocks[..self.page.joined as usize], self.page.lacking(index, die));
    }

    fn hold(&mut self, blocks: &[Block], pages: Range<u32>) {
        for &block in blocks {
            self.held.extend(pages.clone().map(|page| (block.0, page)));
        }
        let pages = u64::from(pages.end.saturating_sub(pages.start));
        self.page.counts.stripes.held_pages += blocks.len() as u64 * pages;
    }

    /// Whether a page of a stripe stands in memory.
    pub(super) fn is_held(&self, block: Block, page: u32) -> bool {
        self.held.contains(&(block.0, page))
    }

    /// Notes rows of a superblock that parity does not cover.
    pub(super) fn note_uncovered(&mut self, superblock: u32, pages: Range<u32>) {
        if self.page.stripes.are_on() && !pages.is_empty() {
            self.uncovered.push(Uncovered { superblock, pages });
        }
    }

    /// Whether parity covers all rows of a superblock.
    pub(super) fn is_covered(&self, superblock: u32) -> bool {
        !self.uncovered.iter().any(|rows| rows.superblock == superblock)
    }

    /// Whether parity covers a page of a superblock.
    pub(super) fn covers(&self, superblock: u32, page: u32) -> bool {
        let mut rows = self.uncovered.iter().filter(|rows| rows.superblock == superblock);
        !rows.any(|rows| rows.pages.contains(&page))
    }

    /// Superblocks with rows that parity does not cover.
    pub(super) fn uncovered_superblocks(&self) -> impl Iterator<Item = u32> {
        self.uncovered.iter().map(|rows| rows.superblock)
    }

    /// Forgets the rows of a superblock that was erased.
    pub(super) fn drop_uncovered(&mut self, superblock: u32) {
        if !self.uncovered.is_empty() {
            self.uncovered.retain(|rows| rows.superblock != superblock);
        }
    }
}
