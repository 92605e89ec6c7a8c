//! The path of a write: the buffer, rows of units, programs, and durability.

use super::flow::event;
use super::front;
use super::wakes::Wake;
use super::{Parts, Ssd};
use crate::buffer::flush::Flushes;
use crate::buffer::{Buffer, NONE, Rest, Slot, State};
use crate::config::SsdConfig;
use crate::flash::Flash;
use crate::flash::blame::Cause;
use crate::flash::command::{Command, ProgramOwner, Purpose, Task, Times};
use crate::flash::die::done_by_all;
use crate::flash::scheduler::Class;
use crate::flash::timeline::{SpanKind, Track};
use crate::ftl::contract::key_among;
use crate::ftl::{Carried, Ftl, Hint, Job, Key, Lpn, Place, Program, Stream};
use crate::medium::versions::Happened;
use crate::terms::ReadOwner;
use crate::terms::request::Request;
use base::Time;
use nand::chip::Owned;
use nand::geometry::Ppn;
use std::collections::VecDeque;

/// Write buffer and encoders, and who waits for them.
pub(super) struct Writer {
    pub(super) buffer: Buffer,
    /// Time of moving a request's data in or out of the buffer.
    pub(super) latency: Time,
    is_write_back: bool,
    /// Data that are rewritten before their program take no room on flash.
    coalesces: bool,
    /// Flushes and forced writes are acknowledged before their data are durable.
    pub(super) lies: bool,
    row_units: u32,
    keys: u32,
    pub(super) flushes: Flushes,
    /// Requests that wait until a buffer slot is durable.
    durable_waits: u32,
    /// Zones are being finished: their last rows may be short.
    pub(super) sends_tails: bool,
    /// The drive itself waits for its buffer, to restore data after a power cut.
    pub(super) is_restoring: bool,
    /// Writes that wait for room in the buffer.
    pub(super) stalled: VecDeque<u32>,
    /// Working space: units of one program.
    lpns: Vec<Lpn>,
}

/// Outcome of sending a row.
enum Sent {
    Yes,
    /// No die takes the row.
    No,
    /// The row waits; rows of other keys may go.
    Waits,
}

impl Writer {
    pub(super) fn new(config: &SsdConfig, ftl: &dyn Ftl, dies: u32) -> Self {
        let is_write_back = config.buffer.bytes > 0;
        let row_units = ftl.facts().row_units;
        // Without write-back the buffer is the memory that feeds the dies: two rows for each.
        let capacity = if is_write_back {
            // `check_commands` has refused more than events can name.
            (config.buffer.bytes / u64::from(config.drive_unit_bytes())) as u32
        } else {
            2 * row_units * dies
        };
        Self {
            buffer: Buffer::new(capacity, ftl.facts().keys, row_units, dies),
            latency: Time::from_us(config.buffer.latency_us),
            is_write_back,
            coalesces: config.buffer.coalesces,
            lies: config.buffer.lies_about_flush,
            row_units,
            keys: ftl.facts().keys,
            flushes: Flushes::default(),
            durable_waits: 0,
            sends_tails: false,
            is_restoring: false,
            stalled: VecDeque::new(),
            lpns: Vec::with_capacity(row_units as usize),
        }
    }

    /// Forgets the data of the buffer, and who waits for them.
    pub(super) fn forget(&mut self) {
        self.buffer.clear();
        (self.flushes, self.durable_waits) = (Flushes::default(), 0);
        self.is_restoring = false;
        self.stalled.clear();
    }

    /// Whether a request waits until the data of the buffer are on flash.
    #[inline]
    fn is_awaited(&self) -> bool {
        self.durable_waits > 0 || self.flushes.waiting() || self.is_restoring
    }

    /// Whether a request waits for data of the buffer to be on flash, or for room in the buffer.
    #[inline]
    fn is_urgent(&self) -> bool {
        self.is_awaited() || !self.stalled.is_empty()
    }

    /// Whether a row is ready to be sent, or waits for its turn.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.is_urgent() || self.buffer.rows.has_whole() || self.buffer.rows.has_waiting()
    }

    /// Whether rows that are not full are programmed too, because a request waits for their data or
    /// for the room that they free.
    fn sends_short_rows(&self) -> bool {
        self.is_awaited()
            || self.sends_tails
            || (!self.stalled.is_empty() && !self.buffer.rows.has_whole())
    }
}

