//! Storm on a drive with zones whose power is cut: every unit that was answered is there, what was
//! under way is whole or not there, and no zone is open.

use super::super::tally::hold;
use super::Storm;
use super::zones::ZoneStorm;
use crate::Step;
use crate::ftl::Lpn;
use crate::ftl::contract::{ZoneState, ZoneView};
use crate::request::{Op, Request};
use base::Result;
use std::collections::BTreeMap;

impl Storm {
    /// States of the zones; none without zones.
    pub(in super::super) fn zone_views(&self) -> Vec<ZoneView> {
        let zones = self.ssd.zone_layout().map_or(0, |layout| layout.zones);
        (0..zones).filter_map(|zone| self.ssd.zone(zone)).collect()
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
        let stored = |at: u32| self.ssd.stored(Lpn(first + at));
        let versions: Vec<u64> = (0..now.written).map(stored).collect();
        hold!(versions.iter().all(|&version| version > 0), "a gap in {about}");
        hold!((now.written..storm.layout.stride).all(|at| stored(at) == 0), "data beyond {about}");
        let known = &mut storm.zones[zone as usize];
        let is_under_way = |op: Op| flying.iter().any(|(_, request)| request.op == op);
        if now.written > 0 || !is_under_way(Op::ZoneReset) {
            hold!(versions.starts_with(&known.versions), "data are lost: {about}");
            let mut rest = versions.clone();
            rest.drain(..known.versions.len());
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
        }
        let has_failed = matches!(now.state, ZoneState::ReadOnly | ZoneState::Offline);
        let is_right = match now.state {
            ZoneState::Empty => now.written == 0 && now.pointer == 0,
            ZoneState::Closed => now.written > 0 && now.written < storm.layout.capacity,
            ZoneState::Full => now.pointer == storm.layout.capacity,
            _ => has_failed,
        };
        hold!(is_right, "{about}");
        if flying.is_empty() && !has_failed {
            let is_active = before.state.is_active();
            let state = match before.state {
                _ if is_active && before.written == 0 => ZoneState::Empty,
                _ if is_active => ZoneState::Closed,
                state => state,
            };
            let wanted = ZoneView { state, ..*before };
            hold!(now == wanted, "{about}");
        }
        (known.versions, known.early) = (versions, BTreeMap::new());
        (known.appends, known.others, known.reads) = (0, 0, 0);
        Ok(())
    }
}
