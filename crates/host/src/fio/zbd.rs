//! Jobs on zoned drives: `zonemode=zbd`, as fio has it on real ones.
//!
//! A job draws its requests as without zones; then each is put where its zone allows it
//! (`zbd_adjust_block` of fio's `zbd.c`). Sequential writes go on at the write pointers, zone after
//! zone. Random writes become writes at the pointers of open zones. A full zone that is chosen
//! again is reset first. The reset stands alone: earlier requests of the job are completed before
//! it, and later ones wait. Reads stay below the pointers. Trims are resets of zones that hold
//! data, or finishes, opens or closes.
//!
//! All jobs of a file share one book of the zones. A zone that one job writes is not written by
//! another before it is full, and all its writes are complete.

use crate::request::{Arrival, Source};
use base::{Result, Time};
use ssd::Ssd;
use ssd::ftl::contract::{ZoneLayout, ZoneState};
use ssd::request::{Op, Request};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Requests drawn without a place after which a job ends.
const MOST_IN_VAIN: u32 = 100_000;

/// Zones of a drive, and the bytes of their unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zoning {
    /// Zones and their limits, in units.
    pub layout: ZoneLayout,
    /// Bytes of a unit.
    pub unit: u64,
}

impl Zoning {
    /// Bytes from the start of a zone to that of the next.
    pub fn stride(&self) -> u64 {
        u64::from(self.layout.stride) * self.unit
    }

    /// Bytes that a zone can store.
    pub fn capacity(&self) -> u64 {
        u64::from(self.layout.capacity) * self.unit
    }
}

/// State of a zone as the jobs know it.
#[derive(Debug, Clone, Copy)]
struct Zone {
    /// Bytes from the zone's start to its write pointer.
    pointer: u64,
    /// Bytes from the zone's start that can be read.
    written: u64,
    /// Whether the zone is open, by a write or by a command.
    is_open: bool,
    /// Job that writes the zone, until all its writes are complete.
    writer: Option<u32>,
    /// Whether the writer has stopped writing the zone, and its last writes are under way.
    is_left: bool,
    /// Writes that are not complete.
    under_way: u32,
    is_dead: bool,
}

/// Book of all zones, shared by the jobs of a file.
#[derive(Debug)]
pub struct Book {
    zones: Vec<Zone>,
    /// Zones that a job is still writing.
    open: u32,
    is_read: bool,
    jobs: u32,
}

impl Book {
    /// Creates a book of empty zones: a run reads the drive's zones when it begins.
    pub fn new(zoning: &Zoning) -> Arc<Mutex<Self>> {
        let zone = Zone {
            pointer: 0,
            written: 0,
            is_open: false,
            writer: None,
            is_left: false,
            under_way: 0,
            is_dead: false,
        };
        let zones = vec![zone; zoning.layout.zones as usize];
        Arc::new(Mutex::new(Self { zones, open: 0, is_read: false, jobs: 0 }))
    }

    /// Reads the zones of a drive, once.
    fn read(&mut self, ssd: &Ssd, unit: u64) {
        if std::mem::replace(&mut self.is_read, true) {
            return;
        }
        for (number, zone) in (0..).zip(&mut self.zones) {
            if let Some(view) = ssd.zone(number) {
                zone.pointer = u64::from(view.pointer) * unit;
                zone.written = u64::from(view.written) * unit;
                zone.is_open = view.state.is_open();
                zone.is_dead = matches!(view.state, ZoneState::ReadOnly | ZoneState::Offline);
            }
        }
    }

    /// Ends the writing of a zone by its job.
    fn close(&mut self, zone: u32) {
        let of = &self.zones[zone as usize];
        if of.writer.is_some() && !of.is_left {
            self.open -= 1;
            self.release(zone);
        }
    }

    /// Frees a zone that its job has stopped writing, once its writes are complete.
    fn release(&mut self, zone: u32) {
        let of = &mut self.zones[zone as usize];
        of.is_left = of.under_way > 0;
        if !of.is_left {
            of.writer = None;
        }
    }
}

/// Rules of one job for zones.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// First zone of the job.
    pub first: u32,
    /// One past the last zone of the job.
    pub end: u32,
    /// Whether zones are chosen at random.
    pub is_random: bool,
    /// Whether the job writes.
    pub writes: bool,
    /// Whether the job reads beside its writes.
    pub is_mixed: bool,
    /// Most zones that all jobs write at a time; 0 = no limit.
    pub most_open: u32,
    /// Most zones that this job writes at a time; 0 = no limit.
    pub most_own: u32,
    /// Share of the job's bytes that must hold data before zones are reset early, while not full.
    pub reset_threshold: f64,
    /// Share of the writes that reset their zone early.
    pub reset_frequency: f64,
    /// Whether writes are zone appends.
    pub appends: bool,
    /// Command that a trim stands for: reset, finish, open or close.
    pub command: Op,
}

