//! Moves of a job: units are read, placed again and programmed.

use super::Parked;
use super::copyback::Way;
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::flash::command::{Command, NONE, ProgramOwner, Task, Times};
use crate::flash::scheduler::Class;
use crate::ftl;
use crate::terms::{Carried, Job, Lpn, Move, PageRead, Place, Program, ReadOwner, Work};
use base::Error;
use nand::chip::Owned;
use nand::geometry::{Die, Ppn};
use std::ops::Range;

impl Ssd {
    /// Notes the out-of-band data of units that a job moves: the numbers of their data, or new
    /// ones. To be done before they are read: when their copies are programmed, the originals may
    /// be invalid and erased.
    #[cold]
    pub(super) fn note_moves(&mut self, job: Job, work: &Work) {
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

    pub(super) fn read_moves(&mut self, job: Job, moves: &[Move]) {
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
            // Copies of the pages of a map are on pages of their own.
            let is_apart = !self.units.has(first.lpn)
                && self.failed_dies.has(geometry.die_of(geometry.block_of(first.from)));
            let most = if is_apart { 1 } else { rest.len() };
            let units = rest[..most].iter().take_while(same).count();
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
    pub(in crate::drive) fn lose_moved(&mut self, index: u32) {
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
    pub(in crate::drive) fn move_read(&mut self, job: Job) {
        let state = self.jobs.state(job);
        state.pending -= 1;
        if state.pending == 0 {
            let units = 0..state.work.moves.len();
            self.program_moves(job, units);
        }
    }

    /// Places some of the units that a job moves, and programs them: without units one row that
    /// has no data.
    pub(super) fn program_moves(&mut self, job: Job, mut units: Range<usize>) {
        let work = std::mem::take(&mut self.jobs.state(job).work);
        let mut is_fill = units.is_empty();
        while std::mem::take(&mut is_fill) || !units.is_empty() {
            // Also where there is no place: until the run ends with that the job does no more, or
            // it would erase what has not been moved.
            self.jobs.state(job).pending += 1;
            match self.ftl.place_moves(job, &work.moves[units.clone()]) {
                Place::At(program) => {
                    let first = units.start as u32;
                    let from = work.moves.get(units.start).map_or(Ppn::NONE, |unit| unit.from);
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
    pub(super) fn no_place(&self, job: Job) -> Error {
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
    pub(in crate::drive) fn moved(&mut self, program: &Program, job: Job, first: u32) {
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
        let may_fill = !self.failed_dies.is_empty() || self.writer.unwhole.is_on();
        if program.units == 0 && may_fill {
            self.row_without_data_done(program.die);
        }
        self.move_done(job);
    }

    /// A row without data has ended: rows of the host that wait for its die may go.
    fn row_without_data_done(&mut self, die: Die) {
        self.writer.buffer.rows.wake_die(die);
        self.wakes.wake(Wake::Rows);
    }

    /// A program that a job waits for has ended.
    pub(super) fn move_done(&mut self, job: Job) {
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
    pub(in crate::drive) fn move_elsewhere(&mut self, program: &Program, job: Job, first: u32) {
        let units = first as usize..(first + program.units) as usize;
        let state = self.jobs.state(job);
        state.failed_rows += 1;
        let carried = Carried::Moves(job, &state.work.moves[units.clone()]);
        self.ftl.not_programmed(program, carried);
        if units.is_empty() {
            // The drive's own data are not written again.
            if !self.failed_dies.is_empty() {
                self.row_without_data_done(program.die);
            }
            return self.move_done(job);
        }
        self.jobs.state(job).pending -= 1;
        if self.jobs.on_chip.is_some() && self.fetch_failed_copy(job) {
            return;
        }
        self.program_moves(job, units);
    }
}
