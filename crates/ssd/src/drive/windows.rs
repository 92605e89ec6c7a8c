//! Windows of predictable latency: internal work rests in them, and runs ahead between them.
//!
//! After the predictable latency mode of NVM Express (base specification 2.0), for the whole drive.
//! A *deterministic* window is open for a fixed time. Before each comes a *non-deterministic* one,
//! at whose end jobs stop after the step that they are at; the next window opens when none is under
//! way. A window is *broken* where the host needs room that only a job can make: the drive then
//! goes to its non-deterministic window at once, as the standard lets it. So nobody waits for the
//! end of a window.

use super::Ssd;
use super::wakes::Wake;
use crate::config::WindowsConfig;
use base::{Time, counts};
use nand::geometry::Die;
use schemars::JsonSchema;
use serde::Serialize;

/// Phase of a drive with windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Internal work runs ahead.
    Ahead,
    /// Jobs end the steps that they are at; a window opens when none is under way.
    Settling,
    /// The deterministic window is open.
    Open,
}

/// Counts of the windows of a drive.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct WindowCounts {
    /// Deterministic windows that lasted for the whole of their time.
    pub kept: u64,
    /// Deterministic windows that ended early, or could not open: the host needed space that only
    /// collection could make.
    pub broken: u64,
    /// Time in deterministic windows, those that were broken included.
    #[serde(rename = "open_s", serialize_with = "Time::as_s")]
    #[schemars(with = "f64")]
    pub open: Time,
}

counts!(WindowCounts { kept, broken, open });

/// Windows of a drive: their lengths, the present one, and what became of the others.
pub(super) struct Windows {
    open_for: Time,
    ahead_for: Time,
    phase: Phase,
    /// Times at which the phase began, and at which it ends.
    since: Time,
    until: Time,
    counts: WindowCounts,
    /// By queue slot of the drive: the window was open when the request was taken.
    were_open: Vec<bool>,
}

impl Windows {
    /// Creates the windows of a drive that takes `depth` requests at a time. They begin with a run.
    pub(super) fn new(config: &WindowsConfig, depth: u32) -> Self {
        Self {
            open_for: Time::from_us(config.deterministic_ms * 1e3),
            ahead_for: Time::from_us(config.non_deterministic_ms * 1e3),
            phase: Phase::Ahead,
            since: Time::ZERO,
            until: Time::LIMIT,
            counts: WindowCounts::default(),
            were_open: vec![false; depth as usize],
        }
    }

    /// Whether internal work rests, or is to come to rest.
    #[inline]
    fn rests(&self) -> bool {
        self.phase != Phase::Ahead
    }

    /// Notes whether the window is open for the request that is taken in a slot.
    #[inline]
    pub(super) fn taken(&mut self, slot: u32) {
        self.were_open[slot as usize] = self.phase == Phase::Open;
    }

    /// Ends the windows until a run begins again: the power is gone.
    pub(super) fn cut(&mut self, now: Time) {
        self.enter(Phase::Ahead, now);
        self.until = Time::LIMIT;
    }

    fn enter(&mut self, phase: Phase, now: Time) {
        if self.phase == Phase::Open {
            self.counts.open += now.since(self.since);
        }
        (self.phase, self.since) = (phase, now);
        self.until = match phase {
            Phase::Ahead => now.saturating_add(self.ahead_for),
            Phase::Settling => Time::LIMIT,
            Phase::Open => now.saturating_add(self.open_for),
        };
    }
}

impl Ssd {
    /// Whether a deterministic window was open when the drive took the request in `slot`, which is
    /// complete; `None` of a drive without windows.
    #[inline]
    pub fn was_in_window(&self, slot: u32) -> Option<bool> {
        Some(self.windows.as_ref()?.were_open[slot as usize])
    }

    /// Whether the drive has windows, and a deterministic one is open.
    pub fn is_window_open(&self) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.phase == Phase::Open)
    }

    /// Whether internal work rests in a window, or is to come to rest for one.
    #[inline]
    pub(super) fn rests(&self) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.rests())
    }

    /// Time at which the present window ends by itself.
    pub(super) fn window_ends(&self) -> Time {
        self.windows.as_ref().map_or(Time::LIMIT, |windows| windows.until)
    }

    /// Counts of windows since the start of the run; `None` for a drive without.
    pub fn window_counts(&self) -> Option<WindowCounts> {
        let windows = self.windows.as_ref()?;
        let mut counts = windows.counts;
        if windows.phase == Phase::Open {
            counts.open += self.now().since(windows.since);
        }
        Some(counts)
    }

    /// A run begins, with internal work that runs ahead of the first window.
    pub(super) fn begin_windows(&mut self) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        windows.enter(Phase::Ahead, now);
        self.schedule_upkeep();
        self.run_ahead();
        self.settle_wakes();
    }

    /// Ends the phase whose time is over.
    #[cold]
    pub(super) fn turn_windows(&mut self) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        match windows.phase {
            Phase::Ahead => {
                windows.enter(Phase::Settling, now);
                // Jobs that wait for each other would not come to rest by themselves, and rows that
                // wait for a job break the window.
                self.writer.buffer.rows.wake_erase();
                self.writer.buffer.rows.wake_job();
                [Wake::Parked, Wake::Rows].into_iter().for_each(|wake| self.wakes.wake(wake));
                self.open_window();
            }
            Phase::Settling => {}
            Phase::Open => {
                windows.counts.kept += 1;
                self.end_window();
            }
        }
    }

    /// A job has come to rest: its die is no longer closed for its sake, and the window opens if it
    /// was the last.
    pub(super) fn job_rests(&mut self, die: Option<Die>) {
        if die.is_some_and(|die| self.catch_up(die)) {
            self.wakes.wake(Wake::Rows);
        }
        self.open_window();
    }

    /// Opens the window if all jobs have come to rest.
    fn open_window(&mut self) {
        let (now, is_busy) = (self.now(), self.jobs.any_busy());
        let Some(windows) = &mut self.windows else { return };
        if windows.phase == Phase::Settling && !is_busy {
            windows.enter(Phase::Open, now);
            self.schedule_upkeep();
        }
    }

    /// Host data wait for a job: no window holds any longer.
    #[cold]
    pub(super) fn break_window(&mut self) {
        if let Some(windows) = &mut self.windows
            && windows.rests()
        {
            windows.counts.broken += 1;
            self.end_window();
        }
    }

    /// Goes on with internal work.
    fn end_window(&mut self) {
        let now = self.now();
        let Some(windows) = &mut self.windows else { return };
        windows.enter(Phase::Ahead, now);
        self.schedule_upkeep();
        self.run_ahead();
    }

    /// Has all jobs look for work.
    fn run_ahead(&mut self) {
        (0..self.dies()).for_each(|die| self.wakes.collect(Die(die)));
        [Wake::Jobs, Wake::Refresh].into_iter().for_each(|wake| self.wakes.wake(wake));
    }
}
