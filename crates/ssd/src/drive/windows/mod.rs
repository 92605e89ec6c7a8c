//! Windows of predictable latency: internal work rests in them, and runs ahead between them.
//!
//! After the predictable latency mode of NVM Express (base specification 2.0), for the whole drive
//! or for a set of its dies (NVM set): windows with a course of their own are a *schedule*.
//! A *deterministic* window is open for a fixed time. Before each comes a *non-deterministic* one,
//! at whose end jobs stop after the step that they are at; the next window opens when none is under
//! way. A window is *broken* where the host needs room that only a job can make: the drive then
//! goes to its non-deterministic window at once, as the standard lets it. So nobody waits for the
//! end of a window. Sets that take turns have an open window until that of the next set opens; a
//! window that breaks passes its turn on.
//!
//! - `schedule`: the lengths of windows, the present one, and what became of the others
//! - `hosts`: windows of a set that the host turns

mod hosts;
mod schedule;

use super::Ssd;
use super::wakes::Wake;
use crate::config::SsdConfig;
use crate::ftl::contract::Facts;
use crate::terms::{Job, Key};
use base::counts::Counts;
use base::{Time, counts};
use hosts::Ending;
pub use hosts::{Budget, Endings, Outlook, Window};
use nand::geometry::Die;
use schedule::{Phase, Schedule};
use schemars::JsonSchema;
use serde::Serialize;

/// Counts of the windows of a drive.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct WindowCounts {
    /// Deterministic windows that lasted for the whole of their time, or until the host ended them.
    pub kept: u64,
    /// Deterministic windows that ended early, or could not open: the host needed space that only
    /// collection could make, or it turns the windows and has used one up.
    pub broken: u64,
    /// Time in deterministic windows, those that were broken included; where sets have windows of
    /// their own, the times of all of them together.
    #[serde(rename = "open_s", serialize_with = "Time::as_s")]
    #[schemars(with = "f64")]
    pub open: Time,
}

counts!(WindowCounts { kept, broken, open });

/// Mark of a set without windows.
const NONE: u32 = u32::MAX;

/// Windows of a drive.
pub(super) struct Windows {
    schedules: Vec<Schedule>,
    /// Whether sets take turns while the drive turns the windows of all of them.
    takes_turns: bool,
    /// Schedule whose turn it is to be open, where they take turns.
    turn: Option<usize>,
    /// By set: its schedule, or `NONE` where other sets have it too.
    of_sets: Vec<u32>,
    /// By job, and by key of the buffer: its schedule, or `NONE`.
    of_jobs: Vec<u32>,
    of_keys: Vec<u32>,
    /// By set: the unit behind its last, and its schedule. One entry for a drive without sets.
    of_units: Vec<(u32, u32)>,
    /// By queue slot of the drive: the schedule of the request that it took, and whether its window
    /// was open.
    were_open: Vec<(u32, bool)>,
}

impl Windows {
    /// Creates the windows of a drive; `None` where it has none. They begin with a run.
    pub(super) fn of(config: &SsdConfig, facts: &Facts) -> Option<Self> {
        let given = config.schedules();
        let first = given.first()?;
        let is_whole = first.sets.is_empty();
        let of_set = |set: usize| {
            let of = given.iter().position(|schedule| schedule.sets.contains(&set));
            of.map_or(NONE, |schedule| schedule as u32)
        };
        let fill = if is_whole { 0 } else { NONE };
        let mut windows = Self {
            takes_turns: first.windows.in_turn,
            turn: first.windows.in_turn.then_some(0),
            of_sets: vec![if facts.sets.len() == 1 { fill } else { NONE }; facts.sets.len()],
            of_jobs: vec![fill; facts.jobs as usize],
            of_keys: vec![fill; facts.keys as usize],
            of_units: vec![(facts.logical_units, fill)],
            were_open: vec![(fill, false); config.drive.queue_depth as usize],
            schedules: given.iter().map(|schedule| Schedule::new(&schedule.windows)).collect(),
        };
        if !is_whole {
            let alone = |set: usize| given.iter().position(|of| of.sets == [set]);
            let alone = (0..facts.sets.len()).map(alone);
            windows.of_sets = alone.map(|of| of.map_or(NONE, |of| of as u32)).collect();
            windows.of_units.clear();
            for (number, set) in facts.sets.iter().enumerate() {
                let schedule = of_set(number);
                let jobs = set.dies.clone().chain(set.jobs.clone());
                jobs.for_each(|job| windows.of_jobs[job as usize] = schedule);
                set.keys.clone().for_each(|key| windows.of_keys[key as usize] = schedule);
                windows.of_units.push((set.units.end, schedule));
            }
        }
        Some(windows)
    }

    #[inline]
    fn of_job(&self, job: Job) -> Option<&Schedule> {
        self.schedules.get(self.of_jobs[job.0 as usize] as usize)
    }

