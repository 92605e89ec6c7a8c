//! Internal work on dies and buses: the jobs of the FTL, step by step.
//!
//! A job reads from any dies and writes to any: garbage collection of a die is the job that stays
//! on it. Several run at once. What must wait for another job is parked until one has done a step.
//! `copyback` says which moves stay on the chip.

mod copyback;

use super::Ssd;
use super::wakes::Wake;
use crate::flash::command::{Command, EraseOwner, NONE, ProgramOwner, Purpose, Task, Times};
use crate::flash::scheduler::Class;
use crate::ftl::{
    self, Carried, Job, Lpn, Move, Place, Program, Reason, Step, Stream, Urgency, Work,
};
use crate::terms::{PageRead, ReadOwner};
use base::Error;
pub(super) use copyback::OnChip;
use copyback::Way;
use nand::chip::{BlockMode, Owned};
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};
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
    fn die_of(&self, job: Job) -> Option<Die> {
        (job.0 < self.flash.chips.geometry.dies).then_some(Die(job.0))
    }

    /// Whether anybody is shown the purpose of commands: a timeline, or blame.
    #[inline]
    fn shows_purposes(&self) -> bool {
        self.flash.timeline.is_on() || self.flash.blame.is_some()
    }

    /// Kind of data that a read fetches for `owner`, from unit `lpn` at place `from` on.
    #[inline]
    pub(super) fn purpose_of_read(&self, owner: ReadOwner, lpn: u32, from: Ppn) -> Purpose {
        match owner {
            _ if !self.shows_purposes() => Purpose::Data,
            ReadOwner::Patrol => Purpose::Data,
            ReadOwner::Job(_) if self.is_refreshed(from) => Purpose::Refresh,
            ReadOwner::Map(_) => Purpose::Map,
            _ if !self.units.has(Lpn(lpn)) => Purpose::Map,
            ReadOwner::Job(job) => self.purpose_of_job(job),
            _ => Purpose::Data,
        }
    }

    /// Kind of data that a program writes for `owner`, which lay at `from` before.
    #[inline]
    pub(super) fn purpose_of_program(&self, owner: ProgramOwner, from: Ppn) -> Purpose {
        match owner {
            ProgramOwner::Moves { job, .. } if self.shows_purposes() => {
                if self.is_refreshed(from) {
                    Purpose::Refresh
                } else {
                    self.purpose_of_job(job)
                }
            }
            _ => Purpose::Data,
        }
    }

    /// Kind of data that a job moves in its present step.
    fn purpose_of_job(&self, job: Job) -> Purpose {
        match self.jobs.states[job.0 as usize].reason {
            Reason::Levelling => Purpose::Level,
            Reason::Folding => Purpose::Fold,
            Reason::Space if self.die_of(job).is_none() => Purpose::Merge,
            Reason::Space => Purpose::Data,
        }
    }

    /// Whether the place of data lies in a block that is refreshed.
    #[inline]
    fn is_refreshed(&self, from: Ppn) -> bool {
        let refresh = &self.failures.refresh;
        refresh.any_under_way()
            && from != Ppn::NONE
            && refresh.is_under_way(self.flash.chips.geometry.block_of(from))
    }

    /// Whether a job may run: a drive that accepts no writes collects only while a request waits
    /// for space.
    #[inline]
    fn may_run(&self, job: Job) -> bool {
        !self.failures.is_read_only()
            || self.writer.has_work()
            || self.die_of(job).is_none()
            || self.exchanges.is_on()
    }

    /// Urgency of a job: `Idle` if internal work uses idle times and its die has time.
    #[inline]
    fn urgency(&self, job: Job) -> Urgency {
        if self.die_of(job).is_some_and(|die| self.has_time(die)) {
            Urgency::Idle
        } else {
            Urgency::Due
        }
    }

    fn stop_job(&mut self, job: Job) {
        let state = self.jobs.state(job);
        (state.is_busy, state.effort) = (false, 0);
        self.jobs.busy -= 1;
        if self.exchanges.is_served_by(job) {
            self.evacuation_rests();
        }
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
                let is_copied = self.jobs.on_chip.is_some() && self.plan_copy(job, &mut work.moves);
                if self.power.is_some() {
                    self.note_moves(job, &work);
                }
                if !is_copied {
                    self.read_moves(job, &work.moves);
                }
            }
            Step::Erase => self.erase(job, &work.blocks),
            Step::Recycle => self.ftl.recycled(&work.blocks),
            Step::Wait => self.jobs.parked.push(Parked::Step(job)),
        }
        let is_empty = step == Step::Move && self.jobs.state(job).pending == 0;
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

    /// Notes the out-of-band data of units that a job moves: the numbers of their data, or new
    /// ones. To be done before they are read: when their copies are programmed, the originals may
    /// be invalid and erased.
    #[cold]
    fn note_moves(&mut self, job: Job, work: &Work) {
        let chips = &self.flash.chips;
        let Some(power) = &mut self.power else { return };
        let owned = work.moves.iter().map(|&Move { lpn: Lpn(owner), from }| {
            if owner == Lpn::HOLE.0 {
                return Owned::PADDING;
            }
            match (from != Ppn::NONE).then(|| chips.oob(from)).flatten() {
                Some(oob) if !work.is_new => Owned { owner, ..oob.unit },
                _ => Owned { owner, sequence: power.number(), is_lost: false },
            }
        });
        let owned = owned.collect();
        self.jobs.state(job).owned = owned;
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

    fn read_moves(&mut self, job: Job, moves: &[Move]) {
        let mut rest = moves;
        while let Some(&first) = rest.first() {
            if first.from == Ppn::NONE {
                rest = &rest[1..];
                continue;
            }
            let geometry = &self.flash.chips.geometry;
            let page = geometry.page_index(first.from);
            let same =
                |unit: &&Move| unit.from != Ppn::NONE && geometry.page_index(unit.from) == page;
            let units = rest.iter().take_while(same).count();
            // A job may list the units of a page in any order.
            let first = rest[..units].iter().min_by_key(|unit| unit.from.0).unwrap_or(&first);
            let (ppn, lpn) = (first.from, first.lpn.0);
            self.jobs.state(job).pending += 1;
            rest = &rest[units..];
            let units = units as u32;
            let earlier = Times::from(self.now());
            self.read_flash(Class::Collect, ReadOwner::Job(job), ppn, lpn, units, earlier);
        }
    }

    /// Notes units as lost whose codewords could not be corrected, if this is a read of a job.
    /// Units that the host has written anew since are not lost.
    #[cold]
    pub(super) fn lose_moved(&mut self, index: u32) {
        let Command { die, task, .. } = self.flash.commands[index];
        let Task::Read(PageRead { owner: ReadOwner::Job(job), ppn, units, failed, .. }) = task
        else {
            return;
        };
        let geometry = &self.flash.chips.geometry;
        let codewords = self.codes.words(&self.flash.chips, die);
        let is_lost = |unit: Ppn| {
            let words = codewords.among(geometry, ppn, unit);
            self.reader.failed_words(failed).iter().any(|failed| words.contains(&failed.word))
        };
        for unit in &self.jobs.states[job.0 as usize].work.moves {
            if (ppn.0..ppn.0 + units).contains(&unit.from.0)
                && is_lost(unit.from)
                && self.units.has(unit.lpn)
                && self.ftl.lookup(unit.lpn) == Some(unit.from)
            {
                self.failures.lost.insert(unit.lpn);
            }
        }
    }

    /// A page that a job moves has been read.
    pub(super) fn move_read(&mut self, job: Job) {
        let state = self.jobs.state(job);
        state.pending -= 1;
        if state.pending == 0 {
            let units = 0..state.work.moves.len();
            self.program_moves(job, units);
        }
    }

    /// Places some of the units that a job moves, and programs them.
    fn program_moves(&mut self, job: Job, mut units: Range<usize>) {
        let work = std::mem::take(&mut self.jobs.state(job).work);
        while !units.is_empty() {
            // Also where there is no place: until the run ends with that the job does no more, or
            // it would erase what has not been moved.
            self.jobs.state(job).pending += 1;
            match self.ftl.place_moves(job, &work.moves[units.clone()]) {
                Place::At(program) => {
                    let (first, from) = (units.start as u32, work.moves[units.start].from);
                    let copy = match self.jobs.state(job).way {
                        Way::Controller => NONE,
                        _ => self.begin_copy(job, &program, &work.moves[units.clone()]),
                    };
                    self.program_copy(program, ProgramOwner::Moves { job, first }, from, copy);
                    units.start += program.units as usize;
                }
                Place::Later(_) => {
                    self.jobs.parked.push(Parked::Moves(job, units));
                    break;
                }
                Place::NoRoom => {
                    let error = self.no_place(job);
                    self.flash.fault.get_or_insert(error);
                    break;
                }
            }
        }
        self.jobs.state(job).work = work;
        self.wakes.wake(Wake::Jobs);
    }

    /// A job has no place for the data that it moves: failed programs took the space, or the FTL is
    /// broken.
    #[cold]
    fn no_place(&self, job: Job) -> Error {
        let failed: u64 = self.jobs.states.iter().map(|state| state.failed_rows).sum();
        if failed == 0 {
            return Error::new("ftl", "no place for data that collection moves");
        }
        let name = ftl::name_of(job, self.flash.chips.geometry.dies);
        let problem =
            format!("{failed} failed programs left {name} without free blocks for collection");
        Error::new("chip.fault.program_failure_chance", problem)
            .hint("use a smaller chance, or more ftl.gc_reserve_blocks")
    }

    /// A program of a job is done.
    pub(super) fn moved(&mut self, program: &Program, job: Job, first: u32) {
        let work = std::mem::take(&mut self.jobs.state(job).work);
        let moved = &work.moves[first as usize..(first + program.units) as usize];
        self.exchanges.moved(job, program.units);
        if self.failures.refresh.any_under_way() {
            let refreshed = moved.iter().filter(|unit| self.is_refreshed(unit.from));
            self.counts.refresh.units += refreshed.count() as u64;
        }
        self.ftl.programmed(program, Carried::Moves(job, moved));
        if let Some(versions) = &mut self.versions {
            for (i, unit) in moved.iter().enumerate().filter(|(_, unit)| unit.from != Ppn::NONE) {
                let to = program.ppn(&self.flash.chips.geometry, i as u32);
                versions.copy(unit.from, to);
                if let Some(words) = &mut self.flash.words {
                    words.copy(unit.from, to);
                }
            }
        }
        if self.power.is_some() {
            let units = first as usize..(first + program.units) as usize;
            self.note_owners(program, |drive, owned| {
                owned.extend_from_slice(&drive.jobs.state(job).owned[units]);
                for unit in owned.iter_mut().filter(|unit| **unit != Owned::PADDING) {
                    unit.is_lost |= drive.failures.lost.any(unit.owner, 1);
                }
            });
        }
        self.jobs.state(job).work = work;
        self.move_done(job);
    }

    /// A program that a job waits for has ended.
    fn move_done(&mut self, job: Job) {
        let state = self.jobs.state(job);
        state.pending -= 1;
        if state.pending == 0 {
            self.go_on(job);
            if self.die_of(job).is_some_and(|die| self.catch_up(die)) {
                self.wakes.wake(Wake::Rows);
            }
            self.wakes.step_done();
        }
    }

    /// Data that a job moves, from this move on, are to be programmed elsewhere.
    #[cold]
    pub(super) fn move_elsewhere(&mut self, program: &Program, job: Job, first: u32) {
        let units = first as usize..(first + program.units) as usize;
        let state = self.jobs.state(job);
        state.failed_rows += 1;
        let carried = Carried::Moves(job, &state.work.moves[units.clone()]);
        self.ftl.not_programmed(program, carried);
        if units.is_empty() {
            // The drive's own data are not written again.
            return self.move_done(job);
        }
        self.jobs.state(job).pending -= 1;
        if self.jobs.on_chip.is_some() && self.fetch_failed_copy(job) {
            return;
        }
        self.program_moves(job, units);
    }

    /// Erases blocks for a job: those of one die that follow each other by one command.
    fn erase(&mut self, job: Job, blocks: &[Block]) {
        if self.power.is_some() && self.waits_to_erase(job, blocks) {
            // Until then the step is not over.
            self.jobs.state(job).pending += 1;
            return;
        }
        self.erase_now(job, blocks);
    }

    /// Erases blocks for a job, without waiting for anything.
    pub(super) fn erase_now(&mut self, job: Job, blocks: &[Block]) {
        let mut rest = blocks;
        while let Some(&first) = rest.first() {
            let geometry = &self.flash.chips.geometry;
            let die = geometry.die_of(first);
            let count = together(geometry, rest);
            let mut erased = [Block(0); MAX_PLANES];
            erased[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            let (planes, stream, mode) = (count as u8, Stream::GC, BlockMode::Native);
            let program = Program { die, units: 0, page: 0, planes, stream, mode, blocks: erased };
            let program = self.flash.programs.insert(program);
            let owner = EraseOwner::Job(job);
            let command = Command::erase(program, owner, Class::Collect, die, self.now());
            let index = self.flash.hold(command);
            self.jobs.state(job).pending += 1;
            self.flash.submit(&mut self.events, index);
        }
    }

    /// Blocks of a job's die can be programmed again: as after an erase, but nothing was
    /// waited for.
    #[cold]
    fn recycled(&mut self, job: Job) {
        self.go_on(job);
        if let Some(die) = self.die_of(job) {
            self.catch_up(die);
            self.unblock(die);
        }
        self.writer.buffer.rows.wake_erase();
        self.wakes.step_done();
        self.wakes.wake(Wake::Rows);
    }

    /// An erase is done.
    pub(super) fn erased(&mut self, index: u32) {
        let command = self.flash.commands.remove(index);
        let Task::Erase { place, owner } = command.task else { unreachable!("an erase") };
        let program = self.flash.programs.remove(place);
        let job = match owner {
            EraseOwner::Log => return self.log_erased(&program),
            EraseOwner::Scan => return self.spoilt_erased(),
            EraseOwner::Job(job) => job,
        };
        let mut others_wait = false;
        for &block in program.blocks() {
            if self.flash.chips.has_failed(block) {
                self.flash.counts.failed_erases += 1;
                let now = self.now();
                self.failures.give_up(block, &mut *self.ftl, now);
            }
            self.ftl.erased(block);
            self.failures.reclaim.erased(block);
            others_wait |= self.failures.refresh.erased(block);
        }
        let state = self.jobs.state(job);
        state.pending -= 1;
        if state.pending == 0 {
            self.go_on(job);
            if let Some(die) = self.die_of(job).filter(|&die| die != command.die) {
                // It may have erased blocks of other dies last.
                self.catch_up(die);
            }
        }
        self.catch_up(command.die);
        self.unblock(command.die);
        self.writer.buffer.rows.wake_erase();
        self.wakes.step_done();
        self.wakes.wake(Wake::Rows);
        if others_wait {
            self.wakes.wake(Wake::Refresh);
        }
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

/// Number of leading `blocks` that lie on one die, in different planes.
fn together(geometry: &Geometry, blocks: &[Block]) -> usize {
    let die = geometry.die_of(blocks[0]);
    let is_new = |i: usize| {
        let plane = geometry.plane_of(blocks[i]);
        geometry.die_of(blocks[i]) == die
            && blocks[..i].iter().all(|&other| geometry.plane_of(other) != plane)
    };
    (0..blocks.len()).take_while(|&i| i < MAX_PLANES && is_new(i)).count()
}

#[cfg(test)]
mod tests;
