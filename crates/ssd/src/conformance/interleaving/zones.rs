//! Interleaving on a drive with zones: writes at write pointers, resets and finishes.

use super::{Interleaving, one};
use crate::conformance::tally::hold;
use crate::ftl::contract::{AreaLayout, Parts, Status, ZoneLayout, key_among};
use crate::ftl::{Ftl, Hint, Key, Lpn};
use crate::terms::request::Op;
use base::Result;
use std::ops::Range;

impl Interleaving {
    /// Layout of the zones, if the host turns to them now: always where there is nothing else.
    pub(super) fn zones_now(&mut self) -> Option<ZoneLayout> {
        let layout = self.ftl.zones().map(|zones| zones.layout())?;
        let is_all = layout.is_all(self.ftl.facts().logical_units);
        (is_all || self.rng.chance(0.5)).then_some(layout)
    }

    /// Units that are written anywhere: those beside zones.
    pub(super) fn beside_zones(&self) -> Range<u32> {
        let logical = self.ftl.facts().logical_units;
        self.ftl.zones().map_or(0..logical, |zones| zones.layout().beside(logical))
    }

    /// Admits data of the host to a zone, and sends the next row of one of its keys, if that is
    /// whole or the last.
    pub(super) fn write_zone(&mut self, layout: ZoneLayout) -> Result<bool> {
        let zone = self.drawn_zone(layout);
        let first = layout.units_of(zone).start;
        let Some(view) = self.ftl.zones().map(|zones| zones.view(zone)) else { return Ok(true) };
        let room = layout.capacity.saturating_sub(view.pointer);
        if room > 0 {
            let row = self.ftl.facts().row_units;
            let most = if self.single { 1 } else { 2 * row };
            let units = 1 + self.rng.below(u64::from(room.min(most))) as u32;
            let lpn = Lpn(first + view.pointer);
            // Limits may refuse it: what was admitted before goes on.
            if let Some(areas) = layout.areas
                && self.change_area(zone, areas, layout)
            {
                return self.send_of(layout, zone);
            }
            let is_append = !view.has_area && self.rng.chance(0.5);
            let most_of_area = layout.areas.filter(|_| view.has_area).map(|areas| areas.units);
            let units = units.min(most_of_area.unwrap_or(units));
            let (op, at) = if is_append { (Op::ZoneAppend, Lpn(first)) } else { (Op::Write, lpn) };
            if let Ok(given) = self.admit(op, at, units) {
                hold!(given == lpn, "{op:?} at {given:?}, and the pointer is at {lpn:?}");
            }
        } else if self.rng.chance(0.5) {
            self.reset_zone(layout, zone);
        }
        self.send_of(layout, zone)
    }

    /// Opens a zone with a random write area, or writes into the area or commits it. Returns
    /// whether the zone was asked for it.
    fn change_area(&mut self, zone: u32, areas: AreaLayout, layout: ZoneLayout) -> bool {
        let first = layout.units_of(zone).start;
        let Some(view) = self.ftl.zones().map(|zones| zones.view(zone)) else { return false };
        if !view.has_area {
            return view.pointer == 0 && self.admit(Op::ZoneOpenArea, Lpn(first), 0).is_ok();
        }
        let room = (layout.capacity - view.pointer).min(2 * areas.units);
        let from = self.rng.below(room.into()) as u32;
        let units = 1 + self.rng.below(u64::from(room - from)) as u32;
        if self.rng.chance(0.7) {
            return self.admit(Op::Write, Lpn(first + view.pointer + from), units).is_ok();
        }
        let end = view.pointer + units.next_multiple_of(areas.flush_units);
        self.admit(Op::ZoneCommit, Lpn(first), end).is_ok()
    }

    /// Sends the next row of one of the keys of a zone, if that is whole or the last.
    fn send_of(&mut self, layout: ZoneLayout, zone: u32) -> Result<bool> {
        let rows = self.rows_of(layout, zone);
        if rows.is_empty() {
            return Ok(true);
        }
        // Keys go on in any order; the rows of each stay in theirs.
        let drawn = self.rng.below(rows.len() as u64) as usize;
        let key = rows[drawn].0;
        let Some(next) = rows.into_iter().find(|row| row.0 == key) else { return Ok(true) };
        self.row = next;
        self.send()
    }

    /// The rows of a zone that are neither on the flash nor on their way, with their keys: whole
    /// ones, and the last of a zone that is full.
    fn rows_of(&mut self, layout: ZoneLayout, zone: u32) -> Vec<(Key, Vec<Lpn>)> {
        let Some(zones) = self.ftl.zones() else { return Vec::new() };
        let (row, units) = (self.ftl.facts().row_units, zones.unplaced(zone));
        let is_last = zones.is_finishing(zone);
        let (keys, first) = (self.ftl.facts().keys, layout.units_of(zone).start);
        let starts = units.clone().step_by(row as usize);
        let rows = starts.map(|start| first + start..first + units.end.min(start + row));
        let mut all = Vec::new();
        for row_units in rows {
            let start = Lpn(row_units.start);
            let is_ready = row_units.end - row_units.start == row || is_last;
            let is_gone = self.flying.contains(&start.0) || self.ftl.lookup(start).is_some();
            if is_ready && !is_gone {
                let key = key_among(&mut self.ftl, keys, start, Hint::default());
                all.push((key, row_units.map(Lpn).collect()));
            }
        }
        all
    }

    /// The next row of the key that was drawn last.
    pub(super) fn row_again(&mut self, layout: ZoneLayout) -> Option<Vec<Lpn>> {
        let (key, first) = (self.row.0, *self.row.1.first()?);
        let (zone, _) = layout.split(first)?;
        let rows = self.rows_of(layout, zone);
        rows.into_iter().find(|row| row.0 == key).map(|(_, lpns)| lpns)
    }

    fn admit(&mut self, op: Op, first: Lpn, units: u32) -> std::result::Result<Lpn, Status> {
        let zones = self.ftl.zones_mut();
        zones.map_or(Err(Status::InvalidOpcode), |zones| zones.admit(op, first, units))
    }

    fn drawn_zone(&mut self, layout: ZoneLayout) -> u32 {
        let span = if self.rng.chance(self.hot) { 2.min(layout.zones) } else { layout.zones };
        self.rng.below(span.into()) as u32
    }

    /// Empties a zone or finishes it, whatever is on its way there.
    pub(super) fn manage_zone(&mut self, layout: ZoneLayout) {
        let zone = self.drawn_zone(layout);
        if one(&mut self.rng, &[true, false, false]) {
            let first = Lpn(layout.units_of(zone).start);
            // A finish reports nothing that could be compared here: its padding is in the counts.
            _ = self.admit(Op::ZoneFinish, first, 0);
        } else {
            self.reset_zone(layout, zone);
        }
    }

    fn reset_zone(&mut self, layout: ZoneLayout, zone: u32) {
        let units = layout.units_of(zone);
        if self.admit(Op::ZoneReset, Lpn(units.start), 0).is_err() {
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
