//! The host interface of the drive: queue slots, controller cores, the link, and the DRAM that data
//! of the host and of collection share.

use super::costs::Costs;
use super::flow::{event, lane};
use super::{Completion, Parts, Request, Ssd, Stage, Status};
use crate::config::SsdConfig;
use crate::flash::blame::Cause;
use base::units::PerByte;
use base::{Time, counts};

/// Bytes that a look-up of a map in DRAM moves: a burst. Assumed: 64 bits, 8 beats.
const LOOK_UP_BYTES: u64 = 64;

/// Queue slot of the drive: a request and its progress.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Completion of the request, as far as it is known.
    pub(super) done: Completion,
    /// Number of flash commands, buffer slots or pages of the map that the request waits for.
    pub(super) pending: u32,
    /// Writes: the next unit to enter the buffer.
    pub(super) cursor: u32,
    /// Some data of the request came from the buffer.
    pub(super) hit: bool,
}

impl Slot {
    fn new(request: Request, token: u32, arrival: Time, start: Time) -> Self {
        let parts = Parts::default();
        let status = Status::Success;
        let done = Completion { token, request, arrival, start, parts, failed: false, status };
        Self { done, pending: 0, cursor: 0, hit: false }
    }
}

/// Busy time of the host interface.
#[derive(Debug, Clone, Copy, Default)]
pub struct FrontTimes {
    /// Busy time of all cores of the controller together.
    pub cores: Time,
    /// Busy time of the link, with data of writes.
    pub link_in: Time,
    /// Busy time of the link, with data of reads.
    pub link_out: Time,
    /// Busy time of the DRAM, where its bandwidth is limited.
    pub dram: Time,
}

counts!(FrontTimes { cores, link_in, link_out, dram });

/// Host interface: queue slots, cores and link.
pub(super) struct Front {
    pub(super) slots: Vec<Slot>,
    free_slots: Vec<u32>,
    /// The drive has no power, or starts up: there are no free slots.
    is_closed: bool,
    /// No request is taken for now.
    pub(super) is_suspended: bool,
    cores: Stage,
    costs: Costs,
    link_in: Stage,
    link_out: Stage,
    dram: Stage,
    dram_rate: PerByte,
    pub(super) has_dram: bool,
    /// Mapping units have their places in DRAM: each look-up of one takes a burst.
    map_in_dram: bool,
    link: PerByte,
    link_request: Time,
    pub(super) link_latency: Time,
    /// Latency of a read of the host's memory by the drive.
    memory_latency: Time,
    /// Commands that were taken, and bytes of data that have crossed the link.
    commands: u64,
    link_bytes: u64,
}

impl Front {
    pub(super) fn new(config: &SsdConfig, map_in_dram: bool) -> Self {
        let depth = config.drive.queue_depth;
        let blank = Slot::new(Request::FLUSH, 0, Time::ZERO, Time::ZERO);
        Self {
            slots: vec![blank; depth as usize],
            free_slots: (0..depth).rev().collect(),
            is_closed: false,
            is_suspended: false,
            cores: Stage::new(config.controller.cores),
            costs: Costs::new(&config.controller, config.drive_unit_bytes()),
            link_in: Stage::new(1),
            link_out: Stage::new(1),
            dram: Stage::new(1),
            dram_rate: PerByte::at_mb_s(config.controller.dram_mb_s),
            has_dram: config.controller.dram_mb_s > 0.0,
            map_in_dram,
            link: PerByte::at_mb_s(config.host.link_mb_s),
            link_request: Time::from_us(config.host.link_request_us),
            link_latency: Time::from_us(config.host.link_latency_us),
            memory_latency: Time::from_us(config.host.memory_latency_us),
            commands: 0,
            link_bytes: 0,
        }
    }

    /// Busy time until `now`: of all cores together, and of both directions of the link.
    pub(super) fn busy(&self, now: Time) -> FrontTimes {
        FrontTimes {
            cores: self.cores.busy(now),
            link_in: self.link_in.busy(now),
            link_out: self.link_out.busy(now),
            dram: self.dram.busy(now),
        }
    }

    /// Number of cores of the controller.
    pub(super) fn cores(&self) -> usize {
        self.cores.servers()
    }

    /// Commands that were taken, and bytes of data that have crossed the link.
    pub(super) fn taken(&self) -> (u64, u64) {
        (self.commands, self.link_bytes)
    }

    /// Queue slot with this number.
    #[inline]
    pub(super) fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// Request that a slot holds.
    #[inline]
    pub(super) fn request(&self, slot: u32) -> Request {
        self.slots[slot as usize].done.request
    }

