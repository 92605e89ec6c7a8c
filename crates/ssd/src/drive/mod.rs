//! The drive: the life of one request, from the host's queue to its completion. Read this first.
//!
//! A **read**: a core takes the command (`command_ready`); each unit is looked for in the buffer,
//! then in the FTL; units that lie in one page become one flash command (`read_units`); the die
//! and the bus serve it (`flash`); a decoder takes the data (`arrived`); a failure goes round
//! again as the retry policy says (`read_again`); the last unit sends the data over the link, and
//! the request is complete.
//!
//! A **write**: the data cross the link and enter the buffer (`fill_buffer`), which is enough for
//! an acknowledgement in a write-back drive. Whenever a row of units waits and a die is free, the
//! FTL places it and a program goes out (`drain_buffer`). What the flash has is reported to the
//! FTL and leaves the buffer (`programmed`).
//!
//! **Garbage collection** asks the FTL for one step at a time and sends its reads, programs and
//! erases through the same dies, buses and decoders as everybody's (`collect`).
//!
//! The three ways stand in `reading`, `writing` and `collecting`; here are the drive itself, the
//! host's side of it, and the loop that everything hangs on.

pub(crate) mod codewords;
pub mod flush;
pub(crate) mod jobs;
pub(crate) mod read;
pub mod request;
pub mod stage;
pub mod timeline;
mod write;

use crate::buffer::Buffer;
use crate::config::SsdConfig;
use crate::drive::codewords::Codewords;
use crate::drive::flush::Flushes;
use crate::drive::jobs::Collector;
use crate::drive::request::{Op, Request};
use crate::drive::stage::Stage;
use crate::failure::failed_words::FailedWords;
use crate::failure::given_up::GivenUp;
use crate::failure::lost::LostUnits;
use crate::failure::read_reclaim::ReadReclaim;
use crate::failure::retry::Retry;
use crate::flash::{Flash, FlashEvents};
use crate::ftl::{DieSet, Ftl, Lpn};
use crate::medium::versions::Payload;
use base::event::EventQueue;
use base::rng::Rng;
use base::units::PerByte;
use base::{Result, Time};
use ecc::model::{EccConfig, Model};
use nand::geometry::Die;
use std::collections::VecDeque;

/// Kinds of events; the low bits of a payload say which one of that kind.
pub(crate) mod event {
    pub const SHIFT: u32 = 25;
    pub const MASK: u32 = (1 << SHIFT) - 1;
    pub const READY: u32 = 0;
    pub const DATA_IN: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const TRANSFER: u32 = 3;
    pub const DECODED: u32 = 4;
    pub const COMPLETE: u32 = 5;
    pub const ENCODED: u32 = 6;
    pub const WAKE: u32 = 7;

    pub const fn of(kind: u32, index: u32) -> u32 {
        kind << SHIFT | index
    }
}

/// Event lanes: of the stages that are first come first served, and of array reads, transfers and
/// programs, whose ends mostly come in the order of their starts.
pub(crate) mod lane {
    pub const HOST_IN: usize = 0;
    pub const DECODED: usize = 1;
    pub const READ_DONE: usize = 2;
    pub const WRITE_DONE: usize = 3;
    pub const ARRAY: usize = 4;
    pub const PROGRAM: usize = 5;
    pub const TO_DIE: usize = 6;
    pub const FROM_DIE: usize = 7;
}

/// Where the time of a request went. What is left of its latency are controller, buffer and link,
/// and programs of its data that failed.
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
    /// Some of its data could not be corrected, or the drive takes none any more.
    pub failed: bool,
}

/// What happened next.
#[derive(Debug)]
pub enum Step {
    /// The request in this slot is complete: [`Ssd::completed`] tells of it.
    Completed(u32),
    /// A wake-up that the host asked for.
    Wake(u32),
    /// Nothing is under way.
    Idle,
}

