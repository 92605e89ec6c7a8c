//! Buses and dies: flash commands go in, and come out done.
//!
//! A die does one array operation at a time; a bus moves one page's data at a time. A read is
//! command - array - transfer; a program is transfer - array; an erase is command - array. With
//! a second page register (cache read) the next array read of a die overlaps the transfer of the
//! last. The scheduler chooses which class a free die or a free bus serves next. Command cycles
//! are short and go ahead of waiting transfers: they are booked on the bus when a die starts.

use crate::ftl::Program;
use crate::scheduler::{CLASSES, Class, Head, Scheduler};
use crate::timeline::{SpanKind, Timeline, Track};
use base::event::EventQueue;
use base::{Error, Time};
use nand::chip::{Chips, MultiPlaneRead};
use nand::energy::EnergyUse;
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use serde::Serialize;
use slab::Slab;

const NONE: u32 = u32::MAX;

/// How far behind the first read of a queue others are looked for to join it.
const JOIN_WINDOW: usize = 16;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read part of a page.
    Read,
    /// Program what job `job` says.
    Program,
    /// Erase the blocks of job `job`.
    Erase,
}

/// Who waits for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A host request.
    Request(u32),
    /// A buffer slot that holds part of a unit.
    Fill(u32),
    /// Garbage collection of the command's die.
    Collect,
    /// Garbage collection of the command's die: its moves from this one on are programmed.
    Moves(u32),
    /// The buffer slots linked from this one.
    Slots(u32),
}

/// A flash command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What it does.
    pub kind: Kind,
    /// Why it is there.
    pub class: Class,
    /// Where.
    pub die: Die,
    /// Who waits for it.
    pub owner: Owner,
    /// Reads: the first unit.
    pub ppn: Ppn,
    /// Reads: the first unit's logical number (the others follow it, for the host).
    pub lpn: u32,
    /// Reads: units; programs and erases: see the job.
    pub units: u32,
    /// Bytes of one transfer.
    pub bytes: u32,
    /// Programs and erases: index of the job.
    pub job: u32,
    /// How often decoding has failed.
    pub attempt: u8,
    /// Array reads before each transfer.
    pub senses: u8,
    /// Transfers still to come.
    pub transfers: u8,
    /// Bit error rate of the data read.
    pub rber: f64,
    /// When it was first asked for.
    pub queued: Time,
    /// Array time so far.
    pub array: Time,
    /// Bus time so far.
    pub bus: Time,
    order: u64,
    next: u32,
}

impl Command {
    /// A read of `units` units from `ppn`, `bytes` on the bus.
    pub fn read(
        class: Class,
        owner: Owner,
        die: Die,
        ppn: Ppn,
        lpn: u32,
        units: u32,
        bytes: u32,
    ) -> Self {
        Self {
            kind: Kind::Read,
            class,
            die,
            owner,
            ppn,
            lpn,
            units,
            bytes,
            job: NONE,
            attempt: 0,
            senses: 1,
            transfers: 1,
            rber: 0.0,
            queued: Time::ZERO,
            array: Time::ZERO,
            bus: Time::ZERO,
            order: 0,
            next: NONE,
        }
    }

    /// A program or an erase as `job` says; a program transfers `transfers` pages of `bytes`.
    pub fn job(
        kind: Kind,
        class: Class,
        owner: Owner,
        die: Die,
        job: u32,
        transfers: u8,
        bytes: u32,
    ) -> Self {
        let mut command = Self::read(class, owner, die, Ppn::NONE, 0, 0, bytes);
        (command.kind, command.job, command.transfers) = (kind, job, transfers);
        command
    }
}

/// A command that came out done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Nothing yet.
    Nothing,
    /// All data of this read are in the controller.
    Arrived(u32),
    /// This program is finished.
    Programmed(u32),
    /// This erase is finished.
    Erased(u32),
}

/// What a die's array is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Reading,
    /// Data wait in the page register, the array waits with them.
    Holding,
    /// Data wait in the page register for the cache register to be emptied.
    Blocked,
    /// A program waits for its data or takes them.
    Loading,
    Programming,
    Erasing,
    Suspending,
}

