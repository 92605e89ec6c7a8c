//! Commands on zones: what is admitted, and what resets and finishes do.
//!
//! The FTL answers whether a request is carried out (`Ftl::admit`) before anything is acknowledged
//! or enters the buffer. Commands that change a zone take the time of the firmware on one
//! processor of their own, one after the other. A reset drops what the buffer holds of the zone; a
//! finish is complete when the flash has what was missing. Data of zones need no power in the
//! buffer: they are durable there, and a row that is short stays. Other sets of dies of the drive
//! know nothing of all this. `areas` has the data of random write areas.

mod areas;

use super::flow::event;
use super::wakes::Wake;
use super::{Ssd, Stage};
use crate::buffer::State;
use crate::config::SsdConfig;
use crate::ftl::contract::{ZoneCosts, ZoneEmptied, ZoneLayout, ZoneView, check_buffer, key_among};
use crate::ftl::{Ftl, Hint, Lpn};
use crate::medium::versions::Happened;
use crate::terms::request::{Op, Request, Status};
use areas::Areas;
use base::{Error, Result, Time, counts};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::ops::Range;

/// Counts of the commands on the zones of a drive, keys of the report's `zones`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ZoneCounts {
    /// Appends that were carried out.
    pub appends: u64,
    /// Resets that were carried out.
    pub resets: u64,
    /// Finishes that were carried out.
    pub finishes: u64,
    /// Opens that were carried out.
    pub opens: u64,
    /// Closes that were carried out.
    pub closes: u64,
    /// Units that resets have dropped.
    pub reset_units: u64,
    /// Opens that gave a zone a random write area, or kept it.
    pub area_opens: u64,
    /// Commits of random write areas that the host has asked for.
    pub commits: u64,
    /// Commits of random write areas by writes that ended beyond them.
    pub implicit_commits: u64,
    /// Units of random write areas that commits and finishes have sent on to flash.
    pub committed_units: u64,
    /// Units overwritten in random write areas: their older data never reach flash.
    pub overwritten_units: u64,
    /// Committed units that the host has not written: zeros are programmed for them.
    pub blank_units: u64,
    /// Requests that were refused, by the names of NVM Express.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<String, u64>")]
    #[schemars(extend("propertyNames" = {"enum": Status::ERRORS.map(Status::name)}))]
    pub refused: [u64; Status::ERRORS.len()],
}

counts!(ZoneCounts {
    appends,
    resets,
    finishes,
    opens,
    closes,
    reset_units,
    area_opens,
    commits,
    implicit_commits,
    committed_units,
    overwritten_units,
    blank_units,
    refused,
});

/// Writes counts of errors by their names.
fn by_name<S: Serializer>(
    counts: &[u64; Status::ERRORS.len()],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(Status::ERRORS.map(Status::name).iter().zip(counts))
}

/// Commands on zones that are under way, and their times.
pub(super) struct ZoneCommands {
    layout: ZoneLayout,
    costs: ZoneCosts,
    /// Processor of the firmware that carries the commands out.
    firmware: Stage,
    /// Arrival time of the data of the last write.
    last_in: Time,
    /// Zones that are being finished, each with the request that waits for it; without one where a
    /// start-up goes on with a finish.
    finishing: Vec<(u32, Option<u32>)>,
    areas: Areas,
    counts: ZoneCounts,
}

impl ZoneCommands {
    /// Creates the zone commands of a drive whose FTL has zones; `None` for others. Refuses a
    /// buffer that is too small for the zones.
    pub(super) fn of(ftl: &dyn Ftl, config: &SsdConfig) -> Result<Option<Box<Self>>> {
        let Some(zones) = ftl.zones() else { return Ok(None) };
        let (layout, costs) = (zones.layout(), zones.costs());
        let unit = u64::from(config.drive_unit_bytes());
        let (row, has_others) = (ftl.facts().row_units, !layout.is_all(ftl.facts().logical_units));
        check_buffer(&layout, row, has_others, config.buffer.bytes, unit)?;
        Ok(Some(Box::new(Self {
            layout,
            costs,
            firmware: Stage::new(1),
            last_in: Time::ZERO,
            finishing: Vec::new(),
            areas: Areas::default(),
            counts: ZoneCounts::default(),
        })))
    }

    /// The power is gone: nobody waits for a finish or a commit any more. The areas come back with
    /// what the drive has dumped.
    pub(super) fn cut(&mut self) {
        self.finishing.clear();
        self.areas = Areas::default();
    }

    /// Whether any of these units belongs to a zone.
    fn touches(&self, first: u64, last: u64) -> bool {
        let units = self.layout.units();
        first < u64::from(units.end) && last >= u64::from(units.start)
    }

