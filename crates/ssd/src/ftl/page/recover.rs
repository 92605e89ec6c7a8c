//! Rebuilding of `page` from what a start-up has found on flash.
//!
//! Of several places of a unit, the one that was programmed last counts: so what collection has
//! moved before the cut stays moved. A block that was open goes on behind its last page, if its
//! planes fit together; otherwise it is closed as it is, and collected in time.

use super::{Frontier, PageFtl, Rows, Use};
use crate::recovery::Found;
use nand::geometry::{Block, Die, Plane, Ppn};
use std::collections::BTreeSet;
use std::ops::Range;

/// An open block, found at a start-up.
#[derive(Clone, Copy)]
struct Open {
    block: Block,
    pages: u32,
    stamp: u64,
}

/// Bits of a tag that name the frontier; the bits above are for a layout.
pub(super) const FRONTIER_BITS: u32 = 8;

/// Frontier that a tag names, counted over the streams of a die.
pub(in crate::ftl) fn frontier_of(tag: u64) -> Option<u32> {
    ((tag & ((1 << FRONTIER_BITS) - 1)) as u32).checked_sub(1)
}

/// Page where a frontier goes on whose blocks have these numbers of pages, and the planes that have
/// the page already. `None` where its planes do not fit together.
pub(super) fn next_page(pages: &[u32], rows: Rows) -> Option<(u32, u32)> {
    let most = *pages.iter().max()?;
    let done = pages.iter().take_while(|&&pages| pages == most).count();
    if done == pages.len() {
        return Some((most, 0));
    }
    let before = most - rows.program_pages;
    let fits = done > 0 && pages[done..].iter().all(|&pages| pages == before);
    fits.then_some((before, done as u32))
}

impl PageFtl {
    /// Tag of the blocks of the FTL's own units.
    pub(in crate::ftl) fn tag_of_own(&self) -> u64 {
        u64::from(self.streams + 1) + 1
    }

    /// Tag of a block: the frontier of its die that has it.
    pub(in crate::ftl) fn tag_of(&self, block: Block) -> u64 {
        let frontiers = self.frontiers_of(self.geometry.die_of(block));
        let has_it =
            |frontier: &Frontier| frontier.open && frontier.joined_blocks().contains(&block);
        let at = frontiers.iter().position(has_it);
        at.map_or(0, |at| at as u64 / u64::from(self.groups) + 1)
    }

    /// Takes over what a start-up has found. Returns the full blocks of the FTL's own units.
    pub(in crate::ftl) fn rebuild(&mut self, found: &Found) -> Vec<Block> {
        self.take_found(found);
        let open = self.open_found(found, 0..self.streams + 2);
        let mut own = Vec::new();
        for block in self.written(found).into_iter().filter(|block| !open.contains(block)) {
            self.note_short(block, found.pages(block));
            if self.is_own(found, block) {
                own.push(block);
            } else {
                self.candidates.closed(self.geometry.plane_of(block), block, self.clock);
            }
        }
        own
    }