    /// Gives a slot back.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.free_slots.push(slot);
    }

    /// Sends data of a request over the link to the host, from `now` on. Returns when they are
    /// there.
    #[inline]
    pub(super) fn send_out(&mut self, now: Time, bytes: u64) -> Time {
        self.link_bytes += bytes;
        let crossing = self.link_request + self.link.time(bytes);
        let (_, _, end) = self.link_out.serve(now, crossing);
        end + self.link_latency
    }

    /// Moves data into or out of the DRAM, from `now` on. Returns when that is done: at once where
    /// its bandwidth is unlimited.
    #[inline]
    pub(super) fn move_in_dram(&mut self, now: Time, bytes: u64) -> Time {
        if !self.has_dram {
            return now;
        }
        let (_, _, end) = self.dram.serve(now, self.dram_rate.time(bytes));
        end
    }

    /// Bytes of DRAM that the look-ups of so many units touch.
    #[inline]
    pub(super) fn look_up_bytes(&self, units: u64) -> u64 {
        if self.map_in_dram { LOOK_UP_BYTES * units } else { 0 }
    }

    /// Reads the host's memory from `now` on. Returns when the data are in the drive.
    pub(super) fn read_host_memory(&mut self, now: Time, bytes: u32) -> Time {
        self.link_bytes += u64::from(bytes);
        let (_, _, end) = self.link_in.serve(now, self.link.time(bytes.into()));
        end + self.memory_latency
    }

    /// Writes to the host's memory from `now` on: nobody waits for that.
    pub(super) fn write_host_memory(&mut self, now: Time, bytes: u64) {
        self.link_bytes += bytes;
        self.link_out.serve(now, self.link.time(bytes));
    }

    /// Number of requests in the drive.
    #[inline]
    pub(super) fn outstanding(&self) -> usize {
        if self.is_closed { 0 } else { self.slots.len() - self.free_slots.len() }
    }

    /// The power is gone: requests are forgotten, and none is taken.
    pub(super) fn cut(&mut self, now: Time) {
        self.free_slots.clear();
        self.is_closed = true;
        for stage in [&mut self.cores, &mut self.link_in, &mut self.link_out, &mut self.dram] {
            stage.stop(now);
        }
    }

    /// Requests are taken again.
    pub(super) fn open(&mut self) {
        self.free_slots.extend((0..self.slots.len() as u32).rev());
        self.is_closed = false;
    }
}

impl Ssd {
    /// Whether the drive can take another request.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.front.free_slots.is_empty() && !self.front.is_suspended
    }

    /// Requests that the drive takes at the same time.
    pub fn queue_depth(&self) -> u32 {
        self.front.slots.len() as u32
    }

    /// Number of requests in the drive.
    #[inline]
    pub fn outstanding(&self) -> usize {
        self.front.outstanding()
    }

    /// Takes a request that arrived in the host's queue at `arrival`. The drive must have room,
    /// and the request must be aligned to sectors and end inside the drive.
    pub fn submit(&mut self, request: Request, token: u32, arrival: Time) -> u32 {
        let slot = self.front.free_slots.pop().expect("the caller checks has_room");
        debug_assert!(request.end().is_some_and(|end| end <= self.capacity_bytes()));
        let now = self.now();
        self.front.slots[slot as usize] = Slot::new(request, token, arrival, now);
        self.front.commands += 1;
        if let Some(windows) = &mut self.windows {
            windows.taken(slot, self.units.at(request.offset));
            if windows.are_hosted() {
                self.use_window(slot);
            }
        }
        if let Some(versions) = &mut self.versions {
            versions.submitted(slot);
        }
        if let Some(unreadable) = &mut self.unreadable {
            unreadable.submitted(slot);
            if let Some(words) = &mut self.flash.words {
                words.submitted(slot);
            }
        }
        if let Some(blame) = &mut self.flash.blame {
            blame.begin(slot, arrival, now);
        }
        let (mut work, mut delay) = self.front.costs.of(&request);
        if request.op.is_of_zones() {
            let further = self.append_costs(&request);
            (work, delay) = (work + further.0, delay + further.1);
        }
        let begin = self.command_begins();
        let (_, _, ready) = self.front.cores.serve(begin, work);
        if request.op.writes() {
            // Commands leave the cores in their order: the link can be booked now, and the
            // write is heard of again when its data are there.
            self.send_data_in(slot, ready, delay);
            return slot;
        }
        let ready = ready + delay;
        if ready == now {
            self.command_ready(slot);
            self.settle_wakes();
        } else {
            self.events.push_lane(lane::HOST_IN, ready, event::of(event::READY, slot));
        }
        slot
    }

    /// Completion of the request in `slot`, kept until the next submission.
    #[inline]
    pub fn completed(&self, slot: u32) -> &Completion {
        &self.front.slots[slot as usize].done
    }

    /// The data of a write, whose command leaves its core at `ready`, cross the link. Its `delay`
    /// comes after that, so that writes come to the link in the order of their commands.
    #[inline]
    fn send_data_in(&mut self, slot: u32, ready: Time, delay: Time) {
        let Request { offset, length, .. } = self.front.request(slot);
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(ready + delay, Cause::Controller);
        }
        self.front.slot(slot).cursor = self.units.at(offset) as u32;
        self.front.link_bytes += length;
        let crossing = self.front.link_request + self.front.link.time(length);
        let (_, _, end) = self.front.link_in.serve(ready, crossing);
        let mut arrived = end + self.front.link_latency + delay;
        if let Some(zones) = &mut self.zones {
            arrived = zones.in_order(arrived, self.units.at(offset));
        }
        if arrived == self.now() {
            self.data_in(slot);
            self.settle_wakes();
        } else {
            self.events.push_lane(lane::HOST_IN, arrived, event::of(event::DATA_IN, slot));
        }
    }

    /// A write, trim or flush is complete at `time`.
    pub(super) fn acknowledge(&mut self, slot: u32, time: Time) {
        self.events.push_lane(lane::WRITE_DONE, time, event::of(event::COMPLETE, slot));
    }
}
