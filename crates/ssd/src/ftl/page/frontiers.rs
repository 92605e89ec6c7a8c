//! Frontiers of `page`: the open blocks of each die, by stream and group of joined planes. The
//! frontiers of cold data, of the FTL's own units and of a cache stand behind those of all streams.

use super::{CacheBlocks, PageFtl};
use crate::space::free_blocks::Use;
use crate::space::frontier::{Frontier, Rows};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die};
use std::ops::Range;

/// Choice among the free blocks of a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl) enum Pick {
    /// The block that comes next.
    Next,
    /// The most worn block.
    MostWorn,
    /// A block that is kept for one use.
    Kept(Use),
}

impl PageFtl {
    /// Index of the frontier of a stream; the frontiers of cold data, of the FTL's own units and of
    /// a cache stand behind those of all streams.
    #[inline]
    pub(in crate::ftl) fn frontier_index(&self, die: Die, stream: u32, group: u32) -> usize {
        ((die.0 * self.kinds + stream) * self.groups + group) as usize
    }

    /// Index of the frontier of the FTL's own units.
    #[inline]
    pub(in crate::ftl) fn own_frontier(&self, die: Die, group: u32) -> usize {
        self.frontier_index(die, self.streams + 1, group)
    }

    /// Number of the frontiers of a cache among the streams, if there is one.
    #[inline]
    pub(in crate::ftl) fn cache_stream(&self) -> Option<u32> {
        self.cache.map(|_| self.streams + 2)
    }

    /// Numbers of the frontiers that take data of units: streams, cold data, and a cache.
    pub(super) fn data_streams(&self) -> impl Iterator<Item = u32> + use<> {
        (0..=self.streams).chain(self.cache_stream())
    }

    /// Rows of the blocks of a mode.
    #[inline]
    pub(in crate::ftl) fn rows_in(&self, mode: BlockMode) -> Rows {
        let native = Rows::new(&self.geometry, self.joined, self.pages_per_program);
        match self.cache {
            Some(CacheBlocks { pages, .. }) if mode == BlockMode::SingleLevel => {
                Rows { program_pages: 1, block_pages: pages, ..native }
            }
            _ => native,
        }
    }

    /// Gives the frontiers of a cache the rows of their blocks.
    pub(super) fn shape_cache(&mut self) {
        let Some(stream) = self.cache_stream() else { return };
        let rows = self.rows_in(BlockMode::SingleLevel);
        for die in (0..self.geometry.dies).map(Die) {
            let first = self.frontier_index(die, stream, 0);
            let of_cache = &mut self.frontiers[first..first + self.groups as usize];
            of_cache.fill(Frontier::closed(rows));
        }
    }

    /// Notes that a block is open, in the frontier with this index.
    #[inline]
    pub(super) fn is_opened(&mut self, block: Block, index: usize) {
        self.candidates.opened(block);
        let stream = self.stream_at(index);
        self.reduced.opened(block, stream);
        self.handles.opened(block, self.placing.of_block(block), stream, &self.wear);
    }

    /// Stream of the frontier with this index; those of cold data, of the FTL's own units and of a
    /// cache have numbers behind all streams.
    #[inline]
    pub(super) fn stream_at(&self, index: usize) -> u32 {
        index as u32 / self.groups % self.kinds
    }

    /// Mode of the blocks of the frontier with this index.
    #[inline]
    pub(super) fn mode_at(&self, index: usize) -> BlockMode {
        if self.reduced.blocks.is_empty() && self.cache.is_none() {
            return BlockMode::Native;
        }
        let stream = self.stream_at(index);
        match self.cache_stream() == Some(stream) {
            true => BlockMode::SingleLevel,
            false => self.reduced.mode_of_stream(stream),
        }
    }

    /// Groups of planes of a die, from the one on whose turn it is for a stream.
    #[inline]
    pub(in crate::ftl) fn groups_in_turn(
        &self,
        die: Die,
        stream: u32,
    ) -> impl Iterator<Item = u32> + use<> {
        let groups = self.groups;
        let first = self.next_group[(die.0 * self.kinds + stream) as usize];
        (first..first + groups)
            .map(move |group| if group < groups { group } else { group - groups })
    }

    /// Frontier of a die for a stream that can take data now.
    #[inline]
    pub(super) fn frontier_for(&self, die: Die, stream: u32, floor: u32) -> Option<usize> {
        for group in self.groups_in_turn(die, stream) {
            let index = self.frontier_index(die, stream, group);
            // In a frontier shared with garbage collection, the host stops where it would eat
            // into the reserve: what is left of an open block may be all that moves can go to.
            let shared = stream == self.gc_frontier;
            let free = if self.frontiers[index].open && !shared {
                u32::MAX
            } else {
                self.free_blocks(die, group) + u32::from(self.frontiers[index].open)
            };
            if free > floor {
                return Some(index);
            }
        }
        None
    }

    /// Opens a frontier, with free blocks of its planes. The caller has seen that there are some.
    pub(in crate::ftl) fn open(&mut self, index: usize, die: Die, pick: Pick) {
        let group = index as u32 % self.groups;
        for i in 0..self.joined {
            let plane = self.geometry.plane(die, group * self.joined + i);
            let block = match pick {
                Pick::Next => self.free.pop(plane),
                Pick::MostWorn => self.free.pop_most_worn(plane, |block| self.wear.cycles(block)),
                Pick::Kept(of) => self.free.pop_claimed(plane, of),
            };
            let block = block.expect("the caller checks what is free");
            self.is_opened(block, index);
            self.frontiers[index].blocks[i as usize] = block;
        }
        self.frontiers[index].open();
        if !matches!(pick, Pick::Kept(_)) {
            self.change_code(index, die);
        }
    }

    /// Passes the turn of a stream on a die to the next group of planes.
    #[inline]
    pub(super) fn turn(&mut self, die: Die, stream: u32) {
        let group = &mut self.next_group[(die.0 * self.kinds + stream) as usize];
        *group = if *group + 1 == self.groups { 0 } else { *group + 1 };
    }

    /// Frontier of a die's cold data. When blocks are collected for their wear, it takes the most
    /// worn free block set; their erase gives a set back. Other moves fill what cold data leave of
    /// it.
    pub(super) fn frontier_for_wear(&self, die: Die) -> Option<usize> {
        let of = |group: u32| self.frontier_index(die, self.streams, group);
        let is_open = |group: &u32| self.frontiers[of(*group)].open;
        let free = |group: &u32| self.free_blocks(die, *group);
        let next = || {
            let most = (0..self.groups).max_by_key(free).filter(|group| free(group) > 0);
            most.filter(|_| self.collections[die.0 as usize].is_levelling)
        };
        (0..self.groups).find(is_open).or_else(next).map(of)
    }

    /// Indices of the frontiers of a die.
    #[inline]
    pub(super) fn frontiers_at(&self, die: Die) -> Range<usize> {
        let first = self.frontier_index(die, 0, 0);
        first..first + (self.kinds * self.groups) as usize
    }

    /// Frontiers of a die; those of the FTL's own units and of a cache come last.
    pub(super) fn frontiers_of(&self, die: Die) -> &[Frontier] {
        &self.frontiers[self.frontiers_at(die)]
    }

    /// Index of the frontier that still writes to a block, if any does.
    pub(in crate::ftl) fn frontier_with(&self, block: Block) -> Option<usize> {
        let has_it =
            |&index: &usize| self.frontiers[index].filling().any(|(open, _)| open == block);
        self.frontiers_at(self.geometry.die_of(block)).find(has_it)
    }
}