    /// Takes over the map and the state of all blocks; open blocks are named later.
    pub(super) fn take_found(&mut self, found: &Found) {
        self.has_started_up = true;
        self.map_found(found);
        let valid = self.map.iter().copied().filter(|&ppn| ppn != Ppn::NONE.0);
        self.placing.count_again(valid);
        let mut own_of_plane = vec![0; self.geometry.planes() as usize];
        (0..self.geometry.planes()).for_each(|plane| self.free.empty(Plane(plane)));
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
            let stream = frontier_of(found.tag(block)).unwrap_or(self.streams);
            self.reduced.opened(block, stream);
            self.handles.opened(block, self.placing.of_block(block), stream, &self.wear);
            let first = self.geometry.ppn(block, 0, 0).0;
            let units = (first..first + self.geometry.units_per_block())
                .filter(|&ppn| self.map.get(self.owner[ppn as usize] as usize) == Some(&ppn));
            self.candidates.added(block, units.count() as u32);
            own_of_plane[plane.0 as usize] += u32::from(self.is_own(found, block));
        }
        for (plane, used) in (0..).map(Plane).zip(own_of_plane) {
            let kept = self.free.claimed(plane, Use::Map);
            self.free.set_claimed(plane, Use::Map, kept.saturating_sub(used));
        }
        self.handles.count_again(&self.candidates, &self.wear);
    }

    /// Good blocks that were found with data.
    pub(super) fn written(&self, found: &Found) -> Vec<Block> {
        let is_written = |&block: &Block| found.pages(block) > 0 && !self.wear.is_bad(block);
        found.blocks().filter(is_written).collect()
    }

    /// Whether a block that was found holds units of the FTL's own.
    pub(super) fn is_own(&self, found: &Found, block: Block) -> bool {
        frontier_of(found.tag(block)) == Some(self.streams + 1)
    }

    /// Notes the pages of a block that is closed before it is full.
    pub(super) fn note_short(&mut self, block: Block, pages: u32) {
        if pages < self.geometry.pages_per_block {
            self.short.push((block, pages));
        }
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

    /// Opens the frontiers of these streams that were open at the power cut. Returns their blocks.
    pub(super) fn open_found(&mut self, found: &Found, streams: Range<u32>) -> BTreeSet<Block> {
        let mut blocks = BTreeSet::new();
        for die in (0..self.geometry.dies).map(Die) {
            for stream in streams.clone() {
                for group in 0..self.groups {
                    let index = self.frontier_index(die, stream, group);
                    let of_planes: Vec<Option<Open>> = (0..self.joined)
                        .map(|i| {
                            let plane = self.geometry.plane(die, group * self.joined + i);
                            self.latest_open(found, plane, stream)
                        })
                        .collect();
                    if self.go_on(index, die, group, stream, &of_planes) {
                        let frontier = &self.frontiers[index];
                        blocks.extend(frontier.joined_blocks());
                    }
                }
            }
        }
        blocks
    }

    /// Block of a plane that was written to last by a frontier, and is not full.
    fn latest_open(&self, found: &Found, plane: Plane, stream: u32) -> Option<Open> {
        let first = self.geometry.first_block(plane).0;
        let blocks = (first..first + self.geometry.blocks_per_plane).map(Block);
        let open = blocks.filter_map(|block| {
            let pages = found.pages(block);
            let is_open = pages > 0
                && pages < self.geometry.pages_per_block
                && frontier_of(found.tag(block)) == Some(stream)
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
        let pages: Vec<u32> =
            of_planes.iter().map(|open| open.map_or(0, |open| open.pages)).collect();
        let rows = self.frontiers[index].rows;
        let Some((page, planes_done)) = next_page(&pages, rows) else { return false };
        let missing = of_planes.iter().enumerate().filter(|(_, open)| open.is_none());
        let missing: Vec<Plane> = missing
            .map(|(i, _)| self.geometry.plane(die, group * self.joined + i as u32))
            .collect();
        let is_own = stream == self.streams + 1;
        let has = |plane: &Plane| match is_own {
            true => self.free.claimed(*plane, Use::Map) > 0,
            false => self.free.of(*plane) > 0,
        };
        if missing.len() == of_planes.len() || !missing.iter().all(has) {
            return false;
        }
        for (i, open) in of_planes.iter().enumerate() {
            let plane = self.geometry.plane(die, group * self.joined + i as u32);
            let block = match open {
                Some(open) => Some(open.block),
                None if is_own => self.free.pop_claimed(plane, Use::Map),
                None => self.free.pop(plane),
            };
            let Some(block) = block else { return false };
            if open.is_none() {
                self.is_opened(block, index);
            }
            self.frontiers[index].blocks[i] = block;
        }
        let frontier = &mut self.frontiers[index];
        frontier.open();
        (frontier.page, frontier.planes_done) = (page, planes_done);
        true
    }

    /// Pages of a block that was closed before it was full.
    pub(in crate::ftl) fn short_pages(&self, block: Block) -> Option<u32> {
        self.short.iter().find(|&&(short, _)| short == block).map(|&(_, pages)| pages)
    }
}
