//! Internal work: the next step of each job.
//!
//! A job collects one superblock, and erases what that leaves. It comes to an end after each, so
//! that work is shared out anew.

use super::Superblocks;
use super::group::State;
use super::pass::Kind;
use crate::ftl::blocks::task::Task;
use crate::ftl::contract::{Job, Step, Work};

impl Superblocks {
    fn index(&self, job: Job) -> Option<usize> {
        job.0.checked_sub(self.pool.layout.geometry.dies).map(|index| index as usize)
    }

    /// Index of the pass that a job copies for.
    pub(super) fn copying(&self, job: Job) -> Option<usize> {
        self.index(job).filter(|&index| self.tasks[index] == Task::Copying)
    }

    /// Whether a job has work.
    pub(super) fn job_wants(&self, job: Job) -> bool {
        self.index(job).is_some_and(|index| !self.tasks[index].is_idle() || self.has_work())
    }

    /// Next job that has work and has not been named.
    pub(super) fn job_wanted(&mut self) -> Option<Job> {
        let is_quiet = self.pool.dead.is_empty()
            && self.queued.is_empty()
            && self.pool.leaving.is_empty()
            && self.forced.is_empty()
            && self.used <= self.log_limit;
        if is_quiet || self.is_told || !self.has_work() {
            return None;
        }
        let idle = self.tasks.iter().position(|task| task.is_idle())?;
        self.is_told = true;
        Some(Job(self.pool.layout.geometry.dies + idle as u32))
    }

    /// Whether there is work that no job is at.
    pub(super) fn has_work(&self) -> bool {
        !self.pool.dead.is_empty()
            || (!self.queued.is_empty() && self.can_begin())
            || self.pool.can_leave(self.lent, self.reserve).is_some()
            || self.surplus().is_some()
            || self.forced_group().is_some()
    }

    /// Whether there is room to begin with a pass: virtual blocks are left for what failed programs
    /// take, unless nobody else is at work.
    pub(super) fn can_begin(&self) -> bool {
        self.pool.free_total >= super::LEAST_RESERVE || self.active == 0
    }

    /// Superblock that is to give an update block back because there are more than there is room
    /// for.
    fn surplus(&self) -> Option<u32> {
        let is_due = self.used > self.log_limit + self.giving && self.can_begin();
        is_due.then(|| self.oldest()).flatten()
    }

    /// The next step of a job.
    pub(super) fn next_step(&mut self, job: Job, work: &mut Work) -> Step {
        self.is_told = false;
        work.clear();
        let Some(index) = self.index(job) else { return Step::Done };
        match self.tasks[index] {
            Task::Idle => self.take_work(index, work),
            Task::Copying | Task::Erasing { goes_on: true } => self.copy(index, work),
            Task::Erasing { goes_on: false } => self.end_task(index),
        }
    }

    fn end_task(&mut self, index: usize) -> Step {
        self.tasks[index] = Task::Idle;
        self.active -= 1;
        Step::Done
    }

    /// Goes on with a pass.
    fn copy(&mut self, index: usize, work: &mut Work) -> Step {
        loop {
            self.bury_emptied(index);
            let goes_on = !self.is_emptied(index);
            if !goes_on {
                self.end_pass(index);
            }
            self.pool.list_dead(&mut work.blocks);
            self.tasks[index] = Task::Erasing { goes_on };
            if !work.blocks.is_empty() {
                return Step::Erase;
            }
            if !goes_on {
                return self.end_task(index);
            }
            self.tasks[index] = Task::Copying;
            self.list(index, &mut work.moves);
            if !work.moves.is_empty() {
                return Step::Move;
            }
        }
    }

    /// Gives a job work.
    fn take_work(&mut self, index: usize, work: &mut Work) -> Step {
        loop {
            if !self.pool.dead.is_empty() {
                self.pool.list_dead(&mut work.blocks);
            } else if let Some(block) = self.pool.can_leave(self.lent, self.reserve) {
                self.pool.take_out(block);
                work.blocks.push(block);
            }
            if !work.blocks.is_empty() {
                self.tasks[index] = Task::Erasing { goes_on: false };
                self.active += 1;
                return Step::Erase;
            }
            let (group, kind) = if let Some(&group) = self.queued.front()
                && self.can_begin()
                && let State::Queued(kind) = self.groups[group as usize].state
            {
                self.queued.pop_front();
                (group, kind)
            } else if let Some(group) = self.surplus() {
                self.queue(group, Kind::Full);
                continue;
            } else if let Some(group) = self.forced_group() {
                (group, Kind::Forced)
            } else {
                return Step::Done;
            };
            if !self.begin(index, group, kind) {
                self.stop(group, kind);
                continue;
            }
            self.active += 1;
            return self.copy(index, work);
        }
    }

    /// Gives a superblock back to the host, as nothing is to be done for it.
    fn stop(&mut self, group: u32, kind: Kind) {
        self.groups[group as usize].state = State::Open;
        self.calls.call(group);
        self.giving -= u32::from(kind == Kind::Full);
    }
}
