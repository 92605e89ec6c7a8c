//! The drive: the life of one request, from the host's queue to its completion. Read this first.
//!
//! A **read**: a core takes the command (`command_ready`); each unit is looked for in the buffer,
//! then in the FTL; units that lie in one page become one flash command (`read_units`); the die
//! and the bus serve it (`channel`); a decoder takes the data (`arrived`); a failure goes round
//! again as the retry policy says (`decoded`); the last unit sends the data over the link, and
//! the request is complete.
//!
//! A **write**: the data cross the link and enter the buffer (`fill_buffer`), which is enough for
//! an acknowledgement in a write-back drive. Whenever a row of units waits and a die is free, the
//! FTL places it and a program goes out (`drain_buffer`). What the flash has is reported to the
//! FTL and leaves the buffer (`programmed`).
//!
//! **Garbage collection** asks the FTL for one step at a time and sends its reads, programs and
//! erases through the same dies, buses and decoders as everybody's (`collect`).

use crate::buffer::{Buffer, NONE, State};
use crate::channel::{Command, Done, Flash, FlashEvents, Kind, Owner};
use crate::config::SsdConfig;
use crate::flushes::Flushes;
use crate::ftl::{Collect, DieSet, Ftl, Lpn, Move, Program, Stream};
use crate::payload::Payload;
use crate::request::{Op, Request};
use crate::retry::Retry;
use crate::scheduler::Class;
use crate::stage::Stage;
use crate::timeline::{SpanKind, Track};
use base::event::EventQueue;
use base::rng::Rng;
use base::{Result, Time};
use ecc::model::{EccConfig, Model};
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use std::collections::VecDeque;

/// Kinds of events; the low bits of a payload say which one of that kind.
mod event {
    pub const SHIFT: u32 = 25;
    pub const MASK: u32 = (1 << SHIFT) - 1;
    pub const READY: u32 = 0;
    pub const DATA_IN: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const TRANSFER: u32 = 3;
    pub const DECODED: u32 = 4;
    pub const READ_DONE: u32 = 5;
    pub const WRITE_DONE: u32 = 6;
    pub const WAKE: u32 = 7;

    pub const fn of(kind: u32, index: u32) -> u32 {
        kind << SHIFT | index
    }
}

/// Event lanes of the stages that are first come first served.
mod lane {
    pub const READY: usize = 0;
    pub const DATA_IN: usize = 1;
    pub const DECODED: usize = 2;
    pub const READ_DONE: usize = 3;
    pub const WRITE_DONE: usize = 4;
}

/// Where the time of a request went. What is left of its latency are controller, buffer and link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// Waiting for a die, a bus or a decoder.
    pub queue: Time,
    /// In the array.
    pub flash: Time,
    /// On a bus.
    pub bus: Time,
    /// In a decoder.
    pub ecc: Time,
}

/// A request that has come to its end.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// What the host gave with it.
    pub token: u32,
    /// The request.
    pub request: Request,
    /// When it arrived in the host's queue.
    pub arrival: Time,
    /// When the drive took it.
    pub start: Time,
    /// Where its time went, along its slowest flash command.
    pub parts: Parts,
    /// Some of its data could not be corrected.
    pub failed: bool,
    /// The slot it had: valid until the next submission.
    pub slot: u32,
}

/// What happened next.
#[derive(Debug)]
pub enum Step {
    /// A request is complete.
    Completed(Completion),
    /// A wake-up that the host asked for.
    Wake(u32),
    /// Nothing is under way.
    Idle,
}

/// A request in the drive.
#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    token: u32,
    arrival: Time,
    start: Time,
    /// Flash commands, buffer slots or link transfers that it waits for.
    pending: u32,
    /// Writes: the next unit to enter the buffer.
    cursor: u32,
    parts: Parts,
    /// Some of its data came from the buffer.
    hit: bool,
    failed: bool,
}

/// Garbage collection of a die.
#[derive(Default)]
struct Collector {
    busy: bool,
    moves: Vec<Move>,
    pending: u32,
}

/// Counts of the controller's own doings.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControllerCounts {
    /// Units read from the buffer.
    pub buffer_hits: u64,
    /// Units rewritten in the buffer before they were programmed.
    pub coalesced: u64,
    /// Times a write found the buffer full.
    pub stalls: u64,
    /// Units read from flash to complete a partly written one.
    pub fills: u64,
    /// Codewords decoded.
    pub codewords: u64,
    /// Codewords that failed at the first attempt.
    pub hard_failures: u64,
    /// Further attempts, by number.
    pub soft_reads: [u64; 8],
    /// Page reads given up.
    pub uncorrectable: u64,
    /// Wrong bits that were read.
    pub raw_bit_errors: u64,
}

