//! Superblocks that are closed before they are full: the open rows get their parity first.
//!
//! When the host renews a placement handle, dies that have the last row of its superblock end at
//! once. The others get the rows that they lack, empty or parity, before the next data of the
//! handle; so every stripe is whole, and the controller need not keep its parity. Superblocks
//! without parity end on all dies at once.
//!
//! After the failure of a die all superblocks that have data end, and jobs of the other dies
//! program the rows. So nothing of the die depends on the controller's memory for long.

use super::Spans;
use crate::ftl::contract::{Job, Key, Place, Program, Stream};
use crate::space::frontier::Frontier;
use nand::geometry::{Block, Die};

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

    /// Ends the open superblocks of a span that have data, as a die of it has failed. Each part
    /// that is left gets one row at least, whose report closes its blocks.
    pub(super) fn end_begun(&mut self, span: usize) {
        for stream in self.page.data_streams() {
            for group in 0..self.page.groups {
                let at = |die| self.page.frontier_index(die, stream, group);
                let parts: Vec<usize> = self.dies_in(span).map(at).collect();
                let pages = parts.iter().map(|&index| self.page.frontiers[index].page);
                let begun = pages.max().filter(|&pages| pages > 0);
                if let (Some(pages), Some(&first)) = (begun, parts.first()) {
                    let rows = self.page.frontiers[first].rows;
                    self.end_parts(&parts, (pages + rows.program_pages).min(rows.block_pages));
                }
            }
        }
    }

    /// Lets the open ones of these frontiers end before a page, but those that end already.
    fn end_parts(&mut self, parts: &[usize], end: u32) {
        for &index in parts {
            if !self.page.frontiers[index].takes_data() {
                continue;
            }
            self.page.frontiers[index].end = end;
            let Frontier { blocks, rows, .. } = self.page.frontiers[index];
            if end < rows.block_pages {
                let blocks = &blocks[..rows.joined as usize];
                blocks.iter().for_each(|&block| self.page.note_short(block, end));
            }
        }
    }

    /// Stream and frontier of a die that get a row without data from its job: after the failure of
    /// a die, or as stripes are made whole early.
    fn part_to_fill(&self, die: Die) -> Option<(u32, usize)> {
        if !self.may_fill_rows() {
            return None;
        }
        let span = self.span_of(die);
        self.page.data_streams().find_map(|stream| {
            let is_short = |index: usize| {
                let frontier = &self.page.frontiers[index];
                let end = self.whole.end_of(span, stream, index as u32 % self.page.groups);
                let ends = !self.lost.is_empty() && !frontier.takes_data();
                ends || end.is_some_and(|end| frontier.page < end)
            };
            let mut parts = self.parts(die, stream);
            let index =
                parts.find(|&index| is_short(index) && !self.page.keeps_back(index, die))?;
            Some((stream, index))
        })
    }

    /// Whether jobs have rows without data to write, on some dies.
    fn may_fill_rows(&self) -> bool {
        !self.lost.is_empty() || self.whole.lacks_rows()
    }

    /// Whether the job of a die has a row without data to write.
    pub(super) fn has_to_fill(&self, die: Die) -> bool {
        self.part_to_fill(die).is_some()
    }

    /// A place for the next row without data of a die.
    pub(super) fn place_fill(&mut self, job: Job) -> Place {
        let die = Die(job.0);
        let Some((stream, index)) = self.part_to_fill(die) else { return Place::NoRoom };
        let label = match stream {
            cached if Some(cached) == self.page.cache_stream() => Stream::host(0),
            cold if cold == self.page.streams => Stream::COLD,
            host if host < u32::from(self.page.host_streams) => Stream::host(host as u8),
            _ => Stream::GC,
        };
        let (program, _) = self.page.take(index, die, label, std::iter::empty());
        let span = self.span_of(die);
        self.spans[span].rows[(die.0 % self.dies) as usize] += 1;
        self.placed_last(index, &program);
        Place::At(program)
    }

    /// Closes a frontier: its blocks take nothing more. Returns those that were not full.
    pub(super) fn close_part(&mut self, index: usize) -> Vec<Block> {
        let closed: Vec<Block> =
            self.page.shut(index).into_iter().map(|(block, _)| block).collect();
        closed.iter().for_each(|&block| self.is_filled(block));
        closed
    }

    /// Takes in a program that has been placed: it may be the last one of blocks that end early.
    pub(super) fn placed_last(&mut self, index: usize, program: &Program) {
        self.whole.placed(program);
        if program.page == 0 && self.may_fill_rows() {
            // Dies that begin last may have kept back for this one.
            self.call_dies(self.span_of(program.die));
        }
        let Frontier { open, page, end, rows, .. } = self.page.frontiers[index];
        if open || page != end || end == rows.block_pages {
            return;
        }
        self.ending.extend(program.blocks().iter().map(|block| block.0));
    }

    /// Takes in the report of a program: blocks that end early may have their last page.
    pub(super) fn close_ended(&mut self, program: &Program) {
        let behind = program.page + self.page.rows_in(program.mode).program_pages;
        for &block in program.blocks() {
            let is_last = |pages: u32| behind == pages;
            if self.page.short_pages(block).is_some_and(is_last)
                && let Some(at) = self.ending.iter().position(|&ending| ending == block.0)
            {
                self.ending.swap_remove(at);
                self.is_filled(block);
            }
        }
    }
}