/// A request in the drive.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// What its completion will tell, as far as it is known.
    pub(crate) done: Completion,
    /// Flash commands, buffer slots or link transfers that it waits for.
    pub(crate) pending: u32,
    /// Writes: the next unit to enter the buffer.
    pub(crate) cursor: u32,
    /// Some of its data came from the buffer.
    pub(crate) hit: bool,
}

impl Slot {
    fn new(request: Request, token: u32, arrival: Time, start: Time) -> Self {
        let parts = Parts::default();
        let done = Completion { token, request, arrival, start, parts, failed: false };
        Self { done, pending: 0, cursor: 0, hit: false }
    }
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
    /// Units trimmed that held data.
    pub trimmed: u64,
    /// Codewords decoded.
    pub codewords: u64,
    /// Codewords that failed at the first attempt.
    pub hard_failures: u64,
    /// Hard reads of pages again, with their references moved.
    pub retries: u64,
    /// Soft reads of pages, by level from the first.
    pub soft_reads: [u64; MOST_LEVELS],
    /// Codewords decoded again after either.
    pub further_decodes: u64,
    /// Page reads given up.
    pub uncorrectable: u64,
    /// Wrong bits of first reads.
    pub raw_bit_errors: u64,
    /// Iterations of all decodes, where the model knows of any.
    pub iterations: u64,
    /// Codewords encoded.
    pub encoded: u64,
}

/// Soft levels that are told apart.
pub const MOST_LEVELS: usize = 8;

/// What a drive is put together from.
pub(crate) struct DriveParts {
    pub flash: Flash,
    pub ftl: Box<dyn Ftl>,
    pub ecc: Box<dyn Model>,
    pub ecc_common: EccConfig,
    pub retry: Box<dyn Retry>,
    pub background: bool,
    pub reclaim: ReadReclaim,
}

/// A drive.
pub struct Ssd {
    pub(crate) events: EventQueue,
    pub(crate) flash: Flash,
    pub(crate) ftl: Box<dyn Ftl>,
    pub(crate) decoders: Stage,
    pub(crate) encoders: Stage,
    pub(crate) encode_time: Time,
    /// Energy of one iteration of one codeword.
    pub(crate) iteration_uj: f64,
    pub(crate) counts: ControllerCounts,
    pub(crate) ecc: Box<dyn Model>,
    pub(crate) retry: Box<dyn Retry>,
    /// Codewords of reads that go round again.
    pub(crate) failed: FailedWords,
    /// Units whose data are lost.
    pub(crate) lost: LostUnits,
    /// Pages that could not be read.
    pub(crate) given_up: GivenUp,
    /// From when on the drive takes no writes: a block has failed, and its plane had none to spare.
    pub(crate) read_only_at: Time,
    /// Tells the luck of this drive's words from that of others'.
    pub(crate) luck_key: u64,
    pub(crate) clean_decode: Option<Time>,
    pub(crate) cores: Stage,
    pub(crate) link_in: Stage,
    pub(crate) link_out: Stage,
    pub(crate) command_time: Time,
    pub(crate) link: PerByte,
    pub(crate) link_latency: Time,
    pub(crate) buffer_latency: Time,
    pub(crate) write_back: bool,
    pub(crate) background: bool,
    pub(crate) reclaim: ReadReclaim,
    logical_units: u32,
    pub(crate) unit_bytes: u64,
    /// Its power of two, where it is one: every request asks for its units several times.
    unit_shift: Option<u32>,
    pub(crate) codewords: Codewords,
    pub(crate) codeword_bytes: u32,
    pub(crate) buffer: Buffer,
    pub(crate) streams: u8,
    /// The one that may send a row next.
    pub(crate) next_stream: u8,
    pub(crate) flushes: Flushes,
    /// Requests that wait until a buffer slot is durable.
    pub(crate) durable_waits: u32,
    pub(crate) stalled: VecDeque<u32>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) free_slots: Vec<u32>,
    pub(crate) collectors: Vec<Collector>,
    /// How many of them are busy.
    pub(crate) collecting: u32,
    /// Dies with a host program under way, or with collection that must catch up with their last.
    pub(crate) occupied: DieSet,
    /// By stream, of the others: those that may take data, and those that must be collected first.
    pub(crate) writable: Vec<DieSet>,
    pub(crate) blocked: Vec<DieSet>,
    /// Working space: a set for one die, units of one program.
    pub(crate) one_die: DieSet,
    pub(crate) lpns: Vec<Lpn>,
    pub(crate) payload: Option<Payload>,
}

