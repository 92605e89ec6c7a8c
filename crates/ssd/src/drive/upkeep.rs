//! Upkeep of stored data beside the host: refresh, patrol reads and read reclaim.
//!
//! `failure` says which blocks and pages are due; this file carries it out through jobs and reads.

use super::{Ssd, Step};
use crate::failure::Failures;
use crate::failure::refresh::{MINUTES, Reason};
use crate::flash::command::{Command, Times};
use crate::flash::scheduler::Class;
use crate::terms::{Lpn, PageRead, ReadOwner};
use base::Time;
use nand::geometry::Block;

/// States of the blocks of a drive at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockStates {
    /// Number of blocks that are in use.
    pub good: u64,
    /// Blocks among them that are erased.
    pub free: u64,
    /// Age of the oldest data of a block in hours, at the temperature that they have; data that are
    /// out of date count until their block is erased.
    pub oldest_hours: f64,
}

impl Ssd {
    /// A run begins: refresh and patrol go on.
    pub(super) fn begin_upkeep(&mut self) {
        if !self.failures.refresh.is_wanted() {
            return;
        }
        let dies = self.failures.refresh.begin(self.now());
        self.schedule_upkeep();
        for die in dies {
            self.collect_anew(die);
        }
        self.settle_wakes();
    }

    /// Begins nothing more until `resume_upkeep`. Returns whether upkeep was at work.
    pub(super) fn pause_upkeep(&mut self) -> bool {
        let was_on = self.failures.refresh.stop();
        self.schedule_upkeep();
        was_on
    }

    /// Ends a pause; upkeep goes on if it was at work before.
    pub(super) fn resume_upkeep(&mut self, was_on: bool) {
        self.failures.refresh.resume(was_on);
        self.schedule_upkeep();
    }

    /// Looks for old blocks at once, as all stored data have become older.
    pub(crate) fn look_again(&mut self) {
        self.failures.refresh.look_again(self.events.now());
        self.schedule_upkeep();
    }

    /// Time at which refresh or patrol has something to do; they rest in deterministic windows.
    fn refresh_due(&self) -> Time {
        if self.rests() { Time::LIMIT } else { self.failures.refresh.next() }
    }

    pub(super) fn schedule_upkeep(&mut self) {
        let look = self.supply.as_ref().map_or(Time::LIMIT, |supply| supply.next_look());
        self.upkeep_at = self.refresh_due().min(look).min(self.window_ends()).max(self.now());
    }

    /// Does the upkeep, the look at the supply, or the turn of windows that is due before the next
    /// event. Returns `Step::Idle` if there is no event.
    #[cold]
    pub(super) fn keep_up(&mut self) -> Option<Step> {
        let due = self.upkeep_at;
        // Time passes with the events of others only.
        let next = self.events.next_time().filter(|&next| next < Time::LIMIT);
        if due >= Time::LIMIT || next.is_none() {
            return Some(Step::Idle);
        }
        self.events.advance_to(due);
        self.look_at_supply();
        if self.window_ends() <= due {
            self.turn_windows();
            self.settle_wakes();
            self.note_idleness();
        }
        let is_alone = self.supply.is_none() && self.windows.is_none();
        if is_alone || self.refresh_due() <= due {
            self.flash.chips.advance_to(due);
            self.failures.refresh.look_for_old(&self.flash.chips, due);
            self.rewrite();
            self.settle_wakes();
            self.patrol();
            self.note_idleness();
        }
        self.schedule_upkeep();
        None
    }

    /// Does the looks at the supply that are due up to `time`, before which nothing else happens.
    pub(super) fn look_until(&mut self, time: Time) {
        while self.supply.is_some() && self.upkeep_at <= time {
            if self.refresh_due().min(self.window_ends()) <= self.upkeep_at {
                break;
            }
            self.events.advance_to(self.upkeep_at.max(self.now()));
            self.look_at_supply();
            self.schedule_upkeep();
        }
    }

    /// Has blocks of the queue of refresh rewritten, as far as dies are free for that.
    pub(super) fn rewrite(&mut self) {
        if self.failures.read_only.all_since().is_some() || self.rests() {
            return;
        }
        let Some(mut pass) = self.failures.refresh.begin_pass() else { return };
        loop {
            let Self { failures, flash, ftl, counts, .. } = self;
            let counts = &mut counts.refresh;
            let Failures { refresh, read_only, .. } = failures;
            let next = refresh.rewrite_next(&mut pass, flash, &mut **ftl, read_only, counts);
            let Some(die) = next else { break };
            self.collect_anew(die);
        }
        self.failures.refresh.end_pass(pass, &self.flash);
    }

