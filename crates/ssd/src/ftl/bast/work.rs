//! Internal work: what each job does next.
//!
//! A job merges one log at a time, and erases what that leaves. It comes to an end after each, so
//! that work is shared out anew.

use super::Bast;
use super::log::State;
use super::pool::NONE;
use crate::ftl::contract::{Job, Step, Work};
use nand::geometry::Block;

/// What a job is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Idle,
    /// It copies what belongs to a log.
    Copying(u32),
    /// It erases blocks, and then goes on with a log, if any.
    Erasing(Option<u32>),
}

impl Task {
    pub(super) fn is_idle(self) -> bool {
        self == Self::Idle
    }

    /// The log that it is at.
    pub(super) fn log(self) -> Option<u32> {
        match self {
            Self::Copying(log) => Some(log),
            Self::Idle | Self::Erasing(_) => None,
        }
    }
}

impl Bast {
    fn index(&self, job: Job) -> Option<usize> {
        job.0.checked_sub(self.pool.layout.geometry.dies).map(|index| index as usize)
    }

    /// The log that a job copies.
    pub(super) fn log_of_job(&self, job: Job) -> Option<u32> {
        self.index(job).and_then(|index| self.tasks[index].log())
    }

    /// Whether a job has work.
    pub(super) fn job_wants(&self, job: Job) -> bool {
        self.index(job).is_some_and(|index| !self.tasks[index].is_idle() || self.has_work())
    }

    /// A job that has work and does not know.
    pub(super) fn job_wanted(&mut self) -> Option<Job> {
        let is_quiet = self.pool.dead.is_empty()
            && self.queued.is_empty()
            && self.pool.leaving.is_empty()
            && self.forced_queue.is_empty()
            && self.opened <= self.log_limit;
        if is_quiet || self.is_told || !self.has_work() {
            return None;
        }
        let idle = self.tasks.iter().position(|task| task.is_idle())?;
        self.is_told = true;
        Some(Job(self.pool.layout.geometry.dies + idle as u32))
    }

    /// Whether there is work that no job is at.
    fn has_work(&self) -> bool {
        !self.pool.dead.is_empty()
            || self.queued.front().is_some_and(|&log| self.can_begin(log))
            || self.can_leave().is_some()
            || self.surplus().is_some()
            || self.forced_block().is_some()
    }

    /// A log to be merged because there are more than there is room for.
    fn surplus(&self) -> Option<u32> {
        let is_due = self.opened - self.merging > self.log_limit && self.can_begin_full();
        is_due.then(|| self.oldest()).flatten()
    }

    /// A free block that is to leave, and without which there are enough.
    fn can_leave(&self) -> Option<Block> {
        let leaving = self.pool.leaving.iter().copied();
        leaving.into_iter().find(|&block| self.pool.is_leaving(block) && self.can_go(block))
    }

    /// The next step of a job.
    pub(super) fn next_step(&mut self, job: Job, work: &mut Work) -> Step {
        self.is_told = false;
        work.clear();
        let Some(index) = self.index(job) else { return Step::Done };
        match self.tasks[index] {
            Task::Idle => self.take_work(index, work),
            Task::Copying(log) => self.copy(index, log, work),
            Task::Erasing(Some(log)) => self.copy_again(index, log, work),
            Task::Erasing(None) => self.end_task(index),
        }
    }

    fn end_task(&mut self, index: usize) -> Step {
        self.tasks[index] = Task::Idle;
        self.active -= 1;
        Step::Done
    }

    /// Goes on with a merge.
    fn copy(&mut self, index: usize, log: u32, work: &mut Work) -> Step {
        self.list(log, &mut work.moves);
        if !work.moves.is_empty() {
            return Step::Move;
        }
        let is_done = self.end_pass(log);
        self.tasks[index] = Task::Erasing((!is_done).then_some(log));
        self.pool.list_dead(&mut work.blocks);
        match work.blocks.is_empty() {
            false => Step::Erase,
            true if is_done => self.end_task(index),
            true => self.copy_again(index, log, work),
        }
    }

    /// What failed programs have left out of order is copied once more.
    fn copy_again(&mut self, index: usize, log: u32, work: &mut Work) -> Step {
        self.begin_pass(log);
        self.tasks[index] = Task::Copying(log);
        self.copy(index, log, work)
    }

    /// Gives a job work.
    fn take_work(&mut self, index: usize, work: &mut Work) -> Step {
        loop {
            if !self.pool.dead.is_empty() {
                self.pool.list_dead(&mut work.blocks);
                if work.blocks.is_empty() {
                    self.new_epoch();
                    continue;
                }
            } else if let Some(block) = self.can_leave() {
                self.pool.take_out(block);
                work.blocks.push(block);
            }
            if !work.blocks.is_empty() {
                self.tasks[index] = Task::Erasing(None);
                self.active += 1;
                return Step::Erase;
            }
            let log = if let Some(&log) = self.queued.front().filter(|&&log| self.can_begin(log)) {
                self.queued.pop_front();
                log
            } else if let Some(log) = self.surplus() {
                log
            } else if let Some(block) = self.forced_block() {
                match self.log_of[block as usize] {
                    NONE if self.data.of(block) == NONE => {
                        self.unforce(block);
                        continue;
                    }
                    NONE => {
                        self.log_of[block as usize] = self.logs.take(block, NONE, 0);
                        self.log_of[block as usize]
                    }
                    log => log,
                }
            } else {
                return Step::Done;
            };
            if self.begin(log) {
                self.tasks[index] = Task::Copying(log);
                self.active += 1;
                return self.copy(index, log, work);
            }
        }
    }

    /// A logical block that is to be moved, and can be now.
    fn forced_block(&self) -> Option<u32> {
        // Nothing leaves before there are as few logs as there is room for then.
        if self.forced_queue.is_empty() || self.opened > self.log_limit || !self.can_begin_full() {
            return None;
        }
        let can_move = |&&block: &&u32| match self.log_of[block as usize] {
            NONE => true,
            log => {
                let log = self.logs.log(log);
                log.state == State::Open && log.flying == 0
            }
        };
        self.forced_queue.iter().find(can_move).copied()
    }
}
