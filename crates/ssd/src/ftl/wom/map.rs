//! The map of `wom`: places of units, and an account of all of them.

use super::{Account, Carried, Occupancy, PADDING, Program, Wom};
use nand::geometry::{Block, Ppn};
use std::ops::Range;

impl Wom {
    /// Counts the unit at `ppn` as dead: it is no longer the newest of its owner.
    pub(super) fn invalidate(&mut self, ppn: u32) {
        let block = self.geometry.block_of(Ppn(ppn));
        let plane = self.geometry.plane_of(block);
        self.valid[plane.0 as usize] -= 1;
        self.candidates.died(|| plane, block);
    }

    /// Whether a physical unit holds the newest data of its owner.
    pub(super) fn is_valid(&self, ppn: u32) -> bool {
        // Padding has an owner that no map has.
        self.map.get(self.owner[ppn as usize] as usize) == Some(&ppn)
    }

    /// Physical units of a page.
    pub(super) fn units_of(&self, block: Block, page: u32) -> Range<u32> {
        let first = self.geometry.ppn(block, page, 0).0;
        first..first + self.geometry.units_per_page
    }

    /// Physical units that the data of a program take.
    fn slots(&self, program: &Program) -> Range<u32> {
        let first = self.geometry.ppn(program.blocks[0], program.page, 0).0;
        first..first + program.units
    }

    /// Marks the data of a program as padding.
    pub(super) fn pad(&mut self, program: &Program) {
        let slots = self.slots(program);
        self.owner[slots.start as usize..slots.end as usize].fill(PADDING);
    }

    /// Maps the units of a program.
    pub(super) fn map_program(&mut self, program: &Program, carried: Carried) {
        let (block, moves) = (program.blocks[0], carried.moves());
        self.candidates.added(block, program.units);
        self.valid[self.geometry.plane_of(block).0 as usize] += program.units;
        for (i, ppn) in self.slots(program).enumerate() {
            let lpn = self.owner[ppn as usize] as usize;
            let old = self.map[lpn];
            // Rewritten or trimmed while it was on its way: this copy is stale at birth.
            if moves.get(i).is_some_and(|unit| unit.from.0 != old) {
                self.invalidate(ppn);
                continue;
            }
            self.map[lpn] = ppn;
            if old != Ppn::NONE.0 {
                self.invalidate(old);
            }
        }
    }

    /// State of every physical unit. Groups of a full block that can be programmed again are
    /// invalid until that has happened.
    pub(super) fn account(&self) -> Occupancy {
        let geometry = &self.geometry;
        let mut occupancy = Occupancy {
            mapped: self.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64,
            bad: self.wear.bad_blocks() * u64::from(geometry.units_per_block()),
            ..Occupancy::default()
        };
        let blocks = (0..geometry.blocks()).map(Block);
        for block in blocks.filter(|&block| !self.wear.is_bad(block)) {
            let filled = self.filled_pages(block);
            occupancy.free += self.units(geometry.pages_per_block - filled);
            let first = geometry.ppn(block, 0, 0).0;
            let units = first..first + self.units(filled) as u32;
            occupancy.invalid += units.filter(|&ppn| !self.is_valid(ppn)).count() as u64;
        }
        occupancy
    }
}
