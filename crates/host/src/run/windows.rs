//! Requests of a drive with windows of predictable latency, by the window that took them.

use super::stats::JobStats;
use base::Time;
use ssd::request::Op;

/// Statistics of the requests that the drive took in its deterministic windows, and of all others.
#[derive(Debug, Clone, Default)]
pub struct ByWindow {
    /// Requests taken in a deterministic window, whenever they were complete.
    pub inside: JobStats,
    /// Requests taken between deterministic windows.
    pub outside: JobStats,
}

impl ByWindow {
    /// Counts one request of the run.
    pub fn record(&mut self, is_inside: bool, op: Op, bytes: u64, latency: Time) {
        let of = if is_inside { &mut self.inside } else { &mut self.outside };
        of.record(op, bytes, latency);
    }

    /// Adds the statistics of another run.
    pub fn merge(&mut self, other: &Self) {
        self.inside.merge(&other.inside);
        self.outside.merge(&other.outside);
    }
}
