//! A bus: one page's data at a time, command cycles booked ahead, the scheduler's order.

use crate::flash::Flash;
use crate::flash::command::{Done, NONE, Queues};
use crate::flash::die::Phase;
use crate::flash::scheduler::Head;
use crate::flash::timeline::{SpanKind, Track};
use base::Time;
use base::event::EventQueue;
use nand::geometry::Die;

pub(crate) struct ChannelState {
    /// Time up to which the bus is taken.
    pub(crate) free_at: Time,
    /// Die whose data are moving.
    pub(crate) active: u32,
    pub(crate) queues: Queues,
    pub(crate) started: Time,
    pub(crate) busy: Time,
    pub(crate) idle: Time,
}

impl ChannelState {
    /// Takes the bus for `time`, from now or from when it is free. Returns the start.
    #[inline]
    pub(crate) fn book(&mut self, now: Time, time: Time) -> Time {
        let start = now.max(self.free_at);
        self.idle += start.since(self.free_at);
        self.busy += time;
        self.free_at = start + time;
        start
    }

    /// Whether data are moving on the bus, or wait for it.
    pub(crate) fn has_data(&self) -> bool {
        self.active != NONE || self.queues.waiting() != 0
    }

    /// Breaks off what is moving, and forgets what is booked.
    pub(crate) fn stop(&mut self, now: Time) {
        self.busy = self.busy.since(self.free_at.since(now));
        self.free_at = self.free_at.min(now);
        (self.active, self.queues) = (NONE, Queues::EMPTY);
    }
}

impl Flash {
    /// Books the command cycles of `count` commands on the die's bus. Returns their end.
    #[inline(always)]
    pub(crate) fn book_commands(&mut self, now: Time, die: Die, count: u64) -> Time {
        let time = self.chips.of_die(die).timing.command * count;
        if time == Time::ZERO {
            return now;
        }
        let channel = &mut self.channels[self.dies[die.0 as usize].channel as usize];
        channel.book(now, time);
        channel.free_at
    }

    /// Puts a die into the queue of its bus.
    #[inline]
    pub(crate) fn join_bus(&mut self, events: &mut EventQueue, die: Die) {
        let order = self.next_order();
        let state = &mut self.dies[die.0 as usize];
        debug_assert!(!state.on_bus);
        state.on_bus = true;
        state.bus_head = Head { since: events.now(), order };
        state.bus_next = NONE;
        let index = if state.phase == Phase::Loading { state.active } else { state.output };
        let class = self.commands[index].class as usize;
        let channel = state.channel;
        let before = self.channels[channel as usize].queues.push(class, die.0);
        if before != NONE {
            self.dies[before as usize].bus_next = die.0;
        }
        self.start_transfer(events, channel);
    }

    /// Starts the next transfer of a bus, if it is free and a transfer waits.
    #[inline]
    pub(crate) fn start_transfer(&mut self, events: &mut EventQueue, channel: u32) {
        let state = &self.channels[channel as usize];
        if state.active == NONE && state.queues.waiting() != 0 {
            self.transfer_next(events, channel);
        }
    }

    #[inline(never)]
    fn transfer_next(&mut self, events: &mut EventQueue, channel: u32) {
        let now = events.now();
        let state = &mut self.channels[channel as usize];
        let waiting = state.queues.waiting();
        let mut class = waiting.trailing_zeros() as usize;
        if waiting & (waiting - 1) != 0 {
            let head = |class: usize| {
                let die = state.queues.head(class);
                (die != NONE).then(|| self.dies[die as usize].bus_head)
            };
            class = self.scheduler.pick(now, &std::array::from_fn(head));
        }
        let die = state.queues.head(class);
        let dies = &mut self.dies[die as usize];
        state.queues.take(class, NONE, dies.bus_next);
        dies.on_bus = false;
        let loading = dies.phase == Phase::Loading;
        let index = if loading { dies.active } else { dies.output };
        let command = &mut self.commands[index];
        let time = self.chips.of_die(Die(die)).timing.transfer(command.bytes);
        command.times.bus += time;
        self.spent[die as usize].bus += time;
        self.counts.bus_bytes += u64::from(command.bytes);
        state.active = die;
        state.started = state.book(now, time);
        let lane = if loading { self.events.to_die_lane } else { self.events.from_die_lane };
        events.push_lane(lane, state.free_at.max(now), self.events.transfer + channel);
    }

    /// A transfer has ended; returns the operation that it completes, and its command.
    pub fn transfer_done(&mut self, events: &mut EventQueue, channel: u32) -> (Done, Die) {
        let now = events.now();
        let state = &mut self.channels[channel as usize];
        let die = Die(std::mem::replace(&mut state.active, NONE));
        let started = state.started;
        let loading = self.dies[die.0 as usize].phase == Phase::Loading;
        if self.timeline.is_on() {
            let kind = if loading { SpanKind::DataIn } else { self.data_out_span(die) };
            self.timeline.record(Track::Channel, channel, kind, started, now);
        }
        if let Some(blame) = &mut self.blame
            && !loading
        {
            let index = self.dies[die.0 as usize].output;
            blame.sent(index, started, now, self.commands[index].read().attempt > 0);
        }
        let done = if loading {
            self.data_in(events, die);
            Done::Nothing
        } else {
            self.data_out(events, die)
        };
        self.start_transfer(events, channel);
        if self.data_first {
            self.start_held(events, channel);
        }
        (done, die)
    }

    /// Starts commands of dies that were held back by data on their bus, while there are none.
    fn start_held(&mut self, events: &mut EventQueue, channel: u32) {
        for die in (channel..self.dies.len() as u32).step_by(self.channels.len()) {
            if self.channels[channel as usize].has_data() {
                return;
            }
            self.start_die(events, Die(die));
        }
    }

    /// Span of a read's transfer in the timeline.
    fn data_out_span(&self, die: Die) -> SpanKind {
        let index = self.dies[die.0 as usize].output;
        if self.commands[index].is_soft_read() { SpanKind::SoftOut } else { SpanKind::DataOut }
    }

    /// A page of a program's data has reached the die.
    pub(crate) fn data_in(&mut self, events: &mut EventQueue, die: Die) {
        let now = events.now();
        let index = self.dies[die.0 as usize].active;
        let command = &mut self.commands[index];
        command.transfers -= 1;
        if command.transfers > 0 {
            self.join_bus(events, die);
            return;
        }
        self.start_program(events, die, now);
    }

    /// The data of a read have left the die.
    #[inline]
    pub(crate) fn data_out(&mut self, events: &mut EventQueue, die: Die) -> Done {
        let now = events.now();
        let state = &mut self.dies[die.0 as usize];
        let index = state.output;
        let command = &mut self.commands[index];
        let next = std::mem::replace(&mut command.next, NONE);
        if next == NONE {
            state.account(now);
            state.output = NONE;
            match state.phase {
                Phase::Holding => state.phase = Phase::Idle,
                // The register that the second of two reads waits for.
                Phase::Blocked if state.senses > 0 => self.sense_again(events, die),
                Phase::Blocked => {
                    state.phase = Phase::Idle;
                    self.hand_over(events, die);
                }
                _ => {}
            }
        } else {
            state.output = next;
            self.join_bus(events, die);
        }
        self.start_die(events, die);
        Done::Arrived(index)
    }
}