    /// Does the patrol read that is due, if there is something to read.
    fn patrol(&mut self) {
        let now = self.now();
        let Self { failures, flash, ftl, .. } = self;
        let due = failures.refresh.patrol_due(&flash.chips, &**ftl, now);
        let Some((block, page)) = due else { return };
        let geometry = &flash.chips.geometry;
        let (ppn, units) = (geometry.ppn(block, page, 0), geometry.units_per_page);
        let (owner, lpn) = (ReadOwner::Patrol, Lpn::HOLE.0);
        self.read_flash(Class::Patrol, owner, ppn, lpn, units, Times::from(now));
    }

    /// A patrol read is done.
    pub(super) fn patrolled(&mut self, command: &Command) {
        let counts = &mut self.counts.refresh.patrol;
        counts.patrol_reads += 1;
        counts.array += command.times.array;
        counts.bus += command.times.bus;
        self.failures.refresh.patrolled(command.die, self.events.now());
        self.schedule_upkeep();
    }

    /// Notes a read that was not for collection, and has its block rewritten if that is due.
    #[inline]
    pub(super) fn note_read(&mut self, index: u32, corrected: bool) {
        let read = self.flash.read(index);
        let took_long = corrected && self.failures.reclaim.is_long(read.attempt);
        let is_poor = self.failures.refresh.is_poor(read.rber);
        if is_poor || took_long || self.failures.reclaim.counts_reads() {
            let read = *read;
            self.rewrite_if_due(&read, is_poor, took_long);
        }
    }

    #[inline(never)]
    fn rewrite_if_due(&mut self, read: &PageRead, is_poor: bool, took_long: bool) {
        if is_poor {
            self.found_poor(read, Reason::Rber);
        } else if took_long && read.is_patrol() {
            self.found_poor(read, Reason::Retries);
        } else {
            let Self { failures, flash, ftl, .. } = self;
            let chips = &flash.chips;
            if failures.reclaim.reclaim_if_due(read, took_long, chips, &mut **ftl) {
                let die = chips.geometry.die_of(chips.geometry.block_of(read.ppn));
                self.collect_anew(die);
            }
        }
    }

    /// A read has found a page of a block that is to be rewritten.
    fn found_poor(&mut self, read: &PageRead, reason: Reason) {
        let Self { failures, flash, ftl, .. } = self;
        if !failures.refresh.found_poor(read, reason, flash, &**ftl) {
            return;
        }
        self.counts.refresh.patrol_finds += u64::from(read.is_patrol());
        self.rewrite();
        self.failures.refresh.look_soon(self.events.now());
        self.schedule_upkeep();
    }

    /// Number of blocks that wait to be rewritten.
    pub fn blocks_to_refresh(&self) -> u64 {
        self.failures.refresh.waiting() as u64
    }

    /// States of the blocks in use, as of the last operation of the chips.
    pub fn block_states(&self) -> BlockStates {
        let chips = &self.flash.chips;
        let used = (0..chips.geometry.blocks()).map(Block).filter(|&block| !self.ftl.is_bad(block));
        let (mut states, mut oldest) = (BlockStates::default(), 0);
        for age in used.map(|block| chips.data_minutes(block)) {
            states.good += 1;
            states.free += u64::from(age.is_none());
            oldest = oldest.max(age.unwrap_or(0));
        }
        BlockStates { oldest_hours: f64::from(oldest) / MINUTES, ..states }
    }

    /// Units in the write buffer.
    pub fn buffered_units(&self) -> u32 {
        self.writer.buffer.held()
    }

    /// Age of the oldest data that the FTL keeps in hours, at the temperature that they have
    /// (slow).
    pub fn oldest_hours(&mut self) -> f64 {
        self.flash.chips.advance_to(self.events.now());
        let (chips, ftl) = (&self.flash.chips, &self.ftl);
        let units = (0..ftl.facts().logical_units).filter_map(|unit| ftl.lookup(Lpn(unit)));
        let mut is_used = vec![false; chips.geometry.blocks() as usize];
        units.for_each(|ppn| is_used[chips.geometry.block_of(ppn).0 as usize] = true);
        let used = (0..).zip(is_used).filter(|&(_, is_used)| is_used);
        let ages = used.filter_map(|(block, _)| chips.data_minutes(Block(block)));
        f64::from(ages.max().unwrap_or(0)) / MINUTES
    }
}
