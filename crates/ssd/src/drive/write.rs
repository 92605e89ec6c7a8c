//! The way of a write: the buffer, rows of units, programs, and what becomes durable when.

use crate::buffer::{NONE, Rest, State};
use crate::drive::read::Earlier;
use crate::drive::request::Request;
use crate::drive::timeline::{SpanKind, Track};
use crate::drive::{Parts, Slot, Ssd, event};
use crate::flash::command::{Command, Done, Kind, Owner};
use crate::flash::scheduler::Class;
use crate::ftl::contract::stream_among;
use crate::ftl::{Lpn, Program, Stream};
use base::Time;
use nand::geometry::Die;

impl Ssd {
    pub(crate) fn data_in(&mut self, slot: u32) {
        if self.read_only_at != Time::NEVER {
            self.slots[slot as usize].done.failed = true;
            self.acknowledge(slot, self.now());
            return;
        }
        if !self.stalled.is_empty() || !self.fill_buffer(slot) {
            // First come, first served: nobody overtakes a stalled write.
            self.counts.stalls += 1;
            self.stalled.push_back(slot);
        }
        self.drain_buffer();
    }

    /// Puts the units of a write into the buffer; false when it must wait for room.
    pub(crate) fn fill_buffer(&mut self, slot: u32) -> bool {
        let request = self.slots[slot as usize].done.request;
        let last = self.unit_at(request.offset + request.length - 1) as u32;
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
    pub(crate) fn hold(&mut self, lpn: Lpn, request: &Request, durable: bool) -> Option<u32> {
        let start = u64::from(lpn.0) * self.unit_bytes;
        let whole =
            request.offset <= start && start + self.unit_bytes <= request.offset + request.length;
        let found = self.buffer.find(lpn);
        let mut rest = Rest::None;
        if let Some(old) = found {
            let entry = self.buffer.slot(old);
            // Of what was trimmed nothing is left to be kept.
            rest = if whole || entry.trimmed { Rest::None } else { entry.rest };
            if entry.state != State::InFlight {
                if durable && entry.waiter != NONE {
                    return None;
                }
                (entry.trimmed, entry.rest) = (false, rest);
                self.counts.coalesced += 1;
                return Some(old);
            }
        }
        let old_place = if whole || found.is_some() { None } else { self.ftl.lookup(lpn) };
        let state = match (found, old_place) {
            (Some(_), _) => State::Behind,
            (None, Some(_)) => State::Filling,
            (None, None) => State::Dirty,
        };
        let held = self.buffer.take(lpn, state)?;
        let stream = stream_among(&*self.ftl, self.streams, lpn, request.stream);
        let entry = self.buffer.slot(held);
        entry.stream = stream;
        entry.epoch = self.flushes.hold();
        entry.rest = if state == State::Filling { Rest::OnFlash } else { rest };
        match (found, old_place) {
            (Some(old), _) => self.buffer.slot(old).successor = held,
            (None, Some(ppn)) => {
                // The sectors that are not written come from the old unit.
                self.counts.fills += 1;
                let (owner, earlier) = (Owner::Fill(held), Earlier::nothing(self.now()));
                self.read_flash(Class::Read, owner, ppn, lpn.0, 1, earlier);
            }
            (None, None) => self.buffer.push_dirty(held),
        }
        Some(held)
    }

    /// The rest of a partly written unit has been read, or could not be.
    pub(crate) fn filled(&mut self, held: u32, is_read: bool) {
        let entry = self.buffer.slot(held);
        if entry.rest == Rest::OnFlash {
            entry.rest = if is_read { Rest::None } else { Rest::Lost };
        }
        if entry.trimmed {
            self.release(held);
            self.retry_stalled();
        } else {
            self.buffer.push_dirty(held);
        }
        self.drain_buffer();
    }

    /// Whether somebody waits for what the buffer holds to be on the flash.
    #[inline]
    fn is_awaited(&self) -> bool {
        self.durable_waits > 0 || self.flushes.waiting()
    }

    /// Whether somebody waits for that, or for room in the buffer.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        self.is_awaited() || !self.stalled.is_empty()
    }

    /// Whether the buffer holds enough of a stream to be sent without.
    pub(crate) fn has_whole_row(&self) -> bool {
        let row = self.ftl.row_units();
        (0..self.streams).any(|stream| self.buffer.dirty(stream) >= row)
    }

    /// Sends rows of waiting units to free dies, of each stream in turn.
    #[inline]
    pub(crate) fn drain_buffer(&mut self) {
        let mut in_vain = 0;
        while in_vain < self.streams {
            let stream = self.next_stream;
            self.next_stream = if stream + 1 == self.streams { 0 } else { stream + 1 };
            in_vain = if self.send_row(stream) { 0 } else { in_vain + 1 };
        }
    }

    /// Whether rows that are not full are sent too: somebody waits for what is in them, or for room
    /// that nothing else makes.
    fn sends_short_rows(&self) -> bool {
        self.is_awaited() || (!self.stalled.is_empty() && !self.has_whole_row())
    }

    /// Sends a row of a stream, if it has one and a die takes it.
    #[inline]
    fn send_row(&mut self, stream: u8) -> bool {
        let row = self.ftl.row_units();
        let waiting = self.buffer.dirty(stream);
        if waiting == 0 || (waiting < row && !self.sends_short_rows()) {
            return false;
        }
        let dies = &self.writable[usize::from(stream)];
        if dies.is_empty() {
            self.set_aside(stream);
            return false;
        }
        self.buffer.peek_dirty(stream, row, &mut self.lpns);
        let Some(program) = self.ftl.place(Stream::host(stream), &self.lpns, dies) else {
            self.set_aside(stream);
            return false;
        };
        let first = self.buffer.send_dirty(stream, program.units);
        self.occupy(program.die);
        self.program(program, Owner::Slots(first));
        self.start_collect(program.die);
        true
    }

