//! The drive: the life of one request, from the host's queue to its completion. Read this first.
//!
//! A **read**: a core takes the command (`command_ready`); each unit is looked up in the buffer,
//! in the read cache (`cached`), then in the FTL; units in one page become one flash command
//! (`read_units`); the die and the bus serve it (`flash`); a decoder takes the data (`arrived`);
//! after a failure the retry policy reads again (`read_again`), and at last the rest of its stripe
//! gives the data (`rebuild`); the last unit sends the data over the link, and the request is
//! complete. Where the map itself is on flash, its page is read first (`map`).
//!
//! A **write**: the data cross the link and enter the buffer (`fill_buffer`), which is enough for
//! an acknowledgement in a write-back drive. Whenever a row of units waits and a die is free, the
//! FTL places it and a program goes out (`drain_buffer`). What the flash has is reported to the
//! FTL and leaves the buffer (`programmed`).
//!
//! **Internal work** (garbage collection, merges, pages of the map that are written back) is done
//! in jobs. The FTL is asked for one step of a job at a time, and its reads, programs and erases go
//! through the same dies, buses and decoders as everybody's (`jobs`).
//!
//! Each part owns its state, and the file of its name is where that changes: `front` the host's
//! side, `read` read cache, decoders and retries, `write` buffer and encoders, `gate` which dies
//! may take host data, `map` the pages of the map that are being read, `jobs` internal work,
//! `exchange` dies that fail or whose chip is replaced. This file wires them together.

mod account;
pub mod activity;
mod assemble;
mod at_rest;
pub(crate) mod codes;
mod costs;
pub mod exchange;
mod flow;
mod front;
mod gate;
mod handles;
mod idle;
mod jobs;
mod map;
mod power;
mod program;
pub(crate) mod read;
pub mod stage;
pub mod supply;
pub(crate) mod units;
mod upkeep;
mod wakes;
mod windows;
mod write;
mod zones;

pub use account::UnitPlace;
pub use account::blocks;
use account::blocks::Origins;
use activity::ControllerCounts;
pub use codes::CodeCounts;
use flow::event;
use idle::Idle;
pub use power::{Cut, Losses, PowerCounts, Started};

use crate::build::{BuiltCode, Kept};
use crate::config::SsdConfig;
use crate::conflicts::Features;
use crate::failure::Failures;
use crate::failure::retry::Retry;
use crate::flash::Flash;
use crate::flash::blame::Cause;
use crate::flash::command::{Done, Times};
use crate::ftl::Ftl;
use crate::medium::unreadable::Unreadable;
use crate::medium::versions::Versions;
use crate::terms::request::{Op, Request, Status};
use base::event::EventQueue;
use base::{Result, Time};
use codes::Codes;
use exchange::{Exchanges, FailedDies, Pace};
use front::Front;
use gate::Gate;
pub use handles::Renewed;
use jobs::{Jobs, OnChip};
use map::MapReads;
use nand::geometry::Die;
use power::Power;
use read::{CachedReads, Reader};
use stage::Stage;
use supply::Supply;
use units::Units;
use wakes::{Wake, Wakes};
use windows::Windows;
pub use windows::{Budget, Endings, Outlook, Window, WindowCounts};
use write::{Answer, Writer};
use zones::ZoneCommands;
pub use zones::ZoneCounts;

/// Parts of a request's latency. The rest of it is spent in the controller, the buffer and the
/// link, and on programs of its data that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// Waiting for a die, a bus or a decoder.
    pub queue: Time,
    /// Time of the array: reads or programs.
    pub flash: Time,
    /// Time of transfers on a bus.
    pub bus: Time,
    /// Time in decoders or encoders.
    pub ecc: Time,
}

impl Parts {
    /// Parts of a command that has ended at `now`.
    #[inline]
    pub(crate) fn of(times: &Times, now: Time) -> Self {
        let &Times { queued, array, bus, ecc } = times;
        let queue = now.since(queued).since(array + bus + ecc);
        Self { queue, flash: array, bus, ecc }
    }
}

