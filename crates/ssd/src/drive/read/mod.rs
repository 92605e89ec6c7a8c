//! The path of a read: units, pages, dies, decoders, and retries after a failed decoding.
//!
//! This file asks for the pages that hold the units of a request; `cached` answers for those that
//! the read cache holds, and `ahead` reads units before they are asked for. `arrived` decodes what
//! has come from the flash, `codeword` one codeword of it; `again` reads pages again that do not
//! decode, and `rebuild` gets data from the rest of their stripe: also of a page whose die is busy
//! (`around`).

mod again;
mod ahead;
mod around;
mod arrived;
mod cached;
mod codeword;
mod rebuild;

use super::flow::{event, lane};
use super::{Parts, Ssd};
use crate::buffer::{Rest, Slot as Held};
use crate::config::{ReadAround, SsdConfig};
use crate::failure::failed_words::{FailedWord, FailedWords};
use crate::failure::retry::Retry;
use crate::flash::blame::Cause;
use crate::flash::command::{Command, Task, Times};
use crate::flash::scheduler::Class;
use crate::medium::luck::Luck;
use crate::terms::request::Request;
use crate::terms::{Lpn, PageRead, ReadOwner};
use base::Time;
use cached::Answer;
pub(super) use cached::{CachedReads, most_ahead};
use nand::geometry::Ppn;
use rebuild::Rebuilds;

/// Decoders, and reads that go round again.
pub(crate) struct Reader {
    pub(crate) retry: Box<dyn Retry>,
    /// Codewords of reads that go round again.
    failed: FailedWords,
    pub(crate) luck: Luck,
    rebuilds: Rebuilds,
    /// Busy dies that reads go around.
    around: ReadAround,
    /// Pages of the request that is being read, while it has several.
    pages: Vec<PageRun>,
}

/// Neighbours in one page that are read together: the first unit, its place, and their number.
type PageRun = (u32, Ppn, u32);

impl Reader {
    pub(super) fn new(config: &SsdConfig, retry: Box<dyn Retry>) -> Self {
        let luck = Luck::new(config.seed);
        let failed = FailedWords::default();
        let (rebuilds, around) = (Rebuilds::default(), config.parity.read_around);
        Self { failed, luck, retry, rebuilds, around, pages: Vec::new() }
    }

    /// The power is gone: what was being decoded is forgotten.
    pub(super) fn cut(&mut self) {
        (self.failed, self.rebuilds) = (FailedWords::default(), Rebuilds::default());
    }

    /// Codewords of a list that have failed.
    pub(super) fn failed_words(&self, list: u32) -> &[FailedWord] {
        self.failed.words(list)
    }
}

impl Ssd {
    /// Looks up the units of a read in a map in DRAM, then reads them.
    #[inline]
    pub(super) fn look_up(&mut self, slot: u32, request: &Request) {
        if self.front.has_dram {
            let now = self.events.now();
            let last = self.units.at(request.offset + request.length - 1);
            let units = last - self.units.at(request.offset) + 1;
            let bytes = self.front.look_up_bytes(units);
            let end = self.front.move_in_dram(now, bytes);
            if end > now {
                self.events.push_lane(lane::DRAM, end, event::of(event::LOOKED_UP, slot));
                return;
            }
        }
        self.read_units(slot, request);
    }

    /// The units of a read have been looked up in the DRAM.
    pub(super) fn looked_up(&mut self, slot: u32) {
        self.blame_dram(slot, self.events.now());
        let request = self.front.request(slot);
        self.read_units(slot, &request);
    }

    /// A part of a request has left the DRAM of the write buffer.
    pub(super) fn buffered_arrived(&mut self, slot: u32) {
        self.blame_dram(slot, self.events.now());
        self.read_part_done(slot);
    }

