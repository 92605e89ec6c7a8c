//! Erases of a job, and blocks that are programmed again without one.

use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use crate::flash::command::{Command, EraseOwner, Task};
use crate::flash::scheduler::Class;
use crate::terms::{Job, Program, Stream};
use nand::chip::BlockMode;
use nand::geometry::{Block, Geometry, MAX_PLANES};

impl Ssd {
    /// Erases blocks for a job: those of one die that follow each other by one command.
    pub(super) fn erase(&mut self, job: Job, blocks: &[Block]) {
        if self.power.is_some() && self.waits_to_erase(job, blocks) {
            // Until then the step is not over.
            self.jobs.state(job).pending += 1;
            return;
        }
        self.erase_now(job, blocks);
    }

    /// Erases blocks for a job, without waiting for anything.
    pub(in crate::drive) fn erase_now(&mut self, job: Job, blocks: &[Block]) {
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
    pub(super) fn recycled(&mut self, job: Job) {
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
    pub(in crate::drive) fn erased(&mut self, index: u32) {
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
            self.ftl.erased(block, command.times.array);
            self.failures.reclaim.erased(block);
            others_wait |= self.failures.refresh.erased(block);
        }
        let first = program.blocks()[0];
        if self.codes.are_stages() && self.ftl.has_outgrown(first) {
            let now = self.now();
            self.failures.read_only.set(first, now);
        }
        if self.failed_dies.any_holds_data() {
            self.look_at_failed_dies();
        }
        if self.writer.unwhole.waits() {
            self.answer_waiting();
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
