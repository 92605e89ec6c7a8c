//! States of zones: what each command does in each state, and how many zones are open and active.
//!
//! After the state machine of the NVM Express Zoned Namespace Command Set (1.1, section 2.1.1.3).
//! A write to a zone that is not open opens it; where as many are open as may be, the implicitly
//! open zone that was written to least recently is closed for it. `area`, beside it, has what
//! random write areas add.

use super::area::Area;
use crate::ftl::Lpn;
use crate::ftl::contract::{Status, ZoneLayout, ZoneState, ZoneView};
use crate::terms::request::Op;
use base::units::Divisor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of a zone, its write pointer, and its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Zone {
    pub state: ZoneState,
    /// Write pointer, in units from the start of the zone.
    pub pointer: u32,
    /// Units that the host has written to the zone.
    pub written: u32,
    /// Request that last wrote to the zone or opened it, by number.
    used_at: u64,
}

impl Zone {
    const EMPTY: Self = Self { state: ZoneState::Empty, pointer: 0, written: 0, used_at: 0 };
}

/// States of all zones, and how many are open and active.
#[derive(Clone)]
pub(super) struct Machine {
    pub layout: ZoneLayout,
    by_stride: Divisor,
    pub zones: Vec<Zone>,
    /// Random write areas by zone.
    pub areas: BTreeMap<u32, Area>,
    open: u32,
    active: u32,
    requests: u64,
}

impl Machine {
    /// Creates zones that are all empty.
    pub(super) fn new(layout: ZoneLayout) -> Self {
        Self {
            layout,
            by_stride: Divisor::new(layout.stride),
            zones: vec![Zone::EMPTY; layout.zones as usize],
            areas: BTreeMap::new(),
            open: 0,
            active: 0,
            requests: 0,
        }
    }

    /// State and write pointer of a zone.
    pub(super) fn view(&self, zone: u32) -> ZoneView {
        let Zone { state, pointer, written, .. } = self.zones[zone as usize];
        ZoneView { state, pointer, written, has_area: self.has_area(zone) }
    }

    /// Zone of a unit, and the unit's offset in it.
    #[inline]
    pub(super) fn split(&self, lpn: Lpn) -> (u32, u32) {
        self.by_stride.split(lpn.0)
    }

    /// Takes over zones that were saved.
    pub(super) fn take_over(&mut self, zones: Vec<Zone>) {
        let count =
            |is: fn(ZoneState) -> bool| zones.iter().filter(|zone| is(zone.state)).count() as u32;
        (self.open, self.active) = (count(ZoneState::is_open), count(ZoneState::is_active));
        self.requests = zones.iter().map(|zone| zone.used_at).max().unwrap_or(0);
        self.zones = zones;
    }

    /// Takes over states and written units after a power cut: zones that were open are closed, or
    /// empty where they hold no data.
    pub(super) fn start_up(&mut self, found: &[(ZoneState, u32)]) {
        let zone = |&(state, written): &(ZoneState, u32)| {
            let state = match state {
                state if !state.is_active() => state,
                _ if written > 0 => ZoneState::Closed,
                _ => ZoneState::Empty,
            };
            let is_full = state == ZoneState::Full;
            let pointer = if is_full { self.layout.capacity } else { written };
            Zone { state, pointer, written, ..Zone::EMPTY }
        };
        self.take_over(found.iter().map(zone).collect());
    }

    /// Carries out a request for `units` units from `first` on. Returns where it begins, or why it
    /// is refused. All but reads change the zone.
    pub(super) fn admit(&mut self, op: Op, first: Lpn, units: u32) -> Result<Lpn, Status> {
        let (zone, offset) = self.split(first);
        match op {
            Op::Read => self.read(zone, offset, units).map(|()| first),
            Op::Write => self.write(zone, offset, units).map(|()| first),
            _ if offset > 0 => Err(Status::InvalidField),
            Op::ZoneAppend if self.has_area(zone) => Err(Status::InvalidZoneOperation),
            Op::ZoneAppend => {
                let pointer = self.zones[zone as usize].pointer;
                self.write(zone, pointer, units)?;
                Ok(Lpn(first.0 + pointer))
            }
            Op::ZoneReset => self.reset(zone).map(|()| first),
            Op::ZoneFinish => self.finish(zone).map(|()| first),
            Op::ZoneOpen => self.open(zone).map(|()| first),
            Op::ZoneClose => self.close(zone).map(|()| first),
            Op::ZoneOpenArea => self.open_area(zone).map(|()| first),
            Op::ZoneCommit => self.commit_to(zone, units).map(|()| first),
            // There is nothing that a trim could forget but a zone, and a reset does that.
            Op::Trim | Op::Flush => Err(Status::InvalidField),
        }
    }