    /// Notes whether the window is open for the request that is taken in a slot, and which begins
    /// with this unit.
    #[inline]
    pub(super) fn taken(&mut self, slot: u32, unit: u64) {
        let set = self.of_units.partition_point(|&(end, _)| u64::from(end) <= unit);
        let schedule = self.of_units.get(set).map_or(NONE, |&(_, schedule)| schedule);
        let of = self.schedules.get(schedule as usize);
        let is_open = of.is_some_and(|schedule| schedule.phase == Phase::Open);
        self.were_open[slot as usize] = (schedule, is_open);
    }

    /// Whether the host turns the windows of any dies.
    #[inline]
    pub(super) fn are_hosted(&self) -> bool {
        self.schedules.iter().any(|schedule| schedule.hosted.is_some())
    }

    /// Ends the windows until a run begins again: the power is gone, and jobs with it.
    pub(super) fn cut(&mut self, now: Time) {
        for schedule in &mut self.schedules {
            schedule.enter(Phase::Ahead, now);
            (schedule.until, schedule.busy) = (Time::LIMIT, 0);
        }
    }

    /// Begins the time ahead of the next window. Where sets take turns, it ends by itself for the
    /// set whose turn it is alone.
    fn run_ahead(&mut self, at: usize, now: Time) {
        self.schedules[at].enter(Phase::Ahead, now);
        if self.turn.is_some_and(|turn| turn != at) {
            self.schedules[at].until = Time::LIMIT;
        }
    }

    /// Passes the turn of a set on, whose window is over or broken. Returns the next.
    fn pass_turn(&mut self, from: usize, now: Time) -> usize {
        let next = (from + 1) % self.schedules.len();
        self.turn = Some(next);
        let schedule = &mut self.schedules[next];
        match schedule.phase {
            Phase::Ahead => {
                schedule.until = schedule.since.saturating_add(schedule.ahead_for).max(now);
            }
            Phase::Settling => {}
            // The set between two of its windows had no time to come to rest.
            Phase::Open => {
                schedule.counts.kept += 1;
                schedule.enter(Phase::Open, now);
            }
        }
        next
    }

    fn is_open(&self, at: usize) -> bool {
        self.schedules.get(at).is_some_and(|schedule| schedule.phase == Phase::Open)
    }
}

impl Ssd {
    /// Whether a deterministic window was open when the drive took the request in `slot`, which is
    /// complete; `None` of a drive, or of a set of dies, without windows.
    #[inline]
    pub fn was_in_window(&self, slot: u32) -> Option<bool> {
        self.window_of(slot).map(|(_, is_open)| is_open)
    }

    /// Number of the windows of a request that the drive took in `slot`, 0 where all dies have the
    /// same, and whether a deterministic one was open.
    #[inline]
    pub fn window_of(&self, slot: u32) -> Option<(u32, bool)> {
        let of = *self.windows.as_ref()?.were_open.get(slot as usize)?;
        (of.0 != NONE).then_some(of)
    }

    /// Whether the drive has windows, and a deterministic one is open.
    pub fn is_window_open(&self) -> bool {
        (0..self.windows_count()).any(|number| self.is_open_window(number))
    }

