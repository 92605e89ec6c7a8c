//! Superblocks that are closed before they are full: the open rows get their parity first.
//!
//! When the host renews a placement handle, dies that have the last row of its superblock end at
//! once. The others get the rows that they lack, empty or parity, before the next data of the
//! handle; so every stripe is whole, and the controller need not keep its parity. Superblocks
//! without parity end on all dies at once.

use super::Spans;
use crate::ftl::contract::{Key, Program};
use crate::space::frontier::Frontier;
use nand::geometry::Block;

impl Spans {
    /// Closes the open superblocks of a handle, in each span that has room for another. Returns
    /// the blocks that take no more data.
    pub(super) fn renew_spans(
        &mut self,
        handle: u32,
        is_busy: &dyn Fn(Block) -> bool,
    ) -> Vec<Block> {
        let mut closed = Vec::new();
        let (home, stream) = self.page.placing.parts(Key(handle));
        let its = self.page.placing.dies(home);
        for span in 0..self.spans.len() {
            let dies = self.dies_in(span).filter(|die| its.contains(&die.0));
            let begun: Vec<Block> =
                dies.flat_map(|die| self.page.begun_blocks(die, stream)).collect();
            if begun.is_empty() || begun.into_iter().any(is_busy) || !self.is_roomy(span) {
                continue;
            }
            for group in 0..self.page.groups {
                self.end(span, stream, group, &mut closed);
            }
        }
        closed
    }

    /// Ends the part of a superblock that the frontiers of a group fill.
    fn end(&mut self, span: usize, stream: u32, group: u32, closed: &mut Vec<Block>) {
        let page = &self.page;
        let at = |die| page.frontier_index(die, stream, group);
        let parts: Vec<usize> = self.dies_in(span).map(at).collect();
        let end = parts.iter().map(|&index| page.frontiers[index].page).max().unwrap_or(0);
        let has_parity = page.stripes.are_on();
        for index in parts {
            let Frontier { open, page, blocks, .. } = self.page.frontiers[index];
            if !(has_parity && open && page < end) {
                closed.extend(self.close_part(index));
                continue;
            }
            self.page.frontiers[index].end = end;
            if end == self.page.geometry.pages_per_block {
                continue;
            }
            for &block in &blocks[..self.page.joined as usize] {
                self.page.note_short(block, end);
                closed.push(block);
            }
        }
    }

    /// Closes a frontier: its blocks take nothing more. Returns those that were not full.
    pub(super) fn close_part(&mut self, index: usize) -> Vec<Block> {
        let filling: Vec<(Block, u32)> = self.page.filling(&self.page.frontiers[index]).collect();
        self.page.frontiers[index].open = false;
        for &(block, pages) in &filling {
            // One that was to end later ends here.
            self.page.short.retain(|&(short, _)| short != block);
            self.page.note_short(block, pages);
            self.is_filled(block);
        }
        filling.into_iter().map(|(block, _)| block).collect()
    }

    /// Takes in a program that has been placed: the last one of blocks that end early.
    pub(super) fn placed_last(&mut self, index: usize, program: &Program) {
        let Frontier { open, page, end, .. } = self.page.frontiers[index];
        if open || page != end || end == self.page.geometry.pages_per_block {
            return;
        }
        self.ending.extend(program.blocks().iter().map(|block| block.0));
    }

    /// Takes in the report of a program: blocks that end early may have their last page.
    pub(super) fn close_ended(&mut self, program: &Program) {
        for &block in program.blocks() {
            let is_last = |pages: u32| program.page + self.page.pages_per_program == pages;
            if self.page.short_pages(block).is_some_and(is_last)
                && let Some(at) = self.ending.iter().position(|&ending| ending == block.0)
            {
                self.ending.swap_remove(at);
                self.is_filled(block);
            }
        }
    }
}