    pub(crate) fn program(&mut self, program: Program, owner: Owner) {
        // The class follows the frontier and not the owner: what garbage collection puts into a
        // host frontier must keep that frontier's order.
        let class = if program.stream == Stream::GC { Class::Collect } else { Class::Write };
        let pages = u32::from(program.planes) * self.flash.chips.pages_per_program;
        let bytes = self.codewords.of_page() * self.codeword_bytes;
        let job = self.flash.jobs.insert(program);
        let command =
            Command::job(Kind::Program, class, owner, program.die, job, pages as u8, bytes);
        let index = self.flash.hold(self.now(), command);
        self.encode(index, u64::from(pages));
    }

    /// The data of a program go through the encoders, and on to the die.
    fn encode(&mut self, index: u32, pages: u64) {
        let now = self.now();
        let words = pages * u64::from(self.codewords.of_page());
        self.counts.encoded += words;
        if self.encode_time == Time::ZERO {
            self.flash.submit(&mut self.events, index);
            return;
        }
        // All words take as long: programs leave the encoders in the order in which they came.
        let mut end = now;
        for _ in 0..words {
            let (encoder, start, done) = self.encoders.serve(now, self.encode_time);
            let timeline = &mut self.flash.timeline;
            timeline.record(Track::Encoder, encoder as u32, SpanKind::Encode, start, done);
            end = end.max(done);
        }
        self.flash.commands[index].ecc += self.encode_time;
        self.events.push(end, event::of(event::ENCODED, index));
    }

    #[inline(always)]
    pub(crate) fn done(&mut self, done: Done, die: Die) {
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

    pub(crate) fn programmed(&mut self, index: u32) {
        let command = self.flash.commands.remove(index);
        let program = self.flash.jobs.remove(command.job);
        let has_failed = self.take_failures(&program);
        match command.owner {
            Owner::Moves(first) if has_failed => self.move_elsewhere(&program, first),
            Owner::Slots(first) if has_failed => self.write_elsewhere(&program, first),
            Owner::Moves(first) => self.moved(&program, first),
            Owner::Slots(first) => {
                self.ftl.programmed(&program, &[]);
                self.vacate(program.die);
                let Command { queued, array: flash, bus, ecc, .. } = command;
                let queue = self.now().since(queued).since(flash + bus + ecc);
                let parts = Parts { queue, flash, bus, ecc };
                let mut held = first;
                for i in 0..program.units {
                    let entry = *self.buffer.slot(held);
                    if let Some(payload) = &mut self.payload {
                        let ppn = program.ppn(&self.flash.chips.geometry, i);
                        payload.store(ppn, entry.version);
                    }
                    match entry.rest {
                        Rest::Lost => self.lost.insert(entry.lpn),
                        Rest::None | Rest::OnFlash => self.lost.remove(entry.lpn),
                    }
                    if entry.trimmed {
                        self.unmap(entry.lpn);
                    }
                    if entry.successor != NONE {
                        if self.buffer.slot(entry.successor).trimmed {
                            // Newer data were trimmed: those that are mapped now are gone too.
                            self.unmap(entry.lpn);
                            self.release(entry.successor);
                        } else {
                            self.buffer.push_dirty(entry.successor);
                        }
                    }
                    if entry.waiter != NONE {
                        // The last program to finish is the one that the request waited for.
                        self.slots[entry.waiter as usize].done.parts = parts;
                    }
                    self.release(held);
                    held = entry.next;
                }
                self.retry_stalled();
                self.drain_buffer();
            }
            Owner::Request(_) | Owner::Fill(_) | Owner::Collect | Owner::PartOf(_) => {
                unreachable!("reads are not programmed")
            }
        }
    }

    /// Gives a buffer slot back and tells who waited for it.
    pub(crate) fn release(&mut self, held: u32) {
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

    pub(crate) fn write_part_done(&mut self, slot: u32) {
        let Slot { ref done, cursor, .. } = self.slots[slot as usize];
        let last = self.unit_at(done.request.offset + done.request.length - 1) as u32;
        let entry = &mut self.slots[slot as usize];
        entry.pending -= 1;
        if entry.pending == 0 && cursor > last {
            self.acknowledge(slot, self.now());
        }
    }

    pub(crate) fn retry_stalled(&mut self) {
        while let Some(&slot) = self.stalled.front() {
            if !self.fill_buffer(slot) {
                return;
            }
            self.stalled.pop_front();
        }
    }

    /// Forgets every unit that lies wholly inside the request.
    pub(crate) fn trim_units(&mut self, request: &Request) {
        let first = request.offset.div_ceil(self.unit_bytes) as u32;
        let end = ((request.offset + request.length) / self.unit_bytes) as u32;
        for unit in first..end {
            let mut has_data = false;
            if let Some(held) = self.buffer.find(Lpn(unit)) {
                let entry = self.buffer.slot(held);
                has_data = !entry.trimmed;
                if entry.state == State::Dirty {
                    self.buffer.unlink_dirty(held);
                    self.release(held);
                } else {
                    entry.trimmed = true;
                }
            }
            has_data |= self.ftl.lookup(Lpn(unit)).is_some();
            self.counts.trimmed += u64::from(has_data);
            self.unmap(Lpn(unit));
        }
        self.retry_stalled();
    }

    /// A unit holds nothing any more.
    fn unmap(&mut self, lpn: Lpn) {
        self.ftl.trim(lpn);
        self.lost.remove(lpn);
    }
}

#[cfg(test)]
mod tests;