/// A first-in first-out list threaded through commands.
#[derive(Debug, Clone, Copy)]
struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    const EMPTY: Self = Self { head: NONE, tail: NONE };

    fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// A suspended program or erase.
#[derive(Debug, Clone, Copy)]
struct Suspended {
    command: u32,
    phase: Phase,
    remaining: Time,
    head: Head,
    class: Class,
}

struct DieState {
    phase: Phase,
    /// End of the array operation in progress; an event at another time is a stale one.
    end: Time,
    queues: [Fifo; CLASSES],
    /// In the array or the page register.
    active: u32,
    /// Ready to go out over the bus.
    output: Fifo,
    suspended: Option<Suspended>,
    suspends: u32,
    channel: u32,
    /// In the bus queue.
    on_bus: bool,
    bus_head: Head,
    bus_next: u32,
    /// Since when it has been doing what it does.
    since: Time,
    /// When the array read in progress left the command cycles behind.
    array_start: Time,
    times: DieTimes,
}

/// Where the time of a die went.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct DieTimes {
    /// Reading the array, in nanoseconds.
    pub read_ns: u64,
    /// Programming.
    pub program_ns: u64,
    /// Erasing.
    pub erase_ns: u64,
    /// Holding or waiting for data, command cycles, suspending.
    pub wait_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
}

impl DieTimes {
    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.read_ns + self.program_ns + self.erase_ns + self.wait_ns + self.idle_ns
    }
}

struct ChannelState {
    /// The bus is taken until then.
    free_at: Time,
    /// Die whose data are moving.
    active: u32,
    queues: [Fifo; CLASSES],
    started: Time,
    busy: Time,
    idle: Time,
}

/// What the flash has done.
#[derive(Debug, Clone, Default)]
pub struct FlashCounts {
    /// Pages sensed.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Suspends of programs and erases.
    pub suspends: u64,
    /// Reads that joined another on other planes.
    pub joined_reads: u64,
    /// Program commands and their time, by type of the (first) page.
    pub program_time: [(u64, Time); 4],
    /// Energies.
    pub energy: EnergyUse,
}

/// The kinds of events that flash asks for; the payload's index is a die or a channel.
#[derive(Debug, Clone, Copy)]
pub struct FlashEvents {
    /// An array operation ends: add the die's number.
    pub array: u32,
    /// A transfer ends: add the channel's number.
    pub transfer: u32,
}

/// All channels and dies of a drive.
pub struct Flash {
    /// The silicon.
    pub chips: Chips,
    /// Commands under way.
    pub commands: Slab<Command>,
    /// What programs and erases are about.
    pub jobs: Slab<Program>,
    scheduler: Box<dyn Scheduler>,
    dies: Vec<DieState>,
    channels: Vec<ChannelState>,
    events: FlashEvents,
    order: u64,
    /// What it has done.
    pub counts: FlashCounts,
    /// What happened when.
    pub timeline: Timeline,
    /// First command that broke a rule of the chip.
    pub fault: Option<Error>,
}

impl Flash {
    /// `channels` buses with `chips` on them.
    pub fn new(
        chips: Chips,
        channels: u32,
        scheduler: Box<dyn Scheduler>,
        events: FlashEvents,
    ) -> Self {
        let die = |i: u32| DieState {
            phase: Phase::Idle,
            end: Time::NEVER,
            queues: [Fifo::EMPTY; CLASSES],
            active: NONE,
            output: Fifo::EMPTY,
            suspended: None,
            suspends: 0,
            channel: i % channels,
            on_bus: false,
            bus_head: Head { since: Time::ZERO, order: 0 },
            bus_next: NONE,
            since: Time::ZERO,
            array_start: Time::ZERO,
            times: DieTimes::default(),
        };
        let channel = || ChannelState {
            free_at: Time::ZERO,
            active: NONE,
            queues: [Fifo::EMPTY; CLASSES],
            started: Time::ZERO,
            busy: Time::ZERO,
            idle: Time::ZERO,
        };
        Self {
            dies: (0..chips.geometry.dies).map(die).collect(),
            channels: (0..channels).map(|_| channel()).collect(),
            chips,
            commands: Slab::with_capacity(1024),
            jobs: Slab::with_capacity(256),
            scheduler,
            events,
            order: 0,
            counts: FlashCounts::default(),
            timeline: Timeline::off(),
            fault: None,
        }
    }

