//! Zones of a disk: their states, the commands on them, and what reads beyond their data.

use super::Disk;
use crate::device::message::{Command, Failure, Head};
use base::Result;
use ssd::ftl::Lpn;
use ssd::ftl::contract::{ZoneLayout, ZoneView};
use ssd::request::{Request, Status};
use std::ops::Range;

impl Disk {
    /// Layout of the zones; `None` for a drive without zones.
    pub fn zone_layout(&self) -> Option<ZoneLayout> {
        self.session.run.ssd.zone_layout()
    }

    /// States and write pointers of the zones, in order; none for a drive without zones.
    pub fn zones(&self) -> impl Iterator<Item = ZoneView> + '_ {
        let zones = self.zone_layout().map_or(0, |layout| layout.zones);
        (0..zones).filter_map(|zone| self.session.run.ssd.zone(zone))
    }

    /// Puts a zone that takes no writes any more out of use. Refuses other zones.
    pub fn put_zone_offline(&mut self, zone: u32) -> std::result::Result<(), Status> {
        self.session.run.ssd.put_zone_offline(zone)
    }

    /// Bytes of the zone that a byte of the drive lies in, what the zone does not take included;
    /// `None` for a byte beside the zones.
    pub(super) fn zone_at(&self, byte: u64) -> Option<(u32, Range<u64>)> {
        let (layout, unit) = (self.zone_layout()?, self.session.run.ssd.unit_bytes());
        let (zone, _) = layout.split(Lpn(u32::try_from(byte / unit).ok()?))?;
        let Range { start, end } = layout.units_of(zone);
        Some((zone, u64::from(start) * unit..u64::from(end) * unit))
    }

    /// Sends the drive a command on the zone at the offset of `head`, or an append to it.
    pub(super) fn begin_on_zone(
        &mut self,
        owner: u32,
        head: Head,
        data: Vec<u8>,
    ) -> Result<Option<Failure>> {
        let (Some(op), Some((_, zone))) = (head.command.of_zones(), self.zone_at(head.offset))
        else {
            return Ok(Some(Failure::NotSupported));
        };
        let is_append = head.command == Command::ZoneAppend;
        let (offset, length) = match head.command {
            Command::ZoneAppend => (head.offset, head.length.into()),
            Command::ZoneCommit => (zone.start, head.end() - zone.start),
            _ => (head.offset, zone.end - zone.start),
        };
        let request = Request { fua: head.fua, ..Request::new(op, offset, length) };
        self.send(owner, request, is_append.then_some(data))?;
        Ok(None)
    }

    /// Fills with zeros what the host has not written of the bytes of a read inside one zone: the
    /// store may hold bytes there that were written before the zone was emptied.
    pub(super) fn blank_unwritten(&self, head: Head, bytes: &mut [u8]) {
        let Some((zone, of_zone)) = self.zone_at(head.offset) else { return };
        let ssd = &self.session.run.ssd;
        let unit = ssd.unit_bytes();
        let written = ssd.zone(zone).map_or(0, |zone| u64::from(zone.written));
        let end = of_zone.start + written * unit;
        let from = (end.max(head.offset) - head.offset).min(bytes.len() as u64);
        let first = (head.offset + from) / unit;
        // Behind the write pointer stands what a random write area holds.
        for (number, bytes) in (first..).zip(bytes[from as usize..].chunks_mut(unit as usize)) {
            if !ssd.is_in_area(number as u32) {
                bytes.fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