    /// Arrival time of a write's data that could be there at `arrived`, for the unit that they
    /// begin with: writes to zones are admitted in the order of their commands, however long each
    /// is.
    pub(super) fn in_order(&mut self, arrived: Time, first: u64) -> Time {
        if !self.has(first) {
            return arrived;
        }
        self.last_in = self.last_in.max(arrived);
        self.last_in
    }

    /// Whether a unit belongs to a zone.
    #[inline]
    fn has(&self, unit: u64) -> bool {
        u32::try_from(unit).is_ok_and(|unit| self.layout.contains(Lpn(unit)))
    }
}

impl Ssd {
    /// Layout of the zones; `None` for a drive without zones.
    pub fn zone_layout(&self) -> Option<ZoneLayout> {
        self.zones.as_ref().map(|zones| zones.layout)
    }

    /// State of a zone; `None` for a drive without zones.
    pub fn zone(&self, zone: u32) -> Option<ZoneView> {
        self.ftl.zones().map(|zones| zones.view(zone))
    }

    /// Puts a zone that takes no writes any more out of use, at once.
    pub fn put_zone_offline(&mut self, zone: u32) -> std::result::Result<(), Status> {
        self.ftl.zones_mut().map_or(Err(Status::InvalidOpcode), |zones| zones.put_offline(zone))
    }

    /// Counts of commands on zones since the start of the run; `None` for a drive without zones.
    pub fn zone_counts(&self) -> Option<ZoneCounts> {
        self.zones.as_ref().map(|zones| zones.counts)
    }

    /// Whether the drive has a zone that a unit belongs to: its data are durable in the buffer.
    #[inline]
    pub(super) fn is_of_zone(&self, lpn: Lpn) -> bool {
        self.zones.as_ref().is_some_and(|zones| zones.layout.contains(lpn))
    }

    /// Whether all of the drive is zones.
    pub(super) fn is_all_zones(&self) -> bool {
        let units = self.ftl.facts().logical_units;
        self.zones.as_ref().is_some_and(|zones| zones.layout.is_all(units))
    }

    /// Further time of an append on its core, and its further delay; 0 for other commands.
    #[cold]
    pub(super) fn append_costs(&self, request: &Request) -> (Time, Time) {
        match &self.zones {
            Some(zones) if request.op == Op::ZoneAppend => {
                let ZoneCosts { append_us, append_unit_us, append_delay_us, .. } = zones.costs;
                let is_unit = request.length <= self.units.bytes;
                let work = if is_unit { append_us + append_unit_us } else { append_us };
                (Time::from_us(work), Time::from_us(append_delay_us))
            }
            _ => (Time::ZERO, Time::ZERO),
        }
    }

    /// Whether a request is carried out; otherwise it is complete with the reason. An append is
    /// told its place.
    pub(super) fn is_admitted(&mut self, slot: u32) -> bool {
        let Request { op, offset, length, .. } = self.front.request(slot);
        if op == Op::Flush {
            return true;
        }
        let unit = self.units.bytes;
        let last = (offset + length.max(1) - 1) / unit;
        let zones = self.zones.as_ref();
        let is_beside = zones.is_some_and(|zones| !zones.touches(offset / unit, last));
        if is_beside && !op.is_of_zones() {
            return true;
        }
        let is_whole = offset.is_multiple_of(unit) && length.is_multiple_of(unit);
        let lpn = self.units.lpn_at(offset);
        let area = lpn.and_then(|first| self.area_before(first));
        let answer = match lpn {
            Some(first) if is_whole => match self.ftl.zones_mut() {
                Some(zones) => zones.admit(op, first, (length / unit) as u32),
                None => Err(Status::InvalidOpcode),
            },
            _ => Err(Status::InvalidField),
        };
        match answer {
            Ok(first) => {
                self.note_area(slot, area);
                if op == Op::ZoneAppend {
                    let request = self.front.slot(slot);
                    request.done.request.offset = u64::from(first.0) * unit;
                    request.cursor = first.0;
                    self.zones.iter_mut().for_each(|zones| zones.counts.appends += 1);
                }
                true
            }
            Err(status) => {
                let done = &mut self.front.slot(slot).done;
                (done.failed, done.status) = (true, status);
                if let Some(zones) = &mut self.zones
                    && let Some(index) = Status::ERRORS.iter().position(|&other| other == status)
                {
                    zones.counts.refused[index] += 1;
                }
                self.acknowledge(slot, self.now());
                false
            }
        }
    }

    /// Carries out an admitted command that changes a zone: one that commits data of a random write
    /// area behind the writes that wait for room.
    pub(super) fn zone_command(&mut self, slot: u32, request: &Request) {
        if self.commits(slot) {
            self.fill_or_stall(slot);
            self.wakes.wake(Wake::Rows);
        } else {
            self.manage_zone(slot, request);
        }
    }

