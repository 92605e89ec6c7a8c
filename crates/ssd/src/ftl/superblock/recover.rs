//! Rebuilding of superblocks from what a start-up has found on flash.
//!
//! Blocks that are found take nothing more: some of their rows may be missing. A unit that a pass
//! was copying is where it was copied from, as long as that is there.

use super::Superblocks;
use crate::ftl::blocks::found::take_over;
use crate::ftl::blocks::pool::Use;
use crate::recovery::Found;

impl Superblocks {
    pub(super) fn rebuild(&mut self, found: &Found) {
        for block in take_over(&mut self.pool, found, self.logical_units) {
            let group = self.group_of(block.units[0].1);
            self.pool.change_use(block.of, Use::Data(group));
            self.groups[group as usize].blocks.push(block.of);
            for (position, unit, ppn) in block.units {
                self.owners.set(block.of, position, unit);
                if self.places.at(unit).is_none() {
                    self.places.set(&self.pool, unit, ppn);
                }
            }
            self.recount(group);
        }
        (0..self.groups.len() as u32).for_each(|group| self.sweep(group));
    }
}
