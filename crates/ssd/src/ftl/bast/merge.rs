//! Merges: how a log block and its data block become one data block again.
//!
//! A log that was written whole and in order becomes the data block (switch). One that was written
//! in order up to some row gets the rest of the data block copied behind it, and becomes the data
//! block then (partial). Of all others the newest data are copied to a new virtual block (full).
//!
//! Copies go row by row to their own positions. Where a program fails, what follows lies one row
//! further on. Such a pass is brought to its end, so that the old blocks can be erased, and its
//! outcome is merged once more.

use super::log::{Kind, State};
use super::pool::{NONE, Virtual};
use super::{Bast, HOST};
use crate::ftl::contract::{Carried, Job, Lpn, Move, Place, Program, Stream, Until};

impl Bast {
    /// A log is to be merged.
    pub(super) fn queue(&mut self, log: u32) {
        self.logs.log_mut(log).state = State::Queued;
        self.merging += 1;
        self.queued.push_back(log);
    }

    /// Ends a log of which nothing has to be copied: whether that is so.
    pub(super) fn conclude(&mut self, number: u32) -> bool {
        let log = self.logs.log(number);
        let (block, target) = (log.block, log.target);
        let of_data = self.data.newest(block);
        if log.live + of_data == 0 {
            self.counts.merges.full += u64::from(log.is_of_host);
            if target != NONE {
                self.pool.bury(target);
            }
            self.replace_data(block, NONE);
            self.unforce(block);
            self.release(number);
            return true;
        }
        let stays = log.is_aligned && !self.forced[block as usize];
        if of_data > 0 || !stays || self.pool.has_doomed(target) {
            return false;
        }
        if self.pool.layout.first(log.cursor) >= self.size_of(block) {
            self.counts.merges.switch += 1;
        } else {
            self.counts.merges.partial += 1;
        }
        self.becomes_data(number);
        true
    }

    /// The target of a log becomes the data block.
    fn becomes_data(&mut self, number: u32) {
        let log = self.logs.log(number);
        let (block, target) = (log.block, log.target);
        let first = block * self.pool.layout.units;
        self.replace_data(block, target);
        for offset in 0..self.size_of(block) {
            if self.logs.at(number, offset).is_some() {
                self.data.add(block, first + offset);
            }
        }
        self.release(number);
    }

    fn replace_data(&mut self, block: u32, new: Virtual) {
        if let Some(old) = self.data.replace(block, new) {
            self.pool.bury(old);
        }
    }

    /// A log is no longer needed.
    fn release(&mut self, number: u32) {
        let log = self.logs.log(number);
        if log.is_of_host {
            self.opened -= 1;
            self.merging -= u32::from(log.state != State::Open);
        }
        self.lent -= log.lent;
        self.log_of[log.block as usize] = NONE;
        self.logs.release(number);
        self.new_epoch();
    }

    /// Whether a merge of this log copies behind what it has.
    fn is_partial(&self, number: u32) -> bool {
        let log = self.logs.log(number);
        let (block, layout) = (log.block, &self.pool.layout);
        let first = || self.data.first(block * layout.units, self.size_of(block));
        log.target != NONE
            && log.is_aligned
            && layout.is_cut(log.cursor)
            && !self.forced[block as usize]
            && !self.pool.has_doomed(log.target)
            && first().is_none_or(|first| first >= layout.first(log.cursor))
    }

    /// Whether there is room to begin with the merge of a log: a virtual block is left for what
    /// failed programs take, unless nobody else is at work.
    pub(super) fn can_begin(&self, number: u32) -> bool {
        self.can_begin_full() || self.is_partial(number)
    }

    pub(super) fn can_begin_full(&self) -> bool {
        self.pool.free_total >= 2 || self.active == 0
    }

    /// Begins to merge a log, if anything has to be copied.
    pub(super) fn begin(&mut self, number: u32) -> bool {
        if self.conclude(number) {
            return false;
        }
        let is_partial = self.is_partial(number);
        let log = self.logs.log_mut(number);
        if log.state == State::Open {
            self.merging += u32::from(log.is_of_host);
        }
        log.state = State::Merging;
        if is_partial {
            log.kind = Kind::Partial;
            log.next = log.cursor;
            self.find_last(number);
        } else {
            let target = std::mem::replace(&mut log.target, NONE);
            if target != NONE {
                log.old.push(target);
            }
            self.begin_pass(number);
        }
        true
    }

    /// Begins to copy all of a logical block to a new virtual block.
    pub(super) fn begin_pass(&mut self, number: u32) {
        let log = self.logs.log_mut(number);
        log.kind = Kind::Full;
        log.next = Default::default();
        let block = log.block;
        self.unforce(block);
        self.find_last(number);
        self.new_target(number);
    }

    fn find_last(&mut self, number: u32) {
        let block = self.logs.log(number).block;
        let is_there = |&offset: &u32| self.find(block, offset).is_some();
        let last = (0..self.size_of(block)).rev().find(is_there).unwrap_or(0);
        self.logs.log_mut(number).last_row = self.pool.layout.row_of(last);
    }

    /// Takes a virtual block to copy to, if there is one.
    fn new_target(&mut self, number: u32) -> bool {
        let Some(set) = self.pool.any_set() else { return false };
        let target = self.pool.take(set, self.logs.log(number).block);
        let log = self.logs.log_mut(number);
        (log.target, log.cursor, log.is_aligned) = (target, Default::default(), true);
        log.lent += 1;
        self.lent += 1;
        true
    }

