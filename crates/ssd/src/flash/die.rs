//! A die: one array operation at a time, page registers, suspends, and times by kind of work.

use crate::flash::Flash;
use crate::flash::command::{Command, Done, EraseOwner, NONE, Purpose, Queues, Task};
use crate::flash::doing::{DOINGS, Doing};
use crate::flash::scheduler::{CLASSES, Class, Head};
use crate::flash::timeline::{SpanKind, Track};
use crate::terms::{PageRead, ReadOwner};
use base::Time;
use base::event::EventQueue;
use nand::chip::{CombinedRead, MultiPlaneRead};
use nand::energy::Operation;
use nand::geometry::{Block, Die, MAX_PLANES};
use nand::timing::Timing;

/// Reads of a queue, from its first on, among which others are looked for to join that one.
const JOIN_WINDOW: usize = 16;

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

/// A suspended program or erase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspended {
    pub(crate) command: u32,
    pub(crate) phase: Phase,
    pub(crate) remaining: Time,
    pub(crate) since: Time,
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

    #[inline]
    pub(crate) fn start_read(
        &mut self,
        events: &mut EventQueue,
        die: Die,
        class: usize,
        index: u32,
    ) {
        let now = events.now();
        let mut commands = 1;
        if self.chips.of_die(die).features.multi_plane_read != MultiPlaneRead::None
            && self.dies[die.0 as usize].queues.waiting() & 1 << class != 0
        {
            let mut last = index;
            let (joined, n) = self.join_reads(die, class, index);
            for &other in &joined[..n] {
                self.commands[last].next = other;
                last = other;
                commands += 1;
            }
        }
        let start = self.book_commands(now, die, commands);
        let senses = self.read(index).senses;
        let state = &mut self.dies[die.0 as usize];
        state.active = index;
        state.senses = senses;
        self.sense_from(events, die, start);
    }

    /// Starts the next read of a page that is read twice, as array and register are free.
    pub(crate) fn sense_again(&mut self, events: &mut EventQueue, die: Die) {
        self.sense_from(events, die, events.now());
    }

    /// Reads the pages of the active commands once, from `start` on.
    #[inline]
    fn sense_from(&mut self, events: &mut EventQueue, die: Die, start: Time) {
        self.chips.advance_to(start);
        let index = self.dies[die.0 as usize].active;
        let mut longest = self.sense(index, start);
        if self.commands[index].next != NONE {
            longest = longest.max(self.sense_joined(index, start));
        }
        self.set_phase(events.now(), die, Phase::Reading);
        let doing = Doing::of(&self.commands[index], true);
        let state = &mut self.dies[die.0 as usize];
        state.doing = doing;
        state.senses -= 1;
        // To the second register: to go out from there, or to make room for another read.
        let is_copied = match state.senses {
            0 => self.frees_page_register(die, index),
            _ => !self.combines_in_page_buffer(die),
        };
        let state = &mut self.dies[die.0 as usize];
        if is_copied {
            longest += self.chips.of_die(die).timing.cache;
        }
        state.array_start = start;
        state.end = start + longest;
        events.push_lane(self.events.array_lane, state.end, self.events.array + die.0);
    }

    /// Senses the reads that have joined read `first`. Returns the longest array time.
    #[inline(never)]
    fn sense_joined(&mut self, first: u32, start: Time) -> Time {
        // A read of coded pages counts several; those of all but the longest are joined to it.
        let mut most = self.senses_of(first);
        let mut longest = Time::ZERO;
        let mut other = self.commands[first].next;
        while other != NONE {
            longest = longest.max(self.sense(other, start));
            let senses = self.senses_of(other);
            self.counts.joined_reads += senses.min(most);
            most = most.max(senses);
            other = self.commands[other].next;
        }
        longest
    }

    /// Pages that are sensed for a read.
    fn senses_of(&self, index: u32) -> u64 {
        let bytes = self.commands[index].bytes;
        let (block, page) = self.chips.geometry.page_of(self.read(index).ppn);
        if self.chips.is_coded(block, page) { self.chips.coded_read(bytes).0 } else { 1 }
    }

    fn combines_in_page_buffer(&self, die: Die) -> bool {
        self.chips.of_die(die).features.combined_read == CombinedRead::PageBuffer
    }

    /// Whether a page goes out from the second register, so that the array can go on.
    #[inline(always)]
    fn frees_page_register(&self, die: Die, index: u32) -> bool {
        self.chips.of_die(die).features.cache_read
            && (self.read(index).senses == 1 || self.combines_in_page_buffer(die))
    }

    /// Takes the reads that can share the array time of `first` out of their queue: those of other
    /// planes with the same references.
    pub(crate) fn join_reads(
        &mut self,
        die: Die,
        class: usize,
        first: u32,
    ) -> ([u32; MAX_PLANES], usize) {
        let geometry = &self.chips.geometry;
        let PageRead { ppn, level, shift_v, .. } = *self.read(first);
        let (block, page) = geometry.page_of(ppn);
        let first_plane = die.0 * geometry.planes_per_die;
        let plane_bit = |block: Block| 1u32 << (geometry.plane_of(block).0 - first_plane);
        let mut planes = plane_bit(block);
        let all_planes = (1u32 << geometry.planes_per_die) - 1;
        let same_page =
            self.chips.of_die(die).features.multi_plane_read == MultiPlaneRead::SamePage;
        let mut joined = [NONE; MAX_PLANES];
        let mut n = 0;
        let mut previous = NONE;
        let mut at = self.dies[die.0 as usize].queues.head(class);
        for _ in 0..JOIN_WINDOW {
            if at == NONE || planes == all_planes {
                break;
            }
            let command = &self.commands[at];
            let next = command.next;
            let fits = match &command.task {
                Task::Read(read) if read.level == level && read.shift_v == shift_v => {
                    let (block, other_page) = geometry.page_of(read.ppn);
                    let fits = (!same_page || other_page == page) && planes & plane_bit(block) == 0;
                    planes |= if fits { plane_bit(block) } else { 0 };
                    fits
                }
                _ => false,
            };
            if fits {
                self.dies[die.0 as usize].queues.take(class, previous, next);
                if previous != NONE {
                    self.commands[previous].next = next;
                }
                self.commands[at].next = NONE;
                joined[n] = at;
                n += 1;
            } else {
                previous = at;
            }
            at = next;
        }
        (joined, n)
    }

    /// Senses the page of a read from `start` on. Returns its array time.
    #[inline]
    pub(crate) fn sense(&mut self, index: u32, start: Time) -> Time {
        let Command { task, die, bytes, times, .. } = &mut self.commands[index];
        let (Task::Read(read), die) = (task, *die) else { unreachable!("a read") };
        let (block, page) = self.chips.geometry.page_of(read.ppn);
        let sensed = self.chips.read(block, page, read.shift_v);
        let (time, rber) = sensed.unwrap_or_else(|error| {
            // What a patrol was to read may have been erased since.
            if matches!(read.owner, ReadOwner::Scan | ReadOwner::Patrol) {
                return (self.chips.sense_erased(block, page), 0.0);
            }
            self.fault.get_or_insert(error);
            (Time::ZERO, 0.0)
        });
        if let Some(cells) = &mut self.cells {
            cells.sensed(index, read, rber, &self.chips);
        }
        if let Some(words) = &mut self.words {
            words.sensed(index, read, rber, &self.chips);
        }
        // Of several hard reads the decoder keeps the one with the fewest checks that fail; soft
        // levels tell more of its bits.
        if read.level == 0 {
            read.rber = if read.attempt == 0 { rber } else { rber.min(read.rber) };
        }
        if self.chips.is_coded(block, page) {
            // All pages that the code of a unit lies in, and more bits than its data have.
            let (senses, of_code) = self.chips.coded_read(*bytes);
            self.counts.reads += senses - 1;
            if self.dies[die.0 as usize].senses == read.senses {
                *bytes = of_code;
            }
        }
        times.array += time;
        if let Some(copyback) = &mut self.copyback {
            copyback.sensed(&self.chips.geometry, block, read.ppn);
            self.dies[die.0 as usize].is_kept |= read.is_kept;
        }
        self.counts.reads += 1;
        self.counts.of_kind[self.chips.kind(die)].times.read += time;
        let energy = &self.chips.of_die(die).energy;
        self.energy_curve.add(energy, Operation::Read, start, time);
        time
    }

    fn start_erase(
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
            counts.times.erase += time;
            let energy = &self.chips.of_die(die).energy;
            self.energy_curve.add(energy, Operation::Erase, start, time);
            longest = longest.max(time);
        }
        self.set_phase(now, die, Phase::Erasing);
        let state = &mut self.dies[die.0 as usize];
        (state.active, state.suspends, state.array_start) = (index, 0, start);
        state.doing = Doing::Erase;
        state.end = start + longest;
        events.push(state.end, self.events.array + die.0);
        self.suspend_for_reads(events, die);
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