    /// Whether a die has nothing to do and nothing waiting.
    pub fn is_idle(&self, die: Die) -> bool {
        let die = &self.dies[die.0 as usize];
        die.phase == Phase::Idle
            && die.suspended.is_none()
            && die.output.is_empty()
            && die.queues.iter().all(|queue| queue.is_empty())
    }

    /// Where the time of each die went, up to now.
    pub fn die_times(&self, now: Time) -> Vec<DieTimes> {
        self.dies.iter().map(|die| die.times_at(now)).collect()
    }

    /// Busy and idle time of each channel, up to now.
    pub fn channel_times(&self, now: Time) -> Vec<(Time, Time)> {
        let times = |channel: &ChannelState| {
            // What is booked beyond now has not happened yet; what is after the last use is idle.
            let beyond = channel.free_at.since(now);
            (channel.busy.since(beyond), channel.idle + now.since(channel.free_at))
        };
        self.channels.iter().map(times).collect()
    }

    /// Takes a command in. It is freed by whoever gets it back done.
    pub fn submit(&mut self, events: &mut EventQueue, mut command: Command) -> u32 {
        let now = events.now();
        command.queued = now;
        command.order = self.next_order();
        let die = command.die;
        let class = command.class;
        let index = self.commands.insert(command) as u32;
        self.append(die, class, index);
        if class == Class::Read {
            self.suspend(events, die);
        }
        self.start_die(events, die);
        index
    }

