//! Zones of the one set that has them: zones keep the set's numbers, and their units get those of
//! the drive.

use super::{NvmSets, Set};
use crate::ftl::contract::{Lpn, Status, ZoneCosts, ZoneEmptied, ZoneLayout, ZoneView, Zones};
use crate::terms::request::Op;
use nand::geometry::Block;
use std::ops::Range;

impl NvmSets {
    /// Set with zones. The part is given only where there is one.
    fn zoned(&self) -> &Set {
        let zoned = self.sets.iter().find(|set| set.ftl.zones().is_some());
        zoned.expect("a set with zones")
    }

    fn zoned_mut(&mut self) -> &mut Set {
        let zoned = self.sets.iter_mut().find(|set| set.ftl.zones().is_some());
        zoned.expect("a set with zones")
    }

    fn its_zones(&self) -> &dyn Zones {
        self.zoned().ftl.zones().expect("the set has zones")
    }

    fn its_zones_mut(&mut self) -> &mut dyn Zones {
        self.zoned_mut().ftl.zones_mut().expect("the set has zones")
    }
}

impl Zones for NvmSets {
    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> Result<Lpn, Status> {
        let span = self.zoned().span.clone();
        if !span.units.contains(&first.0) {
            return Err(Status::InvalidField);
        }
        let answer = self.its_zones_mut().admit(op, span.unit_inside(first), units);
        answer.map(|first| span.unit_outside(first))
    }

    fn put_offline(&mut self, zone: u32) -> Result<(), Status> {
        self.its_zones_mut().put_offline(zone)
    }

    fn overwriting(&mut self) -> &mut u64 {
        self.its_zones_mut().overwriting()
    }

    fn layout(&self) -> ZoneLayout {
        let span = &self.zoned().span;
        let first_block = Block(span.dies.start * self.blocks_per_die);
        ZoneLayout { first: span.units.start, first_block, ..self.its_zones().layout() }
    }

    fn costs(&self) -> ZoneCosts {
        self.its_zones().costs()
    }

    fn view(&self, zone: u32) -> ZoneView {
        self.its_zones().view(zone)
    }

    fn unplaced(&self, zone: u32) -> Range<u32> {
        self.its_zones().unplaced(zone)
    }

    fn in_area(&self, zone: u32) -> Vec<u32> {
        self.its_zones().in_area(zone)
    }

    fn last_reset(&self) -> ZoneEmptied {
        self.its_zones().last_reset()
    }

    fn is_finishing(&self, zone: u32) -> bool {
        self.its_zones().is_finishing(zone)
    }
}
