//! The path of a read: units, pages, dies, decoders, and retries after a failed decoding.

use super::codes::CodeCounts;
use super::flow::{event, lane};
use super::wakes::Wake;
use super::{MOST_LEVELS, Parts, Ssd};
use crate::buffer::{Rest, Slot as Held};
use crate::config::SsdConfig;
use crate::failure::failed_words::{FailedWord, FailedWords};
use crate::failure::retry::Retry;
use crate::flash::command::{Command, Task, Times};
use crate::flash::scheduler::Class;
use crate::flash::timeline::{SpanKind, Track};
use crate::medium::luck::Luck;
use crate::terms::request::Request;
use crate::terms::{Lpn, PageRead, ReadOwner};
use base::Time;
use base::counts::Counts;
use ecc::model::{LEAST_RBER, Word};
use nand::geometry::{Die, Ppn};

/// Decoders, and reads that go round again.
pub(crate) struct Reader {
    pub(crate) retry: Box<dyn Retry>,
    /// Codewords of reads that go round again.
    failed: FailedWords,
    pub(crate) luck: Luck,
    /// Pages of the request that is being read, while it has several.
    pages: Vec<PageRun>,
}

/// Neighbours in one page that are read together: the first unit, its place, and their number.
type PageRun = (u32, Ppn, u32);

impl Reader {
    pub(super) fn new(config: &SsdConfig, retry: Box<dyn Retry>) -> Self {
        let luck = Luck::new(config.seed);
        Self { failed: FailedWords::default(), luck, retry, pages: Vec::new() }
    }
}

impl Reader {
    /// The power is gone: what was being decoded is forgotten.
    pub(super) fn cut(&mut self) {
        self.failed = FailedWords::default();
    }

    /// Codewords of a list that have failed.
    pub(super) fn failed_words(&self, list: u32) -> &[FailedWord] {
        self.failed.words(list)
    }
}

impl Ssd {
    #[inline]
    pub(super) fn read_units(&mut self, slot: u32, request: &Request) {
        let first = self.units.at(request.offset) as u32;
        let last = self.units.at(request.offset + request.length - 1) as u32;
        self.counts.read_units += u64::from(last - first + 1);
        // One more than there is, so that nothing completes before all is asked for.
        self.front.slot(slot).pending = 1;
        let earlier = Times::from(self.now());
        if self.map.is_on_flash {
            self.read_mapped(slot, first, last, earlier);
        } else {
            self.read_range(slot, first, last, earlier);
        }
        self.read_part_done(slot);
    }

