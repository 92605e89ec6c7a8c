//! Parity of superblocks: the other pages of a stripe, and superblocks without a die that failed.
//!
//! The blocks of a failed die stay what they are: members of the superblocks that they are in, and
//! free blocks for others. In a superblock that is opened later they count as full from the start,
//! so that its stripes have a page less. What was written before is moved off, superblock by
//! superblock.

use super::Spans;
use crate::ftl::contract::Parity;
use crate::ftl::page::recover::FRONTIER_BITS;
use base::{Error, Result};
use nand::geometry::{Block, Die, Plane, Ppn};
use std::ops::Range;

impl Spans {
    /// Failed dies of a span.
    pub(super) fn lost_dies(&self, span: usize) -> u32 {
        self.dies_in(span).filter(|&die| self.is_lost(die)).count() as u32
    }

    /// Whether a die has failed.
    #[inline]
    pub(super) fn is_lost(&self, die: Die) -> bool {
        self.lost.contains(&die.0)
    }

    /// Whether a superblock has pages on a failed die: data, or the parity of others.
    pub(super) fn stands_on_lost(&self, superblock: u32) -> bool {
        let geometry = &self.page.geometry;
        let is_there = |block: Block| {
            self.is_lost(geometry.die_of(block)) && self.page.filled_pages(block) > 0
        };
        !self.lost.is_empty() && self.members.blocks(superblock).any(is_there)
    }

    /// Units of a superblock that hold no data where `lost` of its dies have failed: those of the
    /// failed dies, and those that are parity. Of a single die nothing is parity.
    pub(super) fn units_without_data(&self, lost: u32) -> u64 {
        let parity = self.page.stripes.pages_of(self.dies - lost);
        u64::from(lost + parity) * self.page.stripes.die_units(&self.page.geometry)
    }

    /// Blocks of a die.
    fn blocks_of(&self, die: Die) -> impl Iterator<Item = Block> + use<> {
        let geometry = &self.page.geometry;
        let per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        (die.0 * per_die..(die.0 + 1) * per_die).map(Block)
    }

    /// Closes the frontiers of a failed die: what is left of their blocks stays empty.
    pub(super) fn close_lost(&mut self, die: Die, stream: u32) {
        for group in 0..self.page.groups {
            let index = self.page.frontier_index(die, stream, group);
            if self.page.frontiers[index].open {
                self.hold_lacking(index, die);
            }
            self.close_part(index);
        }
    }

    /// Units of data that a span has room for if `lost` of its dies have failed, beside what
    /// collection keeps free and pads.
    fn room(&self, span: usize, lost: u32) -> u64 {
        let page = &self.page;
        let good = |plane: Plane| {
            let first = page.geometry.first_block(plane).0;
            let blocks = (first..first + page.geometry.blocks_per_plane).map(Block);
            blocks.filter(|&block| !page.wear.is_bad(block)).count() as u32
        };
        let superblocks = self.planes_of(span).map(good).min().unwrap_or(0);
        let cache = page.cache.map_or(0, |cache| cache.kept);
        let held = page.gc.start_free_blocks.max(page.reserve) + page.streams + 1 + cache;
        let all = u64::from(self.dies) * page.stripes.die_units(&page.geometry);
        let padded = u64::from(self.padded_rows(lost)) * u64::from(page.row_units);
        let of_data = (all - self.units_without_data(lost)).saturating_sub(padded);
        u64::from(superblocks.saturating_sub(held)) * of_data
    }
}