    /// Carries out a command that changes a zone, whose data are committed.
    pub(super) fn manage_zone(&mut self, slot: u32, request: &Request) {
        let Some(zones) = &mut self.zones else { return };
        let lpn = Lpn(self.units.at(request.offset) as u32);
        let Some((zone, _)) = zones.layout.split(lpn) else { return };
        let costs = zones.costs;
        let counts = &mut zones.counts;
        let (count, us) = match request.op {
            Op::ZoneReset => (&mut counts.resets, costs.reset_us),
            Op::ZoneFinish => (&mut counts.finishes, costs.finish_us),
            Op::ZoneOpen => (&mut counts.opens, costs.open_us),
            Op::ZoneOpenArea => (&mut counts.area_opens, costs.open_us),
            Op::ZoneCommit => (&mut counts.commits, costs.commit_us),
            _ => (&mut counts.closes, costs.close_us),
        };
        *count += 1;
        let mut time = Time::from_us(us);
        match request.op {
            Op::ZoneReset => time += self.reset_zone(zone),
            // The firmware ends the finish when the flash has what was missing.
            Op::ZoneFinish if self.ftl.zones().is_some_and(|all| all.is_finishing(zone)) => {
                self.writer.sends_tails = true;
                if let Some(zones) = &mut self.zones {
                    zones.finishing.push((zone, Some(slot)));
                }
                for wake in [Wake::Jobs, Wake::Rows, Wake::Finishes] {
                    self.wakes.wake(wake);
                }
                return;
            }
            _ => {}
        }
        let now = self.now();
        let Some(zones) = &mut self.zones else { return };
        let (_, _, end) = zones.firmware.serve(now, time);
        self.events.push(end, event::of(event::COMPLETE, slot));
    }

    /// Drops the data in the buffer of a zone that has just been reset. Returns the time that the
    /// reset takes for its data.
    fn reset_zone(&mut self, zone: u32) -> Time {
        let Some(zones) = &mut self.zones else { return Time::ZERO };
        let (costs, of_zone) = (zones.costs, zones.layout.units_of(zone));
        let all = self.ftl.zones().map(|all| all.last_reset());
        let Some(ZoneEmptied { written, unplaced, is_partial }) = all else { return Time::ZERO };
        zones.counts.reset_units += u64::from(written);
        // A finish that is under way has nothing to do any more.
        let ended = zones.finishing.iter().position(|&(other, _)| other == zone);
        let ended = ended.and_then(|at| zones.finishing.remove(at).1);
        self.writer.sends_tails = !zones.finishing.is_empty();
        zones.areas.forget(zone);
        let first = of_zone.start;
        if let Some(slot) = ended {
            self.acknowledge(slot, self.now());
        }
        // Writes that wait for room have nothing left to write.
        let units = u64::from(first)..u64::from(of_zone.end);
        let mut stalled = std::mem::take(&mut self.writer.stalled);
        stalled.retain(|&slot| {
            let is_gone = units.contains(&self.units.at(self.front.request(slot).offset));
            if is_gone {
                self.acknowledge(slot, self.now());
            }
            !is_gone
        });
        self.writer.stalled = stalled;
        for lpn in (first + unplaced.start..first + unplaced.end).map(Lpn) {
            if let Some(held) = self.writer.buffer.find(lpn) {
                match self.writer.buffer.slot(held).state {
                    State::InFlight => self.writer.buffer.disown(held),
                    _ => self.drop_waiting(held),
                }
            }
        }
        if let Some(versions) = &mut self.versions {
            versions.note(first, Happened::Emptied { units: unplaced.end });
        }
        if self.read_cache.is_some() {
            of_zone.clone().for_each(|lpn| self.drop_cached(Lpn(lpn)));
        }
        if self.failures.lost.count() > 0 {
            of_zone.for_each(|lpn| self.failures.lost.remove(Lpn(lpn)));
        }
        self.counts.trims.trimmed_units += u64::from(written);
        for wake in [Wake::Jobs, Wake::Room, Wake::Rows] {
            self.wakes.wake(wake);
        }
        let gib = f64::from(written) * self.units.bytes as f64 / (1u64 << 30) as f64;
        let partial = if is_partial { costs.reset_partial_us } else { 0.0 };
        Time::from_us(costs.reset_us_per_gib * gib + partial)
    }

    /// Drops a unit of the buffer that is not in flight.
    fn drop_waiting(&mut self, held: u32) {
        if self.writer.buffer.slot(held).state != State::Area {
            self.writer.buffer.unlink_dirty(held);
        }
        self.release(held);
    }

    /// Drops a failed row whose zone was reset while the row was on its way.
    #[cold]
    pub(super) fn drop_row(&mut self, first: u32, units: u32) {
        let mut held = first;
        for _ in 0..units {
            let next = self.writer.buffer.slot(held).next;
            self.release(held);
            held = next;
        }
        self.wakes.wake(Wake::Room);
    }

