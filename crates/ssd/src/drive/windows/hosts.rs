//! Windows that the host turns: it asks for each of them, and is told what a deterministic one
//! still takes.
//!
//! After the predictable latency mode of NVM Express. A set of dies with windows of its own can be
//! handed to the host. Its non-deterministic window then lasts until the host asks for another, and
//! its deterministic one at most as long as before. It ends early where the host has read or
//! written more than one takes, or needs room that only a job can make.

use super::schedule::{Phase, Schedule};
use super::{NONE, Ssd, Windows};
use crate::request::Op;
use base::Time;
use nand::geometry::{Block, Plane};

/// Bytes of a read as the standard counts them.
const READ_BYTES: u64 = 4096;

/// Number that stands for reads without a limit.
const NO_LIMIT: u64 = u64::MAX;

/// Window that a host can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Deterministic window: internal work rests.
    Deterministic,
    /// Non-deterministic window: internal work runs.
    NonDeterministic,
}

/// Reads, writes and time of a deterministic window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Reads of 4 KiB; `u64::MAX` where nothing limits them.
    pub reads: u64,
    /// Writes of a mapping unit.
    pub writes: u64,
    /// Time in the window.
    pub time: Time,
}

/// Windows of a set that can be the host's, as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Whether the host turns them; else the drive does.
    pub is_hosted: bool,
    /// Whether a deterministic window is open.
    pub is_open: bool,
    /// Window that the set is in, or goes to.
    pub aim: Window,
    /// Most that a deterministic window takes, after a whole non-deterministic one.
    pub most: Budget,
    /// Budget that the present deterministic window has left; between two of them, that of one that
    /// opened now.
    pub left: Budget,
    /// Length of a whole non-deterministic window.
    pub ahead_for: Time,
}

/// Ways in which deterministic windows have ended without the host's asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Endings {
    /// The reads, writes or time of one were used up.
    pub exceeded: bool,
    /// The host needed room that only a job could make.
    pub excursion: bool,
}

/// Way in which a deterministic window ends without the host's asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Exceeded,
    Excursion,
}

/// Windows of a schedule that the host turns.
pub(super) struct Hosted {
    /// Most reads and writes of a window.
    most: Budget,
    /// Reads and writes in the present window.
    pub used: Budget,
    endings: Endings,
}

impl Hosted {
    /// Notes that a window has ended.
    pub fn ended(&mut self, ending: Ending) {
        match ending {
            Ending::Exceeded => self.endings.exceeded = true,
            Ending::Excursion => self.endings.excursion = true,
        }
    }

    /// Whether the host has read or written more than a window takes.
    fn is_exceeded(&self) -> bool {
        self.used.reads > self.most.reads || self.used.writes > self.most.writes
    }
}

impl Windows {
    /// Schedule of a set that shares it with no other.
    fn of_set(&self, set: usize) -> Option<usize> {
        self.of_sets.get(set).filter(|&&schedule| schedule != NONE).map(|&at| at as usize)
    }

    /// Ends the turns of sets while the host turns the windows of one, and begins them again
    /// afterwards.
    fn settle_turns(&mut self, now: Time) {
        let are_ours = self.schedules.iter().all(|schedule| schedule.hosted.is_none());
        let take_turns = self.takes_turns && are_ours;
        if take_turns == self.turn.is_some() {
            return;
        }
        self.turn = take_turns.then_some(0);
        let ours = self.schedules.iter_mut().enumerate();
        for (at, schedule) in ours.filter(|(_, schedule)| schedule.hosted.is_none()) {
            let length = match schedule.phase {
                Phase::Settling => continue,
                Phase::Ahead if take_turns && at > 0 => Time::LIMIT,
                Phase::Ahead => schedule.ahead_for,
                Phase::Open => schedule.open_for,
            };
            schedule.until = schedule.since.saturating_add(length).max(now);
        }
    }
}

impl Ssd {
    /// Whether the windows of a set can be the host's: they are those of no other set, and its FTL
    /// knows how much the host can write before collection.
    pub fn offers_windows(&self, set: usize) -> bool {
        let has_own = self.windows.as_ref().is_some_and(|windows| windows.of_set(set).is_some());
        has_own && self.ftl.lead_of_set(set).is_some()
    }

    fn schedule_of_set(&self, set: usize) -> Option<(usize, &Schedule)> {
        let windows = self.windows.as_ref()?;
        let at = windows.of_set(set)?;
        Some((at, &windows.schedules[at]))
    }

