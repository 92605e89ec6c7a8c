//! Writes that overwrite data in the random write areas of zones: `nandlab_rewrite`.
//!
//! A zone is opened with an area before its first write. The drive commits an area as new data go
//! on beyond it, so what lies in it is known here: the last bytes before the place of the next
//! write. An overwrite goes to a block among these.

use super::{Book, Zoned};
use ssd::request::{Op, Request};

impl Zoned {
    /// Command that a zone needs before it is written, so that it has a random write area. Where
    /// others have all areas, the zone is written in order.
    pub(super) fn area_command(&self, book: &mut Book, zone: u32) -> Option<Op> {
        if self.rules.rewrites == 0.0 {
            return None;
        }
        let most = self.zoning.layout.areas.map_or(0, |areas| areas.most as usize);
        let is_left = book.areas(self.job, self.zoning.capacity()) < most;
        let of = &mut book.zones[zone as usize];
        if of.pointer >= self.zoning.capacity() {
            (of.pointer, of.written, of.is_open, of.has_area) = (0, 0, false, false);
            return Some(Op::ZoneReset);
        }
        if of.pointer > 0 || of.has_area || !is_left {
            return None;
        }
        (of.is_open, of.has_area) = (true, true);
        Some(Op::ZoneOpenArea)
    }

    /// The overwrite that a write to a zone becomes, if it is its turn: of the block that the drawn
    /// request names among those in the area.
    pub(super) fn rewrite(&mut self, book: &Book, zone: u32, request: Request) -> Option<Request> {
        let (areas, unit) = (self.zoning.layout.areas?, self.zoning.unit);
        let of = &book.zones[zone as usize];
        if self.rules.rewrites == 0.0 || !of.has_area {
            return None;
        }
        self.rewrites += self.rules.rewrites;
        if self.rewrites < 1.0 {
            return None;
        }
        let (area, step) = (u64::from(areas.units) * unit, u64::from(areas.flush_units) * unit);
        let from = of.pointer.saturating_sub(area).next_multiple_of(step);
        let length = self.whole(request.length);
        let places = from.div_ceil(length)..of.pointer / length;
        if places.is_empty() {
            return None;
        }
        self.rewrites -= 1.0;
        let at = places.start + request.offset / length % (places.end - places.start);
        Some(Request { op: Op::Write, offset: self.start(zone) + at * length, length, ..request })
    }
}