impl Ssd {
    pub(super) fn data_in(&mut self, slot: u32) {
        let now = self.now();
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(now, Cause::Link);
        }
        let Request { op, is_urgent, .. } = self.front.slot(slot).done.request;
        self.counts.urgent_writes += u64::from(is_urgent);
        if self.failures.is_read_only() {
            self.front.slot(slot).done.failed = true;
            self.acknowledge(slot, self.now());
            return;
        }
        if (self.zones.is_some() || op.is_of_zones()) && !self.is_admitted(slot) {
            return;
        }
        if !self.writer.stalled.is_empty() || !self.fill_buffer(slot) {
            // First come, first served: no write overtakes a stalled one.
            self.counts.stalls += 1;
            self.writer.stalled.push_back(slot);
            if let Some(blame) = &mut self.flash.blame {
                let doings = done_by_all(&self.flash.dies, now);
                blame.found_full(slot, doings);
            }
        }
        self.wakes.wake(Wake::Rows);
    }

    /// Puts the units of a write into the buffer; false when it must wait for room.
    pub(super) fn fill_buffer(&mut self, slot: u32) -> bool {
        let request = self.front.slot(slot).done.request;
        let last = self.units.at(request.offset + request.length - 1) as u32;
        let is_forced = request.fua && !self.writer.lies;
        let durable = (is_forced || !self.writer.is_write_back) && self.zones.is_none();
        while self.front.slot(slot).cursor <= last {
            let unit = self.front.slot(slot).cursor;
            let coalesced = self.counts.coalesced;
            let Some(held) = self.hold(Lpn(unit), &request, durable) else { return false };
            if durable {
                self.writer.buffer.slot(held).waiter = slot;
                self.front.slot(slot).pending += 1;
                self.writer.durable_waits += 1;
            }
            if let Some(versions) = &mut self.versions {
                let version = versions.version(slot);
                versions.hold(held, version);
                let replaces = self.counts.coalesced > coalesced;
                versions.note(unit, Happened::Entered { version, replaces });
            }
            if let Some(power) = &mut self.power {
                self.writer.buffer.slot(held).sequence = power.number();
            }
            self.front.slot(slot).cursor += 1;
        }
        if !durable {
            self.acknowledge(slot, self.now() + self.writer.latency);
        }
        true
    }

    /// A buffer slot for new data of `lpn`; `None` when there is none.
    #[inline]
    pub(super) fn hold(&mut self, lpn: Lpn, request: &Request, durable: bool) -> Option<u32> {
        let start = u64::from(lpn.0) * self.units.bytes;
        let whole =
            request.offset <= start && start + self.units.bytes <= request.offset + request.length;
        let found = self.writer.buffer.find(lpn);
        let mut rest = Rest::None;
        if let Some(old) = found {
            let entry = self.writer.buffer.slot(old);
            // Trimmed data need not be kept.
            rest = if whole || entry.trimmed { Rest::None } else { entry.rest };
            if entry.state != State::InFlight {
                if durable && entry.waiter != NONE {
                    return None;
                }
                // A partial write changes the waiting data, and leaves nothing stale.
                if whole && !self.writer.coalesces && !self.writer.buffer.replace(old) {
                    return None;
                }
                let entry = self.writer.buffer.slot(old);
                (entry.trimmed, entry.rest) = (false, rest);
                self.counts.coalesced += 1;
                return Some(old);
            }
        }
        // The older data of a unit that is new here must still be looked up.
        let state = if found.is_some() { State::Behind } else { State::Filling };
        let held = self.writer.buffer.take(lpn, state)?;
        let key = key_among(&mut *self.ftl, self.writer.keys, lpn, request.hint());
        let entry = self.writer.buffer.slot(held);
        entry.key = key;
        entry.epoch = self.writer.flushes.hold();
        match found {
            Some(old) => {
                entry.rest = rest;
                self.writer.buffer.slot(old).successor = held;
            }
            None => {
                entry.rest = if whole { Rest::None } else { Rest::OnFlash };
                if self.map.is_on_flash {
                    self.find_old(held);
                } else {
                    self.complete(held);
                }
            }
        }
        Some(held)
    }

    /// A buffer slot for a copy of a unit that a power cut has spoilt.
    pub(super) fn hold_copy(&mut self, lpn: Lpn, is_lost: bool) -> Option<u32> {
        let held = self.writer.buffer.take(lpn, State::Filling)?;
        let key = key_among(&mut *self.ftl, self.writer.keys, lpn, Hint::default());
        let entry = self.writer.buffer.slot(held);
        entry.key = key;
        entry.rest = if is_lost { Rest::Lost } else { Rest::None };
        entry.epoch = self.writer.flushes.hold();
        Some(held)
    }

    /// The place of a unit that is new in the buffer is known: its unwritten part is read if it has
    /// one; otherwise the unit waits for its program.
    #[inline]
    pub(super) fn complete(&mut self, held: u32) {
        let entry = self.writer.buffer.slot(held);
        if entry.rest == Rest::OnFlash {
            let lpn = entry.lpn;
            if let Some(ppn) = self.ftl.lookup(lpn) {
                // The sectors that are not written come from the old unit.
                self.counts.fills += 1;
                let (owner, earlier) = (ReadOwner::Fill(held), Times::from(self.now()));
                self.read_flash(Class::Read, owner, ppn, lpn.0, 1, earlier);
                return;
            }
            self.writer.buffer.slot(held).rest = Rest::None;
        }
        self.writer.buffer.push_dirty(held);
    }

    /// The page of the map has been read for a unit that is new in the buffer.
    pub(super) fn old_found(&mut self, held: u32) {
        if self.is_dropped(held) {
            self.release(held);
            self.wakes.wake(Wake::Room);
        } else {
            self.complete(held);
        }
    }

    /// The rest of a partly written unit has been read, or could not be.
    pub(super) fn filled(&mut self, held: u32, is_read: bool) {
        let entry = self.writer.buffer.slot(held);
        if entry.rest == Rest::OnFlash {
            entry.rest = if is_read { Rest::None } else { Rest::Lost };
        }
        if self.is_dropped(held) {
            self.release(held);
            self.wakes.wake(Wake::Room);
        } else {
            self.writer.buffer.push_dirty(held);
        }
        self.wakes.wake(Wake::Rows);
    }

    /// Whether data of the buffer were trimmed, and need not be programmed any more.
    fn is_dropped(&mut self, held: u32) -> bool {
        self.writer.buffer.slot(held).trimmed && !self.is_promised(held)
    }

    /// Whether a request waits for data of the buffer to be durable: they are programmed even if
    /// they are trimmed meanwhile. The trim may be lost with the power, and older data would come
    /// back.
    fn is_promised(&mut self, held: u32) -> bool {
        self.power.is_some()
            && (self.writer.flushes.waiting() || self.writer.buffer.slot(held).waiter != NONE)
    }

    /// The unit that a buffer slot holds.
    pub(super) fn lpn_held(&mut self, held: u32) -> Lpn {
        self.writer.buffer.slot(held).lpn
    }

    /// Whether the buffer holds a unit.
    #[inline]
    pub(super) fn is_in_buffer(&self, unit: u32) -> bool {
        self.writer.buffer.find(Lpn(unit)).is_some()
    }

    /// Sends a row of waiting units to a free die, of each key in turn: a whole one, or a short one
    /// where it must not wait. Wakes itself until no die takes another.
    #[inline]
    pub(super) fn drain_buffer(&mut self) {
        let is_sent = self.send_next(true)
            || (self.writer.buffer.rows.count(false) > 0
                && self.writer.sends_short_rows()
                && self.send_next(false));
        let has_ended = !is_sent && std::mem::take(&mut self.jobs.has_ended);
        let goes_on = has_ended && self.writer.buffer.rows.wake_job();
        if is_sent || self.wake_called() || goes_on {
            self.wakes.wake(Wake::Rows);
        }
    }

    /// Wakes the rows whose keys the FTL calls. Returns whether there are any.
    #[inline]
    pub(super) fn wake_called(&mut self) -> bool {
        self.writer.buffer.rows.has_waiting() && self.wake_those_called()
    }

    #[inline(never)]
    fn wake_those_called(&mut self) -> bool {
        let mut any = false;
        while let Some(key) = self.ftl.calls_mut().and_then(|calls| calls.called()) {
            any |= self.writer.buffer.rows.wake_key(key);
        }
        any
    }

    /// Sends the next row that a die takes, or lets one wait. Returns whether there is one.
    #[inline]
    fn send_next(&mut self, are_whole: bool) -> bool {
        let mut in_vain = 0;
        while in_vain < self.writer.buffer.rows.count(are_whole)
            && let Some(key) = self.writer.buffer.rows.first(are_whole)
        {
            match self.send_row(key) {
                Sent::Yes => {
                    self.writer.buffer.rows.turn(key);
                    return true;
                }
                // The jobs that it waits for begin before other rows are placed.
                Sent::Waits => return true,
                // What no die takes for one key, none takes for the others.
                Sent::No if self.gate.is_shared() => return false,
                Sent::No => {
                    in_vain += 1;
                    self.writer.buffer.rows.turn(key);
                }
            }
        }
        false
    }

    /// Sends a row of a key, if a die takes it.
    #[inline]
    fn send_row(&mut self, key: Key) -> Sent {
        let dies = self.gate.writable(key.0);
        if dies.is_empty() {
            self.set_aside(key.0);
            return Sent::No;
        }
        let Writer { buffer, lpns, row_units, .. } = &mut self.writer;
        let most = buffer.rows.most(key);
        if self.ftl.facts().sorts_rows {
            buffer.sort_dirty(key, most);
        }
        buffer.peek_dirty(key, most, lpns);
        if most < *row_units {
            buffer.rows.add_holes(key, lpns);
        }
        let program = match self.ftl.place(key, lpns, dies) {
            Place::At(program) => program,
            Place::NoRoom => {
                self.set_aside(key.0);
                return Sent::No;
            }
            Place::Later(until) => {
                buffer.rows.wait(key, until);
                self.wakes.wake(Wake::Jobs);
                return Sent::Waits;
            }
        };
        let first = buffer.send_dirty(key, program.units);
        // A row of the drive's own carries nothing.
        if most < self.writer.row_units && program.units > 0 {
            self.spend_stale(key, &program);
        }
        self.gate.occupy(program.die);
        self.jobs.host_writes_to(program.die);
        self.program(program, ProgramOwner::Slots(first), Ppn::NONE);
        self.wakes.collect(program.die);
        self.wakes.wake(Wake::Jobs);
        Sent::Yes
    }

    /// Spends the rest of a program on stale data of its key. Nobody misses these data if the
    /// program fails.
    #[cold]
    fn spend_stale(&mut self, key: Key, program: &Program) {
        let Program { mode, page, planes, die, units, .. } = *program;
        let chips = &self.flash.chips;
        let pages = chips.data_pages_by(mode, page, chips.programmed_by(mode, die, page));
        let slots = u32::from(planes) * pages * chips.geometry.units_per_page;
        self.writer.buffer.spend(key, slots - units);
    }

    pub(super) fn program(&mut self, program: Program, owner: ProgramOwner, from: Ppn) {
        self.program_copy(program, owner, from, NONE);
    }

    /// Programs data that may be in the die: `copy` is the number of their copy there, or `NONE`.
    pub(super) fn program_copy(
        &mut self,
        program: Program,
        owner: ProgramOwner,
        from: Ppn,
        copy: u32,
    ) {
        // The class follows the frontier and not the owner: what garbage collection puts into a
        // host frontier must keep that frontier's order.
        let class = if program.stream.is_internal() { Class::Collect } else { Class::Write };
        let Program { mode, page, planes, die, .. } = program;
        let chips = &self.flash.chips;
        let per_plane = chips.programmed_by(mode, die, page);
        let pages = u32::from(planes) * chips.pages_on_bus(mode, per_plane);
        let of_data = u32::from(planes) * chips.data_pages_by(mode, page, per_plane);
        let codewords = self.codes.words(chips, die);
        let bytes = codewords.of_page() * codewords.bytes;
        let task = Task::Program { place: self.flash.programs.insert(program), copy, owner };
        let mut command = Command::new(task, class, program.die, self.now(), pages as u8, bytes);
        command.purpose = match program.stream {
            Stream::MAP | Stream::LOG => Purpose::Map,
            _ => self.purpose_of_program(owner, from),
        };
        let index = self.flash.hold(command);
        if self.power.is_some() && self.waits_to_begin(&program, index, pages.into()) {
            return;
        }
        self.encode(index, u64::from(of_data));
    }

    /// The data of a program go through the encoders, and on to the die.
    pub(super) fn encode(&mut self, index: u32, pages: u64) {
        if self.jobs.copies_on_chip() && self.flash.commands[index].is_copy() {
            self.flash.submit(&mut self.events, index);
            return;
        }
        let now = self.now();
        let die = self.flash.commands[index].die;
        let number = self.codes.number(&self.flash.chips, die);
        let code = self.codes.at_mut(number);
        let (encode_time, before) = (code.encode_time, code.servers_before);
        let words = pages * u64::from(code.words.of_page());
        self.counts.encoded += words;
        if let Some(account) = self.codes.account(&self.flash.chips, die) {
            account.encoded += words;
        }
        if encode_time == Time::ZERO {
            self.flash.submit(&mut self.events, index);
            return;
        }
        // All words take as long: programs leave the encoders in the order in which they came.
        let mut end = now;
        for _ in 0..words {
            let code = self.codes.at_mut(number);
            let (encoder, start, done) = code.encoders.serve(now, encode_time);
            let encoder = before + encoder as u32;
            self.flash.timeline.record(Track::Encoder, encoder, SpanKind::Encode, start, done);
            end = end.max(done);
        }
        self.flash.commands[index].times.ecc += encode_time;
        self.events.push(end, event::of(event::ENCODED, index));
    }

    pub(super) fn programmed(&mut self, index: u32) {
        let command = self.flash.commands.remove(index);
        let Task::Program { place, owner, .. } = command.task else { unreachable!("a program") };
        let program = self.flash.programs.remove(place);
        let has_failed = self.flash.chips.programs_fail() && {
            let now = self.now();
            let Self { failures, flash, ftl, .. } = self;
            failures.give_up_failed(&program, flash, &mut **ftl, now)
        };
        match owner {
            ProgramOwner::Log(record) => self.logged(record, program.planes, has_failed),
            ProgramOwner::Moves { job, first } if has_failed => {
                self.move_elsewhere(&program, job, first)
            }
            ProgramOwner::Slots(first) if has_failed => self.write_elsewhere(&program, first),
            ProgramOwner::Moves { job, first } => self.moved(&program, job, first),
            ProgramOwner::Slots(first) => {
                self.ftl.programmed(&program, Carried::Host);
                if self.power.is_some() {
                    self.note_owners(&program, |drive, owned| {
                        let mut held = first;
                        for _ in 0..program.units {
                            let entry = drive.writer.buffer.slot(held);
                            let Slot { lpn: Lpn(owner), sequence, rest, next, .. } = *entry;
                            let is_lost = rest == Rest::Lost;
                            owned.push(Owned { owner, sequence, is_lost });
                            held = next;
                        }
                    });
                    self.count_host_units(program.units);
                }
                self.vacate(program.die);
                let parts = Parts::of(&command.times, self.now());
                let mut held = first;
                for i in 0..program.units {
                    let entry = *self.writer.buffer.slot(held);
                    if let Some(versions) = &mut self.versions {
                        let ppn = program.ppn(&self.flash.chips.geometry, i);
                        let version = versions.held(held);
                        versions.store(ppn, version);
                        versions.note(entry.lpn.0, Happened::Stored { version, place: ppn });
                    }
                    match entry.rest {
                        Rest::Lost => self.failures.lost.insert(entry.lpn),
                        Rest::None | Rest::OnFlash => self.failures.lost.remove(entry.lpn),
                    }
                    // What a reset has dropped has no unit any more.
                    if entry.trimmed && entry.lpn != Lpn::HOLE {
                        self.unmap(entry.lpn);
                    }
                    if entry.successor != NONE {
                        if self.writer.buffer.slot(entry.successor).trimmed {
                            // Newer data were trimmed: those that are mapped now are gone too.
                            self.unmap(entry.lpn);
                        }
                        if self.is_dropped(entry.successor) {
                            self.release(entry.successor);
                        } else {
                            self.writer.buffer.push_dirty(entry.successor);
                        }
                    }
                    if entry.waiter != NONE {
                        // The last program to finish is the one that the request waited for.
                        self.front.slot(entry.waiter).done.parts = parts;
                    }
                    self.release(held);
                    held = entry.next;
                }
                for wake in [Wake::Jobs, Wake::Room, Wake::Rows] {
                    self.wakes.wake(wake);
                }
                if self.writer.is_restoring {
                    self.restore();
                }
            }
        }
        if self.zones.is_some() {
            self.wakes.wake(Wake::Finishes);
        }
    }

    /// Gives a buffer slot back and tells who waited for it.
    pub(super) fn release(&mut self, held: u32) {
        let entry = *self.writer.buffer.slot(held);
        self.writer.buffer.release(held);
        if entry.waiter != NONE {
            self.writer.durable_waits -= 1;
            self.write_part_done(entry.waiter);
        }
        self.writer.flushes.release(entry.epoch);
        self.end_flushes();
    }

    /// Flushes that wait for nothing any more are complete.
    #[inline]
    pub(super) fn end_flushes(&mut self) {
        let now = self.now();
        while let Some(slot) = self.writer.flushes.ready() {
            self.acknowledge(slot, now);
        }
    }

    pub(super) fn write_part_done(&mut self, slot: u32) {
        let front::Slot { ref done, cursor, .. } = *self.front.slot(slot);
        let last = self.units.at(done.request.offset + done.request.length - 1) as u32;
        let entry = self.front.slot(slot);
        entry.pending -= 1;
        if entry.pending == 0 && cursor > last {
            self.acknowledge(slot, self.now());
        }
    }

    pub(super) fn retry_stalled(&mut self) {
        while let Some(&slot) = self.writer.stalled.front() {
            if !self.fill_buffer(slot) {
                return;
            }
            self.writer.stalled.pop_front();
            if self.flash.blame.is_some() {
                self.blame_full(slot);
            }
        }
    }

    /// Books the time that a write has waited for room in the buffer.
    #[cold]
    fn blame_full(&mut self, slot: u32) {
        let now = self.now();
        let Flash { blame: Some(blame), dies, .. } = &mut self.flash else { return };
        blame.found_room(slot, now, &done_by_all(dies, now));
    }

    /// Forgets every unit that lies wholly inside the request.
    pub(super) fn trim_units(&mut self, slot: u32, request: &Request) {
        let first = request.offset.div_ceil(self.units.bytes) as u32;
        let end = ((request.offset + request.length) / self.units.bytes) as u32;
        if self.map.is_on_flash {
            self.trim_mapped(slot, first, end);
        } else {
            self.trim_range(first, end);
            self.trimmed(slot);
        }
    }

    /// A trim is done.
    pub(super) fn trimmed(&mut self, slot: u32) {
        self.wakes.wake(Wake::Room);
        if self.wake_called() {
            self.wakes.wake(Wake::Rows);
        }
        self.acknowledge(slot, self.now() + self.front.link_latency);
    }

    pub(super) fn trim_range(&mut self, first: u32, end: u32) {
        if self.power.is_some() && first < end {
            self.note_trim(first, end);
        }
        for unit in first..end {
            let (mut has_data, mut drops) = (false, false);
            if let Some(held) = self.writer.buffer.find(Lpn(unit)) {
                let Slot { trimmed, state, .. } = *self.writer.buffer.slot(held);
                has_data = !trimmed;
                drops = state == State::Dirty && !self.is_promised(held);
                if drops {
                    self.writer.buffer.unlink_dirty(held);
                    self.release(held);
                } else {
                    self.writer.buffer.slot(held).trimmed = true;
                }
            }
            has_data |= self.ftl.lookup(Lpn(unit)).is_some();
            self.counts.trimmed += u64::from(has_data);
            if let Some(versions) = &mut self.versions {
                versions.note(unit, Happened::Trimmed { drops });
            }
            self.unmap(Lpn(unit));
        }
    }

    /// Returns the data of a failed program of the host to the buffer, from slot `first` on: all of
    /// them, those that were trimmed meanwhile too, as if it were the first time.
    #[cold]
    fn write_elsewhere(&mut self, program: &Program, first: u32) {
        self.ftl.not_programmed(program, Carried::Host);
        self.jobs.row_failed(Job::of(program.die));
        if program.units > 0 && self.writer.buffer.slot(first).lpn == Lpn::HOLE {
            self.drop_row(first, program.units);
        } else if program.units > 0 {
            self.writer.buffer.return_dirty(first, program.units);
        }
        self.vacate(program.die);
        self.wakes.wake(Wake::Jobs);
        self.wakes.wake(Wake::Rows);
    }

    /// Unmaps a unit, which holds no data any more.
    pub(super) fn unmap(&mut self, lpn: Lpn) {
        self.ftl.trim(lpn);
        self.failures.lost.remove(lpn);
    }
}

#[cfg(test)]
mod tests;
