//! Rebuilding of `page` from what a start-up has found on flash.
//!
//! Of several places of a unit, the one that was programmed last counts: so what collection has
//! moved before the cut stays moved. A block that was open goes on behind its last page, if its
//! planes fit together; otherwise it is closed as it is, and collected in time.

use super::{FreeBlocks, Frontier, PageFtl};
use crate::recovery::Found;
use nand::geometry::{Block, Die, Plane, Ppn};
use std::collections::BTreeSet;

/// An open block, as it was found.
#[derive(Clone, Copy)]
struct Open {
    block: Block,
    pages: u32,
    stamp: u64,
}

impl PageFtl {
    /// The tag of a block: which of the frontiers of its die has it.
    pub(in crate::ftl) fn tag_of(&self, block: Block) -> u64 {
        let frontiers = self.frontiers_of(self.geometry.die_of(block));
        let has_it = |frontier: &Frontier| {
            frontier.open && frontier.blocks[..self.joined as usize].contains(&block)
        };
        let at = frontiers.iter().position(has_it);
        at.map_or(0, |at| at as u64 / u64::from(self.groups) + 1)
    }

    /// Takes over what was found. Blocks of the FTL's own units that are full are returned.
    pub(in crate::ftl) fn rebuild(&mut self, found: &Found) -> Vec<Block> {
        self.has_started_up = true;
        self.map_found(found);
        let kept = (0..self.geometry.planes()).map(|plane| self.free.claimed(Plane(plane)));
        let kept: Vec<u32> = kept.collect();
        self.free = FreeBlocks::new(self.geometry.planes(), self.joined);
        let mut own = Vec::new();
        let mut own_of_plane = vec![0; kept.len()];
        let tag_of_own = u64::from(self.streams + 1) + 1;
        for block in found.blocks() {
            if self.wear.is_bad(block) {
                continue;
            }
            self.wear.set_cycles(block, found.pe_cycles(block));
            let plane = self.geometry.plane_of(block);
            if found.pages(block) == 0 {
                self.free.push(plane, block, found.pe_cycles(block));
                continue;
            }
            self.candidates.opened(block);
            let first = self.geometry.ppn(block, 0, 0).0;
            let units = (first..first + self.geometry.units_per_block())
                .filter(|&ppn| self.map.get(self.owner[ppn as usize] as usize) == Some(&ppn));
            self.candidates.added(block, units.count() as u32);
            if found.tag(block) == tag_of_own {
                own_of_plane[plane.0 as usize] += 1;
            }
        }
        for (plane, (kept, used)) in (0..).map(Plane).zip(kept.iter().zip(own_of_plane)) {
            self.free.claim(plane, kept.saturating_sub(used));
        }
        let open = self.open_found(found);
        for block in found.blocks().filter(|&block| !self.wear.is_bad(block)) {
            let pages = found.pages(block);
            if pages == 0 || open.contains(&block) {
                continue;
            }
            if pages < self.geometry.pages_per_block {
                self.short.push((block, pages));
            }
            if found.tag(block) == tag_of_own {
                own.push(block);
            } else {
                self.candidates.closed(self.geometry.plane_of(block), block, self.clock);
            }
        }
        own
    }

    /// Maps each unit to the place of its newest data that was programmed last.
    fn map_found(&mut self, found: &Found) {
        let mut stamps = vec![0; self.map.len()];
        for block in found.blocks() {
            for (ppn, oob) in found.units(block) {
                self.owner[ppn.0 as usize] = oob.unit.owner;
            }
            for (ppn, lpn, oob) in found.current(block) {
                let unit = lpn.0 as usize;
                if self.map[unit] == Ppn::NONE.0 || oob.stamp > stamps[unit] {
                    (self.map[unit], stamps[unit]) = (ppn.0, oob.stamp);
                }
            }
        }
    }

