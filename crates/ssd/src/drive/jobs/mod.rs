//! Internal work on dies and buses: the jobs of the FTL, step by step.
//!
//! A job reads from any dies and writes to any: garbage collection of a die is the job that stays
//! on it. Several run at once. What must wait for another job is parked until one has done a step.
//! `moves` moves the units of a step, `erases` erases its blocks; `copyback` says which moves stay
//! on the chip, `purpose` what kind of data commands carry.

mod copyback;
mod erases;
mod moves;
mod purpose;

use super::Ssd;
use super::wakes::Wake;
use crate::ftl;
use crate::terms::{Job, Move, Reason, Step, Urgency, Work};
pub(super) use copyback::OnChip;
use copyback::Way;
use nand::chip::Owned;
use nand::geometry::{Die, Plane};
use std::ops::Range;

/// A job that may be under way.
#[derive(Default)]
struct State {
    is_busy: bool,
    work: Work,
    /// Why its last step moves units.
    reason: Reason,
    /// Out-of-band data of the units that the job moves, where the drive can lose power.
    owned: Vec<Owned>,
    /// Reads, programs or erases of its step that are not done, and moves that wait for a place.
    pending: u32,
    /// Steps, and units moved in them, since it began or the host last wrote to its die.
    effort: u64,
    /// Failed programs of its die, which have taken room and hold no data.
    failed_rows: u64,
    /// Way in which the moves of its step go.
    way: Way,
    /// Codewords of the step's moves in which the controller has found errors.
    dirty_words: u32,
    /// Dies keep the data of the step's moves until they are programmed.
    is_kept: bool,
}

/// A job that waits, and its next action.
enum Parked {
    /// Next step of the job.
    Step(Job),
    /// Placement of some of the job's moves.
    Moves(Job, Range<usize>),
}

/// All jobs of the FTL, and where they stand.
pub(super) struct Jobs {
    states: Vec<State>,
    /// Number of busy jobs.
    busy: u32,
    parked: Vec<Parked>,
    /// Working space: parked jobs that go on.
    going_on: Vec<Parked>,
    /// Copies inside dies, where the drive makes them.
    pub(super) on_chip: Option<Box<OnChip>>,
    /// A job has come to its end without a step.
    pub(super) has_ended: bool,
}

impl Jobs {
    /// Creates `count` jobs, none of them under way.
    pub(super) fn new(count: u32, on_chip: Option<Box<OnChip>>) -> Self {
        let states = (0..count).map(|_| State::default()).collect();
        let (parked, going_on) = (Vec::new(), Vec::new());
        Self { states, busy: 0, parked, going_on, on_chip, has_ended: false }
    }

    /// Whether a job is under way.
    #[inline]
    pub(super) fn is_busy(&self, job: Job) -> bool {
        self.states[job.0 as usize].is_busy
    }

    /// Whether any job is under way.
    #[inline]
    pub(super) fn any_busy(&self) -> bool {
        self.busy > 0
    }

    #[inline]
    fn state(&mut self, job: Job) -> &mut State {
        &mut self.states[job.0 as usize]
    }

    /// Data of the host go to a die: collecting it has a reason to go on.
    #[inline]
    pub(super) fn host_writes_to(&mut self, die: Die) {
        self.state(Job::of(die)).effort = 0;
    }

    /// Whether moves of a step of such a job wait for a place: other jobs make it, in a window too.
    fn has_parked_moves(&self, is_such: impl Fn(Job) -> bool) -> bool {
        let waits = |parked: &Parked| matches!(parked, Parked::Moves(job, _) if is_such(*job));
        self.parked.iter().any(waits)
    }

    /// A job waits no longer for what it depends on to be noted.
    pub(super) fn noted(&mut self, job: Job) {
        self.state(job).pending -= 1;
    }

    /// Moves that a program of a job carries.
    pub(super) fn moves(&self, job: Job, first: u32, units: u32) -> Vec<Move> {
        let moves = &self.states[job.0 as usize].work.moves;
        moves[first as usize..(first + units) as usize].to_vec()
    }

    /// Counts a program of the job's die that has failed, and holds no data.
    pub(super) fn row_failed(&mut self, job: Job) {
        self.state(job).failed_rows += 1;
    }
}

impl Ssd {
    /// Starts a job, if it has work and is not under way.
    #[inline]
    pub(super) fn start_job(&mut self, job: Job) {
        if !self.jobs.is_busy(job) && self.may_run(job) && self.ftl.wants(job, self.urgency(job)) {
            self.jobs.state(job).is_busy = true;
            self.jobs.busy += 1;
            self.job_begins(job);
            self.go_on(job);
        }
    }

    /// Starts the jobs that the FTL names.
    #[inline]
    pub(super) fn start_named(&mut self) {
        while let Some(job) = self.ftl.wanted() {
            if self.jobs.is_busy(job) {
                self.unpark(job);
            } else {
                self.start_job(job);
                if !self.jobs.is_busy(job) {
                    // Nothing else tells those that wait for it.
                    self.jobs.has_ended = true;
                    self.wakes.wake(Wake::Rows);
                }
            }
        }
    }

    /// Takes up a parked job, as it has something else to do.
    #[cold]
    pub(super) fn unpark(&mut self, job: Job) {
        let is_it = |parked: &Parked| match parked {
            Parked::Step(other) | Parked::Moves(other, _) => *other == job,
        };
        if let Some(at) = self.jobs.parked.iter().position(is_it) {
            let parked = self.jobs.parked.swap_remove(at);
            self.resume(parked);
        }
    }

