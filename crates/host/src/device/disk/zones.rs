//! Zones of a disk: their states, the commands on them, and what reads beyond their data.

use super::Disk;
use crate::device::message::{Command, Failure, Head};
use base::Result;
use ssd::ftl::contract::{ZoneLayout, ZoneView};
use ssd::request::{Request, Status};

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

    pub(super) fn has_zones(&self) -> bool {
        self.zone_layout().is_some()
    }

    /// Bytes of a zone, from its start to the start of the next.
    fn zone_bytes(&self) -> Option<u64> {
        Some(u64::from(self.zone_layout()?.stride) * self.session.run.ssd.unit_bytes())
    }

    /// Sends the drive a command on the zone at the offset of `head`, or an append to it.
    pub(super) fn begin_on_zone(
        &mut self,
        owner: u32,
        head: Head,
        data: Vec<u8>,
    ) -> Result<Option<Failure>> {
        let (Some(op), Some(zone_bytes)) = (head.command.of_zones(), self.zone_bytes()) else {
            return Ok(Some(Failure::NotSupported));
        };
        let is_append = head.command == Command::ZoneAppend;
        let (offset, length) = match head.command {
            Command::ZoneAppend => (head.offset, head.length.into()),
            Command::ZoneCommit => {
                let start = head.offset / zone_bytes * zone_bytes;
                (start, head.end() - start)
            }
            _ => (head.offset, zone_bytes),
        };
        let request = Request { fua: head.fua, ..Request::new(op, offset, length) };
        self.send(owner, request, is_append.then_some(data))?;
        Ok(None)
    }

    /// Fills with zeros what the host has not written of the bytes of a read inside one zone: the
    /// store may hold bytes there that were written before the zone was emptied.
    pub(super) fn blank_unwritten(&self, head: Head, bytes: &mut [u8]) {
        let Some(zone_bytes) = self.zone_bytes() else { return };
        let (zone, ssd) = (head.offset / zone_bytes, &self.session.run.ssd);
        let unit = ssd.unit_bytes();
        let written = ssd.zone(zone as u32).map_or(0, |zone| u64::from(zone.written));
        let end = zone * zone_bytes + written * unit;
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
