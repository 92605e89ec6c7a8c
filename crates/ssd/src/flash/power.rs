//! The flash when the power is cut: programs and erases that are under way are torn.

use super::Flash;
use crate::flash::channel::ChannelState;
use crate::flash::command::{EraseOwner, NONE, Queues, Task};
use crate::flash::die::{DieState, Phase};
use crate::flash::doing::Doing;
use base::Time;
use nand::geometry::Die;

impl Flash {
    /// Whether the array is at a program, even if it is suspended.
    pub(crate) fn has_begun(&self, index: u32) -> bool {
        let die = &self.dies[self.commands[index].die.0 as usize];
        is_at(die).is_some_and(|(at, _)| at == index)
    }

    /// Cuts the power. Returns the numbers of programs and erases that are torn. Commands that wait
    /// are forgotten. Dies that have failed carry out nothing that could be torn.
    pub(crate) fn cut(&mut self, now: Time, has_failed: impl Fn(Die) -> bool) -> (u64, u64) {
        let (mut programs, mut erases) = (0, 0);
        for die in 0..self.dies.len() {
            let is_gone = has_failed(Die(die as u32));
            if let Some((index, phase)) = is_at(&self.dies[die]) {
                let command = self.commands[index];
                for &block in self.programs[command.place()].blocks() {
                    if phase == Phase::Programming {
                        if !is_gone {
                            self.chips.tear_program(block);
                        }
                    } else {
                        if !is_gone {
                            self.chips.tear_erase(block);
                        }
                        // The FTL is not told of it.
                        let is_ftl =
                            matches!(command.task, Task::Erase { owner: EraseOwner::Job(_), .. });
                        let untold = u64::from(is_ftl);
                        self.counts.erases -= untold;
                        self.counts.of_kind[self.chips.kind(command.die)].erases -= untold;
                    }
                }
                programs += u64::from(phase == Phase::Programming && !is_gone);
                erases += u64::from(phase == Phase::Erasing && !is_gone);
            }
            let state = &mut self.dies[die];
            state.account(now);
            (state.phase, state.end, state.active) = (Phase::Idle, Time::NEVER, NONE);
            (state.queues, state.output) = (Queues::EMPTY, NONE);
            (state.suspended, state.suspends, state.senses) = (None, 0, 0);
            (state.on_bus, state.bus_next) = (false, NONE);
            (state.is_kept, state.is_closed) = (false, false);
            (state.since, state.array_start) = (now, now);
            (state.doing, state.lead) = (Doing::Idle, Doing::Wait);
        }
        self.channels.iter_mut().for_each(|channel| ChannelState::stop(channel, now));
        self.commands.clear();
        self.programs.clear();
        if let Some(copyback) = &mut self.copyback {
            copyback.cut();
        }
        (programs, erases)
    }
}

/// The program or erase that the array of a die is at, or has suspended.
fn is_at(die: &DieState) -> Option<(u32, Phase)> {
    if let Some(suspended) = die.suspended {
        return Some((suspended.command, suspended.phase));
    }
    let is_changing = matches!(die.phase, Phase::Programming | Phase::Erasing);
    is_changing.then_some((die.active, die.phase))
}