    fn read(&self, zone: u32, offset: u32, units: u32) -> Result<(), Status> {
        if u64::from(offset) + u64::from(units) > u64::from(self.layout.stride) {
            return Err(Status::ZoneBoundaryError);
        }
        match self.zones[zone as usize].state {
            ZoneState::Offline => Err(Status::ZoneIsOffline),
            _ => Ok(()),
        }
    }

    fn write(&mut self, zone: u32, offset: u32, units: u32) -> Result<(), Status> {
        let Zone { state, pointer, .. } = self.zones[zone as usize];
        match state {
            ZoneState::Full => return Err(Status::ZoneIsFull),
            ZoneState::ReadOnly => return Err(Status::ZoneIsReadOnly),
            ZoneState::Offline => return Err(Status::ZoneIsOffline),
            _ => {}
        }
        let end = u64::from(offset) + u64::from(units);
        if end > u64::from(self.layout.capacity) {
            return Err(Status::ZoneBoundaryError);
        }
        if self.has_area(zone) {
            return self.write_to_area(zone, offset, units);
        }
        if offset != pointer {
            return Err(Status::ZoneInvalidWrite);
        }
        if !state.is_open() {
            self.enter(zone, ZoneState::ImplicitlyOpen)?;
        }
        self.touch(zone);
        let at = &mut self.zones[zone as usize];
        (at.pointer, at.written) = (end as u32, end as u32);
        if end == u64::from(self.layout.capacity) {
            self.set(zone, ZoneState::Full);
        }
        Ok(())
    }

    fn reset(&mut self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::ReadOnly | ZoneState::Offline => Err(Status::InvalidZoneStateTransition),
            _ => {
                self.set(zone, ZoneState::Empty);
                self.areas.remove(&zone);
                self.zones[zone as usize] = Zone::EMPTY;
                Ok(())
            }
        }
    }

    fn finish(&mut self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::ReadOnly | ZoneState::Offline => Err(Status::InvalidZoneStateTransition),
            _ => {
                self.end_area(zone);
                self.set(zone, ZoneState::Full);
                self.zones[zone as usize].pointer = self.layout.capacity;
                Ok(())
            }
        }
    }

    pub(super) fn open(&mut self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::ExplicitlyOpen => Ok(()),
            ZoneState::Empty | ZoneState::ImplicitlyOpen | ZoneState::Closed => {
                self.enter(zone, ZoneState::ExplicitlyOpen)?;
                self.touch(zone);
                Ok(())
            }
            _ => Err(Status::InvalidZoneStateTransition),
        }
    }

    fn close(&mut self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::Closed => Ok(()),
            state if state.is_open() => {
                self.set(zone, ZoneState::Closed);
                Ok(())
            }
            _ => Err(Status::InvalidZoneStateTransition),
        }
    }

    /// Puts a read-only zone out of use; one that is out of use stays so.
    pub(super) fn put_offline(&mut self, zone: u32) -> Result<(), Status> {
        match self.zones[zone as usize].state {
            ZoneState::Offline => Ok(()),
            ZoneState::ReadOnly => {
                self.set(zone, ZoneState::Offline);
                Ok(())
            }
            _ => Err(Status::InvalidZoneStateTransition),
        }
    }

    /// Opens a zone, if the limits allow it.
    pub(super) fn enter(&mut self, zone: u32, to: ZoneState) -> Result<(), Status> {
        let ZoneLayout { most_open, most_active, .. } = self.layout;
        let state = self.zones[zone as usize].state;
        if !state.is_active() && most_active > 0 && self.active >= most_active {
            return Err(Status::TooManyActiveZones);
        }
        if !state.is_open() && most_open > 0 && self.open >= most_open {
            let zones = (0..).zip(&self.zones);
            let implicit = zones.filter(|(_, zone)| zone.state == ZoneState::ImplicitlyOpen);
            let Some((oldest, _)) = implicit.min_by_key(|(_, zone)| zone.used_at) else {
                return Err(Status::TooManyOpenZones);
            };
            self.set(oldest, ZoneState::Closed);
        }
        self.set(zone, to);
        Ok(())
    }

    pub(super) fn touch(&mut self, zone: u32) {
        self.requests += 1;
        self.zones[zone as usize].used_at = self.requests;
    }

    /// Changes the state of a zone.
    pub(super) fn set(&mut self, zone: u32, to: ZoneState) {
        let from = std::mem::replace(&mut self.zones[zone as usize].state, to);
        self.open = self.open + u32::from(to.is_open()) - u32::from(from.is_open());
        self.active = self.active + u32::from(to.is_active()) - u32::from(from.is_active());
    }
}

#[cfg(test)]
mod tests;