/// Result of a completed request.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// Token that the host gave with the request.
    pub token: u32,
    /// Request that was completed; the offset of an append is the place of its data.
    pub request: Request,
    /// Time at which the request arrived in the host's queue.
    pub arrival: Time,
    /// Time at which the drive took the request.
    pub start: Time,
    /// Parts of its latency, along the flash command that ended last.
    pub parts: Parts,
    /// Whether the request failed: some of its data could not be corrected, the drive takes none
    /// any more, or it was refused with a status.
    pub failed: bool,
    /// Reason for which a zoned drive has refused the request.
    pub status: Status,
}

/// Event of a drive that its caller is told of.
#[derive(Debug)]
pub enum Step {
    /// The request in this slot is complete: [`Ssd::completed`] tells of it.
    Completed(u32),
    /// A wake-up that the host asked for.
    Wake(u32),
    /// The drive has started up after a power cut, and takes requests.
    Ready,
    /// Nothing is under way.
    Idle,
}

/// Parts that a drive is put together from.
pub(crate) struct DriveParts {
    pub flash: Flash,
    pub ftl: Box<dyn Ftl>,
    /// The code of `[ecc]`, then those of kinds of chips.
    pub codes: Vec<BuiltCode>,
    pub retry: Box<dyn Retry>,
    pub idle: Idle,
    pub failures: Failures,
    /// Blocks that the drive itself writes to.
    pub kept: Kept,
    pub features: Features,
}

/// Solid-state drive: its parts, its counts and its clock.
pub struct Ssd {
    pub(crate) events: EventQueue,
    /// Time at which refresh, patrol or a look at the supply is due next.
    pub(crate) upkeep_at: Time,
    pub(crate) flash: Flash,
    pub(crate) ftl: Box<dyn Ftl>,
    front: Front,
    pub(crate) reader: Reader,
    /// Read cache and reads ahead, of a drive with `[read_cache]`.
    read_cache: Option<Box<CachedReads>>,
    writer: Writer,
    gate: Gate,
    map: MapReads,
    jobs: Jobs,
    wakes: Wakes,
    exchanges: Exchanges,
    failed_dies: FailedDies,
    /// Pace at which failed dies are rebuilt, where it is limited.
    rebuild_pace: Option<Pace>,
    idle: Idle,
    /// Windows of predictable latency, of a drive with `[windows]`.
    windows: Option<Windows>,
    pub(crate) failures: Failures,
    pub(crate) counts: ControllerCounts,
    /// Versions of stored units, where tests want to know.
    pub(crate) versions: Option<Versions>,
    /// Bytes that reads could not get back, where the host wants to know.
    pub(crate) unreadable: Option<Unreadable>,
    /// Origin of the data of each block, where somebody wants to know.
    origins: Option<Box<Origins>>,
    /// State of recovery: power, log and copies. `None` for a drive without recovery.
    power: Option<Box<Power>>,
    /// Commands on zones, where the FTL has any.
    zones: Option<Box<ZoneCommands>>,
    /// Energy beside the flash, power states and heat, of a drive with `[power]`.
    supply: Option<Box<Supply>>,
    pub(crate) units: Units,
    pub(crate) codes: Codes,
    /// Features that an action may be refused for.
    pub(crate) features: Features,
}

