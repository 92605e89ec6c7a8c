//! Merges: how the newest data of a logical block come to lie in one data block again.
//!
//! A log that was written whole and in order becomes the data block (switch). One that was written
//! in order up to some row gets the rest copied behind it, and becomes the data block then
//! (partial). Otherwise the newest data of the logical block are copied to a new virtual block,
//! from wherever they are (full).
//!
//! Copies go row by row to their own positions. Where a program fails, what follows lies one row
//! further on. Such a pass is brought to its end, so that the old blocks can be erased, and its
//! outcome is merged once more.

use super::logs::State;
use super::{HOST, LogBlocks};
use crate::ftl::blocks::layout::Cursor;
use crate::ftl::blocks::pool::{NONE, Use, Virtual};
use crate::ftl::blocks::task::Task;
use crate::ftl::contract::{Carried, Job, Lpn, Move, Place, Program, Stream, Until};
use serde::{Deserialize, Serialize};

/// Scope of a merge: what it copies, and where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A gap in a log before the next write of the host; the log goes on.
    Gap,
    /// Units behind the end of a log, which becomes the data block.
    Partial,
    /// All units of a logical block, to a new virtual block.
    Full,
}

/// State of the merge of a logical block.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Merge {
    pub block: u32,
    /// Log whose virtual block the merge has taken over, or `NONE`.
    pub log: u32,
    /// Log that the merge empties, or `NONE`.
    pub empties: u32,
    /// A log is to be emptied or filled; otherwise the merge only moves a logical block.
    pub is_of_log: bool,
    pub kind: Kind,
    /// Virtual block that is copied to, `NONE` if there is none yet.
    pub target: Virtual,
    /// Place of the next program in the target.
    pub cursor: Cursor,
    /// All copies lie at their own positions.
    pub is_aligned: bool,
    /// Place where copying goes on.
    pub next: Cursor,
    /// Position where copying ends.
    pub end: u32,
    /// Virtual blocks that the merge empties, beside the data block.
    pub old: Vec<Virtual>,
    /// Earlier targets of this pass: failed programs have taken what was left of them.
    pub full: Vec<Virtual>,
    /// Virtual blocks that this pass has taken.
    pub lent: u32,
    /// Copies wait for a free virtual block.
    pub is_stalled: bool,
}

impl Merge {
    /// Creates an empty merge, with room for its lists.
    pub(super) fn none() -> Self {
        Self {
            block: NONE,
            log: NONE,
            empties: NONE,
            is_of_log: false,
            kind: Kind::Full,
            target: NONE,
            cursor: Cursor::default(),
            is_aligned: true,
            next: Cursor::default(),
            end: 0,
            old: Vec::with_capacity(4),
            full: Vec::with_capacity(4),
            lent: 0,
            is_stalled: false,
        }
    }
}

impl LogBlocks {
    /// Has a log emptied.
    pub(super) fn queue(&mut self, number: u32) {
        let log = self.logs.log_mut(number);
        (log.state, log.scan, log.patience) = (State::Queued, 0, 0);
        log.searched.set(0);
        self.merging += u32::from(!log.is_sequential);
        self.queued.push_back(number);
        self.close(number);
    }

    /// Closes a log: it takes no more data of the host.
    fn close(&mut self, number: u32) {
        let set = self.logs.log(number).set;
        if self.current[set as usize] == number {
            self.current[set as usize] = NONE;
        }
        self.streams.forget(number);
    }

    /// Has a log filled up to a position.
    pub(super) fn fill(&mut self, number: u32, until: u32) {
        let log = self.logs.log_mut(number);
        (log.state, log.until) = (State::Filling, until);
        self.queued.push_back(number);
    }

    /// Ends a log from which nothing has to be copied. False if something has to be.
    pub(super) fn conclude(&mut self, number: u32) -> bool {
        let log = self.logs.log(number);
        let (block, target) = (log.block, log.target);
        if log.merges > 0 {
            return false;
        }
        if self.places.live(target) == 0 {
            self.pool.bury(target);
            self.release(number);
            return true;
        }
        let b = block as usize;
        if !log.is_aligned
            || self.is_merging[b]
            || self.forced[b]
            || self.data.newest(block) > 0
            || self.pool.has_doomed(target)
        {
            return false;
        }
        if self.pool.layout.first(log.cursor) >= self.size_of(block) {
            self.counts.merges.switch += 1;
        } else {
            self.counts.merges.partial += 1;
        }
        self.becomes_data(block, target);
        self.release(number);
        true
    }

