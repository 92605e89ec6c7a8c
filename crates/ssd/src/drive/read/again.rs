//! Reads that failed: pages that are read again, elsewhere, or given up.

use crate::drive::Ssd;
use crate::drive::activity::MOST_LEVELS;
use crate::drive::wakes::Wake;
use crate::failure::failed_words::FailedWord;
use crate::flash::scheduler::Class;
use crate::terms::{Lpn, PageRead, ReadOwner};
use nand::geometry::{Die, Ppn};

impl Ssd {
    /// Reads a page again after a failed decode, as the policy says; false if the page is given up.
    pub(super) fn read_again(&mut self, index: u32) -> bool {
        let command = self.flash.commands[index];
        let PageRead { owner, ppn, failed, .. } = *command.read();
        if self.failed_dies.has(command.die) {
            return false;
        }
        let block = self.flash.chips.geometry.block_of(ppn);
        let code = self.codes.number_of(&self.flash.chips, &*self.ftl, command.die, block);
        let reread = self.reader.retry.after_failure(command.read().attempt);
        // A code without soft decisions is given up where others read softly.
        let Some(reread) = reread.filter(|reread| self.codes.at(code).takes(reread.level)) else {
            self.counts.codes.uncorrectable += 1;
            if let Some(account) = self.codes.account(&self.flash.chips, command.die) {
                account.uncorrectable += 1;
            }
            if owner != ReadOwner::Scan {
                self.note_given_up(command.die, ppn);
            }
            return false;
        };
        if self.read_elsewhere(index) {
            return true;
        }
        match usize::from(reread.level).checked_sub(1) {
            None => self.counts.further_reads.retries += 1,
            Some(level) => self.counts.further_reads.soft_reads[level.min(MOST_LEVELS - 1)] += 1,
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

    /// Begins a read anew where its data are now, if data of the host have moved on since it was
    /// asked for: nothing in the queues of its die has kept their block from being erased.
    pub(super) fn read_elsewhere(&mut self, index: u32) -> bool {
        let PageRead { owner, ppn, lpn: first, units, mut failed, .. } = *self.flash.read(index);
        let earlier = self.flash.commands[index].times;
        let is_map = matches!(owner, ReadOwner::Map(_));
        let place = |lpn| if is_map { self.map_place(lpn) } else { self.ftl.lookup(lpn) };
        let mut places = (0..units).map(|i| (Lpn(first + i), Ppn(ppn.0 + i)));
        let is_of_host =
            matches!(owner, ReadOwner::Request(_) | ReadOwner::Fill(_) | ReadOwner::Ahead);
        if !(is_map || is_of_host) || places.all(|(lpn, ppn)| place(lpn) == Some(ppn)) {
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
            (ReadOwner::Ahead, _) => self.ahead_arrived(&command, false),
            (_, Some(ppn)) => self.read_flash(Class::Read, owner, ppn, first, 1, earlier),
            (ReadOwner::Fill(held), None) => self.filled(held, true),
            (ReadOwner::Map(fetch), None) => self.map_page_read(fetch, &earlier),
            _ => unreachable!("the host's alone"),
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
            if self.zones.is_some() {
                // The block's zone may be read only now.
                self.wakes.wake(Wake::Finishes);
            }
        }
    }

    /// Notes units of a request as unreadable whose data were lost before.
    #[cold]
    pub(super) fn note_lost(&mut self, slot: u32, first: u32, units: u32) {
        let Some(unreadable) = &mut self.unreadable else { return };
        for unit in first..first + units {
            if self.failures.lost.any(unit, 1) {
                unreadable.note(slot, self.units.bytes_of(unit));
            }
        }
    }

    /// Notes the bytes that a request has asked for in vain, as its read is given up.
    #[cold]
    pub(super) fn note_unreadable(&mut self, index: u32) {
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
}
