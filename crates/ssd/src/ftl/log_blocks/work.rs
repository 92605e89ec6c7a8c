//! Internal work: the next step of each job.
//!
//! A job merges one logical block at a time, and erases what that leaves. It comes to an end after
//! each, so that work is shared out anew.

use super::LogBlocks;
use super::logs::State;
use crate::ftl::blocks::pool::NONE;
use crate::ftl::blocks::task::Task;
use crate::ftl::contract::{Job, Step, Work};

impl LogBlocks {
    fn index(&self, job: Job) -> Option<usize> {
        job.0.checked_sub(self.pool.layout.geometry.dies).map(|index| index as usize)
    }

    /// Index of the merge that a job copies for.
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
            && self.forced_queue.is_empty()
            && self.opened <= self.log_limit
            && !self.calls;
        if is_quiet || self.is_told {
            return None;
        }
        if !self.has_work() {
            // The logs that were looked through need not be looked through again.
            for at in 0..self.queued.len() {
                if self.is_searched(self.queued[at]) {
                    self.claim(self.queued[at]);
                }
            }
            return None;
        }
        let idle = self.tasks.iter().position(|task| task.is_idle())?;
        self.is_told = true;
        Some(Job(self.pool.layout.geometry.dies + idle as u32))
    }

    /// Whether there is work that no job is at.
    fn has_work(&self) -> bool {
        self.calls
            || !self.pool.dead.is_empty()
            || self.next_claim().is_some_and(|(log, _)| self.can_begin(log))
            || self.pool.can_leave(self.lent, self.reserve).is_some()
            || self.surplus().is_some()
            || self.forced_block().is_some()
    }

    /// Whether a log is searched for valid units.
    fn is_searched(&self, number: u32) -> bool {
        let log = self.logs.log(number);
        log.state == State::Queued && log.flying == 0 && log.scan != NONE
    }

    /// First log that a job can do something for, and the logical block to be merged; `NONE` if the
    /// log is empty.
    fn next_claim(&self) -> Option<(u32, u32)> {
        self.queued.iter().find_map(|&number| {
            let log = self.logs.log(number);
            if log.state == State::Filling {
                return (!self.is_merging[log.block as usize]).then_some((number, log.block));
            }
            if log.flying == 0 && self.places.live(log.target) == 0 {
                return (log.merges == 0).then_some((number, NONE));
            }
            let claim = if self.is_searched(number) { self.find_claim(number) } else { None };
            claim.map(|(block, _)| (number, block))
        })
    }

    /// Log to be emptied because there are more logs than there is room for.
    fn surplus(&self) -> Option<u32> {
        let is_due = self.opened - self.merging > self.log_limit && self.can_begin_full();
        is_due.then(|| self.oldest()).flatten()
    }

    /// Logical block that is to be moved, and can be now.
    fn forced_block(&self) -> Option<u32> {
        // Nothing leaves before there are as few logs as there is room for then.
        if self.forced_queue.is_empty() || self.opened > self.log_limit || !self.can_begin_full() {
            return None;
        }
        self.forced_queue.iter().find(|&&block| !self.is_merging[block as usize]).copied()
    }

    /// The next step of a job.
    pub(super) fn next_step(&mut self, job: Job, work: &mut Work) -> Step {
        self.is_told = false;
        work.clear();
        let Some(index) = self.index(job) else { return Step::Done };
        match self.tasks[index] {
            Task::Idle => self.take_work(index, work),
            Task::Copying => self.copy(index, work),
            Task::Erasing { goes_on: true } => self.copy_again(index, work),
            Task::Erasing { goes_on: false } => self.end_task(index),
        }
    }

    fn end_task(&mut self, index: usize) -> Step {
        self.tasks[index] = Task::Idle;
        self.active -= 1;
        Step::Done
    }

    /// Goes on with a merge.
    fn copy(&mut self, index: usize, work: &mut Work) -> Step {
        self.list(index, &mut work.moves);
        if !work.moves.is_empty() {
            return Step::Move;
        }
        let goes_on = !self.end_pass(index);
        self.tasks[index] = Task::Erasing { goes_on };
        self.pool.list_dead(&mut work.blocks);
        match work.blocks.is_empty() {
            false => Step::Erase,
            true if goes_on => self.copy_again(index, work),
            true => self.end_task(index),
        }
    }

    /// Copies once more, because failed programs have left data out of order.
    fn copy_again(&mut self, index: usize, work: &mut Work) -> Step {
        self.begin_pass(index);
        self.tasks[index] = Task::Copying;
        self.copy(index, work)
    }

    /// Gives a job work.
    fn take_work(&mut self, index: usize, work: &mut Work) -> Step {
        self.calls = false;
        loop {
            if !self.pool.dead.is_empty() {
                self.pool.list_dead(&mut work.blocks);
                if work.blocks.is_empty() {
                    self.demand.begin_anew();
                    continue;
                }
            } else if let Some(block) = self.pool.can_leave(self.lent, self.reserve) {
                self.pool.take_out(block);
                work.blocks.push(block);
            }
            if !work.blocks.is_empty() {
                self.tasks[index] = Task::Erasing { goes_on: false };
                self.active += 1;
                return Step::Erase;
            }
            let claim = self.next_claim().filter(|&(log, _)| self.can_begin(log));
            let (number, block) = if let Some((number, block)) = claim {
                let is_filled = self.logs.log(number).state == State::Filling;
                if !is_filled && self.conclude(number) {
                    continue;
                }
                (number, block)
            } else if let Some(log) = self.surplus() {
                self.queue(log);
                continue;
            } else if let Some(block) = self.forced_block() {
                (NONE, block)
            } else {
                return Step::Done;
            };
            self.begin(index, number, block);
            self.tasks[index] = Task::Copying;
            self.active += 1;
            return self.copy(index, work);
        }
    }
}
