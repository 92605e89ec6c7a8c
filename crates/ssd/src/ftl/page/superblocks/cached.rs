//! Superblocks of a cache of blocks in single-level mode: opened beside those of the streams, and
//! emptied when the cache says so. Collection picks none of them.

use super::Spans;
use crate::ftl::contract::{Lpn, Program};
use crate::ftl::page::Pick;
use nand::geometry::{Block, Die};
use std::ops::Range;

impl Spans {
    /// Numbers of all spans.
    pub(in crate::ftl) fn all_spans(&self) -> Range<usize> {
        0..self.spans.len()
    }

    /// Dies of all spans whose superblock of the cache takes a row now.
    pub(in crate::ftl) fn cache_dies(&self) -> impl Iterator<Item = Die> {
        let dies = (0..self.page.geometry.dies).map(Die);
        dies.filter(|&die| self.cache_part(die).is_some() && !self.fills_found(self.span_of(die)))
    }

    /// Frontier of the cache on a die that takes a row now.
    pub(in crate::ftl) fn cache_part(&self, die: Die) -> Option<usize> {
        self.ready_part(die, self.page.cache_stream()?)
    }

    /// Whether any die of a span has room left in its superblock of the cache.
    pub(in crate::ftl) fn is_cache_open(&self, span: usize) -> bool {
        self.page.cache_stream().is_some_and(|stream| self.is_open(span, stream))
    }

    /// Opens a superblock of the cache. Returns its blocks.
    pub(in crate::ftl) fn open_cache(&mut self, span: usize, pick: Pick) -> Vec<Block> {
        let Some(stream) = self.page.cache_stream() else { return Vec::new() };
        self.open(span, stream, pick);
        let first = self.page.frontier_index(Die(span as u32 * self.dies), stream, 0);
        let block = self.page.frontiers[first].blocks[0];
        let Some(superblock) = self.members.of(block) else { return Vec::new() };
        self.spans[span].cached.push_back(superblock);
        self.members.blocks(superblock).collect()
    }

    /// Appends data of the host to an open frontier of the cache.
    pub(in crate::ftl) fn append_to_cache(
        &mut self,
        index: usize,
        die: Die,
        lpns: &[Lpn],
    ) -> Program {
        let program = self.page.append_cached(index, die, lpns);
        self.placed_last(index, &program);
        program
    }

    /// Whether a superblock is one of the cache that has not begun to be emptied.
    pub(in crate::ftl) fn is_cached(&self, superblock: u32) -> bool {
        let span = (superblock / self.page.geometry.blocks_per_plane) as usize;
        self.spans[span].cached.contains(&superblock)
    }

    /// Full superblocks of the cache in a span, the oldest first.
    pub(in crate::ftl) fn full_cached(&self, span: usize) -> impl Iterator<Item = u32> {
        let cached = self.spans[span].cached.iter().copied();
        cached.filter(|&superblock| self.members.is_full(superblock))
    }

    /// Superblocks of the cache in a span, full or not, the oldest first.
    pub(in crate::ftl) fn all_cached(&self, span: usize) -> impl Iterator<Item = u32> {
        self.spans[span].cached.iter().copied()
    }

    /// Blocks of a superblock.
    pub(in crate::ftl) fn blocks_in(&self, superblock: u32) -> impl Iterator<Item = Block> {
        self.members.blocks(superblock)
    }

    /// Whether no unit of a superblock is the newest of its owner.
    pub(in crate::ftl) fn is_dead(&self, superblock: u32) -> bool {
        self.members.blocks(superblock).all(|block| self.page.candidates.word(block).valid() == 0)
    }

    /// Whether a superblock of the cache is being emptied or erased, or waits for that.
    pub(in crate::ftl) fn can_fold(&self, span: usize) -> bool {
        let at = &self.spans[span];
        let is_under_way = at.has_victim() || !at.drained.is_empty() || !at.erasing.is_empty();
        !at.cached.is_empty() || at.is_fold && is_under_way
    }

    /// Whether the present victim of a span came from the cache.
    pub(in crate::ftl) fn is_fold(&self, span: usize) -> bool {
        self.spans[span].is_fold
    }

    /// Whether the superblock that is being emptied has data of a failed die.
    pub(in crate::ftl) fn is_in_rebuild(&self, span: usize) -> bool {
        self.spans[span].is_rebuild && self.spans[span].has_victim()
    }

    /// Whether the job of a die may begin to empty a superblock of the cache: nothing else is being
    /// emptied, and no superblock has waited longer to be moved off.
    pub(in crate::ftl) fn may_begin_fold(&self, die: Die) -> bool {
        let span = self.span_of(die);
        let at = &self.spans[span];
        let is_at_rest = !at.has_victim() && at.drained.is_empty() && at.erasing.is_empty();
        let has_due = !at.had_turn && self.next_due(span).is_some() && self.is_roomy(span);
        is_at_rest && !has_due && !self.has_to_fill(die)
    }

    /// Begins to empty a full superblock of the cache.
    pub(in crate::ftl) fn fold(&mut self, span: usize, superblock: u32) {
        let at = &mut self.spans[span];
        at.had_turn = false;
        at.due.retain(|&other| other != superblock);
        self.move_off(span, superblock);
    }
}
