//! Buses and dies: flash commands in, completed commands out.
//!
//! A die does one array operation at a time; a bus moves one page's data at a time. A read is
//! command - array - transfer; a program is transfer - array; an erase is command - array. With
//! a second page register (cache read) the next array read of a die overlaps the transfer of the
//! last; a page that is read twice and combined on its way out takes both registers until it has
//! left. The scheduler chooses which class a free die or a free bus serves next. Command cycles are
//! short and go ahead of waiting transfers: they are booked on the bus when a die starts.
//!
//! `die` simulates a die, `channel` a bus; this file connects them. `backlog` says how long a die
//! would keep a read waiting.

pub(crate) mod backlog;
pub mod blame;
pub mod channel;
pub mod command;
pub(crate) mod copyback;
pub mod die;
pub mod doing;
mod energy_curve;
mod power;
pub mod scheduler;
pub mod timeline;

use crate::flash::blame::Blame;
use crate::flash::channel::ChannelState;
use crate::flash::command::{Command, NONE, Queues};
use crate::flash::copyback::Copyback;
use crate::flash::die::{DieState, Phase};
use crate::flash::doing::{DOINGS, DieTimes, Doing};
use crate::flash::energy_curve::EnergyCurve;
use crate::flash::scheduler::{Class, Head, Scheduler};
use crate::flash::timeline::Timeline;
use crate::medium::cells::CellMedium;
use crate::medium::words::Words;
use crate::terms::{PageRead, Program, ReadOwner, Reread};
use base::counts::Longest;
use base::event::EventQueue;
use base::pool::Pool;
use base::{Error, Time, counts};
use nand::chip::{Chips, MOST_KINDS};
use nand::energy::OperationTimes;
use nand::geometry::Die;
use schemars::JsonSchema;
use serde::Serialize;

/// Counts of flash operations. Those that serde writes are keys of the report's `nand`, and columns
/// of the time series.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct FlashCounts {
    /// Pages sensed by array reads.
    pub reads: u64,
    /// Pages programmed, failed ones included.
    pub programs: u64,
    /// Blocks erased, failed ones included.
    pub erases: u64,
    /// Pages among `programs` whose program failed (`chip.fault`).
    pub failed_programs: u64,
    /// Blocks among `erases` whose erase failed (`chip.fault`).
    pub failed_erases: u64,
    /// Pages programmed from the page registers that they were read into
    /// ([copyback](../ftl.md#copyback-moves-that-stay-on-the-chip)).
    pub copybacks: u64,
    /// Suspends of programs and erases.
    pub suspends: u64,
    /// Reads that joined another on other planes.
    pub joined_reads: u64,
    /// Programs of the drive's log and copies, which are not among `programs`, and their time.
    #[serde(skip)]
    pub kept_programs: (u64, Time),
    /// Blocks erased for the log and the copies, and by a start-up; they are not among `erases`.
    #[serde(skip)]
    pub kept_erases: u64,
    /// Time of programs of a write-once code (several pages, read before they are rewritten), and
    /// the longest of them.
    #[serde(skip)]
    pub coded_time: (Time, Longest),
    /// Pages among `programs` at reduced levels.
    #[serde(skip)]
    pub reduced_programs: u64,
    /// Programs that a summary followed.
    #[serde(skip)]
    pub summaries: u64,
    /// Bytes that have crossed the buses, parity included.
    #[serde(skip)]
    pub bus_bytes: u64,
    /// Counts of each kind of chips.
    #[serde(skip)]
    pub of_kind: [KindCounts; MOST_KINDS],
}

/// Counts of the dies of one kind of chips, keys of the report's `nand.kinds`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct KindCounts {
    /// Pages programmed on the kind.
    pub programs: u64,
    /// Blocks erased on the kind.
    pub erases: u64,
    /// Program commands and their time, by row of the chip's times: type of the (first) page,
    /// single-level mode, or type of the page at reduced levels.
    #[serde(skip)]
    pub program_time: [(u64, Time); 9],
}

counts!(FlashCounts {
    reads,
    programs,
    failed_programs,
    erases,
    failed_erases,
    kept_programs,
    kept_erases,
    coded_time,
    reduced_programs,
    summaries,
    bus_bytes,
    suspends,
    copybacks,
    joined_reads,
    of_kind,
});
counts!(KindCounts { programs, program_time, erases });

