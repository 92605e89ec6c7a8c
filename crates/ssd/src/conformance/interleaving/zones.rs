//! Interleaving on a drive with zones: writes at write pointers, resets and finishes.

use super::{Interleaving, one};
use crate::conformance::tally::hold;
use crate::drive::request::Op;
use crate::ftl::contract::ZoneLayout;
use crate::ftl::{Ftl, Key, Lpn};
use base::Result;

impl Interleaving {
    /// Admits data of the host to a zone, and sends its next row, if that is whole or the last.
    pub(super) fn write_zone(&mut self, layout: ZoneLayout) -> Result<bool> {
        let zone = self.drawn_zone(layout);
        let first = zone * layout.stride;
        let Some(view) = self.ftl.zones().map(|zones| zones.view(zone)) else { return Ok(true) };
        let room = layout.capacity.saturating_sub(view.pointer);
        if room > 0 {
            let row = self.ftl.row_units();
            let most = if self.single { 1 } else { 2 * row };
            let units = 1 + self.rng.below(u64::from(room.min(most))) as u32;
            let lpn = Lpn(first + view.pointer);
            // Limits may refuse it: what was admitted before goes on.
            let is_append = self.rng.chance(0.5);
            let (op, at) = if is_append { (Op::ZoneAppend, Lpn(first)) } else { (Op::Write, lpn) };
            if let Ok(given) = self.ftl.admit(op, at, units) {
                hold!(given == lpn, "{op:?} at {given:?}, and the pointer is at {lpn:?}");
            }
        } else if self.rng.chance(0.5) {
            self.reset_zone(layout, zone);
        }
        let Some(lpns) = self.row_of(layout, zone) else { return Ok(true) };
        self.row = (Key(zone), lpns);
        self.send()
    }

    /// The first row of a zone that is neither on the flash nor on its way: a whole one, or the
    /// last of a zone that is full.
    pub(super) fn row_of(&self, layout: ZoneLayout, zone: u32) -> Option<Vec<Lpn>> {
        let zones = self.ftl.zones()?;
        let (row, units) = (self.ftl.row_units(), zones.unplaced(zone));
        let first = zone * layout.stride;
        let starts = units.clone().step_by(row as usize);
        let rows = starts.map(|start| first + start..first + units.end.min(start + row));
        let is_there = |unit: u32| self.ftl.lookup(Lpn(unit)).is_some();
        let mut rows = rows.filter(|row| !self.flying.contains(&row.start) && !is_there(row.start));
        let next = rows.next()?;
        let is_last = zones.is_finishing(zone);
        let is_ready = next.end - next.start == row || is_last;
        is_ready.then(|| next.map(Lpn).collect())
    }

    fn drawn_zone(&mut self, layout: ZoneLayout) -> u32 {
        let span = if self.rng.chance(self.hot) { 2.min(layout.zones) } else { layout.zones };
        self.rng.below(span.into()) as u32
    }

    /// Empties a zone or finishes it, whatever is on its way there.
    pub(super) fn manage_zone(&mut self, layout: ZoneLayout) {
        let zone = self.drawn_zone(layout);
        if one(&mut self.rng, &[true, false, false]) {
            let first = Lpn(zone * layout.stride);
            // A finish reports nothing that could be compared here: its padding is in the counts.
            _ = self.ftl.admit(Op::ZoneFinish, first, 0);
        } else {
            self.reset_zone(layout, zone);
        }
    }

    fn reset_zone(&mut self, layout: ZoneLayout, zone: u32) {
        let units = zone * layout.stride..(zone + 1) * layout.stride;
        if self.ftl.admit(Op::ZoneReset, Lpn(units.start), 0).is_err() {
            return;
        }
        let is_its = |unit: &u32| units.contains(unit);
        self.written.retain(|unit| !is_its(unit));
        self.flying.retain(|unit| !is_its(unit));
        for (_, lpns, _) in self.dies.iter_mut().flatten() {
            if lpns.first().is_some_and(|lpn| is_its(&lpn.0)) {
                lpns.clear();
            }
        }
    }
}