impl Ssd {
    /// Event kinds that the flash asks for.
    pub(crate) const FLASH_EVENTS: FlashEvents = FlashEvents {
        array: event::of(event::ARRAY, 0),
        array_lane: lane::ARRAY,
        program_lane: lane::PROGRAM,
        transfer: event::of(event::TRANSFER, 0),
        to_die_lane: lane::TO_DIE,
        from_die_lane: lane::FROM_DIE,
    };

    /// Puts the parts together; see `build` for where they come from.
    pub(crate) fn assemble(config: &SsdConfig, parts: DriveParts) -> Self {
        let DriveParts { flash, ftl, ecc, ecc_common, retry, background, reclaim } = parts;
        let geometry = &flash.chips.geometry;
        let (dies, unit_bytes) = (geometry.dies, geometry.unit_bytes);
        let write_back = config.buffer.bytes > 0;
        let row = ftl.row_units();
        // Without write-back the buffer is the memory that feeds the dies: two rows for each.
        let capacity = if write_back {
            // `check_commands` has refused more than events can name.
            (config.buffer.bytes / u64::from(unit_bytes)) as u32
        } else {
            2 * row * dies
        };
        let decoders =
            if ecc_common.decoders == 0 { config.drive.channels } else { ecc_common.decoders };
        let blank = Slot::new(Request::FLUSH, 0, Time::ZERO, Time::ZERO);
        // Where the flash never errs or the decoder always corrects, decoding is a plain delay.
        let clean_decode =
            (!flash.chips.errs() || ecc.is_ideal()).then(|| ecc_common.decode_time(0, 0));
        Self {
            events: EventQueue::new(),
            decoders: Stage::new(decoders),
            encoders: Stage::new(decoders),
            encode_time: Time::from_us(ecc_common.t_encode_us),
            iteration_uj: ecc_common.iteration_uj(),
            counts: ControllerCounts::default(),
            ecc,
            retry,
            failed: FailedWords::default(),
            lost: LostUnits::default(),
            given_up: GivenUp::default(),
            read_only_at: Time::NEVER,
            luck_key: Rng::stream(config.seed, "ecc").bits(),
            clean_decode,
            cores: Stage::new(config.controller.cores),
            link_in: Stage::new(1),
            link_out: Stage::new(1),
            command_time: Time::from_us(config.controller.command_us),
            link: PerByte::at_mb_s(config.host.link_mb_s),
            link_latency: Time::from_us(config.host.link_latency_us),
            buffer_latency: Time::from_us(config.buffer.latency_us),
            write_back,
            background,
            reclaim,
            logical_units: ftl.logical_units(),
            unit_bytes: u64::from(unit_bytes),
            unit_shift: unit_bytes.is_power_of_two().then(|| unit_bytes.trailing_zeros()),
            codewords: Codewords::new(geometry, ecc_common.payload_bytes),
            codeword_bytes: ecc_common.payload_bytes + ecc_common.parity_bytes,
            buffer: Buffer::new(capacity, ftl.host_streams()),
            streams: ftl.host_streams(),
            next_stream: 0,
            flushes: Flushes::default(),
            durable_waits: 0,
            stalled: VecDeque::new(),
            slots: vec![blank; config.drive.queue_depth as usize],
            free_slots: (0..config.drive.queue_depth).rev().collect(),
            collectors: (0..dies).map(|_| Collector::default()).collect(),
            collecting: 0,
            occupied: DieSet::none(dies),
            writable: vec![DieSet::all(dies); usize::from(ftl.host_streams())],
            blocked: vec![DieSet::none(dies); usize::from(ftl.host_streams())],
            one_die: DieSet::none(dies),
            lpns: Vec::with_capacity(row as usize),
            payload: None,
            flash,
            ftl,
        }
    }

