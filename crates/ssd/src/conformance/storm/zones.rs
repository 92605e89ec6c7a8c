//! Storm on a drive with zones: writes at write pointers, appends, resets, finishes, opens and
//! closes, many at a time; every read returns what stands there.
//!
//! Zones with a random write area are written and overwritten anywhere in it, and committed.
//!
//! What is admitted in which order is up to the drive. So a zone has one write, or appends, under
//! way, and neither reads nor commands beside them; appends that complete have places that follow
//! one another without gaps.

use super::super::tally::{broken, hold};
use super::Storm;
use crate::Step;
use crate::ftl::Lpn;
use crate::ftl::contract::{AreaLayout, Status, ZoneLayout, ZoneState};
use crate::request::{Op, Request};
use base::Result;
use std::collections::BTreeMap;

/// State of a zone as the storm knows it.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    /// Versions of the units up to its pointer.
    pub versions: Vec<u64>,
    /// Versions of the units in its random write area; `None` without one.
    pub area: Option<BTreeMap<u64, u64>>,
    /// Appends that have completed, and do not follow the pointer: first unit, units, version.
    pub early: BTreeMap<u64, (u64, u64)>,
    pub appends: u32,
    pub others: u32,
    pub reads: u32,
}

impl Known {
    /// The version of a unit.
    pub fn truth(&self, at: u64) -> u64 {
        let in_area = self.area.as_ref().and_then(|area| area.get(&at));
        self.versions.get(at as usize).or(in_area).copied().unwrap_or(0)
    }

    /// Moves units of the area up to `end` behind the pointer; those that nobody wrote hold zeros.
    fn commit(&mut self, end: u64) {
        let Some(area) = &mut self.area else { return };
        let units = self.versions.len() as u64..end;
        self.versions.extend(units.map(|unit| area.remove(&unit).unwrap_or(0)));
    }

    /// Ends the area: all that it holds is committed.
    pub fn finish(&mut self) {
        let last = self.area.as_ref().and_then(|area| area.keys().next_back().copied());
        self.commit(last.map_or(0, |last| last + 1));
        self.area = None;
    }

    /// A request has been carried out, other than a write or an append without an area. Its units
    /// are told from `offset` on.
    pub fn carried_out(&mut self, op: Op, offset: u64, units: u64, version: u64, all: &ZoneLayout) {
        match op {
            Op::Write => {
                let Some(areas) = all.areas else { return };
                let pointer = self.versions.len() as u64;
                let written = (offset..offset + units).map(|unit| (unit, version));
                self.area.iter_mut().for_each(|area| area.extend(written.clone()));
                let beyond = (offset + units).saturating_sub(pointer + u64::from(areas.units));
                self.commit(pointer + beyond.next_multiple_of(areas.flush_units.into()));
                self.end_if_full(all);
            }
            Op::ZoneReset => (self.versions, self.area) = (Vec::new(), None),
            Op::ZoneOpenArea => _ = self.area.get_or_insert_default(),
            Op::ZoneCommit => {
                self.commit(offset + units);
                self.end_if_full(all);
            }
            Op::ZoneFinish => self.finish(),
            _ => {}
        }
    }

    /// A full zone gives its area back.
    fn end_if_full(&mut self, all: &ZoneLayout) {
        if self.versions.len() as u64 == u64::from(all.capacity) {
            self.area = None;
        }
    }
}

/// State of all zones, and the requests in flight.
pub(super) struct ZoneStorm {
    pub layout: ZoneLayout,
    pub zones: Vec<Known>,
    /// By slot: version, request, and of a read the versions of its units when it was sent.
    pub requests: BTreeMap<u32, (u64, Request, Vec<u64>)>,
    /// Random write areas that held data after a cut.
    pub areas_kept: u64,
}

impl ZoneStorm {
    pub(super) fn new(layout: ZoneLayout) -> Self {
        let zones = vec![Known::default(); layout.zones as usize];
        Self { layout, zones, requests: BTreeMap::new(), areas_kept: 0 }
    }
}

