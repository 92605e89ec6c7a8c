//! Programs and erases of a die: what the chip does, and how long.

use super::Phase;
use crate::flash::Flash;
use crate::flash::command::{EraseOwner, ProgramOwner, Task};
use crate::flash::doing::Doing;
use base::Time;
use base::event::EventQueue;
use nand::chip::BlockMode;
use nand::energy::Operation;
use nand::geometry::Die;

impl Flash {
    /// The data of a program are in the die: the array begins at `start`.
    #[inline]
    pub(crate) fn start_program(&mut self, events: &mut EventQueue, die: Die, start: Time) {
        let now = events.now();
        let index = self.dies[die.0 as usize].active;
        let command = &mut self.commands[index];
        command.transfers = 0;
        let Task::Program { place, owner, .. } = command.task else { unreachable!("a program") };
        let program = self.programs[place];
        let is_ftl = !matches!(owner, ProgramOwner::Log(_));
        self.chips.advance_to(now);
        let counts = &mut self.counts.of_kind[self.chips.kind(die)];
        let mut longest = Time::ZERO;
        for &block in program.blocks() {
            let time =
                self.chips.program_in(program.mode, block, program.page).unwrap_or_else(|error| {
                    self.fault.get_or_insert(error);
                    Time::ZERO
                });
            self.spent[die.0 as usize].program += time;
            let energy = &self.chips.of_die(die).energy;
            self.energy_curve.add(energy, Operation::Program, start, time);
            longest = longest.max(time);
        }
        if is_ftl {
            let pages = u64::from(self.chips.programmed_by(program.mode, die, program.page));
            let pages = pages * u64::from(program.planes);
            self.counts.programs += pages;
            counts.programs += pages;
            if program.mode == BlockMode::Reduced {
                self.counts.reduced_programs += pages;
            }
            if program.mode.is_coded() {
                let (total, most) = &mut self.counts.coded_time;
                *total += longest;
                most.0 = most.0.max(longest);
            } else {
                let row = self.chips.of_die(die).timing_row(program.mode, program.page);
                let (count, total) = &mut counts.program_time[usize::from(row)];
                *count += 1;
                *total += longest;
            }
            self.counts.summaries += u64::from(self.chips.is_summarised(program.page));
        } else {
            self.counts.kept_programs.0 += 1;
            self.counts.kept_programs.1 += longest;
        }
        self.commands[index].times.array += longest;
        self.set_phase(now, die, Phase::Programming);
        let doing = Doing::of(&self.commands[index], false);
        let state = &mut self.dies[die.0 as usize];
        state.doing = doing;
        (state.suspends, state.array_start) = (0, start);
        state.end = start + longest;
        events.push_lane(self.events.program_lane, state.end, self.events.array + die.0);
        self.suspend_for_reads(events, die);
    }

    pub(super) fn start_erase(
        &mut self,
        events: &mut EventQueue,
        die: Die,
        index: u32,
        place: u32,
        owner: EraseOwner,
    ) {
        let now = events.now();
        let (program, is_ftl) = (self.programs[place], matches!(owner, EraseOwner::Job(_)));
        let start = self.book_commands(now, die, 1);
        self.chips.advance_to(now);
        let mut longest = Time::ZERO;
        for &block in program.blocks() {
            let time = self.chips.erase(block);
            self.counts.erases += u64::from(is_ftl);
            self.counts.kept_erases += u64::from(!is_ftl);
            let counts = &mut self.counts.of_kind[self.chips.kind(die)];
            counts.erases += u64::from(is_ftl);
            self.spent[die.0 as usize].erase += time;
            let energy = &self.chips.of_die(die).energy;
            self.energy_curve.add(energy, Operation::Erase, start, time);
            longest = longest.max(time);
        }
        self.commands[index].times.array = longest;
        self.set_phase(now, die, Phase::Erasing);
        let state = &mut self.dies[die.0 as usize];
        (state.active, state.suspends, state.array_start) = (index, 0, start);
        state.doing = Doing::Erase;
        state.end = start + longest;
        events.push(state.end, self.events.array + die.0);
        self.suspend_for_reads(events, die);
    }
}