    /// Makes a virtual block, with data of one logical block at their positions, its data block.
    fn becomes_data(&mut self, block: u32, target: Virtual) {
        self.replace_data(block, target);
        self.pool.change_use(target, Use::Data(block));
        let first = self.first_of(block);
        for unit in first..first + self.size_of(block) {
            if self.places.at(unit).is_some_and(|ppn| self.pool.of(ppn) == target) {
                self.places.clear(&self.pool, unit);
                self.data.add(&self.pool.layout, unit);
            }
        }
    }

    fn replace_data(&mut self, block: u32, new: Virtual) {
        if let Some(old) = self.data.replace(block, new) {
            self.pool.bury(old);
        }
    }

    /// Releases a log that is no longer needed.
    pub(super) fn release(&mut self, number: u32) {
        self.close(number);
        let log = self.logs.log(number);
        let (set, state) = (log.set, log.state);
        if !log.is_sequential {
            self.opened -= 1;
            self.merging -= u32::from(state != State::Open);
            let slot = self.slots(set).iter_mut().find(|slot| **slot == number);
            *slot.expect("a log in use has one") = NONE;
        }
        if state == State::Queued {
            self.queued.retain(|&other| other != number);
        }
        self.ahead = self.ahead.filter(|ahead| ahead.log != number);
        self.logs.release(number);
        self.calls |= self.rules.is_in_order && self.demand.waiting() > 0;
        self.demand.begin_anew();
    }

    /// Whether a merge for this log copies behind the end of the log.
    fn is_partial(&self, number: u32) -> bool {
        let log = self.logs.log(number);
        let (block, layout) = (log.block, &self.pool.layout);
        let first = || self.data.first(block * layout.units, self.size_of(block));
        log.is_aligned
            && layout.is_cut(log.cursor)
            && !self.forced[block as usize]
            && !self.pool.has_doomed(log.target)
            && first().is_none_or(|first| first >= layout.first(log.cursor))
    }

    /// Whether there is room to begin with a merge for a log: virtual blocks are left for what
    /// failed programs take, unless nobody else is at work.
    pub(super) fn can_begin(&self, number: u32) -> bool {
        self.can_begin_full()
            || self.logs.log(number).state == State::Filling
            || self.is_partial(number)
    }

    pub(super) fn can_begin_full(&self) -> bool {
        self.pool.free_total >= self.rules.least_reserve || self.active == 0
    }

    /// Next logical block that has valid units in a log to be emptied and that nobody merges, from
    /// the last found position on; with its position.
    pub(super) fn find_claim(&self, number: u32) -> Option<(u32, u32)> {
        let log = self.logs.log(number);
        if log.is_in_order {
            // It also holds copies, which have no owner here.
            let is_free = self.places.live(log.target) > 0 && !self.is_merging[log.block as usize];
            return is_free.then_some((log.block, 0));
        }
        let layout = &self.pool.layout;
        let end = layout.units.min((log.cursor.row + 1) * layout.row_units);
        let found = (log.scan.max(log.searched.get())..end).find_map(|position| {
            let unit = self.logs.owner(number, position);
            let ppn = if unit == NONE { None } else { self.places.at(unit) };
            let is_here = ppn.is_some_and(|ppn| ppn == self.pool.ppn(log.target, position));
            let block = || layout.split(unit).0;
            let is_free = is_here && !self.is_merging[block() as usize];
            is_free.then(|| (block(), position))
        });
        log.searched.set(found.map_or(end, |(_, position)| position));
        found
    }

    /// Claims the next logical block to merge for a log: remembers the position of its first valid
    /// unit.
    pub(super) fn claim(&mut self, number: u32) {
        let found = self.find_claim(number).map_or(NONE, |(_, position)| position);
        self.logs.log_mut(number).scan = found;
    }

    /// Begins to merge a logical block, for a log if it is one that makes it do so.
    pub(super) fn begin(&mut self, index: usize, number: u32, block: u32) {
        self.is_merging[block as usize] = true;
        let merge = &mut self.merges[index];
        (merge.block, merge.log, merge.is_of_log) = (block, NONE, number != NONE);
        if number == NONE {
            self.begin_pass(index);
        } else if self.logs.log(number).state == State::Filling {
            self.take_over(index, number, Kind::Gap);
            self.merges[index].end = self.logs.log(number).until;
        } else if self.is_partial(number) {
            self.take_over(index, number, Kind::Partial);
            self.find_end(index);
        } else {
            self.merges[index].empties = number;
            self.logs.log_mut(number).merges += 1;
            self.claim(number);
            self.begin_pass(index);
        }
    }