impl Storm {
    fn draw_in(&mut self, storm: &ZoneStorm) -> Option<(u32, Request)> {
        let unit = self.ssd.unit_bytes();
        let ZoneLayout { zones, stride, capacity, .. } = storm.layout;
        let span = if self.rng.chance(0.7) { zones.min(3) } else { zones };
        let zone = self.rng.below(span.into()) as u32;
        let known = &storm.zones[zone as usize];
        let start = u64::from(storm.layout.units_of(zone).start) * unit;
        let pointer = known.versions.len() as u64;
        let is_quiet = known.appends == 0 && known.others == 0;
        let is_alone = is_quiet && known.reads == 0;
        let length = unit * (1 + self.rng.below(12));
        let most = known.area.as_ref().and(storm.layout.areas).map(|areas| 2 * areas.units);
        let length = most.map_or(length, |most| length.min(unit * u64::from(most)));
        let room = u64::from(capacity).saturating_sub(pointer) * unit;
        if let Some(areas) = storm.layout.areas
            && self.rng.chance(0.5)
        {
            let known = &storm.zones[zone as usize];
            return Some((zone, self.draw_in_area(known, start, areas, storm.layout)?));
        }
        let request = match self.rng.below(100) {
            0..35 if is_quiet && room > 0 => {
                Request::new(Op::Write, start + pointer * unit, length.min(room))
            }
            35..65 if known.others == 0 && room > 0 => {
                Request::new(Op::ZoneAppend, start, length.min(8 * unit))
            }
            65..85 if is_quiet => {
                let offset = self.rng.below(u64::from(capacity)) * unit;
                let most = u64::from(stride) * unit - offset;
                Request::new(Op::Read, start + offset, length.min(most))
            }
            85..92 if is_alone => Request::new(Op::ZoneReset, start, u64::from(stride) * unit),
            92..94 if is_alone => Request::new(Op::ZoneFinish, start, u64::from(stride) * unit),
            94..97 if is_alone => Request::new(Op::ZoneOpen, start, u64::from(stride) * unit),
            97..99 if is_alone => Request::new(Op::ZoneClose, start, u64::from(stride) * unit),
            99 => Request::FLUSH,
            _ => return None,
        };
        let fua = request.op == Op::Write && self.rng.chance(0.1);
        Some((zone, Request { fua, ..request }))
    }

    /// Draws a request that has to do with the random write area of a zone.
    fn draw_in_area(
        &mut self,
        known: &Known,
        start: u64,
        areas: AreaLayout,
        layout: ZoneLayout,
    ) -> Option<Request> {
        let unit = self.ssd.unit_bytes();
        if known.appends > 0 || known.others > 0 {
            return None;
        }
        let whole = u64::from(layout.stride) * unit;
        if known.area.is_none() {
            return (known.reads == 0).then(|| Request::new(Op::ZoneOpenArea, start, whole));
        }
        let pointer = known.versions.len() as u64;
        let left = u64::from(layout.capacity).saturating_sub(pointer);
        let (size, step) = (u64::from(areas.units), u64::from(areas.flush_units));
        if self.rng.chance(0.15) {
            let units = (step * (1 + self.rng.below(size / step))).min(left);
            return Some(Request::new(Op::ZoneCommit, start, (pointer + units) * unit));
        }
        // Mostly inside the area, and sometimes beyond it.
        let span = if self.rng.chance(0.8) { size } else { 2 * size }.min(left);
        if span == 0 {
            return None;
        }
        let from = self.rng.below(span);
        let units = (1 + self.rng.below(12)).min(span - from);
        Some(Request::new(Op::Write, start + (pointer + from) * unit, units * unit))
    }

    /// Sends a request to a zone, or beside the zones where the drive has other units.
    pub(super) fn submit_in(&mut self, storm: &mut ZoneStorm) {
        if self.is_mixed() && self.rng.chance(0.5) {
            return self.submit();
        }
        let Some((zone, request)) = self.draw_in(storm) else { return };
        self.submitted += 1;
        let (version, now) = (self.submitted, self.ssd.now());
        let slot = self.ssd.submit(request, version as u32, now);
        let first = u64::from(storm.layout.units_of(zone).start);
        let known = &mut storm.zones[zone as usize];
        let mut then = Vec::new();
        if request.op == Op::Read {
            let unit = self.ssd.unit_bytes();
            let at = request.offset / unit - first;
            then.extend((at..at + request.length / unit).map(|at| known.truth(at)));
        }
        match request.op {
            Op::ZoneAppend => known.appends += 1,
            Op::Read => known.reads += 1,
            Op::Flush => {}
            _ => known.others += 1,
        }
        storm.requests.insert(slot, (version, request, then));
    }

