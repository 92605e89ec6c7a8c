//! Storm: random requests to a whole drive against a plain map; every read returns the newest
//! version.

mod zone_cuts;
mod zones;

use super::durable::Durable;
use super::tally::{broken, hold};
use crate::drive::exchange::{Exchange, Way};
use crate::request::{Op, Request};
use crate::{Ssd, Step};
use base::Result;
use base::rng::Rng;
use nand::geometry::Die;
use std::collections::BTreeMap;
use std::ops::Range;
use zones::ZoneStorm;

/// Versions that a unit may read as: that of the last completed write, and those of writes and
/// trims in flight since.
#[derive(Default, Clone)]
struct Truth {
    settled: u64,
    flying: BTreeMap<u64, u64>,
}

/// A request in flight: its version, itself, and what a read may return, by unit.
type InFlight = (u64, Request, BTreeMap<u32, Vec<u64>>);

/// A drive under a storm.
pub struct Storm {
    /// Drive that the requests go to.
    pub ssd: Ssd,
    rng: Rng,
    truth: Vec<Truth>,
    /// Requests in flight, by slot.
    requests: BTreeMap<u32, InFlight>,
    submitted: u64,
    completed: u64,
    pub(super) durable: Durable,
    /// Share of the steps at which a die is exchanged, the stream that draws them, and exchanges so
    /// far.
    exchanging: (f64, Rng),
    exchanged: u64,
    /// Share of the reads that begin where the last one has ended, the stream that draws them, and
    /// that end.
    following: (f64, Rng, u64),
    /// State of the zones, if the drive has any.
    zones: Option<Box<ZoneStorm>>,
}

impl Storm {
    /// Starts a storm on a new drive.
    pub fn new(mut ssd: Ssd, seed: u64) -> Self {
        ssd.keep_payload();
        ssd.start(0);
        let units = (ssd.capacity_bytes() / ssd.unit_bytes()) as usize;
        let zones = ssd.zone_layout().map(|layout| Box::new(ZoneStorm::new(layout)));
        Self {
            ssd,
            zones,
            rng: Rng::stream(seed, "storm"),
            truth: vec![Truth::default(); units],
            requests: BTreeMap::new(),
            submitted: 0,
            completed: 0,
            durable: Durable::new(units),
            exchanging: (0.0, Rng::stream(seed, "exchanges")),
            exchanged: 0,
            following: (0.0, Rng::stream(seed, "sequences"), 0),
        }
    }

    /// Exchanges a die at this share of all steps, where none is under way.
    pub fn exchange_dies(&mut self, share: f64) {
        self.exchanging.0 = share;
    }

    /// Lets this share of the reads beside zones begin where the last one has ended.
    pub fn follow_reads(&mut self, share: f64) {
        self.following.0 = share;
    }

    /// Exchanges so far, the last one perhaps under way.
    pub fn exchanged(&self) -> u64 {
        self.exchanged
    }

    fn exchange(&mut self) -> Result<()> {
        let rng = &mut self.exchanging.1;
        let die = Die(rng.below(self.ssd.dies().into()) as u32);
        let way = if rng.chance(0.3) { Way::Suspended } else { Way::InService };
        let pe_cycles = rng.below(100) as u32;
        if self.ssd.check_exchange(die).is_ok() {
            self.ssd.exchange_die(Exchange { die, way, pe_cycles })?;
            self.exchanged += 1;
        }
        Ok(())
    }

    /// Sectors that are written anywhere: those beside zones.
    fn beside_zones(&self) -> Range<u64> {
        let Some(layout) = self.ssd.zone_layout() else {
            return 0..self.ssd.capacity_bytes() / 512;
        };
        let Range { start, end } = layout.beside(self.units());
        let sectors = |unit: u32| u64::from(unit) * self.ssd.unit_bytes() / 512;
        sectors(start)..sectors(end)
    }

    /// Whether the drive has zones and other units beside them.
    pub(super) fn is_mixed(&self) -> bool {
        self.ssd.zone_layout().is_some_and(|layout| !layout.is_all(self.units()))
    }

