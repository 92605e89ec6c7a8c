//! A die: one array operation at a time, page registers, and times by kind of work.
//!
//! `sense` reads pages, alone or together with those of other planes; `change` programs and erases;
//! `suspend` interrupts these for reads of the host.

mod change;
mod sense;
mod suspend;

pub(crate) use suspend::Suspended;

use crate::flash::Flash;
use crate::flash::command::{Command, Done, NONE, Purpose, Queues, Task};
use crate::flash::doing::{DOINGS, Doing};
use crate::flash::scheduler::{CLASSES, Class, Head};
use crate::flash::timeline::{SpanKind, Track};
use base::Time;
use base::event::EventQueue;
use nand::geometry::Die;

/// State of a die's array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Reading,
    /// Data wait in the page register, the array waits with them.
    Holding,
    /// Data wait in the page register for the cache register to be emptied, or a page that takes
    /// both of them for its second read.
    Blocked,
    /// A program senses the pages that it copies.
    Fetching,
    /// A program waits for its data or takes them.
    Loading,
    Programming,
    Erasing,
    Suspending,
}

/// State of a die. Fields that every read and write needs come first, in three lines of the cache,
/// up to its share of `times`.
#[repr(C, align(64))]
pub(crate) struct DieState {
    /// End of the array operation in progress; an event at another time is a stale one.
    pub(crate) end: Time,
    /// Time of the last change, up to which `times` are known.
    pub(crate) since: Time,
    /// Start of the array operation in progress, after its command cycles.
    pub(crate) array_start: Time,
    /// Command in the array or the page register; `NONE` without.
    pub(crate) active: u32,
    /// Command whose data are ready to go out over the bus, the first of a list; `NONE` without.
    pub(crate) output: u32,
    pub(crate) channel: u32,
    pub(crate) bus_next: u32,
    pub(crate) suspends: u32,
    pub(crate) phase: Phase,
    /// Work of the array while it reads, programs or erases.
    pub(crate) doing: Doing,
    /// Work of the die before that of the array, up to `array_start`.
    pub(crate) lead: Doing,
    /// Reads of the active page that are still to be combined with what is in its registers.
    pub(crate) senses: u8,
    /// The page registers hold data of a copy: until its program starts, only commands of its class
    /// do.
    pub(crate) is_kept: bool,
    /// Closed to host data until its collection is no longer behind.
    pub(crate) is_closed: bool,
    /// Whether the die is in the queue of its bus.
    pub(crate) on_bus: bool,
    pub(crate) suspended: Option<Suspended>,
    pub(crate) bus_head: Head,
    pub(crate) queues: Queues,
    pub(crate) times: [u64; DOINGS],
}

impl DieState {
    /// Adds the time since the last change to the current kind of work.
    #[inline]
    pub(crate) fn account(&mut self, now: Time) {
        let Spent { doing, worked, before } = self.spent_until(now);
        self.times[doing as usize] += worked;
        self.times[self.lead as usize] += before;
        self.since = now;
    }

    /// Time since the last change, by kind of work.
    #[inline]
    fn spent_until(&self, now: Time) -> Spent {
        let spent = now.since(self.since).0;
        let doing =
            match self.phase {
                Phase::Reading | Phase::Fetching | Phase::Programming | Phase::Erasing => {
                    self.doing
                }
                // With data in its registers, or something suspended, it is not idle: it waits.
                Phase::Idle if self.output == NONE && self.suspended.is_none() => {
                    if self.is_closed { Doing::Closed } else { Doing::Idle }
                }
                Phase::Suspending => Doing::Suspend,
                Phase::Idle | Phase::Holding | Phase::Blocked | Phase::Loading => Doing::Wait,
            };
        // The start of an operation that is over lies behind us.
        let before = self.array_start.since(self.since).0.min(spent);
        Spent { doing, worked: spent - before, before }
    }

    /// Kind of work at `now`.
    pub(crate) fn doing_at(&self, now: Time) -> Doing {
        if now < self.array_start { self.lead } else { self.spent_until(now).doing }
    }

    /// Time by kind of work up to `now`.
    pub(crate) fn times_at(&self, now: Time) -> [u64; DOINGS] {
        let Spent { doing, worked, before } = self.spent_until(now);
        let mut times = self.times;
        times[doing as usize] += worked;
        times[self.lead as usize] += before;
        times
    }
}