/// What a drive is put together from.
pub(crate) struct DriveParts {
    pub flash: Flash,
    pub ftl: Box<dyn Ftl>,
    pub ecc: Box<dyn Model>,
    pub ecc_common: EccConfig,
    pub retry: Box<dyn Retry>,
    pub background: bool,
}

/// A drive.
pub struct Ssd {
    pub(crate) events: EventQueue,
    pub(crate) flash: Flash,
    pub(crate) ftl: Box<dyn Ftl>,
    pub(crate) decoders: Stage,
    pub(crate) counts: ControllerCounts,
    ecc: Box<dyn Model>,
    pub(crate) retry: Box<dyn Retry>,
    errors_rng: Rng,
    clean_decode: Option<Time>,
    cores: Stage,
    link_in: Stage,
    link_out: Stage,
    command_time: Time,
    link_ns_per_byte: f64,
    link_latency: Time,
    buffer_latency: Time,
    write_back: bool,
    background: bool,
    unit_bytes: u64,
    codewords: Vec<u32>,
    codeword_bytes: u32,
    buffer: Buffer,
    streams: u8,
    flushes: Flushes,
    /// Requests that wait until a buffer slot is durable.
    durable_waits: u32,
    stalled: VecDeque<u32>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    collectors: Vec<Collector>,
    /// How many of them are busy.
    collecting: u32,
    /// Dies with a host program under way.
    programming: DieSet,
    /// By stream, of the others: those that may take data, and those that must be collected first.
    writable: Vec<DieSet>,
    blocked: Vec<DieSet>,
    /// Working space: a set for one die, units of one program.
    one_die: DieSet,
    lpns: Vec<Lpn>,
    pub(crate) payload: Option<Payload>,
}

impl Ssd {
    /// Event kinds that the flash asks for.
    pub(crate) const FLASH_EVENTS: FlashEvents =
        FlashEvents { array: event::of(event::ARRAY, 0), transfer: event::of(event::TRANSFER, 0) };

    /// Puts the parts together; see `build` for where they come from.
    pub(crate) fn assemble(config: &SsdConfig, parts: DriveParts) -> Self {
        let DriveParts { flash, ftl, ecc, ecc_common, retry, background } = parts;
        let geometry = &flash.chips.geometry;
        let (dies, unit_bytes) = (geometry.dies, geometry.unit_bytes);
        let codewords = (0..=geometry.units_per_page)
            .map(|units| (units * unit_bytes).div_ceil(ecc_common.payload_bytes))
            .collect();
        let write_back = config.buffer.bytes > 0;
        let row = ftl.row_units();
        // Without write-back the buffer is the memory that feeds the dies: two rows for each.
        let capacity = if write_back {
            (config.buffer.bytes / u64::from(unit_bytes)).clamp(u64::from(row), 1 << 24) as u32
        } else {
            2 * row * dies
        };
        let decoders =
            if ecc_common.decoders == 0 { config.drive.channels } else { ecc_common.decoders };
        let blank = Slot {
            request: Request::FLUSH,
            token: 0,
            arrival: Time::ZERO,
            start: Time::ZERO,
            pending: 0,
            cursor: 0,
            parts: Parts::default(),
            hit: false,
            failed: false,
        };
        // Where the flash never errs or the decoder always corrects, decoding is a plain delay.
        let chips_err = config.chip.array.name != "ideal";
        let clean_decode =
            (!chips_err || ecc.is_ideal()).then(|| Time::from_us(ecc_common.t_decode_us));
        Self {
            events: EventQueue::new(),
            decoders: Stage::new(decoders),
            counts: ControllerCounts::default(),
            ecc,
            retry,
            errors_rng: Rng::stream(config.seed, "ecc"),
            clean_decode,
            cores: Stage::new(config.controller.cores),
            link_in: Stage::new(1),
            link_out: Stage::new(1),
            command_time: Time::from_us(config.controller.command_us),
            link_ns_per_byte: if config.host.link_mb_s > 0.0 {
                1e3 / config.host.link_mb_s
            } else {
                0.0
            },
            link_latency: Time::from_us(config.host.link_latency_us),
            buffer_latency: Time::from_us(config.buffer.latency_us),
            write_back,
            background,
            unit_bytes: u64::from(unit_bytes),
            codewords,
            codeword_bytes: ecc_common.payload_bytes + ecc_common.parity_bytes,
            buffer: Buffer::new(capacity, ftl.host_streams()),
            streams: ftl.host_streams(),
            flushes: Flushes::default(),
            durable_waits: 0,
            stalled: VecDeque::new(),
            slots: vec![blank; config.drive.queue_depth as usize],
            free_slots: (0..config.drive.queue_depth).rev().collect(),
            collectors: (0..dies).map(|_| Collector::default()).collect(),
            collecting: 0,
            programming: DieSet::none(dies),
            writable: vec![DieSet::all(dies); usize::from(ftl.host_streams())],
            blocked: vec![DieSet::none(dies); usize::from(ftl.host_streams())],
            one_die: DieSet::none(dies),
            lpns: Vec::with_capacity(row as usize),
            payload: None,
            flash,
            ftl,
        }
    }

