//! Jobs on zoned drives: `zonemode=zbd`, as fio has it on real ones.
//!
//! A job draws its requests as without zones; then each is put where its zone allows it
//! (`zbd_adjust_block` of fio's `zbd.c`). Sequential writes go on at the write pointers, zone after
//! zone. Random writes become writes at the pointers of open zones. A full zone that is chosen
//! again is reset first. The reset stands alone: earlier requests of the job are completed before
//! it, and later ones wait. Reads stay below the pointers. Trims are resets of zones that hold
//! data, or finishes, opens or closes. `rewrites` are writes inside random write areas.
//!
//! All jobs of a file share one book of the zones (`book`). A job for whose write there is no zone
//! waits until another job has filled one.

mod book;
mod rewrites;

pub use book::Book;

use crate::request::{Arrival, Source};
use base::{Result, Time};
use book::Room;
use ssd::Ssd;
use ssd::ftl::contract::ZoneLayout;
use ssd::request::{Op, Request};
use std::collections::VecDeque;
use std::ops::Range;
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
    /// Bytes of the drive that the zones lie in.
    pub fn bytes(&self) -> Range<u64> {
        let Range { start, end } = self.layout.units();
        u64::from(start) * self.unit..u64::from(end) * self.unit
    }

    /// Bytes from the start of a zone to that of the next.
    pub fn stride(&self) -> u64 {
        u64::from(self.layout.stride) * self.unit
    }

    /// Bytes that a zone can store.
    pub fn capacity(&self) -> u64 {
        u64::from(self.layout.capacity) * self.unit
    }

    /// Bytes of a random write area; `None` for a drive without.
    pub fn area(&self) -> Option<u64> {
        self.layout.areas.map(|areas| u64::from(areas.units) * self.unit)
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
    /// Share of the writes that overwrite data in the random write area of their zone.
    pub rewrites: f64,
    /// Command that a trim stands for: reset, finish, open or close.
    pub command: Op,
    /// Length of the shortest write in bytes. A zone with a smaller rest is finished.
    pub least: u64,
    /// Whether a rest shorter than a block is written, and its zone not finished.
    pub writes_remainder: bool,
    /// Whether finished rests count for the amount of a pass, which is the capacity of the zones.
    pub counts_remainder: bool,
}

impl Rules {
    /// Finds the first zone in a round from `from` on for which `is_it` holds.
    fn find(&self, from: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        (from..self.end).chain(self.first..from).find(|&zone| is_it(zone))
    }

    /// Zone after another one; after the last comes the first.
    fn next(&self, zone: u32) -> u32 {
        if zone + 1 >= self.end { self.first } else { zone + 1 }
    }
}

/// Requests that a drawn request becomes.
enum Placed {
    /// The request, moved to its zone, and a command on that zone that follows it.
    Request(Request, Option<Op>),
    /// The request, moved to a zone that is reset before.
    AfterReset(Request, Option<Op>),
    /// Command on a zone, after which the drawn request is placed again.
    Before(Request),
    /// Nothing before other jobs have written.
    Wait,
    /// Nothing, now or later, for this reason.
    Never(String),
}

/// Requests of a job, moved to where the zones allow them.
pub struct Zoned {
    inner: Box<dyn Source>,
    book: Arc<Mutex<Book>>,
    zoning: Zoning,
    rules: Rules,
    /// Number of the job in the book.
    job: u32,
    /// Next zone of sequential requests, and where in it reads go on.
    at: u32,
    read_to: u64,
    /// Requests that go out before another is drawn.
    next: VecDeque<Arrival>,
    /// Drawn request that waits for a zone.
    waiting: Option<Arrival>,
    /// Writes since the last early reset of a zone.
    writes: f64,
    /// Writes that are to overwrite data, in random write areas.
    rewrites: f64,
    /// Why the job ended before its amount.
    shortfall: Option<String>,
}

impl Zoned {
    /// Moves the requests of `inner` by these rules.
    pub fn new(
        inner: Box<dyn Source>,
        book: &Arc<Mutex<Book>>,
        zoning: Zoning,
        rules: Rules,
    ) -> Self {
        let job = book.lock().unwrap_or_else(PoisonError::into_inner).join(&rules);
        Self {
            inner,
            book: Arc::clone(book),
            zoning,
            rules,
            job,
            at: rules.first,
            read_to: 0,
            next: VecDeque::with_capacity(2),
            waiting: None,
            writes: 0.0,
            rewrites: 0.0,
            shortfall: None,
        }
    }

    fn start(&self, zone: u32) -> u64 {
        self.zoning.bytes().start + u64::from(zone) * self.zoning.stride()
    }

    fn zone_of(&self, offset: u64) -> u32 {
        let zone = (offset.saturating_sub(self.start(0)) / self.zoning.stride()) as u32;
        zone.clamp(self.rules.first, self.rules.end - 1)
    }

