//! Key `jobs`: fio's own job objects, so that tools for fio's JSON read them.

use super::{ratio, zones};
use crate::run::JobView;
use crate::run::stats::OpStats;
use base::Time;
use base::stats::Latency;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::request::Op;
use std::collections::BTreeMap;

/// Percentiles that fio prints by default, and two higher ones.
const PERCENTILES: [f64; 19] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99, 99.995, 99.999,
];

/// Options as fio's JSON has them: names with their text.
pub(super) type Options = BTreeMap<String, String>;

/// Job with fio's keys.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Job {
    /// Name of the job, as in fio.
    pub jobname: String,
    /// Number of the group between stonewalls that the job is in.
    pub groupid: u32,
    /// Error number of the job: 5 (EIO) if a request failed, otherwise 0.
    pub error: u32,
    /// Always 0, without meaning here.
    pub eta: u32,
    /// Seconds until the job's last request completed, rounded up.
    pub elapsed: u64,
    /// Options of the job as in fio, and `iodepth` and `numjobs` in every job.
    #[serde(rename = "job options")]
    pub options: Options,
    /// Reads of the job.
    pub read: Direction,
    /// Writes of the job.
    pub write: Direction,
    /// Trims of the job.
    pub trim: Direction,
    /// Flushes of the job.
    pub sync: Flushes,
    /// Milliseconds from the job's measured start until its last request completed.
    pub job_runtime: u64,
    /// Always 0, without meaning here.
    pub usr_cpu: f64,
    /// Always 0, without meaning here.
    pub sys_cpu: f64,
    /// Always 0, without meaning here.
    pub ctx: u32,
    /// Always 0, without meaning here.
    pub majf: u32,
    /// Always 0, without meaning here.
    pub minf: u32,
    /// Percent of the job's requests up to each edge in nanoseconds, as fio's table.
    pub latency_ns: BTreeMap<String, f64>,
    /// Percent of the job's requests up to each edge in microseconds, as fio's table.
    pub latency_us: BTreeMap<String, f64>,
    /// Percent of the job's requests up to each edge in milliseconds, as fio's table.
    pub latency_ms: BTreeMap<String, f64>,
}

/// Flushes of a job with fio's keys.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Flushes {
    /// Flushes that were completed.
    pub total_ios: u64,
    /// Latencies of the flushes.
    pub lat_ns: LatencyNs,
}

/// Direction of a job with fio's keys.
///
/// fio samples bandwidth; here there is one sample, the mean.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Direction {
    /// Requests that were completed.
    pub total_ios: u64,
    /// Bytes of the requests.
    pub io_bytes: u64,
    /// KiB of the requests.
    pub io_kbytes: u64,
    /// Requests of the direction a second.
    pub iops: f64,
    /// Bandwidth in bytes a second.
    pub bw_bytes: u64,
    /// Bandwidth in KiB a second.
    pub bw: u64,
    /// Milliseconds that the rates are over.
    pub runtime: u64,
    /// Latencies of the requests.
    pub lat_ns: LatencyNs,
    /// Latencies from submission to completion: those of `lat_ns`, as submission takes no part.
    pub clat_ns: LatencyNs,
    /// Latencies of submission: all 0.
    pub slat_ns: LatencyNs,
    /// Always 0, as no request is cut short.
    pub short_ios: u32,
    /// Always 0, as no request is dropped.
    pub drop_ios: u32,
    /// Bandwidth of the only sample, in KiB a second.
    pub bw_min: u64,
    /// Bandwidth of the only sample, in KiB a second.
    pub bw_max: u64,
    /// Always 100: the share of the job in its own bandwidth.
    pub bw_agg: f64,
    /// Bandwidth of the only sample, in KiB a second.
    pub bw_mean: f64,
    /// Always 0, as there is one sample.
    pub bw_dev: f64,
    /// Always 1, the number of samples.
    pub bw_samples: u32,
    /// Requests a second of the only sample.
    pub iops_min: u64,
    /// Requests a second of the only sample.
    pub iops_max: u64,
    /// Requests a second of the only sample.
    pub iops_mean: f64,
    /// Always 0, as there is one sample.
    pub iops_stddev: f64,
    /// Always 1, the number of samples.
    pub iops_samples: u32,
}

/// Latencies in nanoseconds with fio's keys.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LatencyNs {
    /// Shortest latency in nanoseconds.
    pub min: u64,
    /// Longest latency in nanoseconds.
    pub max: u64,
    /// Mean latency in nanoseconds.
    pub mean: f64,
    /// Standard deviation of the latencies.
    pub stddev: f64,
    /// Number of the latencies.
    #[serde(rename = "N")]
    pub n: u64,
    /// Latencies at fio's default percentiles, and at 99.999; `slat_ns` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub percentile: Option<BTreeMap<String, u64>>,
}