/// The kinds of events that flash asks for; the payload's index is a die or a channel.
#[derive(Debug, Clone, Copy)]
pub struct FlashEvents {
    /// An array operation ends: add the die's number.
    pub array: u32,
    /// Lane for ends of array reads.
    pub array_lane: usize,
    /// Lane for ends of programs.
    pub program_lane: usize,
    /// A transfer ends: add the channel's number.
    pub transfer: u32,
    /// Lane for ends of transfers to a die.
    pub to_die_lane: usize,
    /// Lane for ends of transfers from a die.
    pub from_die_lane: usize,
}

/// All channels and dies of a drive.
pub struct Flash {
    /// Chips of all dies, with the state of their blocks.
    pub chips: Chips,
    /// Real cells, where decoding reads them.
    pub(crate) cells: Option<Box<CellMedium>>,
    /// Commands under way, by number.
    pub commands: Pool<Command>,
    /// Places of programs and erases under way, by number.
    pub programs: Pool<Program>,
    pub(crate) scheduler: Box<dyn Scheduler>,
    pub(crate) dies: Vec<DieState>,
    pub(crate) channels: Vec<ChannelState>,
    /// Data go before commands on a bus.
    pub(crate) data_first: bool,
    pub(crate) events: FlashEvents,
    pub(crate) order: u64,
    /// Copies inside dies, where the drive makes them.
    pub(crate) copyback: Option<Box<Copyback>>,
    /// Counts of flash operations so far.
    pub counts: FlashCounts,
    /// Time of each die's operations, planes one by one: what its energy follows from.
    pub spent: Vec<OperationTimes>,
    /// Energy of the arrays over time.
    pub energy_curve: EnergyCurve,
    /// Spans for the timeline.
    pub timeline: Timeline,
    /// Account of what requests wait for, if asked for.
    pub(crate) blame: Option<Box<Blame>>,
    /// Codewords as they are on flash, where the host brings bytes that are really encoded.
    pub(crate) words: Option<Box<Words>>,
    /// First command that broke a rule of the chip.
    pub fault: Option<Error>,
}

impl Flash {
    /// Creates `channels` buses with the dies of `chips` on them.
    pub fn new(
        chips: Chips,
        channels: u32,
        scheduler: Box<dyn Scheduler>,
        events: FlashEvents,
    ) -> Self {
        let die = |i: u32| DieState {
            phase: Phase::Idle,
            end: Time::NEVER,
            queues: Queues::EMPTY,
            is_kept: false,
            is_closed: false,
            active: NONE,
            senses: 0,
            output: NONE,
            suspended: None,
            suspends: 0,
            channel: i % channels,
            on_bus: false,
            bus_head: Head { since: Time::ZERO, order: 0 },
            bus_next: NONE,
            since: Time::ZERO,
            array_start: Time::ZERO,
            doing: Doing::Idle,
            lead: Doing::Wait,
            times: [0; DOINGS],
        };
        let channel = || ChannelState {
            free_at: Time::ZERO,
            active: NONE,
            queues: Queues::EMPTY,
            started: Time::ZERO,
            busy: Time::ZERO,
            idle: Time::ZERO,
        };
        Self {
            dies: (0..chips.geometry.dies).map(die).collect(),
            spent: vec![OperationTimes::default(); chips.geometry.dies as usize],
            channels: (0..channels).map(|_| channel()).collect(),
            chips,
            cells: None,
            commands: Pool::with_capacity(1024),
            programs: Pool::with_capacity(256),
            scheduler,
            data_first: false,
            events,
            order: 0,
            copyback: None,
            counts: FlashCounts::default(),
            energy_curve: EnergyCurve::new(),
            timeline: Timeline::off(),
            blame: None,
            words: None,
            fault: None,
        }
    }

    /// Whether a die has nothing to do and nothing waiting.
    pub fn is_idle(&self, die: Die) -> bool {
        let die = &self.dies[die.0 as usize];
        die.phase == Phase::Idle
            && die.suspended.is_none()
            && die.output == NONE
            && die.queues.waiting() == 0
    }

    /// Whether any command is under way.
    #[inline]
    pub fn is_at_work(&self) -> bool {
        !self.commands.is_idle()
    }