    /// Die that a job collects; `None` for a job of no die.
    #[inline]
    pub(super) fn die_of(&self, job: Job) -> Option<Die> {
        (job.0 < self.flash.chips.geometry.dies).then_some(Die(job.0))
    }

    /// Whether a job may run: none does in a deterministic window. A set of dies that accepts no
    /// writes collects only while a request waits for space.
    #[inline]
    fn may_run(&self, job: Job) -> bool {
        if self.rests(job) && !self.jobs.has_parked_moves(|other| self.rests_with(job, other)) {
            return false;
        }
        let read_only = &self.failures.read_only;
        let is_waited_for = self.writer.has_work() || self.writer.unwhole.waits();
        if !read_only.is_any() || is_waited_for || self.exchanges.is_on() {
            return true;
        }
        let geometry = &self.flash.chips.geometry;
        let first = |die: Die| geometry.first_block(Plane(die.0 * geometry.planes_per_die));
        self.die_of(job).is_none_or(|die| !read_only.has_block(first(die)))
    }

    /// Urgency of a job: `Idle` if internal work uses idle times and its die has time, or if it
    /// runs ahead of a window.
    #[inline]
    fn urgency(&self, job: Job) -> Urgency {
        let has_time = |die| self.has_windows(job) || self.has_time(die);
        if self.die_of(job).is_some_and(has_time) { Urgency::Idle } else { Urgency::Due }
    }

    fn stop_job(&mut self, job: Job) {
        let state = self.jobs.state(job);
        (state.is_busy, state.effort) = (false, 0);
        self.jobs.busy -= 1;
        if self.exchanges.is_served_by(job) {
            self.evacuation_rests();
        }
        if self.failed_dies.any_holds_data() {
            self.look_at_failed_dies();
        }
        self.job_ends(job);
    }

    /// Does the next step of a job.
    fn go_on(&mut self, job: Job) {
        let urgency = self.urgency(job);
        if !self.may_run(job) || !self.ftl.wants(job, urgency) {
            self.stop_job(job);
            return;
        }
        let mut work = std::mem::take(&mut self.jobs.state(job).work);
        let step = self.ftl.step(job, urgency, &mut work);
        self.jobs.state(job).reason = work.reason;
        let is_endless = self.is_endless(job, work.moves.len());
        match step {
            Step::Done => self.stop_job(job),
            // A broken FTL or policy: the run ends with this. Until then the job does no more.
            _ if is_endless => {
                self.flash.fault.get_or_insert(ftl::endless());
            }
            Step::Move => {
                if work.reason == Reason::Rebuild {
                    self.pay_for_rebuild(work.moves.len());
                }
                let is_copied = self.jobs.on_chip.is_some() && self.plan_copy(job, &mut work.moves);
                if self.power.is_some() {
                    self.note_moves(job, &work);
                }
                if !is_copied {
                    self.read_moves(job, &work.moves);
                }
            }
            Step::Fill => {}
            Step::Erase => self.erase(job, &work.blocks),
            Step::Recycle => self.ftl.recycled(&work.blocks),
            Step::Wait => self.jobs.parked.push(Parked::Step(job)),
        }
        let is_empty =
            step == Step::Fill || step == Step::Move && self.jobs.state(job).pending == 0;
        let units = 0..work.moves.len();
        self.jobs.state(job).work = work;
        if is_empty && !is_endless {
            // There is nothing to be read for what it writes.
            self.program_moves(job, units);
        } else if step == Step::Wait {
            self.wakes.wake(Wake::Jobs);
        } else if step == Step::Recycle {
            self.recycled(job);
        }
    }

    /// Whether a job, with another step of this many moves, makes no progress.
    fn is_endless(&mut self, job: Job, moves: usize) -> bool {
        let geometry = &self.flash.chips.geometry;
        let units = match self.die_of(job) {
            Some(_) => {
                geometry.planes_per_die * geometry.blocks_per_plane * geometry.units_per_block()
            }
            None => geometry.units(),
        };
        let effort = &mut self.jobs.state(job).effort;
        *effort += 1 + moves as u64;
        *effort > ftl::most_effort(units.into())
    }

    /// A job has done a step: rows that wait for one may go.
    pub(super) fn wake_rows_of_jobs(&mut self) {
        self.jobs.has_ended = false;
        if self.wake_called() | self.writer.buffer.rows.wake_job() {
            self.wakes.wake(Wake::Rows);
        }
    }

    /// A job has done a step: jobs that wait for one go on.
    pub(super) fn go_on_parked(&mut self) {
        if self.jobs.parked.is_empty() {
            return;
        }
        let spare = std::mem::take(&mut self.jobs.going_on);
        let mut going_on = std::mem::replace(&mut self.jobs.parked, spare);
        going_on.drain(..).for_each(|parked| self.resume(parked));
        self.jobs.going_on = going_on;
    }

    fn resume(&mut self, parked: Parked) {
        match parked {
            Parked::Step(job) => self.go_on(job),
            Parked::Moves(job, units) => {
                self.jobs.state(job).pending -= 1;
                self.program_moves(job, units);
            }
        }
    }

    /// New data of the host arrived: long collection of a die now has a reason.
    pub(super) fn collect_anew(&mut self, die: Die) {
        self.jobs.host_writes_to(die);
        self.wakes.collect(die);
        self.wakes.wake(Wake::Jobs);
    }
}

#[cfg(test)]
mod tests;