    /// Goes on with the finishes that a start-up has found half done: nobody waits for them.
    pub(super) fn go_on_with_finishes(&mut self) {
        let (Some(zones), Some(all)) = (&mut self.zones, self.ftl.zones()) else { return };
        let half_done = (0..zones.layout.zones).filter(|&zone| all.is_finishing(zone));
        zones.finishing = half_done.map(|zone| (zone, None)).collect();
        self.writer.sends_tails = !zones.finishing.is_empty();
    }

    /// Completes the finishes that have nothing left to program.
    pub(super) fn end_finishes(&mut self) {
        self.settle_areas();
        let (Some(zones), Some(all)) = (&mut self.zones, self.ftl.zones()) else { return };
        if zones.finishing.is_empty() {
            return;
        }
        let time = Time::from_us(zones.costs.finish_us);
        let mut at = 0;
        while let Some(&(zone, slot)) = zones.finishing.get(at) {
            if all.is_finishing(zone) {
                at += 1;
                continue;
            }
            zones.finishing.remove(at);
            if let Some(slot) = slot {
                let (_, _, end) = zones.firmware.serve(self.events.now(), time);
                self.events.push(end, event::of(event::COMPLETE, slot));
            }
        }
        self.writer.sends_tails = !zones.finishing.is_empty();
    }

    /// Units that the buffer keeps between runs: those of zones whose rows are short, and those of
    /// random write areas.
    pub(super) fn tail_units(&self) -> u32 {
        let tails: u32 = self.tails().iter().map(|units| units.end - units.start).sum();
        tails + self.units_in_areas().len() as u32
    }

    fn tails(&self) -> Vec<Range<u32>> {
        let (Some(zones), Some(all)) = (&self.zones, self.ftl.zones()) else { return Vec::new() };
        if self.power.as_ref().is_some_and(|power| !power.is_rebuilt) {
            return Vec::new();
        }
        let layout = zones.layout;
        let of = |zone: u32| {
            let (Range { start, end }, first) = (all.unplaced(zone), layout.units_of(zone).start);
            first + start..first + end
        };
        (0..layout.zones).map(of).filter(|units| !units.is_empty()).collect()
    }

    /// Units of short rows, in their order.
    fn tail_lpns(&self) -> Vec<Lpn> {
        self.tails().into_iter().flatten().map(Lpn).collect()
    }

    /// Units that the buffer keeps between runs: those of short rows, then those of areas.
    pub(super) fn kept_lpns(&self) -> Vec<Lpn> {
        [self.tail_lpns(), self.units_in_areas()].concat()
    }

    /// Brings the buffer of a drive at rest up to date after work without time on its zones.
    pub(super) fn renew_tails(&mut self) {
        if self.zones.is_none() {
            return;
        }
        self.release_tails();
        self.take_tails();
    }

    /// Units of zones in the buffer.
    pub(super) fn held_of_zones(&self) -> Vec<Lpn> {
        let held = self.writer.buffer.held_units().map(Lpn);
        held.filter(|&lpn| self.is_of_zone(lpn)).collect()
    }

    /// Drops the units of zones from the buffer, which wait for their rows.
    pub(super) fn release_tails(&mut self) {
        for lpn in self.held_of_zones() {
            if let Some(held) = self.writer.buffer.find(lpn) {
                self.drop_waiting(held);
            }
        }
    }

    /// Puts the units that are kept between runs into the buffer of a drive that begins a run. A
    /// buffer without room for them is a fault: the data of the host would be lost.
    pub(super) fn take_tails(&mut self) {
        for lpn in self.tail_lpns() {
            let Some(held) = self.writer.buffer.take(lpn, State::Filling) else {
                self.flash.fault.get_or_insert_with(no_room);
                return;
            };
            self.take_tail(held);
        }
        if !self.take_areas() {
            self.flash.fault.get_or_insert_with(no_room);
        }
    }

    /// Has a unit of a short row, for which a slot was taken, wait for its row.
    fn take_tail(&mut self, held: u32) {
        let (keys, lpn) = (self.ftl.facts().keys, self.lpn_held(held));
        let key = key_among(&mut *self.ftl, keys, lpn, Hint::default());
        let sequence = self.power.as_mut().map_or(0, |power| power.number());
        let entry = self.writer.buffer.slot(held);
        (entry.key, entry.sequence) = (key, sequence);
        entry.rest = crate::buffer::Rest::None;
        self.join_epoch(held);
        self.writer.buffer.push_dirty(held);
    }
}

fn no_room() -> Error {
    let problem = "the buffer has no room for the short rows of zones and their random write areas";
    Error::new("buffer.bytes", problem).hint("use a larger buffer.bytes")
}