impl Job {
    /// Report of a job; `global` are the options of the whole file.
    pub(super) fn of(view: &JobView<'_>, global: &[(String, String)]) -> Self {
        let runtime = view.end.since(view.start);
        let (all, flushes) = (view.stats.latency(), &view.stats.of(Op::Flush).latency);
        Self {
            jobname: view.job.name.clone(),
            groupid: view.group,
            // fio's error number 5 is EIO.
            error: if view.has_failed { 5 } else { 0 },
            eta: 0,
            elapsed: view.end.s().ceil() as u64,
            options: job_options(&view.job.options, global),
            read: Direction::of(view.stats.of(Op::Read), runtime),
            write: Direction::of(&zones::writes(view), runtime),
            trim: Direction::of(&zones::trims(view), runtime),
            sync: Flushes { total_ios: flushes.count(), lat_ns: LatencyNs::of(flushes) },
            job_runtime: runtime.0 / 1_000_000,
            usr_cpu: 0.0,
            sys_cpu: 0.0,
            ctx: 0,
            majf: 0,
            minf: 0,
            latency_ns: shares(&all, 1.0),
            latency_us: shares(&all, 1e3),
            latency_ms: shares(&all, 1e6),
        }
    }
}

/// Options of a job, with those that fio's tools look for in every job: from the whole file, or
/// fio's default.
fn job_options(list: &[(String, String)], global: &[(String, String)]) -> Options {
    let mut options: Options = list.iter().cloned().collect();
    for key in ["iodepth", "numjobs"] {
        let of_file = global.iter().find(|(given, _)| given == key);
        let value = || of_file.map_or_else(|| "1".to_owned(), |(_, value)| value.clone());
        options.entry(key.to_owned()).or_insert_with(value);
    }
    options
}

impl Direction {
    fn of(stats: &OpStats, runtime: Time) -> Self {
        let seconds = runtime.s();
        let bandwidth = ratio(stats.bytes as f64, seconds);
        let latency = LatencyNs::of(&stats.latency);
        let iops = ratio(stats.latency.count() as f64, seconds);
        Self {
            total_ios: stats.latency.count(),
            io_bytes: stats.bytes,
            io_kbytes: stats.bytes / 1024,
            iops,
            bw_bytes: bandwidth as u64,
            bw: (bandwidth / 1024.0) as u64,
            runtime: runtime.0 / 1_000_000,
            lat_ns: latency.clone(),
            clat_ns: latency,
            slat_ns: LatencyNs::default(),
            short_ios: 0,
            drop_ios: 0,
            bw_min: (bandwidth / 1024.0) as u64,
            bw_max: (bandwidth / 1024.0) as u64,
            bw_agg: 100.0,
            bw_mean: bandwidth / 1024.0,
            bw_dev: 0.0,
            bw_samples: 1,
            iops_min: iops as u64,
            iops_max: iops as u64,
            iops_mean: iops,
            iops_stddev: 0.0,
            iops_samples: 1,
        }
    }
}

impl LatencyNs {
    fn of(latency: &Latency) -> Self {
        let at = |&percent: &f64| (format!("{percent:.6}"), latency.percentile_ns(percent));
        let percents: &[f64] = if latency.count() > 0 { &PERCENTILES } else { &[] };
        Self {
            min: latency.min_ns(),
            max: latency.max_ns(),
            mean: latency.mean_ns(),
            stddev: latency.stddev_ns(),
            n: latency.count(),
            percentile: Some(percents.iter().map(at).collect()),
        }
    }
}

/// Table of latencies as in fio: the share of requests in each range, in percent. `unit_ns` is 1
/// for the nanosecond table, 1000 for the microsecond one and 10^6 for the millisecond one.
/// Latencies of a unit or less belong to the table before it, those of more than 1000 units to the
/// one after it.
fn shares(latency: &Latency, unit_ns: f64) -> BTreeMap<String, f64> {
    let milli = unit_ns > 1e5;
    let mut edges = vec![2u64, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    if milli {
        edges.push(2000);
    }
    let mut shares = vec![0u64; edges.len() + 1];
    for (ns, count) in latency.buckets() {
        let value = ns as f64 / unit_ns;
        let is_before = unit_ns > 1.0 && value <= 1.0;
        if is_before || (!milli && value > 1000.0) {
            continue;
        }
        shares[edges.partition_point(|&edge| (edge as f64) < value)] += count;
    }
    let total = latency.count().max(1) as f64;
    let percent = |count: u64| 100.0 * count as f64 / total;
    let mut table: BTreeMap<String, f64> = edges
        .iter()
        .zip(&shares)
        .map(|(edge, &count)| (edge.to_string(), percent(count)))
        .collect();
    if milli {
        table.insert(">=2000".to_owned(), percent(shares[edges.len()]));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every latency is in one of fio's tables, also one at an edge between two.
    #[test]
    fn latency_tables_count_each_request_once() {
        for ns in [1, 2, 999, 1000, 1001, 2000, 999_000, 1_000_000, 1_001_000, 5_000_000_000] {
            let mut latency = Latency::new();
            latency.record(Time(ns));
            let tables = [1.0, 1e3, 1e6].map(|unit_ns| shares(&latency, unit_ns));
            let all: f64 = tables.iter().flat_map(BTreeMap::values).sum();
            assert_eq!(all, 100.0, "{ns} ns: {tables:?}");
        }
    }
}