impl Parity for Spans {
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> u32 {
        let (page, geometry) = (&self.page, &self.page.geometry);
        let (block, number) = geometry.page_of(place);
        let slot = place.0 - geometry.ppn(block, number, 0).0;
        let Some(superblock) = self.members.of(block) else { return 0 };
        if !self.covers(superblock, number) {
            return 0;
        }
        let in_die = |block| geometry.plane_of(block).0 % geometry.planes_per_die;
        let members = self.members.blocks(superblock).filter(|&other| other != block);
        let (mut pages, mut gone) = (1, 0);
        for member in members.filter(|&member| in_die(member) == in_die(block)) {
            if self.is_held(member, number) {
                pages += 1;
            } else if page.filled_pages(member) > number {
                others.push(geometry.ppn(member, number, slot));
                pages += 1;
            } else {
                // A die that has failed or was closed has no page of a stripe that comes later.
                pages += u32::from(page.frontier_with(member).is_some());
                // It would have been parity, and a power cut has taken it from the memory.
                let is_lost = self.is_lost(geometry.die_of(member));
                gone += u32::from(is_lost && page.filled_pages(member) > 0);
            }
        }
        page.stripes.pages_of(pages).saturating_sub(gone)
    }

    fn stripe(&self, die: Die, tag: u64) -> Option<Range<u32>> {
        // Other blocks than those of superblocks have no serial number.
        let first = die.0 / self.dies * self.dies;
        (tag >> FRONTIER_BITS > 0).then_some(first..first + self.dies)
    }

    fn can_lose(&self, die: Die) -> Result<()> {
        let room = |span: usize| {
            let more = u32::from(span == self.span_of(die) && !self.is_lost(die));
            self.room(span, self.lost_dies(span) + more)
        };
        let its = self.span_of(die);
        if !self.is_lost(die) && self.lost_dies(its) + 1 == self.dies {
            let problem = format!("die {}: the last one of its superblocks", die.0);
            return Err(Error::new("fail_die", problem)
                .expected("a die that shares its superblocks with another")
                .hint("let a die of other superblocks fail, or use a larger ftl.superblock_dies"));
        }
        let room: u64 = (0..self.spans.len()).map(room).sum();
        let needed = u64::from(self.page.logical_units);
        if room < needed {
            let problem = format!("die {}: {room} units are left for {needed}", die.0);
            return Err(Error::new("fail_die", problem)
                .expected("room for all data on the other dies")
                .hint("use a larger ftl.overprovisioning, or more dies in a superblock"));
        }
        if self.page.placing.are_several() { self.can_group_lose(die) } else { Ok(()) }
    }

    fn lose(&mut self, die: Die) {
        if self.is_lost(die) {
            return;
        }
        self.lost.push(die.0);
        self.bound_groups();
        self.page.data_streams().for_each(|stream| self.close_lost(die, stream));
        self.end_begun(self.span_of(die));
        for block in self.blocks_of(die) {
            if let Some(superblock) = self.full_with(block)
                && self.stands_on_lost(superblock)
            {
                self.mark(superblock);
            }
        }
        let span = self.span_of(die);
        self.call_dies(span);
    }

    fn rest_rebuild(&mut self, rests: bool) {
        self.rebuild_rests = rests;
        if !rests {
            self.call_all();
        }
    }

    fn ask_whole(&mut self) {
        self.ask_for_drive();
    }

    fn is_whole(&self) -> bool {
        self.is_whole_for_drive()
    }

    fn takes_rows(&self, block: Block) -> bool {
        self.members.of(block).is_some_and(|superblock| !self.members.is_full(superblock))
    }

    fn holds_data(&self, die: Die) -> bool {
        let has_valid = |block: Block| self.page.candidates.word(block).valid() > 0;
        // Another die may fail when no row of these is left that parity does not cover.
        let of_span = |superblock: u32| superblock / self.page.geometry.blocks_per_plane;
        let is_beside = |&superblock: &u32| of_span(superblock) == self.span_of(die) as u32;
        let mut bare = self.uncovered_superblocks().filter(is_beside);
        bare.any(|superblock| self.members.blocks(superblock).any(has_valid))
            || self.blocks_of(die).any(|block| match self.members.of(block) {
                None => has_valid(block),
                // Parity of others is needed as their data are.
                Some(superblock) => {
                    self.page.filled_pages(block) > 0
                        && self.members.blocks(superblock).any(has_valid)
                }
            })
    }
}
