//! Random write areas (ZRWA): windows from the write pointers of zones on in which data can be
//! overwritten until they are committed.
//!
//! After the NVM Express Zoned Namespace Command Set (1.1): a zone gets an area when it is opened
//! without data. A write that ends beyond the area commits its beginning, by as much as is needed,
//! in steps of the granularity; it may reach as far beyond as the area is long. A zone that is
//! full, finished or emptied gives its area back.

use super::machine::{Machine, Zone};
use crate::ftl::contract::{AreaLayout, Status, ZoneState};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The random write area of a zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Area {
    /// Whether each unit holds data, from the write pointer on.
    held: VecDeque<bool>,
}

impl Area {
    /// Units up to the last one that holds data.
    fn end(&self) -> u32 {
        self.held.iter().rposition(|&held| held).map_or(0, |last| last as u32 + 1)
    }

    /// Drops units from the beginning, which are committed, and adds as many at the end.
    fn advance(&mut self, units: u32, layout: &AreaLayout) {
        self.held.drain(..(units as usize).min(self.held.len()));
        self.held.resize(layout.units as usize, false);
    }
}

impl Machine {
    /// Whether a zone has a random write area.
    pub(super) fn has_area(&self, zone: u32) -> bool {
        self.areas.contains_key(&zone)
    }

    /// Units that the random write area of a zone holds, as offsets in the zone.
    pub(super) fn in_area(&self, zone: u32) -> Vec<u32> {
        let Some(area) = self.areas.get(&zone) else { return Vec::new() };
        let held = (self.zones[zone as usize].pointer..).zip(&area.held);
        held.filter_map(|(unit, &held)| held.then_some(unit)).collect()
    }

    /// Opens a zone with a random write area.
    pub(super) fn open_area(&mut self, zone: u32) -> Result<(), Status> {
        let Some(layout) = self.layout.areas else { return Err(Status::InvalidZoneOperation) };
        let Zone { state, pointer, .. } = self.zones[zone as usize];
        if state.takes_no_more() || self.has_area(zone) {
            return self.open(zone);
        }
        if pointer > 0 {
            return Err(Status::InvalidZoneOperation);
        }
        if self.areas.len() as u32 >= layout.most {
            return Err(Status::AreasUnavailable);
        }
        self.open(zone)?;
        let held = vec![false; layout.units as usize].into();
        self.areas.insert(zone, Area { held });
        Ok(())
    }

    /// Writes units of a zone with a random write area: into the area, whose beginning is committed
    /// where the write ends beyond it.
    pub(super) fn write_to_area(
        &mut self,
        zone: u32,
        offset: u32,
        units: u32,
    ) -> Result<(), Status> {
        let Some(layout) = self.layout.areas else { return Err(Status::InvalidZoneOperation) };
        let Zone { state, pointer, .. } = self.zones[zone as usize];
        // The write ends inside what the zone takes.
        let end = (offset + units).saturating_sub(pointer);
        if offset < pointer || end > 2 * layout.units {
            return Err(Status::ZoneInvalidWrite);
        }
        if !state.is_open() {
            self.enter(zone, ZoneState::ImplicitlyOpen)?;
        }
        self.touch(zone);
        if let Some(area) = self.areas.get_mut(&zone) {
            area.held.resize(area.held.len().max(end as usize), false);
            area.held
                .range_mut((offset - pointer) as usize..end as usize)
                .for_each(|it| *it = true);
        }
        let beyond = end.saturating_sub(layout.units);
        if beyond > 0 {
            self.commit(zone, beyond.next_multiple_of(layout.flush_units));
        }
        Ok(())
    }

    /// Commits the random write area of a zone up to a unit.
    pub(super) fn commit_to(&mut self, zone: u32, end: u32) -> Result<(), Status> {
        let Zone { state, pointer, .. } = self.zones[zone as usize];
        let Some(layout) = self.layout.areas.filter(|_| self.has_area(zone)) else {
            return Err(Status::InvalidField);
        };
        let units = end.saturating_sub(pointer);
        let is_inside = (1..=layout.units).contains(&units) && end <= self.layout.capacity;
        if !is_inside || !units.is_multiple_of(layout.flush_units) {
            return Err(Status::InvalidField);
        }
        if !state.is_open() {
            self.enter(zone, ZoneState::ImplicitlyOpen)?;
        }
        self.touch(zone);
        self.commit(zone, units);
        Ok(())
    }

    /// Commits units of a zone from its write pointer on.
    fn commit(&mut self, zone: u32, units: u32) {
        let (Some(layout), Some(area)) = (self.layout.areas, self.areas.get_mut(&zone)) else {
            return;
        };
        area.advance(units, &layout);
        let of = &mut self.zones[zone as usize];
        of.pointer += units;
        of.written = of.pointer;
        if of.pointer == self.layout.capacity {
            self.areas.remove(&zone);
            self.set(zone, ZoneState::Full);
        }
    }

    /// Gives back the random write area of a zone, if it has one. All that the area holds is
    /// committed.
    pub(super) fn end_area(&mut self, zone: u32) {
        let Some(area) = self.areas.remove(&zone) else { return };
        let of = &mut self.zones[zone as usize];
        of.pointer += area.end();
        of.written = of.pointer;
    }

    /// Areas as words for a start-up: for each that there may be its zone and one more, 0 for none,
    /// and a bit for each unit that it holds.
    pub(super) fn area_words(&self) -> Vec<u64> {
        let Some(layout) = self.layout.areas else { return Vec::new() };
        let each = words_of_area(&layout);
        let mut words = vec![0; each * layout.most as usize];
        for (words, (&zone, area)) in words.chunks_exact_mut(each).zip(&self.areas) {
            words[0] = u64::from(zone) + 1;
            for (unit, _) in area.held.iter().enumerate().filter(|(_, held)| **held) {
                words[1 + unit / 64] |= 1 << (unit % 64);
            }
        }
        words
    }

    /// Takes over areas after a power cut. A zone whose area holds data is closed; one without any
    /// data is empty, and has no area.
    pub(super) fn take_area_words(&mut self, words: &[u64]) {
        let Some(layout) = self.layout.areas else { return };
        for words in words.chunks_exact(words_of_area(&layout)) {
            let Some(zone) = (words[0] as u32).checked_sub(1) else { continue };
            let is_held = |unit: usize| words[1 + unit / 64] >> (unit % 64) & 1 != 0;
            let held: VecDeque<bool> = (0..layout.units as usize).map(is_held).collect();
            if held.contains(&true) {
                self.set(zone, ZoneState::Closed);
            }
            if self.zones[zone as usize].state == ZoneState::Closed {
                self.areas.insert(zone, Area { held });
            }
        }
    }

    /// Makes a zone read only: it takes no more, and what its random write area holds is committed.
    pub(super) fn make_read_only(&mut self, zone: u32) {
        self.end_area(zone);
        self.set(zone, ZoneState::ReadOnly);
    }
}

/// Words of an area: its zone, and a bit for each unit.
fn words_of_area(layout: &AreaLayout) -> usize {
    1 + layout.units.div_ceil(64) as usize
}