    /// Books the time until `end` to the DRAM.
    #[inline]
    pub(super) fn blame_dram(&mut self, slot: u32, end: Time) {
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(end, Cause::Dram);
        }
    }

    #[inline]
    pub(super) fn read_units(&mut self, slot: u32, request: &Request) {
        let first = self.units.at(request.offset) as u32;
        let last = self.units.at(request.offset + request.length - 1) as u32;
        self.counts.host.read_units += u64::from(last - first + 1);
        // One more than there is, so that nothing completes before all is asked for.
        self.front.slot(slot).pending = 1;
        let earlier = Times::from(self.now());
        if self.map.is_on_flash {
            self.read_mapped(slot, first, last, earlier);
        } else {
            self.read_range(slot, first, last, earlier);
        }
        self.read_part_done(slot);
        if self.read_cache.is_some() {
            self.follow_sequence(request);
        }
    }

    /// Reads units `first` to `last` from the buffer, the read cache or the flash; units without
    /// data need no read.
    #[inline]
    pub(super) fn read_range(&mut self, slot: u32, first: u32, last: u32, earlier: Times) {
        let owner = ReadOwner::Request(slot);
        let mut run: Option<PageRun> = None;
        let (mut cached, mut buffered) = (0, 0);
        for unit in first..last + 1 {
            let place = match self.writer.buffer.find(Lpn(unit)) {
                Some(held) => {
                    self.counts.buffer.read_hits += 1;
                    buffered += 1;
                    let request = self.front.slot(slot);
                    request.hit = true;
                    let Held { rest, trimmed, .. } = *self.writer.buffer.slot(held);
                    let is_lost = rest == Rest::Lost && !trimmed;
                    request.done.failed |= is_lost;
                    if is_lost && let Some(unreadable) = &mut self.unreadable {
                        unreadable.note(slot, self.units.bytes_of(unit));
                    }
                    if let Some(versions) = &mut self.versions {
                        let version = if trimmed { 0 } else { versions.held(held) };
                        versions.read(slot, unit, version);
                    }
                    None
                }
                None => match self.ask_cache(slot, unit) {
                    Answer::Hit => {
                        cached += 1;
                        None
                    }
                    Answer::Waits => None,
                    Answer::Miss => {
                        let place = self.ftl.lookup(Lpn(unit));
                        if place.is_none() {
                            self.counts.host.read_units_unwritten += 1;
                            if let Some(versions) = &mut self.versions {
                                versions.read(slot, unit, 0);
                            }
                        }
                        place
                    }
                },
            };
            run = self.join_run(run, unit, place);
        }
        if cached > 0 {
            self.send_cached(slot, cached);
        }
        if self.front.has_dram && buffered > 0 {
            let bytes = buffered * self.units.bytes;
            let end = self.front.move_in_dram(self.events.now(), bytes);
            self.front.slot(slot).pending += 1;
            self.events.push_lane(lane::DRAM, end, event::of(event::BUFFERED, slot));
        }
        if self.reader.pages.is_empty()
            && let Some((lpn, from, units)) = run
        {
            return self.read_flash(Class::Read, owner, from, lpn, units, earlier);
        }
        let mut pages = std::mem::take(&mut self.reader.pages);
        pages.extend(run);
        // All of them wait before a die starts: pages of other planes are read along.
        for &(lpn, from, units) in &pages {
            let index = self.hold_read(Class::Read, owner, from, lpn, units, earlier);
            if !self.needs_no_die(index) {
                self.flash.queue(self.events.now(), index);
            }
        }
        for (_, from, _) in pages.drain(..) {
            let geometry = &self.flash.chips.geometry;
            let die = geometry.die_of(geometry.block_of(from));
            self.flash.wake(&mut self.events, die);
        }
        self.reader.pages = pages;
    }

    /// Adds a unit at `place` to a run of neighbours in one page, which are read together. A run
    /// that ends goes to the pages of the reader.
    #[inline]
    fn join_run(&mut self, run: Option<PageRun>, unit: u32, place: Option<Ppn>) -> Option<PageRun> {
        match (run, place) {
            (Some((lpn, from, units)), Some(ppn))
                if ppn.0 == from.0 + units
                    && self.flash.chips.geometry.page_index(ppn)
                        == self.flash.chips.geometry.page_index(from) =>
            {
                Some((lpn, from, units + 1))
            }
            (before, place) => {
                self.reader.pages.extend(before);
                place.map(|ppn| (unit, ppn, 1))
            }
        }
    }

    #[inline]
    pub(crate) fn read_flash(
        &mut self,
        class: Class,
        owner: ReadOwner,
        ppn: Ppn,
        lpn: u32,
        units: u32,
        earlier: Times,
    ) {
        let index = self.hold_read(class, owner, ppn, lpn, units, earlier);
        if !self.needs_no_die(index) {
            self.flash.submit(&mut self.events, index);
        }
    }

    /// Whether a read is not sent to its die: the die has failed, or the read goes around it.
    #[inline]
    fn needs_no_die(&mut self, index: u32) -> bool {
        self.end_if_failed(index) || (!self.reader.around.is_never() && self.goes_around(index))
    }

    /// Ends a read of a die that has failed, which nobody can send there. Returns whether it was
    /// one.
    #[inline]
    fn end_if_failed(&mut self, index: u32) -> bool {
        let is_failed = self.failed_dies.has(self.flash.commands[index].die);
        if is_failed {
            self.fail_words(index);
            self.events.push(self.events.now(), event::of(event::DECODED, index));
        }
        is_failed
    }

    /// Creates a read that is not sent to its die yet.
    #[inline]
    fn hold_read(
        &mut self,
        class: Class,
        owner: ReadOwner,
        ppn: Ppn,
        lpn: u32,
        units: u32,
        earlier: Times,
    ) -> u32 {
        if let ReadOwner::Request(slot) = owner {
            self.front.slot(slot).pending += 1;
        }
        let geometry = &self.flash.chips.geometry;
        let block = geometry.block_of(ppn);
        let die = geometry.die_of(block);
        let code = self.codes.number_of(&self.flash.chips, &*self.ftl, die, block);
        let codewords = &self.codes.at(code).words;
        let words = codewords.of(geometry, ppn, units);
        let bytes = words * codewords.bytes;
        let mut read = PageRead::first(owner, ppn, lpn, units, words);
        read.is_kept = self.is_kept_for_copy(owner);
        let mut command = Command::new(Task::Read(read), class, die, earlier.queued, 1, bytes);
        (command.times, command.purpose) = (earlier, self.purpose_of_read(owner, lpn, ppn));
        let index = self.flash.hold(command);
        if self.flash.blame.is_some() {
            self.blame_command(index, owner);
        }
        index
    }

    /// Opens the account of a read that begins.
    #[cold]
    fn blame_command(&mut self, index: u32, owner: ReadOwner) {
        let now = self.now();
        if let (Some(blame), ReadOwner::Request(slot)) = (&mut self.flash.blame, owner) {
            blame.command(index, slot, now);
        }
    }

    /// A part of a host's read is decoded.
    #[inline]
    fn request_read(&mut self, slot: u32, index: u32, corrected: bool) {
        let PageRead { lpn, units, .. } = *self.flash.read(index);
        let times = self.flash.commands[index].times;
        self.flash.commands.free(index);
        let now = self.now();
        let is_lost = self.failures.lost.any(lpn, units);
        if is_lost {
            self.note_lost(slot, lpn, units);
        }
        if self.read_cache.is_some() {
            self.keep_read(slot, (lpn, units), times.queued, corrected);
        }
        let request = self.front.slot(slot);
        request.done.failed |= !corrected || is_lost;
        // The last command to finish is the one that the request waited for.
        request.done.parts = Parts::of(&times, now);
        self.read_part_done(slot);
    }

    /// A part of a read is there; with the last one, the data go to the host.
    #[inline]
    pub(super) fn read_part_done(&mut self, slot: u32) {
        let request = self.front.slot(slot);
        request.pending -= 1;
        if request.pending > 0 {
            return;
        }
        let (length, hit) = (request.done.request.length, request.hit);
        let arrived = self.front.send_out(self.events.now(), length);
        let done = arrived + if hit { self.writer.latency } else { Time::ZERO };
        self.events.push_lane(lane::READ_DONE, done, event::of(event::COMPLETE, slot));
    }
}

#[cfg(test)]
mod tests;