    /// Reads units `first` to `last` from the buffer or the flash; units without data need no read.
    #[inline]
    pub(super) fn read_range(&mut self, slot: u32, first: u32, last: u32, earlier: Times) {
        let owner = ReadOwner::Request(slot);
        let mut run: Option<PageRun> = None;
        for unit in first..last + 1 {
            let place = match self.writer.buffer.find(Lpn(unit)) {
                Some(held) => {
                    self.counts.buffer_hits += 1;
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
                None => {
                    let place = self.ftl.lookup(Lpn(unit));
                    if place.is_none() {
                        self.counts.unwritten += 1;
                        if let Some(versions) = &mut self.versions {
                            versions.read(slot, unit, 0);
                        }
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
                    self.reader.pages.extend(before);
                    place.map(|ppn| (unit, ppn, 1))
                }
            };
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
            self.flash.queue(self.events.now(), index);
        }
        for (_, from, _) in pages.drain(..) {
            let geometry = &self.flash.chips.geometry;
            let die = geometry.die_of(geometry.block_of(from));
            self.flash.wake(&mut self.events, die);
        }
        self.reader.pages = pages;
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
        self.flash.submit(&mut self.events, index);
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
        let die = geometry.die_of(geometry.block_of(ppn));
        let codewords = self.codes.words(&self.flash.chips, die);
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

    /// A transfer of a read is in the controller. The last one of a read takes it to the decoders.
    #[inline(never)]
    pub(super) fn arrived(&mut self, index: u32) {
        let now = self.now();
        let Some(index) = self.flash.part_arrived(now, index) else {
            if self.reader.retry.in_turn() && !self.read_elsewhere(index) {
                self.flash.go_behind(&mut self.events, index);
            }
            return;
        };
        let die = self.flash.commands[index].die;
        let PageRead { owner, ppn, words, rber, attempt, level, mut failed, .. } =
            *self.flash.read(index);
        let code = self.codes.number(&self.flash.chips, die);
        let before = self.codes.count_apart().then(|| self.counts.of_codes());
        let mut end = (now, Time::ZERO);
        if attempt == 0 {
            self.counts.codewords += u64::from(words);
            let clean_decode = self.codes.at(code).clean_decode;
            let mut dirty = 0;
            // What takes no time waits for no decoder.
            let decoded = if clean_decode == Some(Time::ZERO) { 0 } else { words };
            for word in 0..decoded {
                let time = match clean_decode {
                    Some(time) => time,
                    None => {
                        let may_err = rber >= LEAST_RBER;
                        let luck = if may_err { self.luck(code, ppn, word) } else { 0.0 };
                        let outcome = self.decode(code, index, word, &Word { rber, level, luck });
                        self.counts.raw_bit_errors += u64::from(outcome.errors);
                        dirty += u32::from(outcome.errors > 0);
                        self.counts.iterations += u64::from(outcome.iterations);
                        if !outcome.corrected {
                            self.counts.hard_failures += 1;
                            self.reader.failed.add(&mut failed, FailedWord { word, luck });
                        }
                        outcome.time
                    }
                };
                self.take_decoder(code, now, time, SpanKind::Decode, &mut end);
            }
            if dirty > 0 {
                self.jobs.found_errors(owner, dirty);
            }
        } else {
            self.decode_again(code, index, now, &mut failed, &mut end);
        }
        if let Some(before) = before {
            self.count_apart(die, before);
        }
        let (end, last) = end;
        if let Some(blame) = &mut self.flash.blame {
            blame.decoded(index, end, last, attempt > 0);
        }
        let corrected = self.reader.failed.count(failed) == 0;
        self.flash.commands[index].read_mut().failed = failed;
        if corrected && self.versions.is_some() {
            self.note_found(index);
        }
        if end == now {
            self.decoded(index);
        } else {
            self.flash.commands[index].times.ecc += last;
            self.events.push_lane(lane::DECODED, end, event::of(event::DECODED, index));
        }
    }

    /// Books what has been decoded since `before` to the kind of chips of a die.
    #[cold]
    fn count_apart(&mut self, die: Die, before: CodeCounts) {
        let now = self.counts.of_codes();
        if let Some(account) = self.codes.account(&self.flash.chips, die) {
            *account = account.plus(&now.since(&before));
        }
    }

    /// The luck of a codeword of the page that `first` lies in, the `number`th from there on.
    #[inline]
    fn luck(&self, code: usize, first: Ppn, number: u32) -> f64 {
        self.reader.luck.of(&self.flash.chips, &self.codes.at(code).words, first, number)
    }

    /// Decodes the failed codewords of a read again, with what a further read has brought.
    fn decode_again(
        &mut self,
        code: usize,
        index: u32,
        now: Time,
        failed: &mut u32,
        end: &mut (Time, Time),
    ) {
        let PageRead { rber, level, .. } = *self.flash.read(index);
        let kind = if level > 0 { SpanKind::SoftDecode } else { SpanKind::Decode };
        let mut words = self.reader.failed.take(*failed);
        self.counts.further_decodes += words.len() as u64;
        words.retain(|&FailedWord { word, luck }| {
            let outcome = self.decode(code, index, word, &Word { rber, level, luck });
            self.counts.iterations += u64::from(outcome.iterations);
            self.take_decoder(code, now, outcome.time, kind, end);
            !outcome.corrected
        });
        self.reader.failed.keep(failed, words);
    }

    /// Gives a codeword to the decoder that is free first. `end` is the time at which the last
    /// codeword is done, and how long its decoding took.
    #[inline]
    fn take_decoder(
        &mut self,
        code: usize,
        now: Time,
        time: Time,
        kind: SpanKind,
        end: &mut (Time, Time),
    ) {
        let code = self.codes.at_mut(code);
        let (decoder, start, done) = code.decoders.serve(now, time);
        let decoder = code.servers_before + decoder as u32;
        self.flash.timeline.record(Track::Decoder, decoder, kind, start, done);
        if done >= end.0 {
            *end = (done, time);
        }
    }

    /// Opens the account of a read that begins.
    #[cold]
    fn blame_command(&mut self, index: u32, owner: ReadOwner) {
        let now = self.now();
        if let (Some(blame), ReadOwner::Request(slot)) = (&mut self.flash.blame, owner) {
            blame.command(index, slot, now);
        }
    }

    /// Books a read that has ended to its request.
    #[cold]
    fn blame_end(&mut self, index: u32, command: &Command) {
        if let (Some(blame), ReadOwner::Request(slot)) =
            (&mut self.flash.blame, command.read().owner)
        {
            blame.end(index, slot, command.die.0);
        }
    }

    /// Notes the versions that a read of the host has found, when its data left the die: while they
    /// are decoded, their place may be erased and written again.
    #[cold]
    fn note_found(&mut self, index: u32) {
        if let Some(versions) = &mut self.versions
            && let PageRead { owner: ReadOwner::Request(slot), lpn, ppn, units, .. } =
                *self.flash.read(index)
        {
            for i in 0..units {
                versions.read_stored(slot, lpn + i, Ppn(ppn.0 + i));
            }
        }
    }

    /// Notes units of a request as unreadable whose data were lost before.
    #[cold]
    fn note_lost(&mut self, slot: u32, first: u32, units: u32) {
        let Some(unreadable) = &mut self.unreadable else { return };
        for unit in first..first + units {
            if self.failures.lost.any(unit, 1) {
                unreadable.note(slot, self.units.bytes_of(unit));
            }
        }
    }

    /// Notes the bytes that a request has asked for in vain, as its read is given up.
    #[cold]
    fn note_unreadable(&mut self, index: u32) {
        let PageRead { owner, ppn, lpn, units, failed, .. } = *self.flash.read(index);
        let die = self.flash.commands[index].die;
        let (Some(unreadable), ReadOwner::Request(slot)) = (&mut self.unreadable, owner) else {
            return;
        };
        let geometry = &self.flash.chips.geometry;
        let words = self.codes.words(&self.flash.chips, die);
        let start = self.units.bytes_of(lpn).start;
        for &FailedWord { word, .. } in self.reader.failed.words(failed) {
            let bytes = words.bytes_of(geometry, ppn, units, word);
            unreadable.note(slot, start + u64::from(bytes.start)..start + u64::from(bytes.end));
        }
    }

    #[inline]
    pub(super) fn decoded(&mut self, index: u32) {
        let PageRead { owner, mut failed, .. } = *self.flash.read(index);
        let corrected = self.reader.failed.count(failed) == 0;
        if !corrected {
            if self.read_again(index) {
                return;
            }
            self.lose_moved(index);
            self.note_unreadable(index);
            self.reader.failed.release(&mut failed);
        }
        if self.flash.blame.is_some() {
            let command = self.flash.commands[index];
            self.blame_end(index, &command);
        }
        if !matches!(owner, ReadOwner::Job(_) | ReadOwner::Scan) {
            self.note_read(index, corrected);
        }
        if let ReadOwner::Request(slot) = owner {
            self.request_read(slot, index, corrected);
            return;
        }
        let command = self.flash.commands.remove(index);
        match owner {
            ReadOwner::Fill(held) => {
                self.filled(held, corrected && !self.failures.lost.any(command.read().lpn, 1))
            }
            ReadOwner::Job(job) => self.move_read(job),
            ReadOwner::Map(fetch) => self.map_page_read(fetch, &command.times),
            ReadOwner::Scan => self.scanned(command.die),
            ReadOwner::Patrol => self.patrolled(&command),
            ReadOwner::Request(_) => unreachable!("the host's are done with"),
            ReadOwner::PartOf(_) => unreachable!("only whole reads are decoded"),
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
        let request = self.front.slot(slot);
        request.done.failed |= !corrected || is_lost;
        // The last command to finish is the one that the request waited for.
        request.done.parts = Parts::of(&times, now);
        self.read_part_done(slot);
    }

    /// Reads a page again after a failed decode, as the policy says; false if the page is given up.
    fn read_again(&mut self, index: u32) -> bool {
        let command = self.flash.commands[index];
        let PageRead { owner, ppn, failed, .. } = *command.read();
        let code = self.codes.number(&self.flash.chips, command.die);
        let reread = self.reader.retry.after_failure(command.read().attempt);
        // A code without soft decisions is given up where others read softly.
        let Some(reread) = reread.filter(|reread| self.codes.at(code).takes(reread.level)) else {
            self.counts.uncorrectable += 1;
            if let Some(account) = self.codes.account(&self.flash.chips, command.die) {
                account.uncorrectable += 1;
            }
            self.note_found(index);
            if owner != ReadOwner::Scan {
                self.note_given_up(command.die, ppn);
            }
            return false;
        };
        if self.read_elsewhere(index) {
            return true;
        }
        match usize::from(reread.level).checked_sub(1) {
            None => self.counts.retries += 1,
            Some(level) => self.counts.soft_reads[level.min(MOST_LEVELS - 1)] += 1,
        }
        // What the decoder has of the other words stays there: only those that failed cross again.
        let bytes = self.reader.failed.count(failed) * self.codes.at(code).words.bytes;
        self.flash.again(index, reread, bytes);
        if self.reader.retry.in_turn() {
            self.flash.go_behind(&mut self.events, index);
        } else {
            self.flash.go_ahead(&mut self.events, index);
        }
        true
    }

    /// Notes a page that could not be read. A block with too many of them is retired.
    fn note_given_up(&mut self, die: Die, ppn: Ppn) {
        let limit = self.reader.retry.retire_after();
        if limit == 0 {
            return;
        }
        let (block, page) = self.flash.chips.geometry.page_of(ppn);
        let programmed = (page, self.flash.chips.pe_cycles(block));
        let pages = self.failures.given_up.note(block, programmed, limit);
        if pages >= limit && self.ftl.retire(block) {
            self.failures.doomed.insert(block.0);
            self.wakes.collect(die);
            self.wakes.wake(Wake::Jobs);
        }
    }

    /// Begins a read anew where its data are now, if data of the host have moved on since it was
    /// asked for: nothing in the queues of its die has kept their block from being erased.
    fn read_elsewhere(&mut self, index: u32) -> bool {
        let PageRead { owner, ppn, lpn: first, units, mut failed, .. } = *self.flash.read(index);
        let earlier = self.flash.commands[index].times;
        let is_map = matches!(owner, ReadOwner::Map(_));
        let place = |lpn| if is_map { self.map_place(lpn) } else { self.ftl.lookup(lpn) };
        let mut places = (0..units).map(|i| (Lpn(first + i), Ppn(ppn.0 + i)));
        if !(is_map || matches!(owner, ReadOwner::Request(_) | ReadOwner::Fill(_)))
            || places.all(|(lpn, ppn)| place(lpn) == Some(ppn))
        {
            return false;
        }
        let now_at = place(Lpn(first));
        self.reader.failed.release(&mut failed);
        let command = self.flash.commands.remove(index);
        self.blame_end(index, &command);
        match (owner, now_at) {
            (ReadOwner::Request(slot), _) => {
                self.read_range(slot, first, first + units - 1, earlier);
                self.read_part_done(slot);
            }
            (_, Some(ppn)) => self.read_flash(Class::Read, owner, ppn, first, 1, earlier),
            (ReadOwner::Fill(held), None) => self.filled(held, true),
            (ReadOwner::Map(fetch), None) => self.map_page_read(fetch, &earlier),
            _ => unreachable!("the host's alone"),
        }
        true
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