    /// Rounds a length down to whole units, at least one.
    fn whole(&self, length: u64) -> u64 {
        (length / self.zoning.unit).max(1) * self.zoning.unit
    }

    /// Least rest of a zone that a write still goes to.
    fn least(&self) -> u64 {
        match self.rules.writes_remainder {
            true => self.zoning.unit,
            false => self.whole(self.rules.least).min(self.zoning.capacity()),
        }
    }

    /// Moves a read below a write pointer; `None` where the job's zones hold no data.
    fn read(&mut self, book: &Book, request: Request) -> Option<Request> {
        let length = self.whole(request.length);
        let written = |zone: u32| book.zones[zone as usize].written;
        if self.rules.is_random {
            let drawn = self.zone_of(request.offset);
            let zone = self.rules.find(drawn, |zone| written(zone) > 0)?;
            let length = length.min(written(zone));
            // Places are multiples of the length, as without zones.
            let places = (written(zone) - length) / length + 1;
            let within = (request.offset - self.start(drawn).min(request.offset)) / length;
            let offset = self.start(zone) + within % places * length;
            return Some(Request { offset, length, ..request });
        }
        if self.read_to >= written(self.at) {
            let from = self.rules.next(self.at);
            self.at = self.rules.find(from, |zone| written(zone) > 0)?;
            self.read_to = 0;
        }
        let length = length.min(written(self.at) - self.read_to);
        let offset = self.start(self.at) + self.read_to;
        self.read_to += length;
        Some(Request { offset, length, ..request })
    }

    /// Moves a write to a write pointer.
    fn write(&mut self, book: &mut Book, request: Request) -> Placed {
        let (capacity, least) = (self.zoning.capacity(), self.least());
        let drawn = if self.rules.is_random { self.zone_of(request.offset) } else { self.at };
        let zone = match book.room(self.job, &self.rules, drawn) {
            Room::Zone(zone) => zone,
            Room::Wait => return Placed::Wait,
            Room::None => {
                return Placed::Never("all its zones are read-only or offline".to_owned());
            }
        };
        if let Some(op) = self.area_command(book, zone) {
            return Placed::Before(self.command(op, zone));
        }
        book.hold(self.job, zone);
        if let Some(request) = self.rewrite(book, zone, request) {
            return Placed::Request(request, None);
        }
        let pointer = book.zones[zone as usize].pointer;
        let mut is_reset = pointer >= capacity;
        if !is_reset && capacity - pointer < least {
            return Placed::Before(self.finish(book, zone));
        }
        if self.rules.reset_threshold > 0.0 && !is_reset {
            let zones = &book.zones[self.rules.first as usize..self.rules.end as usize];
            let written: u64 = zones.iter().map(|zone| zone.written).sum();
            let all = capacity * zones.len() as u64;
            if written as f64 >= self.rules.reset_threshold * all as f64 {
                self.writes += self.rules.reset_frequency;
                is_reset = self.writes >= 1.0 && pointer > 0;
                self.writes -= f64::from(u8::from(is_reset));
            }
        }
        let pointer = if is_reset { 0 } else { pointer };
        let mut length = self.whole(request.length);
        if length > capacity - pointer {
            length = (capacity - pointer) / least * least;
        }
        let rest = capacity - pointer - length;
        let of = &mut book.zones[zone as usize];
        (of.pointer, of.written) = (pointer + length, pointer + length);
        of.is_open = rest > 0;
        let mut after = None;
        if rest == 0 && !of.has_area {
            book.shut(zone);
        } else if rest < least {
            book.hold(self.job, zone);
            self.finish(book, zone);
            after = Some(Op::ZoneFinish);
        }
        if !self.rules.is_random {
            self.at = if rest < least { self.rules.next(zone) } else { zone };
        }
        let (op, offset) = match self.rules.appends {
            true => (Op::ZoneAppend, self.start(zone)),
            false => (Op::Write, self.start(zone) + pointer),
        };
        let request = Request { op, offset, length, ..request };
        if is_reset { Placed::AfterReset(request, after) } else { Placed::Request(request, after) }
    }

    /// Finishes a zone that the job holds, whose rest is too small for a write.
    fn finish(&mut self, book: &mut Book, zone: u32) -> Request {
        let of = &mut book.zones[zone as usize];
        if self.rules.counts_remainder {
            self.inner.correct(0, self.zoning.capacity() - of.pointer);
        }
        (of.pointer, of.is_open) = (self.zoning.capacity(), false);
        book.shut(zone);
        self.command(Op::ZoneFinish, zone)
    }