/// Requests of a job, moved to where the zones allow them.
pub struct Zoned {
    inner: Box<dyn Source>,
    book: Arc<Mutex<Book>>,
    zoning: Zoning,
    rules: Rules,
    /// Number of the job among those of the file.
    job: u32,
    /// Zones that the job is writing.
    own: Vec<u32>,
    /// Next zone of sequential requests, and where in it reads go on.
    at: u32,
    read_to: u64,
    /// Write that waits for the reset of its zone.
    behind: Option<Arrival>,
    /// Writes since the last early reset of a zone.
    writes: f64,
}

impl Zoned {
    /// Moves the requests of `inner` by these rules.
    pub fn new(
        inner: Box<dyn Source>,
        book: &Arc<Mutex<Book>>,
        zoning: Zoning,
        rules: Rules,
    ) -> Self {
        let job = {
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            book.jobs += 1;
            book.jobs
        };
        Self {
            inner,
            book: Arc::clone(book),
            zoning,
            rules,
            job,
            own: Vec::new(),
            at: rules.first,
            read_to: 0,
            behind: None,
            writes: 0.0,
        }
    }

    fn start(&self, zone: u32) -> u64 {
        u64::from(zone) * self.zoning.stride()
    }

    fn zone_of(&self, offset: u64) -> u32 {
        let zone = (offset / self.zoning.stride()) as u32;
        zone.clamp(self.rules.first, self.rules.end - 1)
    }

    /// Zone after another one; after the last comes the first.
    fn next_zone(&self, zone: u32) -> u32 {
        if zone + 1 >= self.rules.end { self.rules.first } else { zone + 1 }
    }

    /// Finds the first zone in a round from `from` on for which `is_it` holds.
    fn find(&self, from: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let Rules { first, end, .. } = self.rules;
        (from..end).chain(first..from).find(|&zone| is_it(zone))
    }

    /// Rounds a length down to whole units, at least one.
    fn whole(&self, length: u64) -> u64 {
        (length / self.zoning.unit).max(1) * self.zoning.unit
    }

    /// Moves a read below a write pointer; `None` where the job's zones hold no data.
    fn read(&mut self, book: &Book, request: Request) -> Option<Request> {
        let length = self.whole(request.length);
        let written = |zone: u32| book.zones[zone as usize].written;
        if self.rules.is_random {
            let drawn = self.zone_of(request.offset);
            let zone = self.find(drawn, |zone| written(zone) > 0)?;
            let length = length.min(written(zone));
            // Places are multiples of the length, as without zones.
            let places = (written(zone) - length) / length + 1;
            let within = (request.offset - self.start(drawn).min(request.offset)) / length;
            let offset = self.start(zone) + within % places * length;
            return Some(Request { offset, length, ..request });
        }
        if self.read_to >= written(self.at) {
            let from = self.next_zone(self.at);
            self.at = self.find(from, |zone| written(zone) > 0)?;
            self.read_to = 0;
        }
        let length = length.min(written(self.at) - self.read_to);
        let offset = self.start(self.at) + self.read_to;
        self.read_to += length;
        Some(Request { offset, length, ..request })
    }

    /// Zone for a write: one that the job is writing, or another that it may begin.
    fn writable(&self, book: &Book, drawn: u32) -> Option<u32> {
        let is_own = |zone: u32| {
            let of = &book.zones[zone as usize];
            of.writer == Some(self.job) && !of.is_left
        };
        let Rules { most_open, most_own, .. } = self.rules;
        let has_room = (most_open == 0 || book.open < most_open)
            && (most_own == 0 || (self.own.len() as u32) < most_own);
        let is_free = |zone: u32| {
            let of = &book.zones[zone as usize];
            !of.is_dead && (of.writer.is_none() || (of.is_left && of.writer == Some(self.job)))
        };
        if is_own(drawn) || (has_room && is_free(drawn)) {
            Some(drawn)
        } else if let Some(&zone) = self.own.get(drawn as usize % self.own.len().max(1)) {
            Some(zone)
        } else if has_room {
            self.find(drawn, is_free)
        } else {
            None
        }
    }

