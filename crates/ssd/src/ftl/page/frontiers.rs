//! Frontiers of `page`: the open blocks of each die, by stream and group of joined planes. The
//! frontiers of cold data and of the FTL's own units stand behind those of all streams.

use super::PageFtl;
use crate::space::free_blocks::Use;
use crate::space::frontier::Frontier;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die};

impl PageFtl {
    /// Index of the frontier of a stream; the frontiers of cold data and of the FTL's own units
    /// stand behind those of all streams.
    #[inline]
    pub(super) fn frontier_index(&self, die: Die, stream: u32, group: u32) -> usize {
        ((die.0 * (self.streams + 2) + stream) * self.groups + group) as usize
    }

    /// Index of the frontier of the FTL's own units.
    #[inline]
    pub(in crate::ftl) fn own_frontier(&self, die: Die, group: u32) -> usize {
        self.frontier_index(die, self.streams + 1, group)
    }

    /// Opens a frontier of the FTL's own units, with blocks that are kept for it.
    pub(in crate::ftl) fn open_own(&mut self, index: usize, die: Die) {
        let group = index as u32 % self.groups;
        for i in 0..self.joined {
            let plane = self.geometry.plane(die, group * self.joined + i);
            let block =
                self.free.pop_claimed(plane, Use::Map).expect("the caller checks what is kept");
            self.is_opened(block, index);
            self.frontiers[index].blocks[i as usize] = block;
        }
        self.frontiers[index].open();
    }

    /// Notes that a block is open, in the frontier with this index.
    #[inline]
    pub(super) fn is_opened(&mut self, block: Block, index: usize) {
        self.candidates.opened(block);
        let stream = self.stream_at(index);
        self.reduced.opened(block, stream);
        self.handles.opened(block, self.placing.of_block(block), stream, &self.wear);
    }

    /// Stream of the frontier with this index; those of cold data and of the FTL's own units have
    /// numbers behind all streams.
    #[inline]
    fn stream_at(&self, index: usize) -> u32 {
        index as u32 / self.groups % (self.streams + 2)
    }

    /// Mode of the blocks of the frontier with this index.
    #[inline]
    pub(super) fn mode_at(&self, index: usize) -> BlockMode {
        if self.reduced.blocks.is_empty() {
            return BlockMode::Native;
        }
        self.reduced.mode_of_stream(self.stream_at(index))
    }

    /// Frontier of a die for a stream that can take data now.
    #[inline]
    pub(super) fn frontier_for(&self, die: Die, stream: u32, floor: u32) -> Option<usize> {
        let first = self.next_group[(die.0 * self.streams + stream) as usize];
        for i in 0..self.groups {
            let mut group = first + i;
            if group >= self.groups {
                group -= self.groups;
            }
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

    pub(super) fn open(&mut self, index: usize, die: Die, for_wear: bool) {
        let group = index as u32 % self.groups;
        for i in 0..self.joined {
            let plane = self.geometry.plane(die, group * self.joined + i);
            let block = match for_wear {
                true => self.free.pop_most_worn(plane, |block| self.wear.cycles(block)),
                false => self.free.pop(plane),
            };
            let block = block.expect("checked by frontier_for");
            self.is_opened(block, index);
            self.frontiers[index].blocks[i as usize] = block;
        }
        self.frontiers[index].open();
        self.change_code(index, die);
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

    /// Frontiers of a die; those of the FTL's own units come last.
    pub(super) fn frontiers_of(&self, die: Die) -> &[Frontier] {
        let per_die = ((self.streams + 2) * self.groups) as usize;
        &self.frontiers[die.0 as usize * per_die..][..per_die]
    }

    /// Whether a block is one that is still written to.
    pub(super) fn is_open(&self, block: Block) -> bool {
        let frontiers = self.frontiers_of(self.geometry.die_of(block)).iter();
        frontiers.flat_map(|frontier| self.filling(frontier)).any(|(open, _)| open == block)
    }

    /// Blocks that a frontier still writes to, and the pages that each has.
    pub(super) fn filling(&self, frontier: &Frontier) -> impl Iterator<Item = (Block, u32)> {
        frontier.filling(self.pages_per_program, self.joined, &self.geometry)
    }
}