    /// Zone command in place of a trim.
    fn manage(&mut self, book: &mut Book, request: Request) -> Placed {
        let (capacity, op) = (self.zoning.capacity(), self.rules.command);
        let from = if self.rules.is_random { self.zone_of(request.offset) } else { self.at };
        let most = self.rules.most_open;
        if op == Op::ZoneOpen && most > 0 && book.open_zones() >= most {
            return Placed::Never(format!("{most} zones are open, which is the most"));
        }
        let can_go = |zone: u32| {
            let of = &book.zones[zone as usize];
            !of.is_dead
                && !book.is_held(zone)
                && match op {
                    Op::ZoneFinish => of.pointer > 0 && of.pointer < capacity,
                    Op::ZoneOpen => !of.is_open && of.pointer < capacity,
                    Op::ZoneClose => of.is_open,
                    _ => of.pointer > 0,
                }
        };
        let Some(zone) = self.rules.find(from, can_go) else {
            let lacks = match op {
                Op::ZoneFinish => "no other zone of it is partly written",
                Op::ZoneOpen => "no other zone of it can be opened",
                Op::ZoneClose => "no other zone of it is open",
                _ => "no other zone of it holds data",
            };
            return Placed::Never(lacks.to_owned());
        };
        self.at = self.rules.next(zone);
        let of = &mut book.zones[zone as usize];
        of.is_open = op == Op::ZoneOpen;
        match op {
            Op::ZoneFinish => of.pointer = capacity,
            Op::ZoneReset => (of.pointer, of.written) = (0, 0),
            _ => {}
        }
        book.shut(zone);
        Placed::Request(self.command(op, zone), None)
    }

    fn command(&self, op: Op, zone: u32) -> Request {
        Request::new(op, self.start(zone), self.zoning.stride())
    }

    /// Moves a drawn request to where it may go.
    fn place(&mut self, request: Request) -> Placed {
        let shared = Arc::clone(&self.book);
        let mut book: MutexGuard<'_, Book> = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match request.op {
            Op::Read => match self.read(&book, request) {
                Some(request) => Placed::Request(request, None),
                None => Placed::Never("no zone of it holds data to read".to_owned()),
            },
            Op::Write => self.write(&mut book, request),
            Op::Trim => self.manage(&mut book, request),
            _ => Placed::Request(request, None),
        }
    }

    /// Puts a placed request behind those that go out next, and the command that follows it. The
    /// amount of the job counts what is sent.
    fn put(&mut self, drawn: Arrival, request: Request, after: Option<Op>) {
        if matches!(drawn.request.op, Op::Read | Op::Write) {
            self.inner.correct(drawn.request.length, request.length);
        }
        self.next.push_back(Arrival { request, ..drawn });
        if let Some(op) = after {
            let request = self.command(op, self.zone_of(request.offset));
            self.next.push_back(Arrival { request, ..drawn });
        }
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
        if let Some(arrival) = self.next.pop_front() {
            return Ok(Some(arrival));
        }
        for _ in 0..MOST_IN_VAIN {
            let drawn = match self.waiting.take() {
                Some(drawn) => drawn,
                None => match self.inner.next(now)? {
                    Some(drawn) => drawn,
                    None => return Ok(None),
                },
            };
            match self.place(drawn.request) {
                Placed::Request(request, after) => {
                    self.put(drawn, request, after);
                    return Ok(self.next.pop_front());
                }
                Placed::AfterReset(request, after) => {
                    let reset = self.command(Op::ZoneReset, self.zone_of(request.offset));
                    self.next.push_back(Arrival { request: reset, ..drawn });
                    self.put(drawn, request, after);
                    return Ok(self.next.pop_front());
                }
                Placed::Before(request) => {
                    self.waiting = Some(drawn);
                    return Ok(Some(Arrival { request, ..drawn }));
                }
                Placed::Wait => {
                    self.waiting = Some(drawn);
                    return Ok(None);
                }
                // Reads beside writes wait until a zone holds data.
                Placed::Never(_) if self.rules.is_mixed && drawn.request.op == Op::Read => {}
                Placed::Never(why) => {
                    self.shortfall = Some(why);
                    return Ok(None);
                }
            }
        }
        self.shortfall = Some("no zone of it holds data to read".to_owned());
        Ok(None)
    }

    fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    fn shortfall(&self) -> Option<&str> {
        self.shortfall.as_deref()
    }

    fn completed(&mut self, request: &Request) {
        if matches!(request.op, Op::Write | Op::ZoneAppend | Op::ZoneFinish) {
            let zone = self.zone_of(request.offset);
            self.book.lock().unwrap_or_else(PoisonError::into_inner).completed(zone);
        }
    }

    fn end(&mut self) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if self.waiting.take().is_some() {
            let written = book.written_zones();
            let why = format!("no zone can be opened for its writes: {written} are open");
            self.shortfall = Some(why);
        }
        book.leave(self.job);
    }

    fn repeat(&mut self, passes: u64) {
        self.inner.repeat(passes);
    }

    /// Number of requests, which is unknown: resets and finishes come in between.
    fn total(&self) -> Option<u64> {
        None
    }
}