    /// Takes over the virtual block of a log, to copy to it.
    fn take_over(&mut self, index: usize, number: u32, kind: Kind) {
        self.queued.retain(|&other| other != number);
        self.ahead = self.ahead.filter(|ahead| ahead.log != number);
        let log = self.logs.log_mut(number);
        log.state = State::Taken;
        let merge = &mut self.merges[index];
        (merge.kind, merge.log) = (kind, number);
        merge.target = std::mem::replace(&mut log.target, NONE);
        (merge.cursor, merge.next, merge.is_aligned) = (log.cursor, log.cursor, true);
        self.pool.change_use(merge.target, Use::Copies(merge.block));
    }

    /// Begins to copy all of a logical block to a new virtual block.
    pub(super) fn begin_pass(&mut self, index: usize) {
        let merge = &mut self.merges[index];
        (merge.kind, merge.next, merge.target) = (Kind::Full, Cursor::default(), NONE);
        let block = merge.block;
        self.unforce(block);
        self.find_end(index);
        self.new_target(index);
    }

    /// Finds the end of copying, behind the last unit that there is.
    fn find_end(&mut self, index: usize) {
        let block = self.merges[index].block;
        let first = self.first_of(block);
        let is_there = |&offset: &u32| self.find(first + offset).is_some();
        let last = (0..self.size_of(block)).rev().find(is_there);
        self.merges[index].end = last.map_or(0, |last| last + 1);
    }

    /// Takes a virtual block to copy to, if there is one.
    fn new_target(&mut self, index: usize) {
        let Some(set) = self.pool.any_set() else { return };
        let merge = &mut self.merges[index];
        merge.target = self.pool.take(set, Use::Copies(merge.block));
        (merge.cursor, merge.is_aligned) = (Cursor::default(), true);
        merge.lent += 1;
        self.lent += 1;
    }

    /// Lists the units to copy next: a row of each lane.
    pub(super) fn list(&mut self, index: usize, moves: &mut Vec<Move>) {
        let layout = &self.pool.layout;
        let merge = &self.merges[index];
        let (first, end, mut next) = (self.first_of(merge.block), merge.end, merge.next);
        for _ in 0..layout.stripe / layout.joined {
            if layout.first(next) >= end {
                break;
            }
            let planes = layout.joined - next.plane;
            let positions =
                (0..planes * layout.plane_units).map(|i| layout.position(next, planes, i));
            for position in positions.take_while(|&position| position < end) {
                let unit = first + position;
                moves
                    .push(self.find(unit).map_or(Move::HOLE, |from| Move { lpn: Lpn(unit), from }));
            }
            next = layout.after(next, planes);
        }
        if layout.first(next) >= end && merge.kind != Kind::Gap {
            // Behind the last unit nothing is written.
            while moves.last() == Some(&Move::HOLE) {
                moves.pop();
            }
        }
        self.merges[index].next = next;
    }

    /// Ends a pass in which all was copied: the old virtual blocks are to be erased. True if the
    /// merge is done.
    pub(super) fn end_pass(&mut self, index: usize) -> bool {
        let merge = &mut self.merges[index];
        let (block, target, number) = (merge.block, merge.target, merge.log);
        let is_whole = merge.is_aligned && merge.full.is_empty();
        let kind = merge.kind;
        self.lent -= std::mem::take(&mut merge.lent);
        if kind == Kind::Gap {
            if is_whole {
                self.goes_on(index, number);
            } else {
                // The log cannot go on: all of its logical block is copied.
                let merge = &mut self.merges[index];
                merge.old.append(&mut merge.full);
                merge.old.push(target);
                self.merging += 1;
            }
            return is_whole;
        }
        merge.old.drain(..).for_each(|of| self.pool.bury(of));
        let empties = std::mem::replace(&mut merge.empties, NONE);
        if empties != NONE {
            self.logs.log_mut(empties).merges -= 1;
        }
        self.release_empty(block);
        self.replace_data(block, NONE);
        let merge = &mut self.merges[index];
        if !is_whole {
            merge.target = NONE;
            merge.old.append(&mut merge.full);
            merge.old.push(target);
            return false;
        }
        if merge.is_of_log {
            match kind {
                Kind::Partial => self.counts.merges.partial += 1,
                Kind::Gap | Kind::Full => self.counts.merges.full += 1,
            }
        }
        if target != NONE && self.places.live(target) > 0 {
            self.becomes_data(block, target);
        } else if target != NONE {
            // All was trimmed or written anew meanwhile.
            self.pool.bury(target);
        }
        self.is_merging[block as usize] = false;
        if number != NONE {
            self.release(number);
        }
        self.claim_anew(block);
        true
    }

