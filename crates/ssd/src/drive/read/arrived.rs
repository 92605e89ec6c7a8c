//! Data of a read are in the controller: they are decoded, and go to whoever waits for them.

use crate::drive::Ssd;
use crate::drive::codes::CodeCounts;
use crate::drive::flow::{event, lane};
use crate::failure::failed_words::FailedWord;
use crate::flash::command::Command;
use crate::flash::timeline::{SpanKind, Track};
use crate::terms::{PageRead, ReadOwner};
use base::Time;
use base::counts::Counts;
use ecc::model::{LEAST_RBER, Word};
use nand::geometry::{Die, Ppn};

impl Ssd {
    /// A transfer of a read is in the controller. The last one of a read takes it to the decoders.
    #[inline(never)]
    pub(in crate::drive) fn arrived(&mut self, index: u32) {
        let now = self.now();
        let Some(index) = self.flash.part_arrived(now, index) else {
            if self.reader.retry.in_turn() && !self.read_elsewhere(index) {
                self.flash.go_behind(&mut self.events, index);
            }
            return;
        };
        let die = self.flash.commands[index].die;
        if self.failed_dies.has(die) {
            self.fail_words(index);
            return self.decoded(index);
        }
        let PageRead { owner, ppn, words, rber, attempt, level, mut failed, .. } =
            *self.flash.read(index);
        let block = self.flash.chips.geometry.block_of(ppn);
        let code = self.codes.number_of(&self.flash.chips, &*self.ftl, die, block);
        let before = self.codes.count_apart().then_some(self.counts.codes);
        let mut end = (now, Time::ZERO);
        if attempt == 0 {
            self.counts.codes.codewords += u64::from(words);
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
                        self.counts.codes.raw_bit_errors += u64::from(outcome.errors);
                        dirty += u32::from(outcome.errors > 0);
                        self.counts.codes.iterations += u64::from(outcome.iterations);
                        if !outcome.corrected {
                            self.counts.codes.hard_failures += 1;
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
        let now = self.counts.codes;
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
        self.counts.codes.further_decodes += words.len() as u64;
        words.retain(|&FailedWord { word, luck }| {
            let outcome = self.decode(code, index, word, &Word { rber, level, luck });
            self.counts.codes.iterations += u64::from(outcome.iterations);
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
        let code = self.codes.decoders_of(code);
        let (decoder, start, done) = code.decoders.serve(now, time);
        let decoder = code.servers_before + decoder as u32;
        self.flash.timeline.record(Track::Decoder, decoder, kind, start, done);
        if done >= end.0 {
            *end = (done, time);
        }
    }

    /// Notes the versions that a read of the host has found, or one ahead, when its data left the
    /// die: while they are decoded, their place may be erased and written again.
    #[cold]
    pub(super) fn note_found(&mut self, index: u32) {
        let Some(versions) = &mut self.versions else { return };
        let PageRead { owner, lpn, ppn, units, .. } = *self.flash.read(index);
        for i in 0..units {
            match owner {
                ReadOwner::Request(slot) => versions.read_stored(slot, lpn + i, Ppn(ppn.0 + i)),
                ReadOwner::Ahead => versions.read_ahead(lpn + i, Ppn(ppn.0 + i)),
                _ => {}
            }
        }
    }

    /// The last codeword of a read is decoded, as far as it can be.
    #[inline]
    pub(in crate::drive) fn decoded(&mut self, index: u32) {
        let PageRead { failed, .. } = *self.flash.read(index);
        if self.reader.failed.count(failed) == 0 {
            self.finish_read(index, true);
        } else if !self.read_again(index) && !self.rebuild(index) {
            self.give_up(index);
        }
    }

    /// Ends a read whose data nobody can get back.
    #[cold]
    pub(super) fn give_up(&mut self, index: u32) {
        self.note_found(index);
        self.lose_moved(index);
        self.note_unreadable(index);
        let PageRead { mut failed, .. } = *self.flash.read(index);
        self.reader.failed.release(&mut failed);
        self.finish_read(index, false);
    }

    /// Gives a read to its owner.
    #[inline]
    pub(super) fn finish_read(&mut self, index: u32, corrected: bool) {
        let PageRead { owner, .. } = *self.flash.read(index);
        if self.flash.blame.is_some() {
            let command = self.flash.commands[index];
            self.blame_end(index, &command);
        }
        // A read of a rebuild is of no unit: what it has disturbed shows at the next read of one.
        if !matches!(owner, ReadOwner::Job(_) | ReadOwner::Scan | ReadOwner::Rebuild(_)) {
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
            ReadOwner::Job(job) => {
                let bytes = u64::from(command.read().units) * self.units.bytes;
                self.front.move_in_dram(self.events.now(), bytes);
                self.move_read(job);
            }
            ReadOwner::Map(fetch) => self.map_page_read(fetch, &command.times),
            ReadOwner::Scan => self.scanned(command.die),
            ReadOwner::Patrol => self.patrolled(&command),
            ReadOwner::Rebuild(number) => {
                self.stripe_read(number, command.read().ppn, corrected, &command.times);
            }
            ReadOwner::Ahead => self.ahead_arrived(&command, corrected),
            ReadOwner::Request(_) => unreachable!("the host's are done with"),
            ReadOwner::PartOf(_) => unreachable!("only whole reads are decoded"),
        }
    }

    /// Books a read that has ended to its request.
    #[cold]
    pub(super) fn blame_end(&mut self, index: u32, command: &Command) {
        if let (Some(blame), ReadOwner::Request(slot)) =
            (&mut self.flash.blame, command.read().owner)
        {
            blame.end(index, slot, command.die.0);
        }
    }
}