    /// Simulated time.
    #[inline]
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Bytes that the host sees.
    #[inline]
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_units) * self.unit_bytes
    }

    /// The unit that holds a byte.
    #[inline]
    pub(crate) fn unit_at(&self, byte: u64) -> u64 {
        match self.unit_shift {
            Some(shift) => byte >> shift,
            None => byte / self.unit_bytes,
        }
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
        let unit = self.unit_at(request.offset);
        if unit < u64::from(self.logical_units) {
            self.ftl.prefetch(Lpn(unit as u32));
        }
    }

    /// Brings near what lies behind that, once `prefetch` has had time to act.
    #[inline]
    pub fn prefetch_blocks(&self, request: &Request) {
        let unit = self.unit_at(request.offset);
        if unit < u64::from(self.logical_units)
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
        self.slots[slot as usize] = Slot::new(request, token, arrival, now);
        if let Some(payload) = &mut self.payload {
            payload.submitted(slot);
        }
        let (_, _, ready) = self.cores.serve(now, self.command_time);
        if request.op == Op::Write {
            // Commands leave the cores in their order: the link can be booked now, and the
            // write is heard of again when its data are there.
            self.send_data_in(slot, ready);
        } else if ready == now {
            self.command_ready(slot);
        } else {
            self.events.push_lane(lane::HOST_IN, ready, event::of(event::READY, slot));
        }
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
                    let (done, die) = self.flash.transfer_done(&mut self.events, index);
                    self.done(done, die);
                }
                event::DECODED => self.decoded(index),
                event::ENCODED => self.flash.submit(&mut self.events, index),
                event::WAKE => return Step::Wake(index),
                _ => {
                    self.free_slots.push(index);
                    return Step::Completed(index);
                }
            }
        }
        Step::Idle
    }

    /// The rule that the firmware broke, if it did: the run is void.
    pub fn fault(&mut self) -> Result<()> {
        self.flash.fault.take().map_or(Ok(()), Err)
    }

    /// The request that was completed in `slot`: there until the next submission.
    #[inline]
    pub fn completed(&self, slot: u32) -> &Completion {
        &self.slots[slot as usize].done
    }

    pub(crate) fn command_ready(&mut self, slot: u32) {
        let request = self.slots[slot as usize].done.request;
        match request.op {
            Op::Read => self.read_units(slot, &request),
            Op::Write => unreachable!("a write goes on with its data"),
            Op::Trim => {
                self.trim_units(&request);
                self.acknowledge(slot, self.now() + self.link_latency);
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

    /// The data of a write, whose command is decoded at `ready`, cross the link.
    #[inline]
    fn send_data_in(&mut self, slot: u32, ready: Time) {
        let Request { offset, length, .. } = self.slots[slot as usize].done.request;
        self.slots[slot as usize].cursor = self.unit_at(offset) as u32;
        let crossing = self.link_time(length);
        let (_, _, end) = self.link_in.serve(ready, crossing);
        let arrived = end + self.link_latency;
        if arrived == self.now() {
            self.data_in(slot);
        } else {
            self.events.push_lane(lane::HOST_IN, arrived, event::of(event::DATA_IN, slot));
        }
    }

    pub(crate) fn link_time(&self, bytes: u64) -> Time {
        self.link.time(bytes)
    }

    /// A write, trim or flush is complete at `time`.
    pub(crate) fn acknowledge(&mut self, slot: u32, time: Time) {
        self.events.push_lane(lane::WRITE_DONE, time, event::of(event::COMPLETE, slot));
    }
}
