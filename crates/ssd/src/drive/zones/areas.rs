//! Random write areas of zones: their data stay in the buffer until they are committed.
//!
//! The FTL says with `admit` how far the write pointer of a zone has come. Here that is carried out
//! in the order in which requests enter the buffer: units behind the pointer wait for their
//! programs as those of other writes do, and a unit that the host has not written gets zeros. Of
//! a unit that is overwritten in its area only the newest data are left.

use crate::buffer::{Rest, State};
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::ftl::contract::{ZoneView, key_among};
use crate::ftl::{Hint, Lpn};
use crate::medium::versions::Happened;
use crate::terms::request::Op;
use std::collections::{BTreeMap, VecDeque};

/// Units of a zone that are to be committed.
#[derive(Clone, Copy)]
struct Commit {
    /// Request that commits them, before anything else that it does.
    slot: u32,
    zone: u32,
    /// Next unit of the zone, and one past the last.
    next: u32,
    end: u32,
    /// Beginning of the area after the commit; `None` if the zone then has no area.
    from: Option<u32>,
}

/// Random write areas as the buffer has them.
#[derive(Default)]
pub(in crate::drive) struct Areas {
    /// By zone: the unit from which on data wait for a commit.
    from: BTreeMap<u32, u32>,
    /// Commits of requests that wait for room, in the order of the requests.
    commits: VecDeque<Commit>,
}

impl Areas {
    /// Forgets the area of a zone, and what is to be committed there.
    pub(super) fn forget(&mut self, zone: u32) {
        self.from.remove(&zone);
        self.commits.retain(|commit| commit.zone != zone);
    }
}

impl Ssd {
    /// State of the zone of a unit, if that has a random write area.
    pub(super) fn area_before(&self, lpn: Lpn) -> Option<ZoneView> {
        let zones = self.zones.as_ref().filter(|zones| zones.layout.areas.is_some())?;
        let view = self.ftl.zones()?.view(zones.layout.split(lpn)?.0);
        view.has_area.then_some(view)
    }

    /// Notes what an admitted request changes in the random write area of its zone, which was
    /// `before`.
    pub(super) fn note_area(&mut self, slot: u32, before: Option<ZoneView>) {
        let request = self.front.request(slot);
        let (Some(zones), Some(all)) = (&mut self.zones, self.ftl.zones()) else { return };
        let Some(lpn) = self.units.lpn_at(request.offset) else { return };
        let Some((zone, offset)) = zones.layout.split(lpn) else { return };
        if request.op == Op::ZoneOpenArea {
            zones.areas.from.entry(zone).or_insert(all.view(zone).written);
        }
        let (Some(before), true) = (before, request.op != Op::ZoneReset) else { return };
        let after = all.view(zone);
        let from = after.has_area.then_some(after.written);
        if from == Some(before.written) {
            return;
        }
        zones.counts.committed_units += u64::from(after.written - before.written);
        let end = if request.op == Op::Write {
            zones.counts.implicit_commits += 1;
            // What it writes itself goes to the flash at once.
            after.written.min(offset.max(before.written))
        } else {
            after.written
        };
        zones.areas.commits.push_back(Commit { slot, zone, next: before.written, end, from });
    }

    /// Whether a request commits data that are not committed yet.
    pub(super) fn commits(&self, slot: u32) -> bool {
        let commits = self.zones.as_ref().map(|zones| &zones.areas.commits);
        commits.is_some_and(|commits| commits.iter().any(|commit| commit.slot == slot))
    }

    /// Carries out the commit of a request, if it has one: its units wait for their programs. False
    /// when it must wait for room for zeros.
    pub(in crate::drive) fn commit_area(&mut self, slot: u32) -> bool {
        let first = self.zones.as_ref().and_then(|zones| zones.areas.commits.front());
        let Some(&Commit { zone, next, end, from, .. }) = first.filter(|it| it.slot == slot) else {
            return true;
        };
        let next = self.send_on(zone, next, end);
        let Some(zones) = &mut self.zones else { return true };
        if next < end {
            zones.areas.commits.iter_mut().take(1).for_each(|commit| commit.next = next);
            return false;
        }
        zones.areas.commits.pop_front();
        match from {
            Some(from) => _ = zones.areas.from.insert(zone, from),
            None => _ = zones.areas.from.remove(&zone),
        }
        self.wakes.wake(Wake::Rows);
        true
    }

    /// Sends units of a zone on to the flash, with zeros for those that the host has not written.
    /// Returns the unit that there is no room for, or the end.
    fn send_on(&mut self, zone: u32, first: u32, end: u32) -> u32 {
        let Some(layout) = self.zone_layout() else { return end };
        for unit in first..end {
            let lpn = Lpn(layout.units_of(zone).start + unit);
            match self.writer.buffer.find(lpn) {
                Some(held) => self.push_committed(held, lpn),
                None => match self.writer.buffer.take(lpn, State::Filling) {
                    Some(held) => self.push_blank(held, lpn),
                    None => return unit,
                },
            }
        }
        end
    }