    fn draw(&mut self) -> Request {
        let Range { start, end } = self.beside_zones();
        let sectors = end - start;
        // A hot tenth and a few very hot units make rewrites, coalescing and reads of data in
        // flight frequent.
        let span = match self.rng.below(10) {
            0..2 => 8 * 16,
            2..6 => sectors / 10,
            _ => sectors,
        };
        let length = match self.rng.below(4) {
            0 => 8,
            1 => 1 + self.rng.below(15),
            _ => 8 * (1 + self.rng.below(12)),
        };
        let mut offset = start + self.rng.below(span - length);
        if self.rng.chance(0.7) {
            offset -= offset % 8;
        }
        let op = match self.rng.below(100) {
            0..55 => Op::Write,
            55..90 => Op::Read,
            90..97 => Op::Trim,
            _ => return Request::FLUSH,
        };
        let mut request = Request::new(op, 512 * offset, 512 * length);
        let (share, rng, last) = &mut self.following;
        if op == Op::Read && *share > 0.0 {
            if rng.chance(*share) && *last + request.length <= 512 * end {
                request.offset = *last;
            }
            *last = request.offset + request.length;
        }
        request.fua = op == Op::Write && self.rng.chance(0.1);
        // Data of a drive with reclaim groups name one, or leave the choice to the drive.
        let groups = self.ssd.reclaim_groups();
        let named = if groups > 1 { u64::from(self.ssd.handles()) } else { 0 };
        request.stream = match self.rng.below(3 + named) {
            unnamed @ 0..3 => unnamed as u8,
            named => self.ssd.stream_of(named as u8 - 3),
        };
        request.is_urgent = request.stream == 2;
        request
    }

    /// Units that the request changes (or reads); a trim only those wholly inside.
    fn touched(&self, request: &Request) -> Range<u32> {
        let (end, unit) = (request.offset + request.length, self.ssd.unit_bytes());
        match request.op {
            Op::Flush => 0..0,
            Op::Trim => request.offset.div_ceil(unit) as u32..(end / unit) as u32,
            _ => (request.offset / unit) as u32..end.div_ceil(unit) as u32,
        }
    }

    /// Number of units of the drive.
    pub fn units(&self) -> u32 {
        self.truth.len() as u32
    }

    fn submit(&mut self) {
        let request = self.draw();
        let units = self.touched(&request);
        // Overlapping changes in flight have no defined order: keep them apart, as hosts do.
        let clash = |other: &Request| {
            let theirs = self.touched(other);
            units.start < theirs.end && theirs.start < units.end && other.op != Op::Read
        };
        if request.op != Op::Read && self.requests.values().any(|(_, other, _)| clash(other)) {
            return;
        }
        self.submitted += 1;
        let version = self.submitted;
        if request.op == Op::Flush {
            self.durable.flush_sent(version);
        }
        let now = self.ssd.now();
        let slot = self.ssd.submit(request, version as u32, now);
        let mut allowed = BTreeMap::new();
        for unit in units {
            let truth = &mut self.truth[unit as usize];
            match request.op {
                Op::Write => {
                    truth.flying.insert(version, version);
                }
                Op::Trim => {
                    truth.flying.insert(version, 0);
                }
                _ => {
                    let mut versions = vec![truth.settled];
                    versions.extend(truth.flying.values());
                    allowed.insert(unit, versions);
                }
            }
        }
        // A read in flight may also see what has just been sent.
        if matches!(request.op, Op::Write | Op::Trim) {
            let seen = if request.op == Op::Write { version } else { 0 };
            let units = self.touched(&request);
            for (_, _, allowed) in self.requests.values_mut() {
                for unit in units.clone() {
                    if let Some(versions) = allowed.get_mut(&unit) {
                        versions.push(seen);
                    }
                }
            }
        }
        self.requests.insert(slot, (version, request, allowed));
    }

