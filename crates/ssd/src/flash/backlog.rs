//! Backlog of a die: how long a read that is asked for now would wait there, by nominal times.
//!
//! It is what a controller knows: the operation that it has started, and the commands in its queue
//! that go ahead of a read. Of a resumed operation the whole time counts again, and a command that
//! has waited too long (`scheduler.starvation_us`) goes ahead without being counted. Buses count as
//! free.

use crate::flash::Flash;
use crate::flash::command::{Command, NONE, Task};
use crate::flash::die::{DieState, Phase};
use crate::flash::scheduler::{CLASSES, Class};
use base::Time;
use nand::geometry::Die;

/// Work of a die that a backlog is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Erases, and reads and programs of moved data.
    Collection,
    /// Everything that goes ahead of a read.
    Any,
}

impl Work {
    #[inline]
    fn has(self, command: &Command) -> bool {
        self == Self::Any || command.class == Class::Collect
    }
}

impl Flash {
    /// Time for which a read that is asked for now would wait for this work of a die.
    pub(crate) fn backlog(&self, now: Time, die: Die, work: Work) -> Time {
        let state = &self.dies[die.0 as usize];
        let mut wait = self.rest(now, die, state, work);
        let mut at = state.output;
        while at != NONE {
            let command = &self.commands[at];
            if work.has(command) {
                wait += self.transfers(command);
            }
            at = command.next;
        }
        let classes = if self.scheduler.reads_first() { 1 } else { CLASSES };
        for class in 0..classes {
            let mut at = state.queues.head(class);
            while at != NONE {
                let command = &self.commands[at];
                if work.has(command) {
                    wait += self.nominal(command) + self.transfers(command);
                }
                at = command.next;
            }
        }
        wait
    }

    /// Nominal time of a first read of page data from an idle die, on an idle bus.
    pub(crate) fn undisturbed(&self, command: &Command) -> Time {
        self.nominal(command) + self.transfers(command)
    }

    /// Time that the operation of a die still takes, or its suspension for the read.
    fn rest(&self, now: Time, die: Die, state: &DieState, work: Work) -> Time {
        let index = match (state.active, state.suspended) {
            (NONE, Some(suspended)) => suspended.command,
            (active, _) => active,
        };
        if index == NONE || !work.has(&self.commands[index]) {
            return Time::ZERO;
        }
        let command = &self.commands[index];
        let timing = &self.chips.of_die(die).timing;
        let left = || self.nominal(command).since(now.since(state.array_start));
        let can_suspend = self.scheduler.reads_suspend() && state.suspends < timing.suspends_max;
        match state.phase {
            // Without a command in the array a suspended one waits behind the read.
            Phase::Idle | Phase::Holding | Phase::Blocked => Time::ZERO,
            Phase::Suspending => state.end.since(now),
            Phase::Reading => left() + self.transfers(command),
            Phase::Loading | Phase::Fetching => self.nominal(command) + self.transfers(command),
            Phase::Programming if can_suspend => {
                left().min(timing.program_suspend + timing.program_pulse)
            }
            Phase::Erasing if can_suspend => left().min(timing.erase_suspend),
            Phase::Programming | Phase::Erasing => left(),
        }
    }

    /// Nominal array time of a command.
    fn nominal(&self, command: &Command) -> Time {
        let silicon = self.chips.of_die(command.die);
        let timing = &silicon.timing;
        match command.task {
            Task::Read(read) => {
                let (block, page) = self.chips.geometry.page_of(read.ppn);
                let once = timing.read(silicon.page_type(page), self.chips.pe_cycles(block));
                Time(once.0 * u64::from(read.senses))
            }
            Task::Program { place, .. } => {
                let program = &self.programs[place];
                let cycles = self.chips.pe_cycles(program.blocks()[0]);
                timing.program(silicon.timing_row(program.mode, program.page), cycles)
            }
            Task::Erase { place, .. } => {
                timing.erase(self.chips.pe_cycles(self.programs[place].blocks()[0]))
            }
        }
    }

    /// Bus time of the transfers of a command that are still to come.
    fn transfers(&self, command: &Command) -> Time {
        let once = self.chips.of_die(command.die).timing.transfer(command.bytes);
        Time(once.0 * u64::from(command.transfers))
    }
}