    /// Looks again for units of a logical block whose merge has ended: some came to a log behind
    /// the copies. A log that need not be merged any more ends now, while there is something to be
    /// erased: those that wait for a log ask again then.
    fn claim_anew(&mut self, block: u32) {
        let set = self.set_of(block);
        let mut at = 0;
        while at < self.queued.len() {
            let number = self.queued[at];
            let log = self.logs.log(number);
            if log.set == set {
                log.searched.set(0);
            }
            if log.state == State::Queued && log.set == set && log.flying == 0 && log.scan == NONE {
                if self.conclude(number) {
                    continue;
                }
                self.logs.log_mut(number).scan = 0;
                self.claim(number);
            }
            at += 1;
        }
    }

    /// Gives a log that has been filled back to the host.
    fn goes_on(&mut self, index: usize, number: u32) {
        let Merge { block, target, cursor, .. } = self.merges[index];
        self.is_merging[block as usize] = false;
        let log = self.logs.log_mut(number);
        (log.target, log.cursor, log.state) = (target, cursor, State::Open);
        // All other sets may be asked before.
        log.patience = self.current.len() as u32;
        self.pool.change_use(target, Use::Log(number));
        if self.pool.has_doomed(target) {
            self.queue(number);
        }
    }

    /// Releases the logs of a logical block's set that are to be emptied and are empty.
    fn release_empty(&mut self, block: u32) {
        let set = self.set_of(block);
        let mut at = 0;
        while at < self.queued.len() {
            let number = self.queued[at];
            let log = self.logs.log(number);
            let is_empty = log.state == State::Queued
                && log.set == set
                && log.flying == 0
                && log.merges == 0
                && self.places.live(log.target) == 0;
            if is_empty {
                self.pool.bury(log.target);
                self.release(number);
            } else {
                at += 1;
            }
        }
    }

    /// Places the first of the units that a job copies.
    pub(super) fn place_copies(&mut self, job: Job, moves: &[Move]) -> Place {
        let Some(index) = self.copying(job) else { return Place::NoRoom };
        let merge = &mut self.merges[index];
        if merge.target == NONE || merge.cursor.row == self.pool.layout.rows {
            if self.pool.any_set().is_none() {
                return self.stall(index);
            }
            if merge.target != NONE {
                merge.full.push(merge.target);
            }
            self.new_target(index);
        }
        let layout = &self.pool.layout;
        let merge = &mut self.merges[index];
        merge.is_stalled = false;
        let cursor = merge.cursor;
        let (planes, units) = layout.aligned_extent(cursor, moves.len() as u32);
        // A block has one label.
        let stream = if merge.kind != Kind::Full && merge.lent == 0 { HOST } else { Stream::GC };
        let blocks = self.pool.blocks(merge.target);
        let program = layout.program(blocks, cursor, planes, units, stream);
        let first = merge.block * layout.units;
        let mut data = 0;
        for (i, unit) in (0..units).zip(moves) {
            if unit.lpn != Lpn::HOLE {
                data += 1;
                merge.is_aligned &= first + layout.position(cursor, planes, i) == unit.lpn.0;
            }
        }
        self.counts.moved_units += data;
        self.counts.padding_units += u64::from(planes * layout.plane_units) - data;
        merge.cursor = layout.after(cursor, planes);
        self.pool.handed_out(&program);
        Place::At(program)
    }

    /// Waits for a free virtual block, as failed programs have taken the room to copy to.
    #[cold]
    fn stall(&mut self, index: usize) -> Place {
        self.merges[index].is_stalled = true;
        let is_at_work = |(task, merge): (&Task, &Merge)| match task {
            Task::Copying => !merge.is_stalled,
            other => !other.is_idle(),
        };
        if self.tasks.iter().zip(&self.merges).any(is_at_work) {
            Place::Later(Until::Job)
        } else {
            Place::NoRoom
        }
    }

    /// Takes in the report of a program of copies, which are on the flash or not.
    pub(super) fn copies_reported(&mut self, program: &Program, carried: Carried, is_there: bool) {
        let Carried::Moves(job, moves) = carried else { return };
        if !is_there {
            let units = u64::from(carried.units(program));
            self.counts.moved_units -= units;
            self.counts.padding_units += units;
            return;
        }
        if self.copying(job).is_none() {
            return;
        }
        for (i, unit) in (0..program.units).zip(moves) {
            // What was trimmed or written on its way is not there now.
            if unit.lpn != Lpn::HOLE && self.find(unit.lpn.0) == Some(unit.from) {
                let ppn = program.ppn(&self.pool.layout.geometry, i);
                self.places.set(&self.pool, unit.lpn.0, ppn);
                self.data.drop(&self.pool.layout, unit.lpn.0);
            }
        }
    }
}
