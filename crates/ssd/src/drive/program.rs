//! Programs: through the encoders to the die, and back to whoever waits for them.

use super::Ssd;
use super::flow::event;
use super::wakes::Wake;
use crate::buffer::NONE;
use crate::flash::command::{Command, ProgramOwner, Purpose, Task};
use crate::flash::scheduler::Class;
use crate::flash::timeline::{SpanKind, Track};
use crate::terms::{Program, Stream};
use base::Time;
use nand::geometry::Ppn;

impl Ssd {
    pub(super) fn program(&mut self, program: Program, owner: ProgramOwner, from: Ppn) {
        self.program_copy(program, owner, from, NONE);
    }

    /// Programs data that may be in the die: `copy` is the number of their copy there, or `NONE`.
    pub(super) fn program_copy(
        &mut self,
        program: Program,
        owner: ProgramOwner,
        from: Ppn,
        copy: u32,
    ) {
        // The class follows the frontier and not the owner: what garbage collection puts into a
        // host frontier must keep that frontier's order.
        let class = if program.stream.is_internal() { Class::Collect } else { Class::Write };
        let Program { mode, page, planes, die, .. } = program;
        let chips = &self.flash.chips;
        let per_plane = chips.programmed_by(mode, die, page);
        let pages = u32::from(planes) * chips.pages_on_bus(mode, per_plane);
        let of_data = u32::from(planes) * chips.data_pages_by(mode, page, per_plane);
        let code = self.codes.number_of(chips, &*self.ftl, die, program.blocks()[0]);
        let bytes = self.codes.page_bytes(code);
        let is_padded = self.writer.pads_units && matches!(owner, ProgramOwner::Slots(_));
        // A program that the drive fills up itself holds no unit of the host.
        let transfers = if is_padded { program.units.max(1) } else { pages } as u16;
        let task = Task::Program { place: self.flash.programs.insert(program), copy, owner };
        let mut command = Command::new(task, class, program.die, self.now(), transfers, bytes);
        command.purpose = match program.stream {
            Stream::MAP | Stream::LOG => Purpose::Map,
            _ => self.purpose_of_program(owner, from),
        };
        if let Some(origins) = &mut self.origins {
            origins.note(&program, owner, &command);
        }
        let index = self.flash.hold(command);
        if self.power.is_some() && self.waits_to_begin(&program, index, pages.into()) {
            return;
        }
        self.encode(index, u64::from(of_data));
    }

    /// The data of a program go through the encoders, and on to the die.
    pub(super) fn encode(&mut self, index: u32, pages: u64) {
        if self.jobs.copies_on_chip() && self.flash.commands[index].is_copy() {
            self.flash.submit(&mut self.events, index);
            return;
        }
        let now = self.out_of_dram(index);
        let die = self.flash.commands[index].die;
        let number = self.codes.number(&self.flash.chips, die);
        let code = self.codes.at_mut(number);
        let (encode_time, before) = (code.encode_time, code.servers_before);
        let words = pages * u64::from(code.words.of_page());
        self.counts.codes.encoded += words;
        if let Some(account) = self.codes.account(&self.flash.chips, die) {
            account.encoded += words;
        }
        let mut end = self.parity_computed(index, pages, now);
        if encode_time == Time::ZERO {
            if end == self.events.now() {
                self.flash.submit(&mut self.events, index);
            } else {
                self.events.push(end, event::of(event::ENCODED, index));
            }
            return;
        }
        // All words take as long: programs leave the encoders in the order in which they came.
        for _ in 0..words {
            let code = self.codes.at_mut(number);
            let (encoder, start, done) = code.encoders.serve(now, encode_time);
            let encoder = before + encoder as u32;
            self.flash.timeline.record(Track::Encoder, encoder, SpanKind::Encode, start, done);
            end = end.max(done);
        }
        self.flash.commands[index].times.ecc += encode_time;
        self.events.push(end, event::of(event::ENCODED, index));
    }

    /// Time at which a program whose data are there at `now` may go on to its die: data of stripes
    /// go through the engine of parity on their way, and parity comes behind them.
    #[inline]
    fn parity_computed(&mut self, index: u32, pages: u64, now: Time) -> Time {
        let (Some(xor), Task::Program { place, .. }) =
            (&mut self.codes.xor, self.flash.commands[index].task)
        else {
            return now;
        };
        let Program { units, stream, .. } = self.flash.programs[place];
        match (stream, units) {
            (Stream::MAP | Stream::LOG, _) => now,
            (_, 0) => xor.ready(now),
            _ => {
                let geometry = &self.flash.chips.geometry;
                let page = u64::from(geometry.units_per_page) * u64::from(geometry.unit_bytes);
                xor.take(now, pages * page)
            }
        }
    }

    /// Time at which the data of a program have left the DRAM.
    #[inline]
    fn out_of_dram(&mut self, index: u32) -> Time {
        let now = self.events.now();
        if !self.front.has_dram {
            return now;
        }
        let Task::Program { place, .. } = self.flash.commands[index].task else { return now };
        let units = u64::from(self.flash.programs[place].units);
        self.front.move_in_dram(now, units * self.units.bytes)
    }

    /// A program has ended: blocks that have failed are given up, and whoever waits for its data
    /// goes on.
    pub(super) fn programmed(&mut self, index: u32) {
        let Command { task, times, .. } = self.flash.commands.remove(index);
        let Task::Program { place, owner, .. } = task else { unreachable!("a program") };
        let program = self.flash.programs.remove(place);
        let is_lost = self.failed_dies.has(program.die);
        let has_failed = is_lost
            || self.flash.chips.programs_fail() && {
                let now = self.now();
                let Self { failures, flash, ftl, .. } = self;
                failures.give_up_failed(&program, flash, &mut **ftl, now)
            };
        match (owner, has_failed) {
            (ProgramOwner::Slots(first), false) => self.rows_programmed(&program, first, &times),
            (ProgramOwner::Slots(first), true) => self.write_elsewhere(&program, first),
            (ProgramOwner::Moves { job, first }, false) => self.moved(&program, job, first),
            (ProgramOwner::Moves { job, first }, true) => self.move_elsewhere(&program, job, first),
            (ProgramOwner::Log(record), _) => self.logged(record, &program, has_failed),
        }
        if self.zones.is_some() {
            self.wakes.wake(Wake::Finishes);
        }
        if self.writer.unwhole.waits() {
            self.answer_waiting();
        }
    }
}
