//! Storm on a drive with zones whose power is cut: every unit that was answered is there, what was
//! under way is whole or not there, and no zone is open.

use super::super::tally::{broken, hold};
use super::Storm;
use super::zones::{Known, ZoneStorm};
use crate::Step;
use crate::ftl::Lpn;
use crate::ftl::contract::{ZoneState, ZoneView};
use crate::request::Request;
use base::Result;
use std::collections::BTreeMap;

impl Storm {
    /// States of the zones; none without zones.
    pub(in super::super) fn zone_views(&self) -> Vec<ZoneView> {
        let zones = self.ssd.zone_layout().map_or(0, |layout| layout.zones);
        (0..zones).filter_map(|zone| self.ssd.zone(zone)).collect()
    }

    /// Random write areas that held data after a cut, so far.
    pub fn areas_kept(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| zones.areas_kept)
    }

    /// Goes on for `events` events of a drive with zones.
    pub(super) fn run_events_in(&mut self, storm: &mut ZoneStorm, events: u64) -> Result<()> {
        for _ in 0..events {
            let mut in_vain = 0;
            while self.ssd.has_room() && in_vain < 20 {
                let before = self.submitted;
                self.submit_in(storm);
                in_vain = if self.submitted == before { in_vain + 1 } else { 0 };
            }
            if let Some(Step::Completed(slot)) = self.ssd.step_event() {
                self.take_in(storm, slot)?;
            }
        }
        self.ssd.fault()
    }

    /// Holds the zones after a cut against those `before` it, and takes what is there for durable.
    pub(in super::super) fn check_zones_after_cut(&mut self, before: &[ZoneView]) -> Result<()> {
        let Some(mut storm) = self.zones.take() else { return Ok(()) };
        let mut flying: BTreeMap<u32, Vec<(u64, Request)>> = BTreeMap::new();
        let unit = self.ssd.unit_bytes();
        for (version, request, _) in std::mem::take(&mut storm.requests).into_values() {
            let Some((zone, _)) = storm.layout.split(Lpn((request.offset / unit) as u32)) else {
                continue;
            };
            flying.entry(zone).or_default().push((version, request));
        }
        for (zone, before) in (0..).zip(before) {
            let flying = flying.remove(&zone).unwrap_or_default();
            self.check_zone(&mut storm, zone, before, &flying)?;
        }
        self.submitted = self.ssd.versions.as_ref().map_or(self.submitted, |all| all.latest());
        self.completed = self.submitted;
        self.zones = Some(storm);
        Ok(())
    }

    fn check_zone(
        &mut self,
        storm: &mut ZoneStorm,
        zone: u32,
        before: &ZoneView,
        flying: &[(u64, Request)],
    ) -> Result<()> {
        let Some(now) = self.ssd.zone(zone) else { return Ok(()) };
        let about = format!("zone {zone} after a cut: {now:?}, {before:?} before, {flying:?}");
        let first = storm.layout.units_of(zone).start;
        let (stored, unit) = (|at: u32| self.ssd.stored(Lpn(first + at)), self.ssd.unit_bytes());
        let known = storm.zones[zone as usize].clone();
        let versions: Vec<u64> = (0..now.written).map(stored).collect();
        let has_failed = matches!(now.state, ZoneState::ReadOnly | ZoneState::Offline);
        let is_change = |(_, request): &&(u64, Request)| {
            let Request { op, .. } = request;
            op.writes() && known.area.is_some() || op.manages()
        };
        let change = flying.iter().find(is_change);
        // Either the change was carried out or not. Writes at the pointer may be several.
        let mut candidates = vec![known.clone()];
        candidates.extend(change.map(|(version, request)| {
            let mut after = known.clone();
            let offset = request.offset / unit - u64::from(first);
            let units = request.length / unit;
            after.carried_out(request.op, offset, units, *version, &storm.layout);
            after
        }));
        for candidate in &mut candidates {
            if has_failed {
                candidate.finish();
            }
            if change.is_none() {
                candidate.versions.clone_from(&versions);
            }
            let is_empty = candidate.versions.is_empty();
            let gives_back = |area: &BTreeMap<u64, u64>| is_empty && area.is_empty();
            if candidate.area.as_ref().is_some_and(gives_back) {
                candidate.area = None;
            }
        }
        let is_it = |candidate: &Known| {
            candidate.versions == versions
                && candidate.area.is_some() == now.has_area
                && (now.written..storm.layout.stride)
                    .all(|at| stored(at) == candidate.truth(at.into()))
        };
        let Some(found) = candidates.into_iter().find(is_it) else {
            return Err(broken(format!("{versions:?}, not one of {known:?}, in {about}")));
        };
        if change.is_none() {
            let mut known = known;
            if has_failed {
                known.finish();
            }
            self.check_writes(&known, &versions, flying, &about)?;
        }
        let is_right = match now.state {
            ZoneState::Empty => now.written == 0 && now.pointer == 0 && !now.has_area,
            ZoneState::Closed => {
                (now.written > 0 || now.has_area) && now.written < storm.layout.capacity
            }
            ZoneState::Full => now.pointer == storm.layout.capacity && !now.has_area,
            _ => has_failed && !now.has_area,
        };
        hold!(is_right, "{about}");
        if flying.is_empty() && !has_failed {
            let is_active = before.state.is_active();
            let state = match before.state {
                _ if is_active && before.written == 0 && !now.has_area => ZoneState::Empty,
                _ if is_active => ZoneState::Closed,
                state => state,
            };
            let wanted = ZoneView { state, has_area: now.has_area, ..*before };
            hold!(now == wanted, "{about}");
        }
        let known = Known { versions, area: found.area, ..Known::default() };
        storm.areas_kept += u64::from(known.area.as_ref().is_some_and(|area| !area.is_empty()));
        storm.zones[zone as usize] = known;
        Ok(())
    }

    /// Holds the versions of a zone after a cut against writes and appends at its pointer: those
    /// that were answered are there, and each of the others is there as a whole or not at all.
    fn check_writes(
        &self,
        known: &Known,
        versions: &[u64],
        flying: &[(u64, Request)],
        about: &str,
    ) -> Result<()> {
        hold!(versions.starts_with(&known.versions), "data are lost: {about}");
        let mut rest = versions.to_vec();
        rest.drain(..known.versions.len());
        hold!(rest.iter().all(|&version| version > 0), "a gap in {about}");
        for (&at, &(units, version)) in &known.early {
            let range = at as usize..(at + units) as usize;
            let found = versions.get(range).unwrap_or_default();
            hold!(
                !found.is_empty() && found.iter().all(|&it| it == version),
                "an append at {at} is lost: {about}"
            );
            rest.retain(|&it| it != version);
        }
        let unit = self.ssd.unit_bytes();
        for (version, request) in flying.iter().filter(|(_, request)| request.op.writes()) {
            let count = rest.iter().filter(|it| *it == version).count() as u64;
            hold!(count == 0 || count == request.length / unit, "{request:?} torn: {about}");
            rest.retain(|it| it != version);
        }
        hold!(rest.is_empty(), "nobody wrote {rest:?}: {about}");
        Ok(())
    }
}
