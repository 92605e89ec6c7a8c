//! Suspended programs and erases, which let reads of the host go first.

use super::{Phase, program_span};
use crate::flash::Flash;
use crate::flash::command::NONE;
use crate::flash::doing::Doing;
use crate::flash::scheduler::Class;
use crate::flash::timeline::SpanKind;
use base::Time;
use base::event::EventQueue;
use nand::geometry::Die;
use nand::timing::Timing;

/// A suspended program or erase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspended {
    pub(crate) command: u32,
    pub(crate) phase: Phase,
    pub(crate) remaining: Time,
    pub(crate) since: Time,
}

impl Flash {
    /// Suspends a program or an erase if a host read waits, and chip, scheduler and limit allow.
    /// To be called whenever one of the two arrives.
    #[inline(always)]
    pub(crate) fn suspend_for_reads(&mut self, events: &mut EventQueue, die: Die) {
        let state = &self.dies[die.0 as usize];
        if matches!(state.phase, Phase::Programming | Phase::Erasing)
            && state.suspends < self.chips.of_die(die).timing.suspends_max
            && state.queues.waiting() & 1 << Class::Read as usize != 0
            && self.scheduler.reads_suspend()
        {
            self.suspend(events, die);
        }
    }

    #[inline(never)]
    fn suspend(&mut self, events: &mut EventQueue, die: Die) {
        let timing = &self.chips.of_die(die).timing;
        let state = &mut self.dies[die.0 as usize];
        let command = self.commands[state.active];
        let (cost, pulse, kind) = if state.phase == Phase::Programming {
            (timing.program_suspend, timing.program_pulse, program_span(&command))
        } else {
            (timing.erase_suspend, Time::ZERO, SpanKind::Erase)
        };
        // An erase that still takes its command cycles is suspended when they are over, a program
        // at the end of its pulse.
        let now = events.now();
        let mut from = now.max(state.array_start);
        if pulse > Time::ZERO {
            from = from + Time(state.end.since(from).0 % pulse.0);
        }
        let remaining = state.end.since(from);
        if remaining <= cost {
            return;
        }
        state.suspended =
            Some(Suspended { command: state.active, phase: state.phase, remaining, since: from });
        self.span(from, die, |_| kind);
        self.set_phase(now, die, Phase::Suspending);
        let state = &mut self.dies[die.0 as usize];
        if pulse > Time::ZERO {
            state.lead = state.doing;
        }
        state.suspends += 1;
        state.active = NONE;
        state.array_start = from;
        state.end = from + cost;
        events.push(state.end, self.events.array + die.0);
        self.counts.suspends += 1;
    }

    pub(crate) fn resume(&mut self, events: &mut EventQueue, die: Die, suspended: Suspended) {
        let now = events.now();
        self.set_phase(now, die, suspended.phase);
        let Timing { resume, suspends_max, .. } = self.chips.of_die(die).timing;
        let may_suspend = self.dies[die.0 as usize].suspends < suspends_max;
        let doing = match suspended.phase {
            Phase::Erasing if may_suspend => Doing::Erase,
            Phase::Erasing => Doing::LastErase,
            _ => Doing::of(&self.commands[suspended.command], false),
        };
        let state = &mut self.dies[die.0 as usize];
        state.doing = doing;
        state.suspended = None;
        state.active = suspended.command;
        state.array_start = now;
        state.end = now + resume + suspended.remaining;
        events.push(state.end, self.events.array + die.0);
    }
}