    // ---------------------------------------------------------------- the host's side

    /// Simulated time.
    #[inline]
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Bytes that the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.ftl.logical_units()) * self.unit_bytes
    }

    /// Whether the drive can take another request.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free_slots.is_empty()
    }

    /// Requests that the drive takes at the same time.
    pub fn queue_depth(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Requests in the drive.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.slots.len() - self.free_slots.len()
    }

    /// Asks for `Step::Wake(token)` at `time`.
    pub fn wake_at(&mut self, time: Time, token: u32) {
        self.events.push(time.max(self.now()), event::of(event::WAKE, token));
    }

    /// Brings near what `request` will look up, if there is time before it is submitted.
    #[inline]
    pub fn prefetch(&self, request: &Request) {
        let unit = request.offset / self.unit_bytes;
        if unit < u64::from(self.ftl.logical_units()) {
            self.ftl.prefetch(Lpn(unit as u32));
        }
    }

    /// Brings near what lies behind that, once `prefetch` has had time to act.
    #[inline]
    pub fn prefetch_blocks(&self, request: &Request) {
        let unit = request.offset / self.unit_bytes;
        if unit < u64::from(self.ftl.logical_units())
            && let Some(block) = self.ftl.prefetch_old(Lpn(unit as u32))
        {
            self.flash.chips.prefetch(block);
        }
    }

    /// Takes a request that arrived in the host's queue at `arrival`. The drive must have room,
    /// and the request must be aligned to sectors and end inside the drive.
    pub fn submit(&mut self, request: Request, token: u32, arrival: Time) -> u32 {
        let slot = self.free_slots.pop().expect("the caller checks has_room");
        debug_assert!(request.end().is_some_and(|end| end <= self.capacity_bytes()));
        let now = self.now();
        self.slots[slot as usize] = Slot {
            request,
            token,
            arrival,
            start: now,
            pending: 0,
            cursor: 0,
            parts: Parts::default(),
            hit: false,
            failed: false,
        };
        if let Some(payload) = &mut self.payload {
            payload.submitted(slot);
        }
        let (_, _, ready) = self.cores.serve(now, self.command_time);
        self.events.push_lane(lane::READY, ready, event::of(event::READY, slot));
        slot
    }

    /// Goes on to the next completion or wake-up.
    #[inline]
    pub fn step(&mut self) -> Step {
        while let Some((_, payload)) = self.events.pop() {
            let index = payload & event::MASK;
            match payload >> event::SHIFT {
                event::READY => self.command_ready(index),
                event::DATA_IN => self.data_in(index),
                event::ARRAY => {
                    let done = self.flash.array_done(&mut self.events, Die(index));
                    self.done(done, Die(index));
                }
                event::TRANSFER => {
                    let done = self.flash.transfer_done(&mut self.events, index);
                    if let Done::Arrived(command) = done {
                        self.arrived(command);
                    }
                }
                event::DECODED => self.decoded(index),
                event::WAKE => return Step::Wake(index),
                _ => return Step::Completed(self.complete(index)),
            }
        }
        Step::Idle
    }

    /// The rule that the firmware broke, if it did: the run is void.
    pub fn fault(&mut self) -> Result<()> {
        self.flash.fault.take().map_or(Ok(()), Err)
    }

    fn complete(&mut self, slot: u32) -> Completion {
        let done = self.slots[slot as usize];
        self.free_slots.push(slot);
        Completion {
            token: done.token,
            request: done.request,
            arrival: done.arrival,
            start: done.start,
            parts: done.parts,
            failed: done.failed,
            slot,
        }
    }

    // ---------------------------------------------------------------- a command is taken up

    fn command_ready(&mut self, slot: u32) {
        let request = self.slots[slot as usize].request;
        match request.op {
            Op::Read => self.read_units(slot, &request),
            Op::Write => {
                self.slots[slot as usize].cursor = (request.offset / self.unit_bytes) as u32;
                let now = self.now();
                let crossing = self.link_time(request.length);
                let (_, _, end) = self.link_in.serve(now, crossing);
                let arrived = end + self.link_latency;
                if arrived == now {
                    self.data_in(slot);
                } else {
                    self.events.push_lane(lane::DATA_IN, arrived, event::of(event::DATA_IN, slot));
                }
            }
            Op::Trim => {
                self.trim_units(&request);
                self.acknowledge(slot, self.now());
            }
            Op::Flush => {
                if self.buffer.held() == 0 {
                    self.acknowledge(slot, self.now());
                } else {
                    self.flushes.wait(slot);
                    self.drain_buffer();
                }
            }
        }
    }

    fn link_time(&self, bytes: u64) -> Time {
        Time((bytes as f64 * self.link_ns_per_byte).round() as u64)
    }

    /// A write, trim or flush is complete at `time`.
    fn acknowledge(&mut self, slot: u32, time: Time) {
        self.events.push_lane(lane::WRITE_DONE, time, event::of(event::WRITE_DONE, slot));
    }

    // ---------------------------------------------------------------- reads

    #[inline]
    fn read_units(&mut self, slot: u32, request: &Request) {
        let first = (request.offset / self.unit_bytes) as u32;
        let last = ((request.offset + request.length - 1) / self.unit_bytes) as u32;
        // One more than there is, so that nothing completes before all is asked for.
        self.slots[slot as usize].pending = 1;
        let mut run: Option<(u32, Ppn, u32)> = None;
        for unit in first..=last {
            let place = match self.buffer.find(Lpn(unit)) {
                Some(held) => {
                    self.counts.buffer_hits += 1;
                    self.slots[slot as usize].hit = true;
                    if let Some(payload) = &mut self.payload {
                        let held = self.buffer.slot(held);
                        payload.read(slot, unit, if held.trimmed { 0 } else { held.version });
                    }
                    None
                }
                None => {
                    let place = self.ftl.lookup(Lpn(unit));
                    if let (None, Some(payload)) = (place, &mut self.payload) {
                        payload.read(slot, unit, 0);
                    }
                    place
                }
            };
            // Neighbours in one page are read together.
            run = match (run, place) {
                (Some((lpn, from, units)), Some(ppn))
                    if ppn.0 == from.0 + units
                        && self.flash.chips.geometry.page_index(ppn)
                            == self.flash.chips.geometry.page_index(from) =>
                {
                    Some((lpn, from, units + 1))
                }
                (before, place) => {
                    if let Some((lpn, from, units)) = before {
                        self.read_flash(Class::Read, Owner::Request(slot), from, lpn, units);
                    }
                    place.map(|ppn| (unit, ppn, 1))
                }
            };
        }
        if let Some((lpn, from, units)) = run {
            self.read_flash(Class::Read, Owner::Request(slot), from, lpn, units);
        }
        self.read_part_done(slot);
    }

    #[inline]
    fn read_flash(&mut self, class: Class, owner: Owner, ppn: Ppn, lpn: u32, units: u32) {
        if let Owner::Request(slot) = owner {
            self.slots[slot as usize].pending += 1;
        }
        let geometry = &self.flash.chips.geometry;
        let die = geometry.die_of(geometry.block_of(ppn));
        let bytes = self.codewords[units as usize] * self.codeword_bytes;
        let command = Command::read(class, owner, die, ppn, lpn, units, bytes);
        self.flash.submit(&mut self.events, command);
    }

    /// The data of a read are in the controller: to the decoders.
    #[inline]
    fn arrived(&mut self, index: u32) {
        let now = self.now();
        let command = self.flash.commands[index as usize];
        let words = self.codewords[command.units as usize];
        let mut end = now;
        let mut corrected = true;
        for _ in 0..words {
            let time = match self.clean_decode {
                Some(time) => time,
                None => {
                    let outcome = self.ecc.decode(command.rber, &mut self.errors_rng);
                    self.counts.raw_bit_errors += u64::from(outcome.errors);
                    corrected &= outcome.corrected;
                    if command.attempt == 0 && !outcome.corrected {
                        self.counts.hard_failures += 1;
                    }
                    outcome.time
                }
            };
            let (decoder, start, done) = self.decoders.serve(now, time);
            self.flash.timeline.record(
                Track::Decoder,
                decoder as u32,
                SpanKind::Decode,
                start,
                done,
            );
            end = end.max(done);
        }
        self.counts.codewords += u64::from(words);
        // From here on `transfers` says whether the data came back.
        self.flash.commands[index as usize].transfers = u8::from(corrected);
        if end == now {
            self.decoded(index);
        } else {
            self.events.push_lane(lane::DECODED, end, event::of(event::DECODED, index));
        }
    }

    #[inline]
    fn decoded(&mut self, index: u32) {
        let command = self.flash.commands[index as usize];
        if command.transfers == 0 && self.read_again(index, command) {
            return;
        }
        let failed = command.transfers == 0;
        self.flash.commands.remove(index as usize);
        match command.owner {
            Owner::Request(slot) => {
                if let Some(payload) = &mut self.payload {
                    for i in 0..command.units {
                        payload.read_stored(slot, command.lpn + i, Ppn(command.ppn.0 + i));
                    }
                }
                let now = self.now();
                let request = &mut self.slots[slot as usize];
                request.failed |= failed;
                // The last command to finish is the one that the request waited for.
                let words = u64::from(self.codewords[command.units as usize]);
                let decode = self.clean_decode.unwrap_or(Time::ZERO) * words.min(1);
                request.parts = Parts {
                    flash: command.array,
                    bus: command.bus,
                    ecc: decode,
                    queue: now.since(command.queued).since(command.array + command.bus + decode),
                };
                self.read_part_done(slot);
            }
            Owner::Fill(held) => self.filled(held),
            Owner::Collect => self.collect_read_done(command.die),
            Owner::Moves(_) | Owner::Slots(_) => unreachable!("programs are not decoded"),
        }
    }

    /// After a failed decode: round again as the policy says. False when the page is given up.
    fn read_again(&mut self, index: u32, command: Command) -> bool {
        let Some(reread) = self.retry.after_failure(command.attempt) else {
            self.counts.uncorrectable += 1;
            return false;
        };
        let attempt = usize::from(command.attempt).min(self.counts.soft_reads.len() - 1);
        self.counts.soft_reads[attempt] += 1;
        if let Owner::Request(slot) = command.owner
            && (0..command.units)
                .any(|i| self.ftl.lookup(Lpn(command.lpn + i)) != Some(Ppn(command.ppn.0 + i)))
        {
            // The data have moved on meanwhile, and their block may be gone: look them up anew.
            self.flash.commands.remove(index as usize);
            for unit in command.lpn..command.lpn + command.units {
                if self.buffer.find(Lpn(unit)).is_none()
                    && let Some(ppn) = self.ftl.lookup(Lpn(unit))
                {
                    self.read_flash(Class::Read, Owner::Request(slot), ppn, unit, 1);
                }
            }
            self.read_part_done(slot);
            return true;
        }
        let again = &mut self.flash.commands[index as usize];
        again.attempt += 1;
        (again.senses, again.transfers) = (reread.senses, reread.transfers);
        self.flash.again(&mut self.events, index);
        true
    }

    /// One of the things that a read waits for is there; the last one sends the data to the host.
    #[inline]
    fn read_part_done(&mut self, slot: u32) {
        let request = &mut self.slots[slot as usize];
        request.pending -= 1;
        if request.pending > 0 {
            return;
        }
        let (length, hit) = (request.request.length, request.hit);
        let crossing = self.link_time(length);
        let (_, _, end) = self.link_out.serve(self.events.now(), crossing);
        let done = end + self.link_latency + if hit { self.buffer_latency } else { Time::ZERO };
        self.events.push_lane(lane::READ_DONE, done, event::of(event::READ_DONE, slot));
    }

    // ---------------------------------------------------------------- writes

    fn data_in(&mut self, slot: u32) {
        if !self.stalled.is_empty() || !self.fill_buffer(slot) {
            // First come, first served: nobody overtakes a stalled write.
            self.counts.stalls += 1;
            self.stalled.push_back(slot);
        }
        self.drain_buffer();
    }

    /// Puts the units of a write into the buffer; false when it must wait for room.
    fn fill_buffer(&mut self, slot: u32) -> bool {
        let Slot { request, .. } = self.slots[slot as usize];
        let last = ((request.offset + request.length - 1) / self.unit_bytes) as u32;
        let durable = request.fua || !self.write_back;
        while self.slots[slot as usize].cursor <= last {
            let unit = self.slots[slot as usize].cursor;
            let Some(held) = self.hold(Lpn(unit), &request, durable) else { return false };
            if durable {
                self.buffer.slot(held).waiter = slot;
                self.slots[slot as usize].pending += 1;
                self.durable_waits += 1;
            }
            if let Some(payload) = &self.payload {
                self.buffer.slot(held).version = payload.version(slot);
            }
            self.slots[slot as usize].cursor += 1;
        }
        if !durable {
            self.acknowledge(slot, self.now() + self.buffer_latency);
        }
        true
    }

    /// A buffer slot for new data of `lpn`; `None` when there is none.
    #[inline]
    fn hold(&mut self, lpn: Lpn, request: &Request, durable: bool) -> Option<u32> {
        let found = self.buffer.find(lpn);
        if let Some(old) = found {
            let entry = self.buffer.slot(old);
            if entry.state != State::InFlight {
                if durable && entry.waiter != NONE {
                    return None;
                }
                entry.trimmed = false;
                self.counts.coalesced += 1;
                return Some(old);
            }
        }
        let start = u64::from(lpn.0) * self.unit_bytes;
        let whole =
            request.offset <= start && start + self.unit_bytes <= request.offset + request.length;
        let old_place = if whole || found.is_some() { None } else { self.ftl.lookup(lpn) };
        let state = match (found, old_place) {
            (Some(_), _) => State::Behind,
            (None, Some(_)) => State::Filling,
            (None, None) => State::Dirty,
        };
        let held = self.buffer.take(lpn, state)?;
        let streams = self.streams;
        let entry = self.buffer.slot(held);
        entry.stream = request.stream % streams;
        entry.epoch = self.flushes.hold();
        match (found, old_place) {
            (Some(old), _) => self.buffer.slot(old).successor = held,
            (None, Some(ppn)) => {
                // The sectors that are not written come from the old unit.
                self.counts.fills += 1;
                self.read_flash(Class::Read, Owner::Fill(held), ppn, lpn.0, 1);
            }
            (None, None) => self.buffer.push_dirty(held),
        }
        Some(held)
    }

    /// The rest of a partly written unit has been read.
    fn filled(&mut self, held: u32) {
        if self.buffer.slot(held).trimmed {
            self.release(held);
            self.retry_stalled();
        } else {
            self.buffer.push_dirty(held);
        }
        self.drain_buffer();
    }

    /// Sends rows of waiting units to free dies. Rows that are not full go only when somebody
    /// waits for them.
    #[inline]
    fn drain_buffer(&mut self) {
        let row = self.ftl.row_units();
        for stream in 0..self.streams {
            loop {
                let waiting = self.buffer.dirty(stream);
                let urgent =
                    self.durable_waits > 0 || self.flushes.waiting() || !self.stalled.is_empty();
                if waiting == 0 || (waiting < row && !urgent) {
                    break;
                }
                self.buffer.peek_dirty(stream, row, &mut self.lpns);
                let stream_of = Stream::host(stream);
                let dies = &self.writable[usize::from(stream)];
                let Some(program) = self.ftl.place(stream_of, &self.lpns, dies) else {
                    self.set_aside(stream);
                    break;
                };
                let first = self.buffer.send_dirty(stream, program.units);
                self.occupy(program.die);
                self.program(program, Owner::Slots(first));
                self.start_collect(program.die);
            }
        }
    }

    /// None of the free dies may take data of this stream: they are set aside until they have
    /// been collected.
    fn set_aside(&mut self, stream: u8) {
        let stream = usize::from(stream);
        while let Some(die) = self.writable[stream].next_from(0) {
            self.writable[stream].remove(die);
            self.blocked[stream].insert(die);
            self.start_collect(die);
        }
        // Collection that is under way will come back here; without any, look at all again.
        if self.collecting == 0 {
            self.collect_blocked();
        }
    }

    /// A block has been erased: its die may take data again.
    fn unblock(&mut self, erased: Die) {
        for stream in 0..usize::from(self.streams) {
            if self.blocked[stream].remove(erased) && !self.programming.contains(erased) {
                self.writable[stream].insert(erased);
            }
        }
        self.collect_blocked();
    }

    /// A host program goes to a die: it takes no other before that is done.
    fn occupy(&mut self, die: Die) {
        self.programming.insert(die);
        self.writable.iter_mut().for_each(|dies| {
            dies.remove(die);
        });
    }

    /// The host program of a die is done.
    fn vacate(&mut self, die: Die) {
        self.programming.remove(die);
        for (writable, blocked) in self.writable.iter_mut().zip(&self.blocked) {
            if !blocked.contains(die) {
                writable.insert(die);
            }
        }
    }

    /// Dies that were blocked with nothing to collect may have something now.
    fn collect_blocked(&mut self) {
        for stream in 0..usize::from(self.streams) {
            let mut from = 0;
            while let Some(die) = self.blocked[stream].next_from(from)
                && die.0 >= from
            {
                self.start_collect(die);
                from = die.0 + 1;
            }
        }
    }

    fn program(&mut self, program: Program, owner: Owner) {
        // The class follows the frontier and not the owner: what garbage collection puts into a
        // host frontier must keep that frontier's order.
        let class = if program.stream == Stream::GC { Class::Collect } else { Class::Write };
        let pages = u32::from(program.planes) * self.flash.chips.pages_per_program;
        let bytes =
            self.codewords[self.flash.chips.geometry.units_per_page as usize] * self.codeword_bytes;
        let job = self.flash.jobs.insert(program) as u32;
        let command =
            Command::job(Kind::Program, class, owner, program.die, job, pages as u8, bytes);
        self.flash.submit(&mut self.events, command);
    }

    fn done(&mut self, done: Done, die: Die) {
        match done {
            Done::Programmed(index) => self.programmed(index),
            Done::Erased(index) => self.erased(index),
            Done::Arrived(index) => self.arrived(index),
            Done::Nothing => {}
        }
        if self.background && self.flash.is_idle(die) {
            self.start_collect(die);
        }
    }

    fn programmed(&mut self, index: u32) {
        let command = self.flash.commands.remove(index as usize);
        let program = self.flash.jobs.remove(command.job as usize);
        match command.owner {
            Owner::Moves(first) => self.moved(&program, first),
            Owner::Slots(first) => {
                self.ftl.programmed(&program, &[]);
                self.vacate(program.die);
                let mut held = first;
                for i in 0..program.units {
                    let entry = *self.buffer.slot(held);
                    if let Some(payload) = &mut self.payload {
                        let ppn = program.ppn(&self.flash.chips.geometry, i);
                        payload.store(ppn, entry.version);
                    }
                    if entry.trimmed {
                        self.ftl.trim(entry.lpn);
                    }
                    if entry.successor != NONE {
                        if self.buffer.slot(entry.successor).trimmed {
                            self.release(entry.successor);
                        } else {
                            self.buffer.push_dirty(entry.successor);
                        }
                    }
                    self.release(held);
                    held = entry.next;
                }
                self.retry_stalled();
                self.drain_buffer();
            }
            Owner::Request(_) | Owner::Fill(_) | Owner::Collect => {
                unreachable!("reads are not programmed")
            }
        }
    }

    /// Gives a buffer slot back and tells who waited for it.
    fn release(&mut self, held: u32) {
        let entry = *self.buffer.slot(held);
        self.buffer.release(held);
        if entry.waiter != NONE {
            self.durable_waits -= 1;
            self.write_part_done(entry.waiter);
        }
        self.flushes.release(entry.epoch);
        let now = self.now();
        while let Some(slot) = self.flushes.ready() {
            self.acknowledge(slot, now);
        }
    }

    fn write_part_done(&mut self, slot: u32) {
        let Slot { request, cursor, .. } = self.slots[slot as usize];
        let last = ((request.offset + request.length - 1) / self.unit_bytes) as u32;
        let entry = &mut self.slots[slot as usize];
        entry.pending -= 1;
        if entry.pending == 0 && cursor > last {
            self.acknowledge(slot, self.now());
        }
    }

    fn retry_stalled(&mut self) {
        while let Some(&slot) = self.stalled.front() {
            if !self.fill_buffer(slot) {
                return;
            }
            self.stalled.pop_front();
        }
    }

    // ---------------------------------------------------------------- trims

    /// Forgets every unit that lies wholly inside the request.
    fn trim_units(&mut self, request: &Request) {
        let first = request.offset.div_ceil(self.unit_bytes) as u32;
        let end = ((request.offset + request.length) / self.unit_bytes) as u32;
        for unit in first..end {
            if let Some(held) = self.buffer.find(Lpn(unit)) {
                if self.buffer.slot(held).state == State::Dirty {
                    self.buffer.unlink_dirty(held);
                    self.release(held);
                } else {
                    self.buffer.slot(held).trimmed = true;
                }
            }
            self.ftl.trim(Lpn(unit));
        }
        self.retry_stalled();
    }

    // ---------------------------------------------------------------- garbage collection

    /// Starts collecting a die, if it wants that and is not at it.
    #[inline]
    pub(crate) fn start_collect(&mut self, die: Die) {
        if !self.collectors[die.0 as usize].busy
            && self.ftl.wants_collect(die, self.background && self.flash.is_idle(die))
        {
            self.collectors[die.0 as usize].busy = true;
            self.collecting += 1;
            self.collect(die);
        }
    }

    fn stop_collect(&mut self, die: Die) {
        self.collectors[die.0 as usize].busy = false;
        self.collecting -= 1;
    }

    /// The next step of collecting a die.
    fn collect(&mut self, die: Die) {
        let background = self.background && self.flash.is_idle(die);
        if !self.ftl.wants_collect(die, background) {
            self.stop_collect(die);
            return;
        }
        let mut moves = std::mem::take(&mut self.collectors[die.0 as usize].moves);
        match self.ftl.collect(die, background, &mut moves) {
            Collect::Nothing => self.stop_collect(die),
            Collect::Move => self.collect_reads(die, &moves),
            Collect::Erase { n, blocks } => self.erase(die, n, blocks),
        }
        self.collectors[die.0 as usize].moves = moves;
    }

    fn collect_reads(&mut self, die: Die, moves: &[Move]) {
        let mut rest = moves;
        while let Some(&first) = rest.first() {
            let geometry = &self.flash.chips.geometry;
            let page = geometry.page_index(first.from);
            let same = |unit: &&Move| geometry.page_index(unit.from) == page;
            let units = rest.iter().take_while(same).count();
            self.collectors[die.0 as usize].pending += 1;
            self.read_flash(Class::Collect, Owner::Collect, first.from, first.lpn.0, units as u32);
            rest = &rest[units..];
        }
    }

    fn collect_read_done(&mut self, die: Die) {
        let collector = &mut self.collectors[die.0 as usize];
        collector.pending -= 1;
        if collector.pending > 0 {
            return;
        }
        let moves = std::mem::take(&mut collector.moves);
        let mut lpns = std::mem::take(&mut self.lpns);
        self.one_die.insert(die);
        let mut done = 0;
        while done < moves.len() {
            lpns.clear();
            lpns.extend(moves[done..].iter().map(|unit| unit.lpn));
            let program = self
                .ftl
                .place(Stream::GC, &lpns, &self.one_die)
                .expect("the reserve always takes what collection moves");
            self.collectors[die.0 as usize].pending += 1;
            self.program(program, Owner::Moves(done as u32));
            done += program.units as usize;
        }
        self.one_die.remove(die);
        self.lpns = lpns;
        self.collectors[die.0 as usize].moves = moves;
    }

    fn moved(&mut self, program: &Program, first: u32) {
        let die = program.die;
        let moves = std::mem::take(&mut self.collectors[die.0 as usize].moves);
        let moved = &moves[first as usize..(first + program.units) as usize];
        self.ftl.programmed(program, moved);
        if let Some(payload) = &mut self.payload {
            for (i, unit) in moved.iter().enumerate() {
                let to = program.ppn(&self.flash.chips.geometry, i as u32);
                payload.copy(unit.from, to);
            }
        }
        let collector = &mut self.collectors[die.0 as usize];
        collector.moves = moves;
        collector.pending -= 1;
        if collector.pending == 0 {
            self.collect(die);
        }
    }

    fn erase(&mut self, die: Die, n: u8, blocks: [Block; MAX_PLANES]) {
        let job = Program { die, units: 0, page: 0, planes: n, stream: Stream::GC, blocks };
        let job = self.flash.jobs.insert(job) as u32;
        let command = Command::job(Kind::Erase, Class::Collect, Owner::Collect, die, job, 0, 0);
        self.flash.submit(&mut self.events, command);
    }

    fn erased(&mut self, index: u32) {
        let command = self.flash.commands.remove(index as usize);
        let job = self.flash.jobs.remove(command.job as usize);
        for &block in &job.blocks[..usize::from(job.planes)] {
            self.ftl.erased(block);
        }
        self.collect(command.die);
        self.unblock(command.die);
        self.drain_buffer();
    }
}