impl Ssd {
    /// Puts the parts together; `build` makes them.
    pub(crate) fn assemble(config: &SsdConfig, parts: DriveParts) -> Result<Self> {
        let DriveParts { flash, ftl, codes, retry, idle, failures, kept, features } = parts;
        let on_chip = OnChip::of(config)?;
        let power = Power::new(config, &flash.chips, &kept)?;
        let geometry = &flash.chips.geometry;
        let dies = geometry.dies;
        let units = Units::new(ftl.facts().logical_units, geometry.unit_bytes);
        let zones = ZoneCommands::of(&*ftl, config)?;
        let mut ssd = Self {
            events: EventQueue::new(),
            upkeep_at: Time::LIMIT,
            front: Front::new(config, ftl.map_on_flash().is_none()),
            reader: Reader::new(config, retry),
            read_cache: CachedReads::of(config, &units),
            writer: Writer::new(config, &*ftl, dies),
            gate: Gate::new(dies, ftl.facts()),
            map: MapReads::new(ftl.map_on_flash().is_some()),
            jobs: Jobs::new(ftl.facts().jobs, on_chip),
            wakes: Wakes::default(),
            exchanges: Exchanges::new(config),
            failed_dies: FailedDies::new(config.parity.pages),
            rebuild_pace: Pace::of(config),
            idle,
            windows: Windows::of(config, ftl.facts()),
            failures,
            counts: ControllerCounts::default(),
            versions: None,
            unreadable: None,
            origins: None,
            power: power.map(Box::new),
            zones,
            supply: Supply::of(config),
            units,
            codes: Codes::new(config, &flash.chips, codes),
            features,
            flash,
            ftl,
        };
        ssd.check_log()?;
        ssd.take_tails();
        ssd.read_at_present();
        ssd.schedule_upkeep();
        Ok(ssd)
    }

    /// Present time of the simulation.
    #[inline]
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Bytes that the host sees.
    #[inline]
    pub fn capacity_bytes(&self) -> u64 {
        self.units.capacity_bytes()
    }

    /// Time at which something happens next, if nothing is asked for before.
    pub fn next_time(&self) -> Option<Time> {
        let next = self.events.next_time().filter(|&next| next < Time::LIMIT)?;
        Some(next.min(self.upkeep_at))
    }

    /// Lets time pass up to `time`, before which nothing happens.
    pub fn pass_until(&mut self, time: Time) {
        self.look_until(time);
        self.events.advance_to(time.min(self.upkeep_at).max(self.now()));
    }

    /// Asks for `Step::Wake(token)` at `time`.
    pub fn wake_at(&mut self, time: Time, token: u32) {
        self.events.push(time.max(self.now()), event::of(event::WAKE, token));
    }

    /// Prefetches what `request` will look up in the read cache and in the map, if there is time
    /// before it is submitted.
    #[inline]
    pub fn prefetch(&self, request: &Request) {
        if let Some(lpn) = self.units.lpn_at(request.offset) {
            if let Some(cached) = &self.read_cache {
                cached.prefetch(lpn);
            }
            self.ftl.prefetch(lpn);
        }
    }

    /// Prefetches the place of the older data of `request`, in the read cache or in a block, once
    /// `prefetch` has had time to act.
    #[inline]
    pub fn prefetch_blocks(&self, request: &Request) {
        if let Some(lpn) = self.units.lpn_at(request.offset)
            && !self.read_cache.as_deref().is_some_and(|cached| cached.prefetch_slot(lpn))
            && let Some(block) = self.ftl.prefetch_old(lpn)
        {
            self.flash.chips.prefetch(block);
        }
    }

    /// Goes on to the next completion or wake-up.
    #[inline]
    pub fn step(&mut self) -> Step {
        loop {
            if let Some(step) = self.step_event() {
                return step;
            }
        }
    }