    /// Moves a write to a write pointer; true where its zone is reset before.
    fn write(&mut self, book: &mut Book, request: Request) -> Option<(Request, bool)> {
        let capacity = self.zoning.capacity();
        let drawn = if self.rules.is_random { self.zone_of(request.offset) } else { self.at };
        let zone = self.writable(book, drawn)?;
        let mut is_reset = book.zones[zone as usize].pointer >= capacity;
        if self.rules.reset_threshold > 0.0 && !is_reset {
            let zones = &book.zones[self.rules.first as usize..self.rules.end as usize];
            let written: u64 = zones.iter().map(|zone| zone.written).sum();
            let all = capacity * zones.len() as u64;
            if written as f64 >= self.rules.reset_threshold * all as f64 {
                self.writes += self.rules.reset_frequency;
                is_reset = self.writes >= 1.0 && book.zones[zone as usize].pointer > 0;
                self.writes -= f64::from(u8::from(is_reset));
            }
        }
        let of = &mut book.zones[zone as usize];
        if of.writer.is_none() || of.is_left {
            (of.writer, of.is_left) = (Some(self.job), false);
            book.open += 1;
            self.own.push(zone);
        }
        if is_reset {
            (of.pointer, of.written) = (0, 0);
        }
        let length = self.whole(request.length).min(capacity - of.pointer);
        let pointer = of.pointer;
        (of.pointer, of.written) = (pointer + length, pointer + length);
        of.under_way += 1;
        of.is_open = of.pointer < capacity;
        if of.pointer == capacity {
            book.close(zone);
            self.own.retain(|&other| other != zone);
            if !self.rules.is_random {
                self.at = self.next_zone(zone);
            }
        } else if !self.rules.is_random {
            self.at = zone;
        }
        let (op, offset) = match self.rules.appends {
            true => (Op::ZoneAppend, self.start(zone)),
            false => (Op::Write, self.start(zone) + pointer),
        };
        Some((Request { op, offset, length, ..request }, is_reset))
    }

    /// Zone command in place of a trim; `None` where no zone can take it.
    fn manage(&mut self, book: &mut Book, request: Request) -> Option<Request> {
        let (capacity, op) = (self.zoning.capacity(), self.rules.command);
        let from = if self.rules.is_random { self.zone_of(request.offset) } else { self.at };
        let open = || book.zones.iter().filter(|zone| zone.is_open).count() as u32;
        let most = self.rules.most_open;
        if op == Op::ZoneOpen && most > 0 && open() >= most {
            return None;
        }
        let can_go = |zone: u32| {
            let of = &book.zones[zone as usize];
            !of.is_dead
                && match op {
                    Op::ZoneFinish => of.pointer > 0 && of.pointer < capacity,
                    Op::ZoneOpen => !of.is_open && of.pointer < capacity,
                    Op::ZoneClose => of.is_open,
                    _ => of.pointer > 0,
                }
        };
        let zone = self.find(from, can_go)?;
        self.at = self.next_zone(zone);
        let of = &mut book.zones[zone as usize];
        of.is_open = op == Op::ZoneOpen;
        match op {
            Op::ZoneFinish => of.pointer = capacity,
            Op::ZoneReset => (of.pointer, of.written) = (0, 0),
            _ => {}
        }
        book.close(zone);
        Some(self.command(op, zone))
    }

    fn command(&self, op: Op, zone: u32) -> Request {
        Request::new(op, self.start(zone), self.zoning.stride())
    }

    /// Moves a drawn request to where it may go; true where a reset comes before it. `None` where
    /// it cannot go.
    fn place(&mut self, request: Request) -> Option<(Request, bool)> {
        let shared = Arc::clone(&self.book);
        let mut book: MutexGuard<'_, Book> = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match request.op {
            Op::Read => self.read(&book, request).map(|request| (request, false)),
            Op::Write => self.write(&mut book, request),
            Op::Trim => self.manage(&mut book, request).map(|request| (request, false)),
            _ => Some((request, false)),
        }
    }

    /// Ends the job: others may write its zones.
    fn leave(&mut self) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        self.own.drain(..).for_each(|zone| book.close(zone));
    }
}

impl Source for Zoned {
    fn begin(&mut self, ssd: &Ssd) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.read(ssd, self.zoning.unit);
    }

    /// Whether commands stand alone: beside writes they do, in a job of trims they do not.
    fn is_exclusive(&self) -> bool {
        self.rules.writes
    }

    fn next(&mut self, now: Time) -> Result<Option<Arrival>> {
        if let Some(arrival) = self.behind.take() {
            return Ok(Some(arrival));
        }
        for _ in 0..MOST_IN_VAIN {
            let Some(Arrival { at, request }) = self.inner.next(now)? else { break };
            let Some((placed, is_reset)) = self.place(request) else {
                // Reads beside writes wait until a zone holds data.
                if self.rules.is_mixed && request.op == Op::Read {
                    continue;
                }
                break;
            };
            let arrival = Arrival { at, request: placed };
            if !is_reset {
                return Ok(Some(arrival));
            }
            let zone = self.zone_of(placed.offset);
            self.behind = Some(arrival);
            return Ok(Some(Arrival { at, request: self.command(Op::ZoneReset, zone) }));
        }
        self.leave();
        Ok(None)
    }

    fn completed(&mut self, request: &Request) {
        if matches!(request.op, Op::Write | Op::ZoneAppend) {
            let zone = self.zone_of(request.offset);
            let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
            let of = &mut book.zones[zone as usize];
            of.under_way -= 1;
            if of.is_left {
                book.release(zone);
            }
        }
    }

    fn repeat(&mut self, passes: u64) {
        self.inner.repeat(passes);
    }

    /// Number of requests, which is unknown: resets come in between, and the last write of a zone
    /// may be short.
    fn total(&self) -> Option<u64> {
        None
    }
}