/// Time by kind of work up to `now`, over all dies.
#[cold]
pub(crate) fn done_by_all(dies: &[DieState], now: Time) -> [u64; DOINGS] {
    let mut sums = [0; DOINGS];
    for die in dies {
        sums.iter_mut().zip(die.times_at(now)).for_each(|(sum, time)| *sum += time);
    }
    sums
}

/// Time since the last change of a die: that of its work, and that of its `lead` before it.
struct Spent {
    doing: Doing,
    worked: u64,
    before: u64,
}

impl Flash {
    /// Class that the scheduler wants served, among the commands that wait for a die.
    #[inline]
    fn pick(&self, now: Time, die: &DieState) -> Option<usize> {
        let mut waiting = die.queues.waiting();
        if die.is_kept {
            waiting &= 1 << Class::Collect as usize;
        }
        if die.suspended.is_some() {
            // Only reads may start beside what is suspended.
            waiting &= 1 << Class::Read as usize;
        } else if waiting & waiting.wrapping_sub(1) == 0 {
            // Nobody waits, or one class alone.
            return (waiting != 0).then_some(waiting.trailing_zeros() as usize);
        }
        let mut heads = [None; CLASSES];
        for class in (0..CLASSES).filter(|class| waiting & (1 << class) != 0) {
            let command = &self.commands[die.queues.head(class)];
            heads[class] = Some(Head { since: command.times.queued, order: command.order });
        }
        if let Some(suspended) = &die.suspended {
            let Command { class, order, .. } = self.commands[suspended.command];
            heads[class as usize] = Some(Head { since: suspended.since, order });
        }
        Some(self.scheduler.pick(now, &heads))
    }

    /// Starts the next command of a die, if it can take one.
    #[inline]
    pub(crate) fn start_die(&mut self, events: &mut EventQueue, die: Die) {
        let state = &self.dies[die.0 as usize];
        if state.phase == Phase::Idle && (state.queues.waiting() != 0 || state.suspended.is_some())
        {
            self.start_next(events, die);
        }
    }

    #[inline(never)]
    fn start_next(&mut self, events: &mut EventQueue, die: Die) {
        let now = events.now();
        let state = &self.dies[die.0 as usize];
        if self.data_first && self.channels[state.channel as usize].has_data() {
            // The bus comes back to it.
            return;
        }
        let Some(class) = self.pick(now, state) else { return };
        let output = state.output != NONE;
        if let Some(suspended) = state.suspended
            && self.commands[suspended.command].class as usize == class
        {
            if !output {
                self.resume(events, die, suspended);
            }
            return;
        }
        let index = state.queues.head(class);
        let task = self.commands[index].task;
        if output && !matches!(task, Task::Read(_)) {
            // The registers still hold data; only a read can go on beside them.
            return;
        }
        self.unlink_head(die, class);
        match task {
            Task::Read(_) => self.start_read(events, die, class, index),
            Task::Program { place, copy: NONE, .. } => {
                self.load_registers(place);
                self.set_phase(now, die, Phase::Loading);
                self.dies[die.0 as usize].active = index;
                self.join_bus(events, die);
            }
            Task::Program { place, copy, .. } => self.start_copy(events, die, index, place, copy),
            Task::Erase { place, owner } => self.start_erase(events, die, index, place, owner),
        }
    }

    #[inline]
    pub(crate) fn unlink_head(&mut self, die: Die, class: usize) {
        let queues = &mut self.dies[die.0 as usize].queues;
        let head = queues.head(class);
        let next = std::mem::replace(&mut self.commands[head].next, NONE);
        queues.take(class, NONE, next);
    }