    /// Processes one event; returns its completion for the host, if any.
    #[inline(always)]
    pub fn step_event(&mut self) -> Option<Step> {
        debug_assert!(!self.wakes.any(), "wakes are carried out before the next event");
        let Some((_, payload)) = self.events.pop_before(self.upkeep_at) else {
            return self.keep_up();
        };
        let index = payload & event::MASK;
        match payload >> event::SHIFT {
            event::READY => self.command_ready(index),
            event::DATA_IN => self.data_in(index),
            event::ARRAY => {
                let done = self.flash.array_done(&mut self.events, Die(index));
                self.done(done, Die(index));
            }
            event::TRANSFER => {
                let (done, die) = self.flash.transfer_done(&mut self.events, index);
                self.done(done, die);
            }
            event::DECODED => self.decoded(index),
            event::CACHED => self.cached_arrived(index),
            event::COMPUTED => self.computed(index),
            event::REBUILD => self.look_at_pace(),
            event::HOST_MEMORY => self.host_memory_read(index),
            event::LOOKED_UP => self.looked_up(index),
            event::BUFFERED => self.buffered_arrived(index),
            event::ENCODED => self.flash.submit(&mut self.events, index),
            event::WAKE => return Some(Step::Wake(index)),
            event::COMPLETE => {
                self.front.release(index);
                self.rest();
                self.note_idleness();
                if self.flash.blame.is_some() {
                    self.blame_rest(index);
                }
                return Some(Step::Completed(index));
            }
            event::REST => self.look_for_rest(),
            event::EXCHANGE => {
                let step = self.look_at_exchange(index);
                self.settle_wakes();
                return step;
            }
            _ => return Some(Step::Ready),
        }
        self.settle_wakes();
        self.note_idleness();
        None
    }

    /// Error about a rule that the firmware broke, if it did: the run is void then.
    pub fn fault(&mut self) -> Result<()> {
        // What the FTL says is the cause, what was seen of it the consequence.
        let of_flash = self.flash.fault.take();
        self.ftl.fault(false).or(of_flash).map_or(Ok(()), Err)
    }

    /// Error about a promise that the FTL has broken, if requests wait and nothing is under way.
    pub fn stalled(&mut self) -> Result<()> {
        self.ftl.fault(true).map_or(Ok(()), Err)
    }

    /// Books the end of a request, which is complete.
    #[cold]
    fn blame_rest(&mut self, slot: u32) {
        let (now, request) = (self.now(), self.front.request(slot));
        let cause = match request.op {
            Op::Read => Cause::Link,
            Op::Write if !request.fua => Cause::Buffer,
            Op::ZoneAppend => Cause::Buffer,
            Op::Write | Op::Flush | Op::ZoneFinish => Cause::Program,
            Op::Trim
            | Op::ZoneReset
            | Op::ZoneOpen
            | Op::ZoneClose
            | Op::ZoneOpenArea
            | Op::ZoneCommit => Cause::Controller,
        };
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(now, cause);
        }
    }

    /// A core has taken the command of a request.
    fn command_ready(&mut self, slot: u32) {
        let request = self.front.request(slot);
        let now = self.now();
        if let Some(blame) = &mut self.flash.blame {
            blame.request(slot).book(now, Cause::Controller);
        }
        if (self.zones.is_some() || request.op.is_of_zones()) && !self.is_admitted(slot) {
            return;
        }
        match request.op {
            Op::Read => self.look_up(slot, &request),
            Op::Write | Op::ZoneAppend => unreachable!("a write goes on with its data"),
            Op::ZoneReset
            | Op::ZoneFinish
            | Op::ZoneOpen
            | Op::ZoneClose
            | Op::ZoneOpenArea
            | Op::ZoneCommit => {
                self.zone_command(slot, &request);
            }
            Op::Trim => self.trim_units(slot, &request),
            Op::Flush if self.writer.lies => self.acknowledge(slot, self.now()),
            Op::Flush => {
                if self.power.is_some() {
                    self.log_trims(true);
                }
                // Data of zones need no power in the buffer.
                if self.writer.flushes.is_idle() || self.is_all_zones() {
                    self.answer_once_whole(Answer::Flush(slot));
                } else {
                    self.writer.flushes.wait(slot);
                    self.wakes.wake(Wake::Rows);
                }
            }
        }
    }

    /// A flash command completed.
    #[inline(always)]
    fn done(&mut self, done: Done, die: Die) {
        match done {
            Done::Programmed(index) => self.programmed(index),
            Done::Erased(index) => self.erased(index),
            Done::Arrived(index) => self.arrived(index),
            Done::Nothing => {}
        }
        if self.idle.is_used() {
            self.settle_wakes();
            if self.flash.is_idle(die) {
                self.wakes.collect(die);
            }
        }
    }
}