    /// Where the time of each die went, up to now.
    pub fn die_times(&self, now: Time) -> Vec<DieTimes> {
        self.dies.iter().map(|die| DieTimes::of(&die.times_at(now))).collect()
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

    /// Keeps a command, to be submitted. The caller that gets it back done frees it.
    #[inline]
    pub fn hold(&mut self, command: Command) -> u32 {
        self.commands.insert(command)
    }

    /// The read that command `index` is.
    #[inline]
    pub fn read(&self, index: u32) -> &PageRead {
        self.commands[index].read()
    }

    /// The place of the program or erase that command `index` is.
    #[inline]
    pub fn program(&self, index: u32) -> &Program {
        &self.programs[self.commands[index].place()]
    }

    /// Sends a command to its die.
    pub fn submit(&mut self, events: &mut EventQueue, index: u32) {
        let die = self.queue(events.now(), index);
        self.wake(events, die);
    }

    /// Lets a command wait at its die, which is to be woken before time goes on.
    pub fn queue(&mut self, now: Time, index: u32) -> Die {
        let order = self.next_order();
        let command = &mut self.commands[index];
        command.order = order;
        let (die, class) = (command.die, command.class);
        if self.blame.is_some() {
            self.blame_wait(now, die, index);
        }
        self.append(die, class, index);
        die
    }

    /// Lets a die look at what waits for it.
    pub fn wake(&mut self, events: &mut EventQueue, die: Die) {
        self.suspend_for_reads(events, die);
        self.start_die(events, die);
    }

    /// Sends a read round again, `bytes` a transfer, with the references and levels of `reread`.
    pub fn again(&mut self, index: u32, reread: Reread, bytes: u32) {
        let command = &mut self.commands[index];
        (command.transfers, command.bytes) = (reread.transfers.into(), bytes);
        let read = command.read_mut();
        read.attempt += 1;
        (read.level, read.senses, read.shift_v) =
            (reread.level, reread.senses, reread.shift_v as f32);
    }

    /// Issues all transfers of a retried read ahead of its class. Each is a separate command; the
    /// others are parts of the first.
    pub fn go_ahead(&mut self, events: &mut EventQueue, index: u32) {
        let whole = self.commands[index];
        for _ in 1..whole.transfers {
            let mut part = whole;
            part.read_mut().owner = ReadOwner::PartOf(index);
            (part.times.array, part.times.bus) = (Time::ZERO, Time::ZERO);
            let part = self.commands.insert(part);
            if let Some(blame) = &mut self.blame {
                blame.part(part, index);
                self.blame_wait(events.now(), whole.die, part);
            }
            self.push_front(part);
        }
        self.blame_wait(events.now(), whole.die, index);
        self.push_front(index);
        self.suspend_for_reads(events, whole.die);
        self.start_die(events, whole.die);
    }

    /// Issues the next transfer of a retried read behind all commands of its die. Its data must be
    /// where they were: an erase of their block can only be asked for after this.
    pub fn go_behind(&mut self, events: &mut EventQueue, index: u32) {
        self.commands[index].next = NONE;
        self.submit(events, index);
    }

    /// Keeps what the die of a command has done before the command waits for it.
    #[cold]
    fn blame_wait(&mut self, now: Time, die: Die, index: u32) {
        if let Some(blame) = &mut self.blame {
            blame.wait(index, self.dies[die.0 as usize].times_at(now));
        }
    }

    fn push_front(&mut self, index: u32) {
        let Command { die, class, .. } = self.commands[index];
        let after = self.dies[die.0 as usize].queues.push_front(class as usize, index);
        self.commands[index].next = after;
        if after != NONE {
            // Schedulers see the first of a class only: it speaks for older ones behind it too,
            // which no erase may overtake.
            let order = self.commands[after].order;
            let first = &mut self.commands[index];
            first.order = first.order.min(order);
        }
    }

    /// Notes that a transfer of a read is in the controller. Returns the read, if that was its
    /// last.
    #[inline]
    pub fn part_arrived(&mut self, now: Time, index: u32) -> Option<u32> {
        let first = match self.read(index).owner {
            ReadOwner::PartOf(first) => {
                let part = self.commands.remove(index).times;
                let whole = &mut self.commands[first].times;
                whole.array += part.array;
                whole.bus += part.bus;
                // What went on in array and bus at the same time counts once.
                let spent = now.since(whole.queued).since(whole.bus + whole.ecc);
                whole.array = whole.array.min(spent);
                first
            }
            _ => index,
        };
        let whole = &mut self.commands[first];
        whole.transfers -= 1;
        if let Some(blame) = &mut self.blame
            && whole.transfers == 0
            && first != index
        {
            // The read waited for its last part.
            blame.part(first, index);
        }
        (whole.transfers == 0).then_some(first)
    }

    pub(crate) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    #[inline]
    pub(crate) fn append(&mut self, die: Die, class: Class, index: u32) {
        let before = self.dies[die.0 as usize].queues.push(class as usize, index);
        if before != NONE {
            self.commands[before].next = index;
        }
    }
}
