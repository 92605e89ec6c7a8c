//! Key `windows`: windows of predictable latency, and the requests in them and between them.

use super::Operation;
use crate::run::ByWindow;
use crate::run::stats::JobStats;
use crate::session::Session;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::WindowCounts;
use ssd::drive::activity::Activity;
use ssd::request::Op;

/// Windows of predictable latency, the report's `windows`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Windows {
    /// Counts of the deterministic windows.
    #[serde(flatten)]
    pub counts: WindowCounts,
    /// Requests that the drive took in a deterministic window, whenever they were complete. Rates
    /// of a drive whose sets have windows of their own are means over these.
    pub inside: InWindows,
    /// Requests that the drive took between deterministic windows. Those for dies without windows
    /// are in neither.
    pub outside: InWindows,
    /// Windows of each set of dies, where sets have windows of their own; else `null`.
    pub sets: Option<Vec<WindowsOfSets>>,
}

/// Windows with a course of their own, a row of `windows.sets`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WindowsOfSets {
    /// Sets of dies that have them, from 0 in the order of the report's `sets`.
    pub sets: Vec<usize>,
    /// Counts of their deterministic windows.
    #[serde(flatten)]
    pub counts: WindowCounts,
    /// Requests for these sets that the drive took in a deterministic window.
    pub inside: InWindows,
    /// Requests for these sets that the drive took between deterministic windows.
    pub outside: InWindows,
}

/// Requests of the host that the drive took in windows of one kind, a part of `windows`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InWindows {
    /// Reads, as in `host`.
    pub read: Operation,
    /// Writes, as in `host`.
    pub write: Operation,
}

impl InWindows {
    fn of(stats: &JobStats, time: Time) -> Self {
        let of = |op: Op| Operation::of(stats.of(op), time.s(), true);
        Self { read: of(Op::Read), write: of(Op::Write) }
    }

    /// Requests in deterministic windows that were open for so long, of all this time, and others.
    fn both(by: &ByWindow, open: Time, time: Time) -> [Self; 2] {
        [Self::of(&by.inside, open), Self::of(&by.outside, time.since(open))]
    }
}

impl Session {
    /// Windows of the drive; `None` for a drive without.
    pub(in crate::report) fn windows(&self, activity: &Activity) -> Option<Windows> {
        let (counts, time) = (activity.counted.windows?, activity.time);
        let by = &self.run.by_window;
        let (mut whole, mut all_time) = (ByWindow::default(), Time::ZERO);
        for one in by {
            whole.merge(one);
            all_time += time;
        }
        let [inside, outside] = InWindows::both(&whole, counts.open, all_time);
        let row = |((sets, by), counts): ((Vec<usize>, &ByWindow), &WindowCounts)| {
            let [inside, outside] = InWindows::both(by, counts.open, time);
            WindowsOfSets { sets, counts: *counts, inside, outside }
        };
        let rows = self.loaded.config.sets_of_windows().into_iter().zip(by);
        let rows: Vec<WindowsOfSets> =
            rows.zip(&activity.counted.windows_of_sets).map(row).collect();
        Some(Windows { counts, inside, outside, sets: (!rows.is_empty()).then_some(rows) })
    }
}