    /// Whether a deterministic window of this number is open.
    pub fn is_open_window(&self, number: usize) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.is_open(number))
    }

    /// Whether the dies of a job have windows.
    #[inline]
    pub(super) fn has_windows(&self, job: Job) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.of_job(job).is_some())
    }

    /// Whether a job rests in a window, or is to come to rest for one.
    #[inline]
    pub(super) fn rests(&self, job: Job) -> bool {
        let of = |windows: &Windows| windows.of_job(job).is_some_and(Schedule::rests);
        self.windows.as_ref().is_some_and(of)
    }

    /// Whether two jobs have the same windows.
    pub(super) fn rests_with(&self, job: Job, other: Job) -> bool {
        let of = |windows: &Windows| [job, other].map(|job| windows.of_jobs[job.0 as usize]);
        self.windows.as_ref().map(of).is_some_and(|[one, other]| one == other)
    }

    /// Whether internal work of any dies rests in a window, or is to come to rest for one.
    #[inline]
    pub(super) fn any_rests(&self) -> bool {
        let of = |windows: &Windows| windows.schedules.iter().any(Schedule::rests);
        self.windows.as_ref().is_some_and(of)
    }

    /// Time at which the first of the present windows ends by itself.
    pub(super) fn window_ends(&self) -> Time {
        let of = |windows: &Windows| windows.schedules.iter().map(|schedule| schedule.until).min();
        self.windows.as_ref().and_then(of).unwrap_or(Time::LIMIT)
    }

    /// Counts of windows since the start of the run; `None` for a drive without.
    pub fn window_counts(&self) -> Option<WindowCounts> {
        let counts = self.counts_of_windows();
        self.windows.as_ref()?;
        Some(counts.iter().fold(WindowCounts::default(), |sum, counts| sum.plus(counts)))
    }

    /// Counts of the windows of each number since the start of the run.
    pub fn counts_of_windows(&self) -> Vec<WindowCounts> {
        let schedules = self.windows.iter().flat_map(|windows| &windows.schedules);
        schedules.map(|schedule| schedule.counts(self.now())).collect()
    }

    /// A run begins, with internal work that runs ahead of the first window.
    pub(super) fn begin_windows(&mut self) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        windows.turn = windows.turn.map(|_| 0);
        let count = windows.schedules.len();
        (0..count).for_each(|at| windows.run_ahead(at, now));
        self.schedule_upkeep();
        (0..count).for_each(|at| self.run_ahead(at));
        self.settle_wakes();
    }

    /// Ends the phases whose time is over.
    #[cold]
    pub(super) fn turn_windows(&mut self) {
        let now = self.now();
        for at in 0..self.windows_count() {
            let Some(windows) = &mut self.windows else { return };
            if windows.schedules[at].until > now {
                continue;
            }
            match windows.schedules[at].phase {
                Phase::Ahead => self.come_to_rest(at),
                Phase::Settling => {}
                Phase::Open if windows.schedules[at].hosted.is_some() => self.exceed_window(at),
                Phase::Open if windows.turn.is_some() => {
                    // It lasts until the window of the next set opens.
                    windows.schedules[at].until = Time::LIMIT;
                    let next = windows.pass_turn(at, now);
                    if windows.schedules[next].until <= now {
                        self.come_to_rest(next);
                    }
                }
                Phase::Open => self.keep_window(at),
            }
        }
    }

    /// Number of windows with a course of their own.
    fn windows_count(&self) -> usize {
        self.windows.as_ref().map_or(0, |windows| windows.schedules.len())
    }

    /// Ends the time ahead of a window: jobs stop after the step that they are at.
    fn come_to_rest(&mut self, at: usize) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        windows.schedules[at].enter(Phase::Settling, now);
        // Jobs that wait for each other would not come to rest by themselves, and rows that
        // wait for a job break the window.
        self.writer.buffer.rows.wake_erase();
        self.writer.buffer.rows.wake_job();
        [Wake::Parked, Wake::Rows].into_iter().for_each(|wake| self.wakes.wake(wake));
        self.open_window(at);
    }

    /// A job of a window's dies begins, and keeps the window from opening.
    #[inline]
    pub(super) fn job_begins(&mut self, job: Job) {
        if let Some(windows) = &mut self.windows
            && let Some(schedule) =
                windows.schedules.get_mut(windows.of_jobs[job.0 as usize] as usize)
        {
            schedule.busy += 1;
        }
    }

    /// A job ends. Where it rests, its die is no longer closed for its sake, and the window opens
    /// if it was the last.
    #[inline]
    pub(super) fn job_ends(&mut self, job: Job) {
        let Some(windows) = &mut self.windows else { return };
        let at = windows.of_jobs[job.0 as usize] as usize;
        let Some(schedule) = windows.schedules.get_mut(at) else { return };
        schedule.busy -= 1;
        if !schedule.rests() {
            return;
        }
        if self.die_of(job).is_some_and(|die| self.catch_up(die)) {
            self.wakes.wake(Wake::Rows);
        }
        self.open_window(at);
    }

    /// Opens a window if all jobs of its dies have come to rest.
    fn open_window(&mut self, at: usize) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        let schedule = &mut windows.schedules[at];
        if schedule.phase != Phase::Settling || schedule.busy > 0 {
            return;
        }
        schedule.enter(Phase::Open, now);
        let takes_turns = windows.turn.is_some();
        self.schedule_upkeep();
        for other in 0..self.windows_count() {
            if takes_turns && other != at && self.is_open_window(other) {
                self.keep_window(other);
            }
        }
    }

    /// Host data of a key wait for a job: no window of its dies holds any longer.
    #[cold]
    pub(super) fn break_window(&mut self, key: Key) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        let at = windows.of_keys[key.0 as usize] as usize;
        let Some(schedule) = windows.schedules.get_mut(at).filter(|schedule| schedule.rests())
        else {
            return;
        };
        schedule.counts.broken += 1;
        schedule.ended(Ending::Excursion);
        schedule.enter(Phase::Ahead, now);
        if windows.turn == Some(at) {
            windows.pass_turn(at, now);
        }
        self.end_window(at);
    }

    /// A window has lasted for its whole time.
    fn keep_window(&mut self, at: usize) {
        if let Some(windows) = &mut self.windows {
            windows.schedules[at].counts.kept += 1;
        }
        self.end_window(at);
    }

    /// Goes on with the internal work of the dies of a window.
    fn end_window(&mut self, at: usize) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        windows.run_ahead(at, now);
        self.schedule_upkeep();
        self.run_ahead(at);
    }

    /// Has all jobs of the dies of a window look for work.
    fn run_ahead(&mut self, at: usize) {
        let Some(windows) = &self.windows else { return };
        let is_its = |die: u32| windows.of_jobs[die as usize] as usize == at;
        let dies: Vec<Die> = (0..self.dies()).filter(|&die| is_its(die)).map(Die).collect();
        dies.into_iter().for_each(|die| self.wakes.collect(die));
        [Wake::Jobs, Wake::Refresh].into_iter().for_each(|wake| self.wakes.wake(wake));
    }
}
