//! Keys `host` and `blame`: requests of the host, their latencies, and what they waited for.

mod windows;

use super::ratio;
use crate::run::Tally;
use crate::run::stats::{JobStats, OpStats};
use crate::session::Session;
use base::stats::Latency;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::blame::CAUSE_NAMES;
use ssd::drive::activity::{Activity, HostCounts};
use ssd::request::Op;
use std::collections::BTreeMap;
pub use windows::{InWindows, Windows, WindowsOfSets};

/// Requests of the host, the report's `host`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Host {
    /// Counts of requests of the host.
    #[serde(flatten)]
    pub tally: Tally,
    /// Counts of units read and of urgent writes.
    #[serde(flatten)]
    pub counts: HostCounts,
    /// Requests a second, all operations.
    pub iops: f64,
    /// Bandwidth of what was read and written.
    pub bandwidth_mb_s: f64,
    /// Latencies of all operations together.
    pub latency_us: LatencyUs,
    /// Reads of the host.
    pub read: Operation,
    /// Writes of the host.
    pub write: Operation,
    /// Trims of the host.
    pub trim: Operation,
    /// Flushes of the host.
    pub flush: Operation,
    /// Mean number of requests in flight or in the host's queues, over the whole run.
    pub mean_queue_depth: f64,
    /// Longest time in which requests were in flight or in the host's queues and none was
    /// completed: a drive that serves nobody. Ramp times count; a pause without requests does not.
    pub longest_silence_ms: f64,
}

/// Requests of one operation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operation {
    /// Requests of the operation.
    pub requests: u64,
    /// Bytes that the requests asked for.
    pub bytes: u64,
    /// Requests of the operation a second.
    pub iops: f64,
    /// Bandwidth of the operation; 0 where it moves no data.
    pub bandwidth_mb_s: f64,
    /// Latencies of the operation.
    pub latency_us: LatencyUs,
}

impl Operation {
    /// Rates of `stats` over `seconds`; `moves_data` says whether its bytes cross the link.
    pub(super) fn of(stats: &OpStats, seconds: f64, moves_data: bool) -> Self {
        let moved = if moves_data { stats.bytes } else { 0 };
        Self {
            requests: stats.latency.count(),
            bytes: stats.bytes,
            iops: ratio(stats.latency.count() as f64, seconds),
            bandwidth_mb_s: ratio(moved as f64 / 1e6, seconds),
            latency_us: LatencyUs::of(&stats.latency),
        }
    }

    /// Rates of all operations together over `seconds`; trims move no data.
    pub(crate) fn of_all(stats: &JobStats, seconds: f64) -> Self {
        let moved = [Op::Read, Op::Write, Op::ZoneAppend];
        let bytes = moved.iter().map(|&op| stats.of(op).bytes).sum();
        Self::of(&OpStats { latency: stats.latency(), bytes }, seconds, true)
    }
}

/// Latencies of requests in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LatencyUs {
    /// Requests that the latencies are of.
    pub count: u64,
    /// Mean latency in microseconds, exact.
    pub mean: f64,
    /// Shortest latency in microseconds, exact.
    pub min: f64,
    /// Median latency in microseconds: HDR histogram, within 0.1 %.
    pub p50: f64,
    /// 90th percentile in microseconds: HDR histogram, within 0.1 %.
    pub p90: f64,
    /// 99th percentile in microseconds: HDR histogram, within 0.1 %.
    pub p99: f64,
    /// 99.9th percentile in microseconds: HDR histogram, within 0.1 %.
    pub p99_9: f64,
    /// 99.99th percentile in microseconds: HDR histogram, within 0.1 %.
    pub p99_99: f64,
    /// 99.999th percentile in microseconds: HDR histogram, within 0.1 %.
    pub p99_999: f64,
    /// Longest latency in microseconds, exact.
    pub max: f64,
}

impl LatencyUs {
    /// Latencies of a histogram, in microseconds.
    pub(crate) fn of(latency: &Latency) -> Self {
        let at = |percent: f64| latency.percentile_ns(percent) as f64 / 1e3;
        Self {
            count: latency.count(),
            mean: latency.mean_ns() / 1e3,
            min: latency.min_ns() as f64 / 1e3,
            p50: at(50.0),
            p90: at(90.0),
            p99: at(99.0),
            p99_9: at(99.9),
            p99_99: at(99.99),
            p99_999: at(99.999),
            max: latency.max_ns() as f64 / 1e3,
        }
    }
}

/// Waits of requests by operation and percentile, the report's `blame`.
///
/// An operation without requests is left out.
#[derive(Debug, JsonSchema)]
pub struct Blame {
    /// Waits of reads, a row for each percentile.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Waits>,
    /// Waits of writes, a row for each percentile.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<Waits>,
    /// Waits of trims, a row for each percentile.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub trim: Vec<Waits>,
    /// Waits of flushes, a row for each percentile.
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub flush: Vec<Waits>,
}

/// Waits of the slowest requests of an operation.
#[derive(Debug, JsonSchema)]
pub struct Waits {
    /// Percentile: the row is of the requests at least as slow; 0 is all of them.
    pub percent: f64,
    /// Number of these requests; a fraction where the percentile lies within a bucket of latencies,
    /// which is 1.1 % wide.
    pub requests: f64,
    /// Mean latency of these requests.
    pub mean_us: f64,
    /// Mean time by cause. The causes add up to the latency of every request exactly; a request of
    /// several flash commands waits for the one that ends last.
    #[schemars(extend("propertyNames" = {"enum": CAUSE_NAMES.as_slice()}))]
    pub causes_us: BTreeMap<String, f64>,
}

impl Session {
    pub(super) fn host(&self, activity: &Activity) -> Host {
        let run = &self.run;
        let totals = run.totals();
        let seconds = self.measured().s();
        let moved = [Op::Read, Op::Write, Op::ZoneAppend];
        let bytes: u64 = moved.iter().map(|&op| totals.of(op).bytes).sum();
        let of = |op: Op| Operation::of(totals.of(op), seconds, matches!(op, Op::Read | Op::Write));
        Host {
            tally: run.tally(),
            counts: activity.counted.controller.host,
            iops: ratio(totals.requests() as f64, seconds),
            bandwidth_mb_s: ratio(bytes as f64 / 1e6, seconds),
            latency_us: LatencyUs::of(&totals.latency()),
            read: of(Op::Read),
            write: of(Op::Write),
            trim: of(Op::Trim),
            flush: of(Op::Flush),
            mean_queue_depth: run.mean_queue_depth(),
            longest_silence_ms: run.longest_silence().us() / 1e3,
        }
    }
}