    /// Opens the frontiers that were open: their blocks.
    fn open_found(&mut self, found: &Found) -> BTreeSet<Block> {
        let mut blocks = BTreeSet::new();
        for die in (0..self.geometry.dies).map(Die) {
            for stream in 0..self.streams + 2 {
                for group in 0..self.groups {
                    let index = self.frontier_index(die, stream, group);
                    let of_planes: Vec<Option<Open>> = (0..self.joined)
                        .map(|i| {
                            let plane = self.geometry.plane(die, group * self.joined + i);
                            self.latest_open(found, plane, u64::from(stream) + 1)
                        })
                        .collect();
                    if self.go_on(index, die, group, stream, &of_planes) {
                        let frontier = &self.frontiers[index];
                        blocks.extend(&frontier.blocks[..self.joined as usize]);
                    }
                }
            }
        }
        blocks
    }

    /// The block of a plane with this tag that is not full, and was written to last.
    fn latest_open(&self, found: &Found, plane: Plane, tag: u64) -> Option<Open> {
        let first = self.geometry.first_block(plane).0;
        let blocks = (first..first + self.geometry.blocks_per_plane).map(Block);
        let open = blocks.filter_map(|block| {
            let pages = found.pages(block);
            let is_open = pages > 0
                && pages < self.geometry.pages_per_block
                && found.tag(block) == tag
                && !self.wear.is_bad(block);
            let stamp = if is_open { found.last_stamp(block)? } else { return None };
            Some(Open { block, pages, stamp })
        });
        open.max_by_key(|open| open.stamp)
    }

    /// Goes on with a frontier, if its planes fit together: the first of them have one program more
    /// than the others, or all have as many. A plane that has none of the first row yet gets a
    /// block.
    fn go_on(
        &mut self,
        index: usize,
        die: Die,
        group: u32,
        stream: u32,
        of_planes: &[Option<Open>],
    ) -> bool {
        let Some(most) = of_planes.iter().flatten().map(|open| open.pages).max() else {
            return false;
        };
        let pages = |open: &Option<Open>| open.map_or(0, |open| open.pages);
        let done = of_planes.iter().take_while(|open| pages(open) == most).count();
        let before = most - self.pages_per_program;
        let fits = of_planes[done..].iter().all(|open| pages(open) == before);
        let missing = of_planes.iter().enumerate().filter(|(_, open)| open.is_none());
        let missing: Vec<Plane> = missing
            .map(|(i, _)| self.geometry.plane(die, group * self.joined + i as u32))
            .collect();
        let is_own = stream == self.streams + 1;
        let has = |plane: &Plane| match is_own {
            true => self.free.claimed(*plane) > 0,
            false => self.free.of(*plane) > 0,
        };
        if !fits || done == 0 || !missing.iter().all(has) {
            return false;
        }
        for (i, open) in of_planes.iter().enumerate() {
            let plane = self.geometry.plane(die, group * self.joined + i as u32);
            let block = match open {
                Some(open) => Some(open.block),
                None if is_own => self.free.pop_claimed(plane),
                None => self.free.pop(plane),
            };
            let Some(block) = block else { return false };
            if open.is_none() {
                self.candidates.opened(block);
            }
            self.frontiers[index].blocks[i] = block;
        }
        let frontier = &mut self.frontiers[index];
        frontier.open();
        let all = done == of_planes.len();
        frontier.page = if all { most } else { before };
        frontier.planes_done = if all { 0 } else { done as u32 };
        true
    }

    /// Pages of a block that was closed before it was full.
    pub(in crate::ftl) fn short_pages(&self, block: Block) -> Option<u32> {
        self.short.iter().find(|&&(short, _)| short == block).map(|&(_, pages)| pages)
    }

    /// Units that can never be programmed before the erase of their block.
    pub(super) fn cut_off_units(&self) -> u64 {
        let pages = self.short.iter().map(|&(_, pages)| self.geometry.pages_per_block - pages);
        u64::from(pages.sum::<u32>() * self.geometry.units_per_page)
    }
}