    /// Sends a read round again: as asked in `senses` and `transfers`, ahead of its class.
    pub fn again(&mut self, events: &mut EventQueue, index: u32) {
        let Command { die, class, .. } = self.commands[index as usize];
        let queue = &mut self.dies[die.0 as usize].queues[class as usize];
        self.commands[index as usize].next = queue.head;
        queue.head = index;
        if queue.tail == NONE {
            queue.tail = index;
        }
        self.start_die(events, die);
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    #[inline]
    fn append(&mut self, die: Die, class: Class, index: u32) {
        let queue = &mut self.dies[die.0 as usize].queues[class as usize];
        if queue.tail == NONE {
            queue.head = index;
        } else {
            self.commands[queue.tail as usize].next = index;
        }
        queue.tail = index;
    }

    /// The class that the scheduler wants served, of the commands waiting for a die.
    #[inline]
    fn pick(&self, now: Time, die: &DieState) -> Option<usize> {
        let mut heads = [None; CLASSES];
        let mut waiting = 0;
        let mut only = 0;
        for (class, queue) in die.queues.iter().enumerate() {
            // While something is suspended, only reads may start.
            if queue.is_empty() || (die.suspended.is_some() && class != Class::Read as usize) {
                continue;
            }
            let command = &self.commands[queue.head as usize];
            heads[class] = Some(Head { since: command.queued, order: command.order });
            waiting += 1;
            only = class;
        }
        if let Some(suspended) = &die.suspended {
            let class = suspended.class as usize;
            heads[class] = Some(suspended.head);
            waiting += 1;
            only = class;
        }
        match waiting {
            0 => None,
            1 => Some(only),
            _ => Some(self.scheduler.pick(now, &heads)),
        }
    }

    /// Starts the next command of a die, if it can take one.
    #[inline]
    fn start_die(&mut self, events: &mut EventQueue, die: Die) {
        let state = &self.dies[die.0 as usize];
        if state.phase != Phase::Idle {
            return;
        }
        let now = events.now();
        let Some(class) = self.pick(now, state) else { return };
        let output = !state.output.is_empty();
        if let Some(suspended) = state.suspended
            && suspended.class as usize == class
        {
            if !output {
                self.resume(events, die, suspended);
            }
            return;
        }
        let index = state.queues[class].head;
        let kind = self.commands[index as usize].kind;
        if output && kind != Kind::Read {
            // The registers still hold data; only a read can go on beside them.
            return;
        }
        self.unlink_head(die, class);
        match kind {
            Kind::Read => self.start_read(events, die, class, index),
            Kind::Program => {
                self.set_phase(now, die, Phase::Loading);
                self.dies[die.0 as usize].active = index;
                self.join_bus(events, die);
            }
            Kind::Erase => self.start_erase(events, die, index),
        }
    }

    #[inline]
    fn unlink_head(&mut self, die: Die, class: usize) {
        let queue = &mut self.dies[die.0 as usize].queues[class];
        let next = std::mem::replace(&mut self.commands[queue.head as usize].next, NONE);
        queue.head = next;
        if next == NONE {
            queue.tail = NONE;
        }
    }

    #[inline]
    fn start_read(&mut self, events: &mut EventQueue, die: Die, class: usize, index: u32) {
        let now = events.now();
        let mut commands = 1;
        let mut longest = self.sense(index);
        if self.chips.features.multi_plane_read != MultiPlaneRead::None
            && !self.dies[die.0 as usize].queues[class].is_empty()
        {
            let mut last = index;
            let (joined, n) = self.join_reads(die, class, index);
            for &other in &joined[..n] {
                longest = longest.max(self.sense(other));
                self.commands[last as usize].next = other;
                last = other;
                commands += 1;
            }
            self.counts.joined_reads += commands - 1;
        }
        if self.chips.features.cache_read {
            longest += self.chips.timing.cache;
        }
        let start = self.book_commands(now, die, commands);
        self.set_phase(now, die, Phase::Reading);
        let state = &mut self.dies[die.0 as usize];
        state.active = index;
        state.array_start = start;
        state.end = start + longest;
        events.push(state.end, self.events.array + die.0);
    }

    /// Takes the reads that can share the array time of `first` out of their queue.
    fn join_reads(&mut self, die: Die, class: usize, first: u32) -> ([u32; MAX_PLANES], usize) {
        let geometry = &self.chips.geometry;
        let (block, page) = geometry.page_of(self.commands[first as usize].ppn);
        let plane_bit =
            |block: Block| 1u32 << (geometry.plane_of(block).0 % geometry.planes_per_die);
        let mut planes = plane_bit(block);
        let same_page = self.chips.features.multi_plane_read == MultiPlaneRead::SamePage;
        let mut joined = [NONE; MAX_PLANES];
        let mut n = 0;
        let mut previous = NONE;
        let mut at = self.dies[die.0 as usize].queues[class].head;
        for _ in 0..JOIN_WINDOW {
            if at == NONE {
                break;
            }
            let command = self.commands[at as usize];
            let next = command.next;
            let fits = command.kind == Kind::Read && {
                let (block, other_page) = geometry.page_of(command.ppn);
                let bit = plane_bit(block);
                let fits = planes & bit == 0 && (!same_page || other_page == page);
                planes |= if fits { bit } else { 0 };
                fits
            };
            if fits {
                let queue = &mut self.dies[die.0 as usize].queues[class];
                if previous == NONE {
                    queue.head = next;
                } else {
                    self.commands[previous as usize].next = next;
                }
                if queue.tail == at {
                    queue.tail = previous;
                }
                self.commands[at as usize].next = NONE;
                joined[n] = at;
                n += 1;
            } else {
                previous = at;
            }
            at = next;
        }
        (joined, n)
    }

    /// Senses the page of a read: its array time.
    #[inline]
    fn sense(&mut self, index: u32) -> Time {
        let command = &mut self.commands[index as usize];
        let (block, page) = self.chips.geometry.page_of(command.ppn);
        let (time, rber) = self.chips.read(block, page).unwrap_or_else(|error| {
            self.fault.get_or_insert(error);
            (Time::ZERO, 0.0)
        });
        command.rber = rber;
        let time = time * u64::from(command.senses);
        command.array += time;
        self.counts.reads += u64::from(command.senses);
        self.counts.energy.read_uj += self.chips.energy.read_uj(time);
        time
    }

    fn start_erase(&mut self, events: &mut EventQueue, die: Die, index: u32) {
        let now = events.now();
        let job = self.jobs[self.commands[index as usize].job as usize];
        let mut longest = Time::ZERO;
        for &block in &job.blocks[..usize::from(job.planes)] {
            let time = self.chips.erase(block);
            self.counts.erases += 1;
            self.counts.energy.erase_uj += self.chips.energy.erase_uj(time);
            longest = longest.max(time);
        }
        let start = self.book_commands(now, die, 1);
        self.set_phase(now, die, Phase::Erasing);
        let state = &mut self.dies[die.0 as usize];
        (state.active, state.suspends, state.array_start) = (index, 0, start);
        state.end = start + longest;
        events.push(state.end, self.events.array + die.0);
    }

    /// Books the command cycles of `count` commands on the die's bus: when they are over.
    #[inline]
    fn book_commands(&mut self, now: Time, die: Die, count: u64) -> Time {
        let time = self.chips.timing.command * count;
        if time == Time::ZERO {
            return now;
        }
        let channel = &mut self.channels[self.dies[die.0 as usize].channel as usize];
        channel.book(now, time);
        channel.free_at
    }

    /// Puts a die into the queue of its bus.
    #[inline]
    fn join_bus(&mut self, events: &mut EventQueue, die: Die) {
        let order = self.next_order();
        let state = &mut self.dies[die.0 as usize];
        debug_assert!(!state.on_bus);
        state.on_bus = true;
        state.bus_head = Head { since: events.now(), order };
        state.bus_next = NONE;
        let index = if state.phase == Phase::Loading { state.active } else { state.output.head };
        let class = self.commands[index as usize].class as usize;
        let channel = state.channel;
        let queue = &mut self.channels[channel as usize].queues[class];
        let tail = std::mem::replace(&mut queue.tail, die.0);
        if tail == NONE {
            queue.head = die.0;
        } else {
            self.dies[tail as usize].bus_next = die.0;
        }
        self.start_transfer(events, channel);
    }

    /// Starts the next transfer of a bus, if it is free.
    #[inline]
    fn start_transfer(&mut self, events: &mut EventQueue, channel: u32) {
        let state = &mut self.channels[channel as usize];
        if state.active != NONE {
            return;
        }
        let now = events.now();
        let mut heads = [None; CLASSES];
        let mut waiting = 0;
        let mut class = 0;
        for (i, queue) in state.queues.iter().enumerate() {
            if !queue.is_empty() {
                heads[i] = Some(self.dies[queue.head as usize].bus_head);
                waiting += 1;
                class = i;
            }
        }
        if waiting == 0 {
            return;
        }
        if waiting > 1 {
            class = self.scheduler.pick(now, &heads);
        }
        let queue = &mut state.queues[class];
        let die = queue.head;
        let dies = &mut self.dies[die as usize];
        queue.head = dies.bus_next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        dies.on_bus = false;
        let index = if dies.phase == Phase::Loading { dies.active } else { dies.output.head };
        let command = &mut self.commands[index as usize];
        let time = self.chips.timing.transfer(command.bytes);
        command.bus += time;
        self.counts.energy.bus_uj += self.chips.energy.bus_uj(time);
        state.active = die;
        state.started = state.book(now, time);
        events.push(state.free_at.max(now), self.events.transfer + channel);
    }

    /// A transfer has ended.
    pub fn transfer_done(&mut self, events: &mut EventQueue, channel: u32) -> Done {
        let now = events.now();
        let state = &mut self.channels[channel as usize];
        let die = Die(std::mem::replace(&mut state.active, NONE));
        let started = state.started;
        let loading = self.dies[die.0 as usize].phase == Phase::Loading;
        let kind = if loading { SpanKind::DataIn } else { SpanKind::DataOut };
        self.timeline.record(Track::Channel, channel, kind, started, now);
        let done = if loading {
            self.data_in(events, die);
            Done::Nothing
        } else {
            self.data_out(events, die)
        };
        self.start_transfer(events, channel);
        done
    }

    /// A page of a program's data has reached the die.
    fn data_in(&mut self, events: &mut EventQueue, die: Die) {
        let now = events.now();
        let index = self.dies[die.0 as usize].active;
        let command = &mut self.commands[index as usize];
        command.transfers -= 1;
        if command.transfers > 0 {
            self.join_bus(events, die);
            return;
        }
        let job = self.jobs[command.job as usize];
        let mut longest = Time::ZERO;
        for &block in &job.blocks[..usize::from(job.planes)] {
            let time = self.chips.program(block, job.page).unwrap_or_else(|error| {
                self.fault.get_or_insert(error);
                Time::ZERO
            });
            self.counts.programs += u64::from(self.chips.pages_per_program);
            self.counts.energy.program_uj += self.chips.energy.program_uj(time);
            longest = longest.max(time);
        }
        let page_type = usize::from(self.chips.page_type(job.page));
        let (count, total) = &mut self.counts.program_time[page_type];
        *count += 1;
        *total += longest;
        self.commands[index as usize].array += longest;
        self.set_phase(now, die, Phase::Programming);
        let state = &mut self.dies[die.0 as usize];
        (state.suspends, state.array_start) = (0, now);
        state.end = now + longest;
        events.push(state.end, self.events.array + die.0);
    }

    /// The data of a read have left the die.
    #[inline]
    fn data_out(&mut self, events: &mut EventQueue, die: Die) -> Done {
        let now = events.now();
        let state = &mut self.dies[die.0 as usize];
        let index = state.output.head;
        let command = &mut self.commands[index as usize];
        let next = std::mem::replace(&mut command.next, NONE);
        command.transfers -= 1;
        let more = command.transfers > 0;
        if next == NONE {
            state.account(now);
            state.output = Fifo::EMPTY;
            match state.phase {
                Phase::Holding => state.phase = Phase::Idle,
                Phase::Blocked => {
                    self.release_to_bus(die);
                    self.dies[die.0 as usize].phase = Phase::Idle;
                    self.join_bus(events, die);
                }
                _ => {}
            }
        } else {
            state.output.head = next;
            self.join_bus(events, die);
        }
        if more {
            // The next sense of the same attempt: back to the die, ahead of its class.
            self.again(events, index);
            return Done::Nothing;
        }
        self.start_die(events, die);
        Done::Arrived(index)
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
        let class = if index == NONE { Class::Read } else { self.commands[index as usize].class };
        let done = match state.phase {
            Phase::Reading => {
                self.span(
                    now,
                    die,
                    if class == Class::Collect { SpanKind::CollectRead } else { SpanKind::Read },
                );
                if self.dies[die.0 as usize].output.is_empty() {
                    let cached = self.chips.features.cache_read;
                    self.set_phase(now, die, if cached { Phase::Idle } else { Phase::Holding });
                    self.release_to_bus(die);
                    self.join_bus(events, die);
                } else {
                    self.set_phase(now, die, Phase::Blocked);
                }
                Done::Nothing
            }
            Phase::Programming => {
                self.span(
                    now,
                    die,
                    if class == Class::Collect {
                        SpanKind::CollectProgram
                    } else {
                        SpanKind::Program
                    },
                );
                self.finish(now, die);
                Done::Programmed(index)
            }
            Phase::Erasing => {
                self.span(now, die, SpanKind::Erase);
                self.finish(now, die);
                Done::Erased(index)
            }
            Phase::Suspending => {
                self.span(now, die, SpanKind::Suspend);
                self.set_phase(now, die, Phase::Idle);
                Done::Nothing
            }
            phase => unreachable!("array event in {phase:?}"),
        };
        self.start_die(events, die);
        done
    }

    fn finish(&mut self, now: Time, die: Die) {
        self.set_phase(now, die, Phase::Idle);
        self.dies[die.0 as usize].active = NONE;
    }

    fn span(&mut self, now: Time, die: Die, kind: SpanKind) {
        if self.timeline.is_on() {
            let start = self.dies[die.0 as usize].array_start;
            self.timeline.record(Track::Die, die.0, kind, start, now);
        }
    }

    /// Page register to output.
    fn release_to_bus(&mut self, die: Die) {
        let state = &mut self.dies[die.0 as usize];
        let head = std::mem::replace(&mut state.active, NONE);
        state.output = Fifo { head, tail: head };
    }

    #[inline]
    fn set_phase(&mut self, now: Time, die: Die, phase: Phase) {
        let state = &mut self.dies[die.0 as usize];
        state.account(now);
        state.phase = phase;
    }

    /// Suspends a program or an erase for a host read, if chip, scheduler and limit allow.
    fn suspend(&mut self, events: &mut EventQueue, die: Die) {
        let now = events.now();
        let timing = &self.chips.timing;
        let state = &mut self.dies[die.0 as usize];
        if timing.suspends_max <= state.suspends || !self.scheduler.reads_suspend() {
            return;
        }
        let (cost, kind) = match state.phase {
            Phase::Programming => (timing.program_suspend, SpanKind::Program),
            Phase::Erasing if now >= state.array_start => (timing.erase_suspend, SpanKind::Erase),
            _ => return,
        };
        let remaining = state.end.since(now);
        if remaining <= cost {
            return;
        }
        let command = &self.commands[state.active as usize];
        let class = command.class;
        state.suspended = Some(Suspended {
            command: state.active,
            phase: state.phase,
            remaining,
            head: Head { since: now, order: command.order },
            class,
        });
        self.span(now, die, kind);
        self.set_phase(now, die, Phase::Suspending);
        let state = &mut self.dies[die.0 as usize];
        state.suspends += 1;
        state.active = NONE;
        state.array_start = now;
        state.end = now + cost;
        events.push(state.end, self.events.array + die.0);
        self.counts.suspends += 1;
    }

    fn resume(&mut self, events: &mut EventQueue, die: Die, suspended: Suspended) {
        let now = events.now();
        self.set_phase(now, die, suspended.phase);
        let resume = self.chips.timing.resume;
        let state = &mut self.dies[die.0 as usize];
        state.suspended = None;
        state.active = suspended.command;
        state.array_start = now;
        state.end = now + resume + suspended.remaining;
        events.push(state.end, self.events.array + die.0);
    }
}

impl ChannelState {
    /// Takes the bus for `time`, from now or from when it is free: the start.
    #[inline]
    fn book(&mut self, now: Time, time: Time) -> Time {
        let start = now.max(self.free_at);
        self.idle += start.since(self.free_at);
        self.busy += time;
        self.free_at = start + time;
        start
    }
}

impl DieState {
    /// Books the time since the last change to what the die has been doing.
    #[inline]
    fn account(&mut self, now: Time) {
        self.times = self.times_at(now);
        self.since = now;
    }

    #[inline]
    fn times_at(&self, now: Time) -> DieTimes {
        let mut times = self.times;
        let spent = now.since(self.since).0;
        match self.phase {
            Phase::Idle if self.output.is_empty() && self.suspended.is_none() => {
                times.idle_ns += spent
            }
            Phase::Reading | Phase::Erasing => {
                // Command cycles come first.
                let cycles = self.array_start.since(self.since).0.min(spent);
                times.wait_ns += cycles;
                if self.phase == Phase::Reading {
                    times.read_ns += spent - cycles;
                } else {
                    times.erase_ns += spent - cycles;
                }
            }
            Phase::Programming => times.program_ns += spent,
            _ => times.wait_ns += spent,
        }
        times
    }
}