    /// Sends requests until `requests` are complete, and holds their results against the map.
    pub fn run(&mut self, requests: u64) -> Result<()> {
        if let Some(mut zones) = self.zones.take() {
            self.run_in(&mut zones, requests)?;
            self.zones = Some(zones);
        }
        while self.completed < requests {
            while self.ssd.has_room() && self.submitted < requests {
                self.submit();
            }
            let step = self.ssd.step();
            self.take(&step)?;
            if self.exchanging.0 > 0.0 && self.exchanging.1.chance(self.exchanging.0) {
                self.exchange()?;
            }
        }
        self.ssd.fault()?;
        let occupancy = self.ssd.occupancy();
        let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
        hold!(all == self.ssd.physical_units(), "{occupancy:?} of {}", self.ssd.physical_units());
        hold!(self.ssd.counts_agree(), "{:?} is not what was done", self.ssd.ftl_counts());
        Ok(())
    }

    /// Goes on for `events` events of the drive, which always has requests to do.
    pub(super) fn run_events(&mut self, events: u64) -> Result<()> {
        if let Some(mut zones) = self.zones.take() {
            let ran = self.run_events_in(&mut zones, events);
            self.zones = Some(zones);
            return ran;
        }
        for _ in 0..events {
            while self.ssd.has_room() {
                self.submit();
            }
            if let Some(step) = self.ssd.step_event() {
                self.take(&step)?;
            }
        }
        self.ssd.fault()
    }

    /// Forgets all requests: each unit is durable as it reads now.
    pub(super) fn forget_requests(&mut self, found: impl Fn(&Ssd, u32) -> u64) {
        // The drive has sent itself a flush where capacitors kept it at work.
        self.submitted = self.ssd.versions.as_ref().map_or(self.submitted, |all| all.latest());
        self.completed = self.submitted;
        self.requests.clear();
        for (unit, truth) in (0..).zip(&mut self.truth) {
            let version = found(&self.ssd, unit);
            *truth = Truth { settled: version, flying: BTreeMap::new() };
            self.durable.found(unit, version);
        }
    }

    /// Versions that a unit may read as after a power cut.
    pub(super) fn allowed(&self, unit: u32) -> Vec<u64> {
        let mut allowed = self.durable.since(unit);
        allowed.extend(self.truth[unit as usize].flying.values());
        allowed
    }

    /// Holds a step of the drive against the map.
    fn take(&mut self, step: &Step) -> Result<()> {
        {
            match *step {
                Step::Completed(slot) => {
                    self.completed += 1;
                    let Some((version, request, allowed)) = self.requests.remove(&slot) else {
                        return Err(broken(format!("slot {slot} completed twice")));
                    };
                    let done = self.ssd.completed(slot);
                    hold!(done.token == version as u32, "another request completed: {request:?}");
                    let bytes = request.offset..request.offset + request.length;
                    let is_refused =
                        done.failed && request.op == Op::Write && self.ssd.is_read_only_in(&bytes);
                    let is_lost = done.failed && self.ssd.counts().codes.uncorrectable > 0;
                    hold!(is_refused || !done.failed || is_lost, "{request:?} failed");
                    if is_refused {
                        for unit in self.touched(&request) {
                            self.truth[unit as usize].flying.remove(&version);
                        }
                    } else if request.op == Op::Read {
                        let found = self.ssd.found(slot);
                        hold!(found.len() == allowed.len(), "every unit once: {request:?}");
                        for (unit, version) in found {
                            let versions = allowed.get(unit).map_or(&[][..], Vec::as_slice);
                            hold!(
                                versions.contains(version),
                                "unit {unit} read as version {version}, not one of {versions:?}"
                            );
                        }
                    } else {
                        for unit in self.touched(&request) {
                            let truth = &mut self.truth[unit as usize];
                            truth.settled = truth.flying.remove(&version).unwrap_or_default();
                            self.durable.completed(unit, truth.settled, request.fua);
                        }
                        if request.op == Op::Flush {
                            self.durable.flush_done(version);
                        }
                    }
                }
                Step::Wake(_) | Step::Ready => {}
                Step::Idle => {
                    self.ssd.fault()?;
                    self.ssd.stalled()?;
                    let lost = self.submitted - self.completed;
                    return Err(broken(format!("{lost} of {} requests lost", self.submitted)));
                }
            }
        }
        Ok(())
    }
}