    /// Sends requests until `requests` are complete, and holds their results against the known
    /// state.
    pub(super) fn run_in(&mut self, storm: &mut ZoneStorm, requests: u64) -> Result<()> {
        while self.completed < requests {
            let mut in_vain = 0;
            while self.ssd.has_room() && self.submitted < requests && in_vain < 100 {
                let before = self.submitted;
                self.submit_in(storm);
                in_vain = if self.submitted == before { in_vain + 1 } else { 0 };
            }
            match self.ssd.step() {
                Step::Completed(slot) => self.take_in(storm, slot)?,
                Step::Wake(_) | Step::Ready => {}
                Step::Idle => {
                    self.ssd.fault()?;
                    self.ssd.stalled()?;
                    let lost = self.submitted - self.completed;
                    if lost > 0 {
                        return Err(broken(format!("{lost} requests lost")));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn take_in(&mut self, storm: &mut ZoneStorm, slot: u32) -> Result<()> {
        if self.requests.contains_key(&slot) {
            return self.take(&Step::Completed(slot));
        }
        self.completed += 1;
        let Some((version, sent, then)) = storm.requests.remove(&slot) else {
            return Err(broken(format!("slot {slot} completed twice")));
        };
        let done = *self.ssd.completed(slot);
        hold!(done.token == version as u32, "another request completed: {sent:?}");
        hold!(done.failed || done.status == Status::Success, "{done:?}");
        if sent.op == Op::Flush {
            return Ok(());
        }
        let unit = self.ssd.unit_bytes();
        let (first, units) = (done.request.offset / unit, sent.length / unit);
        let Some((zone, offset)) = storm.layout.split(Lpn(first as u32)) else {
            return Err(broken(format!("{done:?} is beside the zones")));
        };
        let (zone, offset) = (u64::from(zone), u64::from(offset));
        let state = self.ssd.zone(zone as u32).map(|view| view.state);
        let is_over = matches!(state, Some(ZoneState::ReadOnly | ZoneState::Offline));
        let known = &mut storm.zones[zone as usize];
        match sent.op {
            Op::Read => known.reads -= 1,
            Op::ZoneAppend => known.appends -= 1,
            _ => known.others -= 1,
        }
        if done.failed {
            // Limits, what the state allows, the end of a zone, and what has failed.
            let is_lost = sent.op == Op::Read && self.ssd.counts().codes.uncorrectable > 0;
            let bytes = sent.offset..sent.offset + sent.length;
            let is_read_only = sent.op.writes() && self.ssd.is_read_only_in(&bytes);
            let allowed = match done.status {
                Status::Success => is_lost || is_read_only,
                Status::TooManyActiveZones | Status::TooManyOpenZones => sent.op != Op::Read,
                Status::ZoneIsFull => sent.op.writes(),
                Status::ZoneBoundaryError => {
                    sent.op == Op::ZoneAppend
                        && known.versions.len() as u64 + units + 8 * 32
                            > u64::from(storm.layout.capacity)
                }
                Status::InvalidZoneStateTransition => sent.op.manages(),
                Status::AreasUnavailable => sent.op == Op::ZoneOpenArea,
                Status::InvalidZoneOperation => match sent.op {
                    Op::ZoneOpenArea => !known.versions.is_empty(),
                    op => op == Op::ZoneAppend && known.area.is_some(),
                },
                // The program of an earlier row has failed, and the zone is read only.
                Status::InvalidField => is_over && sent.op == Op::ZoneCommit,
                Status::ZoneIsReadOnly | Status::ZoneIsOffline => is_over,
                _ => false,
            };
            hold!(allowed, "{sent:?} ended with {:?} in state {state:?}", done.status);
            return Ok(());
        }
        match sent.op {
            Op::Read => {
                let found = self.ssd.found(slot);
                hold!(found.len() as u64 == units, "every unit once: {sent:?}");
                for &(lpn, seen) in found {
                    let at = (lpn - storm.layout.units_of(zone as u32).start) as usize;
                    let truth = known.truth(at as u64);
                    let before = then[at - offset as usize];
                    // Data that came meanwhile may be read or not.
                    let is_right =
                        seen == truth || seen == before || (version < seen && seen < truth);
                    hold!(
                        is_right,
                        "unit {at} of zone {zone} reads {seen}, not {before} or {truth}"
                    );
                }
            }
            Op::Write if known.area.is_some() => {
                let Some(areas) = storm.layout.areas else { return Ok(()) };
                let pointer = known.versions.len() as u64;
                let inside = pointer..pointer + 2 * u64::from(areas.units);
                let is_inside = offset >= inside.start && offset + units <= inside.end;
                hold!(is_inside, "a write at {offset} of zone {zone}, whose pointer is {pointer}");
                known.carried_out(sent.op, offset, units, version, &storm.layout);
            }
            Op::Write | Op::ZoneAppend => {
                let is_new = known.early.insert(offset, (units, version)).is_none();
                hold!(is_new, "two appends at {offset} of zone {zone}");
                while let Some(next) = known.early.first_entry() {
                    let (at, (units, version)) = (*next.key(), *next.get());
                    let pointer = known.versions.len() as u64;
                    hold!(at >= pointer, "data at {at} of zone {zone} twice");
                    if at > pointer {
                        break;
                    }
                    next.remove();
                    known.versions.resize((pointer + units) as usize, version);
                }
                let is_gap = known.appends == 0 && known.others == 0 && !known.early.is_empty();
                hold!(!is_gap, "a gap in zone {zone}: {:?}", known.early);
            }
            op => known.carried_out(op, offset, units, version, &storm.layout),
        }
        let view = self.ssd.zone(zone as u32);
        let written = view.map_or(0, |view| u64::from(view.written));
        if is_over {
            known.finish();
        }
        if known.appends == 0 && known.others == 0 {
            let known = known.versions.len() as u64;
            hold!(written == known, "zone {zone} has {written} units, not {known}");
        }
        Ok(())
    }
}