    /// A unit of the buffer is committed: it waits for its program.
    fn push_committed(&mut self, held: u32, lpn: Lpn) {
        let keys = self.ftl.facts().keys;
        let key = key_among(&mut *self.ftl, keys, lpn, Hint::default());
        self.writer.buffer.slot(held).key = key;
        self.writer.buffer.push_dirty(held);
    }

    /// A unit that the host has not written is committed.
    fn push_blank(&mut self, held: u32, lpn: Lpn) {
        let sequence = self.power.as_mut().map_or(0, |power| power.number());
        let entry = self.writer.buffer.slot(held);
        (entry.rest, entry.sequence) = (Rest::None, sequence);
        self.join_epoch(held);
        if let Some(versions) = &mut self.versions {
            versions.hold(held, 0);
            versions.note(lpn.0, Happened::Emptied { units: 1 });
        }
        self.zones.iter_mut().for_each(|zones| zones.counts.blank_units += 1);
        self.push_committed(held, lpn);
    }

    /// A buffer slot for a unit that enters a random write area, or is in one; `None` for other
    /// units. The slot is `None` where there is no room.
    pub(in crate::drive) fn hold_in_area(&mut self, lpn: Lpn) -> Option<Option<u32>> {
        let zones = self.zones.as_mut().filter(|zones| !zones.areas.from.is_empty())?;
        let (zone, offset) = zones.layout.split(lpn)?;
        let is_committed = *zones.areas.from.get(&zone)? > offset;
        let found = self.writer.buffer.find(lpn);
        if let Some(old) = found.filter(|&old| self.writer.buffer.slot(old).state == State::Area) {
            zones.counts.overwritten_units += 1;
            self.counts.buffer.coalesced += 1;
            if is_committed {
                self.push_committed(old, lpn);
            }
            return Some(Some(old));
        }
        if is_committed {
            return None;
        }
        Some(self.take_in_area(lpn))
    }

    fn take_in_area(&mut self, lpn: Lpn) -> Option<u32> {
        let held = self.writer.buffer.take(lpn, State::Area)?;
        let sequence = self.power.as_mut().map_or(0, |power| power.number());
        let entry = self.writer.buffer.slot(held);
        (entry.rest, entry.sequence) = (Rest::None, sequence);
        self.join_epoch(held);
        Some(held)
    }

    /// Commits the areas of zones that have become read only, once no write to them waits for room.
    pub(in crate::drive) fn settle_areas(&mut self) {
        let (Some(zones), Some(all)) = (&self.zones, self.ftl.zones()) else { return };
        if zones.areas.from.is_empty() {
            return;
        }
        let units_of = |zone: u32| zones.layout.units_of(zone);
        let first_of = |slot: &u32| self.units.at(self.front.request(*slot).offset) as u32;
        let over = |(&zone, &from): (&u32, &u32)| {
            let view = all.view(zone);
            let is_over = !view.has_area
                && !self.writer.stalled.iter().any(|slot| units_of(zone).contains(&first_of(slot)));
            is_over.then_some((zone, from, view.written))
        };
        let over: Vec<(u32, u32, u32)> = zones.areas.from.iter().filter_map(over).collect();
        for (zone, from, end) in over {
            let next = self.send_on(zone, from, end);
            let Some(zones) = &mut self.zones else { return };
            zones.counts.committed_units += u64::from(next - from);
            if next < end {
                zones.areas.from.insert(zone, next);
            } else {
                zones.areas.from.remove(&zone);
            }
            self.wakes.wake(Wake::Rows);
        }
    }

    /// Whether a unit is in a random write area, with data of the host.
    pub fn is_in_area(&self, unit: u32) -> bool {
        let Some(zones) = self.zones.as_ref() else { return false };
        let Some((zone, offset)) = zones.layout.split(Lpn(unit)) else { return false };
        let from = zones.areas.from.get(&zone);
        from.is_some_and(|&from| from <= offset) && self.is_in_buffer(unit)
    }

    /// Units that random write areas hold.
    pub(super) fn units_in_areas(&self) -> Vec<Lpn> {
        let (Some(zones), Some(all)) = (&self.zones, self.ftl.zones()) else { return Vec::new() };
        let is_off = self.power.as_ref().is_some_and(|power| !power.is_rebuilt);
        if zones.layout.areas.is_none() || is_off {
            return Vec::new();
        }
        let first_of = |zone: u32| zones.layout.units_of(zone).start;
        let of = |zone| all.in_area(zone).into_iter().map(move |unit| first_of(zone) + unit);
        (0..zones.layout.zones).flat_map(of).map(Lpn).collect()
    }

    /// Puts the data of random write areas into the buffer of a drive that begins a run. False if
    /// it has no room for them.
    pub(super) fn take_areas(&mut self) -> bool {
        let (Some(zones), Some(all)) = (&mut self.zones, self.ftl.zones()) else { return true };
        let views = (0..zones.layout.zones).map(|zone| (zone, all.view(zone)));
        let areas = views.filter(|(_, view)| view.has_area);
        zones.areas.from = areas.map(|(zone, view)| (zone, view.written)).collect();
        zones.areas.commits.clear();
        self.units_in_areas().into_iter().all(|lpn| self.take_in_area(lpn).is_some())
    }
}
