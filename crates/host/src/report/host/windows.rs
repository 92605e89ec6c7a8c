//! Key `windows`: windows of predictable latency, and the requests in them and between them.

use super::Operation;
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
    /// Requests that the drive took in a deterministic window, whenever they were complete.
    pub inside: InWindows,
    /// Requests that the drive took between deterministic windows.
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
}

impl Session {
    /// Windows of the drive; `None` for a drive without.
    pub(in crate::report) fn windows(&self, activity: &Activity) -> Option<Windows> {
        let (counts, by) = (activity.counted.windows?, self.run.by_window.as_ref()?);
        Some(Windows {
            counts,
            inside: InWindows::of(&by.inside, counts.open),
            outside: InWindows::of(&by.outside, activity.time.since(counts.open)),
        })
    }
}