    /// Lists what is to be copied next: a row of each lane.
    pub(super) fn list(&mut self, number: u32, moves: &mut Vec<Move>) {
        let layout = &self.pool.layout;
        let log = self.logs.log(number);
        let (block, last_row, mut next) = (log.block, log.last_row, log.next);
        let (first, size) = (block * layout.units, self.size_of(block));
        for _ in 0..layout.stripe / layout.joined {
            if next.row > last_row {
                break;
            }
            let planes = layout.joined - next.plane;
            for i in 0..planes * layout.plane_units {
                let offset = layout.position(next, planes, i);
                let from = if offset < size { self.find(block, offset) } else { None };
                moves.push(from.map_or(Move::HOLE, |from| Move { lpn: Lpn(first + offset), from }));
            }
            next = layout.after(next, planes);
        }
        if next.row > last_row {
            // Behind the last unit nothing is written.
            while moves.last() == Some(&Move::HOLE) {
                moves.pop();
            }
        }
        self.logs.log_mut(number).next = next;
    }

    /// All has been copied: the old virtual blocks are to be erased. Whether the merge is done.
    pub(super) fn end_pass(&mut self, number: u32) -> bool {
        let log = self.logs.log_mut(number);
        let block = log.block;
        log.old.drain(..).for_each(|of| self.pool.bury(of));
        self.replace_data(block, NONE);
        let log = self.logs.log_mut(number);
        self.lent -= std::mem::take(&mut log.lent);
        if log.is_aligned && log.full.is_empty() {
            if log.is_of_host {
                match log.kind {
                    Kind::Partial => self.counts.merges.partial += 1,
                    Kind::Full => self.counts.merges.full += 1,
                }
            }
            if log.live > 0 {
                self.becomes_data(number);
            } else {
                // All was trimmed meanwhile.
                if log.target != NONE {
                    self.pool.bury(log.target);
                }
                self.release(number);
            }
            return true;
        }
        let target = std::mem::replace(&mut log.target, NONE);
        log.old.append(&mut log.full);
        log.old.push(target);
        false
    }

    /// Places the first of what a job copies.
    pub(super) fn place_copies(&mut self, job: Job, moves: &[Move]) -> Place {
        let Some(number) = self.log_of_job(job) else { return Place::NoRoom };
        let log = self.logs.log_mut(number);
        if log.target == NONE || log.cursor.row == self.pool.layout.rows {
            let full = log.target;
            if self.pool.any_set().is_none() {
                return self.stall(number);
            }
            if full != NONE {
                log.full.push(full);
            }
            self.new_target(number);
        }
        self.logs.log_mut(number).is_stalled = false;
        let layout = &self.pool.layout;
        let log = self.logs.log(number);
        let (cursor, target) = (log.cursor, log.target);
        let (planes, units) = layout.aligned_extent(cursor, moves.len() as u32);
        let is_log = log.kind == Kind::Partial && log.lent == 0;
        let stream = if is_log { HOST } else { Stream::GC };
        let program = layout.program(self.pool.blocks(target), cursor, planes, units, stream);
        let first = log.block * layout.units;
        let (mut data, mut is_aligned) = (0, log.is_aligned);
        for (i, unit) in (0..units).zip(moves) {
            if unit.lpn != Lpn::HOLE {
                data += 1;
                is_aligned &= layout.position(cursor, planes, i) == unit.lpn.0 - first;
            }
        }
        self.counts.moved_units += data;
        self.counts.padding_units += u64::from(planes * layout.plane_units) - data;
        let log = self.logs.log_mut(number);
        log.is_aligned = is_aligned;
        log.cursor = layout.after(cursor, planes);
        self.pool.handed_out(&program);
        Place::At(program)
    }

    /// Failed programs have taken the room to copy to: it comes when others are done.
    #[cold]
    fn stall(&mut self, number: u32) -> Place {
        self.logs.log_mut(number).is_stalled = true;
        let is_at_work = |task: &&super::work::Task| match task.log() {
            Some(log) => !self.logs.log(log).is_stalled,
            None => !task.is_idle(),
        };
        if self.tasks.iter().any(|task| is_at_work(&task)) {
            Place::Later(Until::Job)
        } else {
            Place::NoRoom
        }
    }

    /// What a job has copied is on the flash, or is not.
    pub(super) fn copies_reported(&mut self, program: &Program, carried: Carried, is_there: bool) {
        let Carried::Moves(job, moves) = carried else { return };
        let Some(number) = self.log_of_job(job) else { return };
        if !is_there {
            let units = u64::from(carried.units(program));
            self.counts.moved_units -= units;
            self.counts.padding_units += units;
            return;
        }
        let block = self.logs.log(number).block;
        let first = block * self.pool.layout.units;
        for (i, unit) in (0..program.units).zip(moves) {
            // What was trimmed on its way is nowhere now.
            if unit.lpn != Lpn::HOLE && self.find(block, unit.lpn.0 - first) == Some(unit.from) {
                let offset = unit.lpn.0 - first;
                self.logs.set(number, offset, Some(program.ppn(&self.pool.layout.geometry, i)));
                self.drop_from_data(block, offset);
            }
        }
    }
}