    /// An array operation has ended (or had been meant to end now, before it was suspended).
    pub fn array_done(&mut self, events: &mut EventQueue, die: Die) -> Done {
        let now = events.now();
        let state = &mut self.dies[die.0 as usize];
        if state.end != now {
            return Done::Nothing;
        }
        state.end = Time::NEVER;
        let index = state.active;
        let done = match state.phase {
            Phase::Reading => {
                self.span(now, die, |flash| read_span(&flash.commands[index]));
                if self.blame.is_some() {
                    self.blame_sense(now, die);
                }
                let state = &self.dies[die.0 as usize];
                let more = state.senses > 0;
                let needs_output = !more || !self.combines_in_page_buffer(die);
                if needs_output && state.output != NONE {
                    self.set_phase(now, die, Phase::Blocked);
                } else if more {
                    self.sense_again(events, die);
                } else {
                    let free = self.frees_page_register(die, index);
                    self.set_phase(now, die, if free { Phase::Idle } else { Phase::Holding });
                    self.hand_over(events, die);
                }
                // Whatever could start has started, ahead of the data.
                return Done::Nothing;
            }
            Phase::Fetching => {
                self.span(now, die, |flash| read_span(&flash.commands[index]));
                self.fetched(events, die);
                return Done::Nothing;
            }
            Phase::Programming => {
                self.span(now, die, |flash| program_span(&flash.commands[index]));
                self.finish(now, die);
                Done::Programmed(index)
            }
            Phase::Erasing => {
                self.span(now, die, |_| SpanKind::Erase);
                self.finish(now, die);
                Done::Erased(index)
            }
            Phase::Suspending => {
                self.span(now, die, |_| SpanKind::Suspend);
                self.set_phase(now, die, Phase::Idle);
                self.dies[die.0 as usize].lead = Doing::Wait;
                Done::Nothing
            }
            phase => unreachable!("array event in {phase:?}"),
        };
        self.start_die(events, die);
        done
    }

    /// Books the array read that has ended to the requests that waited for it.
    #[cold]
    fn blame_sense(&mut self, now: Time, die: Die) {
        let Self { blame: Some(blame), dies, commands, .. } = self else { return };
        let state = &dies[die.0 as usize];
        let mut index = state.active;
        while index != NONE {
            let command = &commands[index];
            let times = [state.since, state.array_start, now];
            blame.sensed(index, &state.times, times, command.read().attempt > 0);
            index = command.next;
        }
    }

    pub(crate) fn finish(&mut self, now: Time, die: Die) {
        self.set_phase(now, die, Phase::Idle);
        self.dies[die.0 as usize].active = NONE;
    }

    /// Records the array operation of a die up to now, if there is a timeline.
    #[inline]
    pub(crate) fn span(&mut self, now: Time, die: Die, kind: impl FnOnce(&Self) -> SpanKind) {
        if self.timeline.is_on() {
            let kind = kind(self);
            let start = self.dies[die.0 as usize].array_start;
            self.timeline.record(Track::Die, die.0, kind, start, now);
        }
    }

    /// Hands a page over from the page register to the output. With a second register the next read
    /// goes out first: its command is what frees the data of this one (ONFI's read cache).
    pub(crate) fn hand_over(&mut self, events: &mut EventQueue, die: Die) {
        let state = &mut self.dies[die.0 as usize];
        state.output = std::mem::replace(&mut state.active, NONE);
        self.start_die(events, die);
        self.join_bus(events, die);
    }

    /// Opens a die to host data, or closes it.
    #[inline]
    pub(crate) fn close_die(&mut self, now: Time, die: Die, is_closed: bool) {
        let state = &mut self.dies[die.0 as usize];
        if state.is_closed != is_closed {
            state.account(now);
            state.is_closed = is_closed;
        }
    }

    #[inline]
    pub(crate) fn set_phase(&mut self, now: Time, die: Die, phase: Phase) {
        let state = &mut self.dies[die.0 as usize];
        state.account(now);
        state.phase = phase;
    }
}

/// Span of a read in the timeline.
fn read_span(command: &Command) -> SpanKind {
    match (command.purpose, command.class) {
        _ if command.is_soft_read() => SpanKind::SoftRead,
        (Purpose::Map, _) => SpanKind::MapRead,
        (Purpose::Merge, _) => SpanKind::MergeRead,
        (Purpose::Refresh, _) => SpanKind::RefreshRead,
        (Purpose::Data, Class::Patrol) => SpanKind::PatrolRead,
        (Purpose::Data, Class::Collect) | (Purpose::Level | Purpose::Fold, _) => {
            SpanKind::CollectRead
        }
        (Purpose::Data, Class::Read | Class::Write) => SpanKind::Read,
    }
}

/// Span of a program in the timeline.
fn program_span(command: &Command) -> SpanKind {
    match (command.purpose, command.class) {
        (Purpose::Map, _) => SpanKind::MapProgram,
        (Purpose::Merge, _) => SpanKind::MergeProgram,
        (Purpose::Refresh, _) => SpanKind::RefreshProgram,
        (Purpose::Data, Class::Collect) | (Purpose::Level | Purpose::Fold, _) => {
            SpanKind::CollectProgram
        }
        (Purpose::Data, Class::Read | Class::Write | Class::Patrol) => SpanKind::Program,
    }
}
