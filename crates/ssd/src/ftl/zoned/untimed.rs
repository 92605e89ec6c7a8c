//! Work on zones without time: they are filled in order, overwritten whole, or changed by commands.

use super::Zoned;
use crate::ftl::contract::{Device, Ftl, Key, Lpn, Untimed, ZoneState, Zones};
use crate::ftl::untimed::{settle_all, settle_wanted, write_key};
use crate::terms::request::Op;
use base::{Error, Result};
use nand::geometry::Block;

impl Zoned {
    /// Writes units in order at the write pointers of their zones; passes over units beyond what
    /// zones take.
    pub(super) fn write_in_order<D: Device + ?Sized>(
        &mut self,
        lpns: &[Lpn],
        untimed: &mut Untimed,
        device: &mut D,
    ) -> Result<()> {
        let mut rest = lpns;
        while let Some(&first) = rest.first() {
            let (zone, offset) = self.machine.split(first);
            let stays =
                |&(lpn, next): &(&Lpn, u32)| lpn.0 == next && self.machine.split(*lpn).0 == zone;
            // A random write area takes as much as it is long.
            let areas = self.machine.layout.areas.filter(|_| self.machine.has_area(zone));
            let most = areas.map_or(usize::MAX, |areas| areas.units as usize);
            let run = rest.iter().zip(first.0..).take_while(stays).take(most).count();
            let (of_zone, behind) = rest.split_at(run);
            rest = behind;
            let room = self.machine.layout.capacity.saturating_sub(offset);
            let units = room.min(of_zone.len() as u32);
            if units > 0 && self.admits(Op::Write, first, units, device)? {
                self.send_rows(zone, untimed, device)?;
            }
        }
        Ok(())
    }

    /// Places the whole rows of a zone that are admitted.
    fn send_rows<D: Device + ?Sized>(
        &mut self,
        zone: u32,
        untimed: &mut Untimed,
        device: &mut D,
    ) -> Result<()> {
        let units = self.unplaced_units(zone);
        let rows = (units.end - units.start) / self.row_units;
        let first = zone * self.machine.layout.stride + units.start;
        let lpns: Vec<Lpn> = (first..first + rows * self.row_units).map(Lpn).collect();
        if lpns.is_empty() { Ok(()) } else { write_key(self, Key(zone), &lpns, untimed, device) }
    }

    /// Carries out an append of one unit, or a command on a zone, with the work that follows. A
    /// commit is named by the last unit of it, other commands by the first of the zone.
    pub(super) fn carry_out<D: Device + ?Sized>(
        &mut self,
        op: Op,
        first: Lpn,
        untimed: &mut Untimed,
        device: &mut D,
    ) -> Result<()> {
        let (zone, offset) = self.machine.split(first);
        let (first, units) = match op {
            Op::ZoneCommit => (Lpn(first.0 - offset), offset + 1),
            _ => (first, 1),
        };
        if !self.admits(op, first, units, device)? {
            return Ok(());
        }
        match op {
            Op::ZoneAppend | Op::ZoneCommit => self.send_rows(zone, untimed, device)?,
            Op::ZoneFinish if self.is_finishing[zone as usize] => {
                let unplaced = self.unplaced_units(zone);
                let lpns: Vec<Lpn> = unplaced.map(|unit| Lpn(first.0 + unit)).collect();
                write_key(self, Key(zone), &lpns, untimed, device)?;
                while self.is_finishing[zone as usize] {
                    if settle_all(self, untimed, device)? == 0 {
                        let problem = format!("zone {zone} cannot be finished");
                        return Err(self.fault(true).unwrap_or_else(|| Error::new("ftl", problem)));
                    }
                }
            }
            _ => {}
        }
        settle_wanted(self, untimed, device)
    }

    /// Admits a request. False where blocks have failed and none could be spared, so that the zone
    /// is out of use: the device learns of it.
    fn admits<D: Device + ?Sized>(
        &mut self,
        op: Op,
        first: Lpn,
        units: u32,
        device: &mut D,
    ) -> Result<bool> {
        let Err(status) = self.admit(op, first, units) else { return Ok(true) };
        let (zone, offset) = self.machine.split(first);
        let state = self.machine.zones[zone as usize].state;
        if matches!(state, ZoneState::ReadOnly | ZoneState::Offline) {
            // Zones have all dies.
            device.cannot_spare(Block(0));
            return Ok(false);
        }
        let problem = format!("{} at unit {offset} of zone {zone}: {}", op.name(), status.name());
        Err(Error::new("zones", problem).expected("requests that the state of their zone allows"))
    }

    /// Overwrites `count` units in all: each time that there are enough for it, the zone of a drawn
    /// unit is emptied and written anew.
    pub(super) fn overwrite_whole<D: Device + ?Sized>(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
        device: &mut D,
    ) -> Result<()> {
        let capacity = self.machine.layout.capacity;
        self.overwriting += count;
        while self.overwriting >= u64::from(capacity) {
            self.overwriting -= u64::from(capacity);
            let (zone, _) = self.machine.split(draw());
            let state = self.machine.zones[zone as usize].state;
            if matches!(state, ZoneState::ReadOnly | ZoneState::Offline) {
                continue;
            }
            let first = Lpn(zone * self.machine.layout.stride);
            let lpns: Vec<Lpn> = (first.0..first.0 + capacity).map(Lpn).collect();
            let is_emptied = self.admit(Op::ZoneReset, first, 0).is_ok();
            // A zone that could not be opened beside others that are stays empty.
            if is_emptied && self.admit(Op::Write, first, capacity).is_ok() {
                write_key(self, Key(zone), &lpns, untimed, device)?;
            }
        }
        Ok(())
    }
}
