//! Keys `nandlab` and `sim`: configuration of the run, its time and its memory.

use super::{ByCaller, Outside, as_json, fnv, ratio};
use crate::session::Session;
use crate::trace::Summary;
use base::Result;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ssd::drive::activity::Activity;
use std::collections::BTreeMap;

/// Configuration of a run, the report's `nandlab`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct About {
    /// Version of the engine.
    pub version: &'static str,
    /// Seed of every random stream.
    pub seed: u64,
    /// FNV-1a hash, 64 bits, of `config` as compact JSON: names a configuration, not a file.
    pub config_hash: String,
    /// Tables of the drive with every parameter filled in; paths as in `--set`. `ftl.own` tells an
    /// FTL in Python from others: [FTLs](../ftl.md#an-ftl-of-your-own).
    #[schemars(with = "Map<String, Value>")]
    pub config: Value,
    /// Keys of `params/CITATIONS.bib` for drive, chip, host and chosen family members.
    pub cite: Vec<String>,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// Notices of the run: input without effect, fast pages or copies on the chip that nothing
    /// used, an over-provisioning above 1, and rates of jobs that were not reached.
    pub notices: Vec<String>,
    /// Summary of the trace as by `nandlab trace info`, without the footprint; `null` for fio jobs.
    /// Times and order are those of the replay (`time`, `time_scale`), lines and `non_monotonic`
    /// those of the file; with `nandlab trace info` all are the file's.
    pub trace: Option<Summary>,
    /// Name of the drive.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub drive: ByCaller<String>,
    /// One line about the drive as it was built: that of its file, or of its parameters where some
    /// were changed.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub summary: ByCaller<String>,
    /// Workload of the run, and the reader's options for traces.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub run: ByCaller<Workload>,
}

/// Workload of a run as its caller gave it.
#[derive(Debug, JsonSchema)]
pub struct Workload {
    /// Name of the workload in titles.
    pub name: String,
    /// Kind of the workload: `fio`, `fio_text`, `trace`, or `clients` of a served drive.
    pub kind: String,
    /// Path of the workload, or its text.
    pub source: String,
    /// State that the drive was brought into before the run.
    pub precondition: String,
    /// Beginning of the run that does not count; `null` where it was not given.
    pub skip: Option<String>,
    /// End of the run; `null` where it was not given.
    pub until: Option<String>,
    /// Assignments that `--set` has made.
    pub set: Vec<String>,
    /// Whether each job has run alone too. Only where it was asked for.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<bool>,
    /// Queue depth of a trace's replay; `null` where it was not given. Only of traces.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub iodepth: Option<u32>,
    /// Format of the trace; `null` where it was not given. Only of traces.
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Options of the trace's reader that were given.
    #[schemars(flatten)]
    pub options: BTreeMap<String, Value>,
}

/// Time and memory of a run, the report's `sim`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Sim {
    /// Simulated time of the run from where it counts, preconditioning not counted (it takes none).
    pub simulated_s: f64,
    /// Simulated time before that, which `--skip` leaves out of every figure. Times in the series,
    /// the request log and the timeline are those since the run began, skipped or not.
    pub skipped_s: f64,
    /// Wall time of the run, without preconditioning.
    pub wall_s: f64,
    /// Requests completed in a second of wall time.
    pub requests_per_wall_s: f64,
    /// Events that the engine scheduled.
    pub events: u64,
    /// Peak memory of the process.
    pub peak_rss_mb: f64,
    /// Write amplification of the last whole drive write of `steady` preconditioning; else `null`.
    pub precondition_write_amplification: Option<f64>,
    /// Whether `steady` settled before it had overwritten the drive 12 times; else `null`.
    pub precondition_settled: Option<bool>,
    /// Wall time of the preconditioning before the run.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub precondition_wall_s: ByCaller<f64>,
    /// Whether the run began: `false` after Ctrl-C during preconditioning; all counts are then 0.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub begun: ByCaller<bool>,
    /// Whether Ctrl-C or SIGTERM ended the run before its workload did.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub interrupted: ByCaller<bool>,
}

impl Session {
    pub(super) fn about(&self) -> Result<About> {
        let config = as_json(&self.loaded.config)?;
        Ok(About {
            version: env!("CARGO_PKG_VERSION"),
            seed: self.loaded.config.seed,
            config_hash: format!("{:016x}", fnv(config.to_string().as_bytes())),
            config,
            cite: self.loaded.cite.clone(),
            capacity_bytes: self.run.ssd.capacity_bytes(),
            notices: self.notices.iter().cloned().chain(self.shortfalls()).collect(),
            trace: self.trace.clone(),
            drive: ByCaller::LEFT_OUT,
            summary: ByCaller::LEFT_OUT,
            run: ByCaller::LEFT_OUT,
        })
    }

    /// Notices of jobs that ended before their amount, one for all clones that tell the same.
    fn shortfalls(&self) -> impl Iterator<Item = String> {
        let mut jobs: Vec<(&str, String, u64, u64)> = Vec::new();
        for view in self.run.jobs() {
            let Some(why) = view.shortfall else { continue };
            let name = view.job.name.as_str();
            match jobs.iter_mut().find(|job| job.0 == name && job.1 == why) {
                Some((_, _, clones, sent)) => (*clones, *sent) = (*clones + 1, *sent + view.sent),
                None => jobs.push((name, why, 1, view.sent)),
            }
        }
        jobs.into_iter().map(|(name, why, clones, sent)| {
            let of = if clones > 1 {
                format!("{clones} jobs `{name}`")
            } else {
                format!("job `{name}`")
            };
            format!("{of} ended early, after {sent} requests: {why}")
        })
    }

    pub(super) fn sim(&self, activity: &Activity, outside: Outside) -> Sim {
        let run = &self.run;
        Sim {
            simulated_s: activity.time.s(),
            skipped_s: run.counts_from().s(),
            wall_s: outside.wall_s,
            requests_per_wall_s: ratio(run.tally().completed as f64, outside.wall_s),
            events: run.events(),
            peak_rss_mb: outside.peak_rss_mb,
            precondition_write_amplification: self.precondition_write_amplification(),
            precondition_settled: self.precondition_settled(),
            precondition_wall_s: ByCaller::LEFT_OUT,
            begun: ByCaller::LEFT_OUT,
            interrupted: ByCaller::LEFT_OUT,
        }
    }
}
