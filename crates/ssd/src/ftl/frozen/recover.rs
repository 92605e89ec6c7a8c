//! Rebuilding of `frozen` from what a start-up has found on flash.
//!
//! Of several places of a unit, the one that was programmed last counts. The set that the host or
//! collection was writing to goes on behind its last program, if its planes fit together; other
//! sets that were not full are closed as they are, and collected in time.

use super::Frozen;
use super::sets::SetId;
use crate::recovery::Found;
use nand::geometry::{Block, Ppn};

/// Tags of blocks: what they were opened for.
const HOST: u64 = 1;
const COPIES: u64 = 2;

impl Frozen {
    /// The tag of a block; 0 of one that is not open for rows.
    pub(super) fn tag_of(&self, block: Block) -> u64 {
        let set = self.sets.of(block);
        if set == super::sets::NONE {
            return 0;
        }
        let lane = self.sets.lane_of(set) as usize;
        for (tag, frontier) in [(HOST, &self.host[lane]), (COPIES, &self.copies[lane])] {
            if frontier.open && frontier.blocks[..self.sets.joined as usize].contains(&block) {
                return tag;
            }
        }
        0
    }

    /// Takes over what was found.
    pub(super) fn rebuild(&mut self, found: &Found) {
        let mut stamps = vec![0; self.map.len()];
        for block in found.blocks() {
            self.sets.wear.set_cycles(block, found.pe_cycles(block));
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
        for lane in 0..self.sets.lanes.len() as u32 {
            for set in self.sets.numbers(lane) {
                let blocks = self.sets.blocks(set).to_vec();
                let pages: Vec<u32> = blocks.iter().map(|&block| found.pages(block)).collect();
                let live = blocks.iter().map(|&block| self.live_in(block)).sum();
                self.sets.found(set, &pages, live);
            }
            if let Some(frontier) = self.go_on(found, lane, HOST) {
                self.host[lane as usize] = frontier;
            }
            if let Some(frontier) = self.go_on(found, lane, COPIES) {
                self.copies[lane as usize] = frontier;
            }
        }
    }

    /// Units of a block that are the newest ones.
    fn live_in(&self, block: Block) -> u32 {
        let geometry = &self.sets.geometry;
        let first = geometry.ppn(block, 0, 0).0;
        let is_live = |&ppn: &u32| self.map.get(self.owner[ppn as usize] as usize) == Some(&ppn);
        (first..first + geometry.units_per_block()).filter(is_live).count() as u32
    }

    /// Reopens the set of a lane with this tag that was written to last.
    fn go_on(
        &mut self,
        found: &Found,
        lane: u32,
        tag: u64,
    ) -> Option<crate::space::frontier::Frontier> {
        let stamp = |set: &SetId| {
            let blocks = self.sets.blocks(*set).iter();
            blocks.filter_map(|&block| found.last_stamp(block)).max()
        };
        let has_it = |set: &SetId| {
            self.sets.get(*set).is == super::Is::Full
                && self.sets.blocks(*set).iter().any(|&block| found.tag(block) == tag)
        };
        let last = self.sets.numbers(lane).filter(has_it).max_by_key(stamp)?;
        self.sets.reopen(last)
    }
}