    /// Windows of a set as they are now; `None` of a set whose windows cannot be the host's.
    pub fn outlook(&self, set: usize) -> Option<Outlook> {
        let (_, schedule) = self.schedule_of_set(set)?;
        let lead = self.ftl.lead_of_set(set)?;
        let is_open = schedule.phase == Phase::Open;
        let limit = self.failures.reclaim.limit();
        let reads = if limit < u32::MAX { limit.into() } else { NO_LIMIT };
        let most = Budget { reads, writes: lead.most_units, time: schedule.open_for };
        let used = schedule.hosted.as_ref().map(|hosted| hosted.used).filter(|_| is_open);
        let used = used.unwrap_or_default();
        // What waits in the buffer has no place yet.
        let room = lead.left_units.saturating_sub(self.buffered_units().into());
        let left = Budget {
            reads: match most.reads {
                NO_LIMIT => NO_LIMIT,
                most => self.reads_before_reclaim(set).min(most.saturating_sub(used.reads)),
            },
            writes: room.min(most.writes.saturating_sub(used.writes)),
            time: if is_open { schedule.until.since(self.now()) } else { schedule.open_for },
        };
        Some(Outlook {
            is_hosted: schedule.hosted.is_some(),
            is_open,
            aim: if schedule.rests() { Window::Deterministic } else { Window::NonDeterministic },
            most,
            left,
            ahead_for: schedule.ahead_for,
        })
    }

    /// Page reads that any block of a set takes before read reclaim is due.
    fn reads_before_reclaim(&self, set: usize) -> u64 {
        let Some(of) = self.ftl.facts().sets.get(set) else { return 0 };
        let chips = &self.flash.chips;
        let planes = chips.geometry.planes_per_die;
        let first = |die: u32| chips.geometry.first_block(Plane(die * planes)).0;
        let blocks = (first(of.dies.start)..first(of.dies.end)).map(Block);
        let most = blocks.map(|block| chips.reads(block)).max().unwrap_or(0);
        self.failures.reclaim.limit().saturating_sub(most).into()
    }

    /// Hands the windows of a set to the host, which begins in its non-deterministic window, or
    /// takes them back. Nothing happens where they are in these hands already.
    pub fn hand_windows(&mut self, set: usize, to_host: bool) {
        let Some(Outlook { is_hosted, most, .. }) = self.outlook(set) else { return };
        if is_hosted == to_host {
            return;
        }
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        let Some(at) = windows.of_set(set) else { return };
        let (used, endings) = (Budget::default(), Endings::default());
        let schedule = &mut windows.schedules[at];
        schedule.hosted = to_host.then_some(Hosted { most, used, endings });
        schedule.counts.kept += u64::from(schedule.phase == Phase::Open);
        windows.settle_turns(now);
        self.end_window(at);
        self.settle_wakes();
        self.note_idleness();
    }

    /// Has a set go to a window that the host asks for, where it is not there or on its way. A
    /// deterministic window opens when the jobs of the set have ended the steps that they are at.
    pub fn ask_for_window(&mut self, set: usize, window: Window) {
        let Some((at, schedule)) = self.schedule_of_set(set) else { return };
        match (window, schedule.phase) {
            (Window::Deterministic, Phase::Ahead) => self.come_to_rest(at),
            (Window::NonDeterministic, Phase::Open) => self.keep_window(at),
            (Window::NonDeterministic, Phase::Settling) => self.end_window(at),
            _ => return,
        }
        self.schedule_upkeep();
        self.settle_wakes();
        self.note_idleness();
    }

    /// Takes the ways in which deterministic windows of a set have ended by themselves since the
    /// last call, where the host turns them.
    pub fn take_endings(&mut self, set: usize) -> Endings {
        let Some(windows) = &mut self.windows else { return Endings::default() };
        let Some(at) = windows.of_set(set) else { return Endings::default() };
        let hosted = windows.schedules[at].hosted.as_mut();
        hosted.map_or_else(Endings::default, |hosted| std::mem::take(&mut hosted.endings))
    }

    /// Counts the request that was taken in a slot to the window of the host that is open. One that
    /// has taken too much ends before the next event.
    #[cold]
    pub(in crate::drive) fn use_window(&mut self, slot: u32) {
        let now = self.now();
        let request = self.front.slots[slot as usize].done.request;
        let unit_bytes = self.units.bytes;
        let Some(windows) = &mut self.windows else { return };
        let (of, is_open) = windows.were_open[slot as usize];
        let Some(schedule) = windows.schedules.get_mut(of as usize).filter(|_| is_open) else {
            return;
        };
        let Some(hosted) = &mut schedule.hosted else { return };
        match request.op {
            Op::Read => hosted.used.reads += request.length.div_ceil(READ_BYTES),
            Op::Write => hosted.used.writes += request.length.div_ceil(unit_bytes),
            _ => return,
        }
        if hosted.is_exceeded() {
            schedule.until = now;
            self.schedule_upkeep();
        }
    }

    /// Ends a window of the host that has lasted for its whole time, or has taken too much.
    pub(super) fn exceed_window(&mut self, at: usize) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        let schedule = &mut windows.schedules[at];
        let is_whole = now.since(schedule.since) >= schedule.open_for;
        schedule.counts.kept += u64::from(is_whole);
        schedule.counts.broken += u64::from(!is_whole);
        schedule.ended(Ending::Exceeded);
        self.end_window(at);
    }
}
