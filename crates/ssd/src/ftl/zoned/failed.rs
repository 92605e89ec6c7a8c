//! Blocks of a zoned drive that fail.
//!
//! A block that has failed leaves when it is erased next, and takes its set with it, as long as its
//! lane has sets beyond those that the zones need. Beyond that, a zone whose program fails becomes
//! read only: its rest goes to a set of the reserve, and it takes nothing more. A failed erase then
//! puts an empty zone out of use.

use super::Zoned;
use super::sets::Is;
use crate::ftl::block_sets::NONE;
use crate::ftl::contract::ZoneState;
use base::Error;
use nand::geometry::Block;

impl Zoned {
    /// Dooms a block. True if the drive can do without it.
    pub(super) fn give_up(&mut self, block: Block) -> bool {
        let set = self.sets.table.of(block);
        if self.sets.is_doomed(block) || set == NONE || self.sets.get(set).is == Is::Gone {
            // What has no set, or lost it, is not used.
            return self.sets.is_doomed(block);
        }
        if self.sets.is_lost(set) {
            self.sets.doom(block);
            return true;
        }
        let lane = self.sets.table.lane_of(set) as usize;
        let zone = self.sets.get(set).zone;
        if self.sets.lanes[lane].spare > 0 {
            self.sets.lanes[lane].spare -= 1;
        } else if zone != NONE && self.sets.lanes[lane].reserve > 0 {
            self.sets.lanes[lane].reserve -= 1;
            if !self.is_finishing[zone as usize] {
                self.machine.make_read_only(zone);
            }
        } else if !self.put_out_of_use(lane as u32) {
            return false;
        }
        self.sets.doom(block);
        true
    }

    /// Puts an empty zone out of use for a lost set of a lane. False if there is no such zone.
    fn put_out_of_use(&mut self, lane: u32) -> bool {
        let group = self.sets.table.die_of(lane).0 / self.zone_dies;
        let zones = (0..self.machine.layout.zones).rev();
        let is_empty = |zone: u32| self.machine.zones[zone as usize].state == ZoneState::Empty;
        let mut of_group = zones.filter(|zone| zone % self.groups == group);
        let Some(zone) = of_group.find(|&zone| is_empty(zone)) else { return false };
        self.machine.set(zone, ZoneState::Offline);
        for index in 0..self.lanes {
            let lane = self.lane(zone, index) as usize;
            self.sets.lanes[lane].spare += self.sets_each;
        }
        self.sets.lanes[lane as usize].spare -= 1;
        true
    }

    /// Error of rows that wait for a set in vain, if there are any.
    pub(super) fn out_of_sets(&self) -> Option<Error> {
        if !self.needed.contains(&true) {
            return None;
        }
        let problem = "failed programs left a zone without blocks";
        Some(
            Error::new("chip.fault.program_failure_chance", problem)
                .hint("use a smaller chance, or more ftl.gc_reserve_blocks"),
        )
    }
}
