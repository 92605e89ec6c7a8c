//! Draining of victims: the valid units that are still to be moved out of a die's victims.
//!
//! Victims are drained in parallel, page by page, so that the reads of different planes can be
//! joined. Rows are filled across victims instead of padding each one's last row; a drained victim
//! is erased when the row that holds its last unit has been programmed.

use crate::terms::{Lpn, Move, Reason, Step, Work};
use base::memory::prefetch;
use nand::geometry::{Block, Geometry, Ppn};
use serde::{Deserialize, Serialize};

/// Victims of one die.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Draining {
    /// Victims with data that are still to be moved.
    pub victims: Vec<Block>,
    /// Victims without data to be moved, which are to be erased.
    pub drained: Vec<Block>,
    /// The victims are collected for wear levelling: their data are cold.
    pub is_levelling: bool,
    /// One of the victims must be emptied: they are drained even if no space is needed.
    pub is_due: bool,
    /// The next unit to look at: page, victim, slot.
    page: u32,
    victim: usize,
    slot: u32,
}

impl Draining {
    /// Begins new victims at their first page.
    pub fn begin(&mut self) {
        (self.page, self.victim, self.slot) = (0, 0, 0);
        (self.is_levelling, self.is_due) = (false, false);
    }

    /// Lists units of the victims that are mapped, until `moves` fills a row or the victims are
    /// drained. `map` and `owner` point from logical to physical units and back.
    pub fn gather(
        &mut self,
        geometry: &Geometry,
        map: &[u32],
        owner: &[u32],
        row: usize,
        moves: &mut Vec<Move>,
    ) {
        while self.page < geometry.pages_per_block {
            let block = self.victims[self.victim];
            let first = geometry.ppn(block, self.page, 0).0;
            while self.slot < geometry.units_per_page {
                if moves.len() == row {
                    return;
                }
                let ppn = first + self.slot;
                // Each die is a stream of its own, too many for the processor to follow.
                prefetch(owner, ppn as usize + 64);
                if let Some(&ahead) = owner.get(ppn as usize + 16) {
                    prefetch(map, ahead as usize);
                }
                let lpn = owner[ppn as usize];
                // Padding has an owner that no map has. No branch: which units are valid is as
                // good as random, and a processor guesses half of them wrong.
                let is_valid = map.get(lpn as usize) == Some(&ppn);
                let len = moves.len();
                moves.push(Move { lpn: Lpn(lpn), from: Ppn(ppn) });
                moves.truncate(len + usize::from(is_valid));
                self.slot += 1;
            }
            self.slot = 0;
            self.victim += 1;
            if self.victim == self.victims.len() {
                self.victim = 0;
                self.page += 1;
            }
        }
        self.drained.append(&mut self.victims);
    }

    /// The page of the victims that is looked at next.
    pub fn page(&self) -> u32 {
        self.page
    }

    /// Units that have been looked at, in blocks that are not yet erased.
    pub fn passed_units(&self, geometry: &Geometry) -> u32 {
        let pages = self.page * self.victims.len() as u32 + self.victim as u32;
        let of_victims =
            if self.victims.is_empty() { 0 } else { pages * geometry.units_per_page + self.slot };
        of_victims + self.drained.len() as u32 * geometry.units_per_block()
    }

    /// The step that follows from what was gathered: moves first, then the erase of drained blocks
    /// of up to `most` planes together.
    #[inline]
    pub fn step(&mut self, geometry: &Geometry, most: usize, work: &mut Work) -> Step {
        if !work.moves.is_empty() {
            if self.is_levelling {
                work.reason = Reason::Levelling;
            }
            return Step::Move;
        }
        if self.drained.is_empty() {
            return Step::Done;
        }
        self.erase(geometry, most, &mut work.blocks);
        Step::Erase
    }

    /// Takes drained blocks, one of each of up to `most` planes, for one multi-plane erase.
    pub fn erase(&mut self, geometry: &Geometry, most: usize, blocks: &mut Vec<Block>) {
        self.drained.retain(|&block| {
            let plane = geometry.plane_of(block);
            let taken = blocks.iter().any(|&other| geometry.plane_of(other) == plane);
            let erased = !taken && blocks.len() < most;
            if erased {
                blocks.push(block);
            }
            !erased
        });
    }
}
