//! Key `settled`: the value that a metric settled at, beside that of the whole run.

use crate::run::settling::{Metric, Rule};
use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;

/// Largest difference of a run from its settled value, relative to it, for the run to stand for it.
const TOLERANCE: f64 = 0.1;

/// Settling of a run, the report's `settled`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Settled {
    /// Metric that is watched: `write_amplification`, or the one that `--until` names (`iops`,
    /// `bandwidth`, `p99.9` in µs). Here write amplification leaves padding out, which depends on
    /// flushes and small writes and not on the state of the drive.
    pub metric: String,
    /// Rule for settling. `trend`: the last half of the run, of two drive writes at least, is cut
    /// into eight parts; the 95 % confidence interval of the drift of a line through them lies
    /// within 10 % of the mean, blocks were reclaimed in every part, and the drive stands still:
    /// units that hold data and erased units change by 2 % at most. `pts`: SNIA's Performance Test
    /// Specification, with a quarter of a drive write as a round: over five rounds the values lie
    /// within 20 % of the mean, the line through them falls or rises by 10 % at most, and the drive
    /// stands still. `fio`: `steadystate` of the job file.
    pub rule: &'static str,
    /// Value over these parts; where a run of uniform random writes to the whole drive is too short
    /// for the rule, that at the end of the preconditioning `steady` or `rested`; `null` where
    /// neither is known: run longer.
    pub settled_value: Option<f64>,
    /// Origin of `settled_value`: `run` or `precondition`.
    pub settled_by: Option<&'static str>,
    /// Value over the whole run; `null` where there is none (no writes, no time).
    pub run_value: Option<f64>,
    /// Whether `run_value` lies within 10 % of `settled_value`; `false` where none is known, `null`
    /// where there is no `run_value`. A notice says so, and [`nandlab lint`](../lint.md).
    pub ok: Option<bool>,
    /// Bytes written by the host over the capacity.
    pub drive_writes: f64,
}

impl Session {
    /// Settling of the run: of the metric that the run was to settle in, or else of write
    /// amplification. Where a run of uniform random writes is too short to tell, the value of
    /// preconditioning stands in.
    pub(super) fn settled(&self) -> Settled {
        let run = &self.run;
        let (goal, now) = (run.settling.goal(), run.mark());
        let run_value = run.settling.run_value(&now, &run.totals().latency());
        let of_run = run.settling.settled_value();
        let is_amplification = goal.metric == Metric::WriteAmplification;
        let of_precondition = self
            .precondition_collection_amplification()
            .filter(|_| is_amplification && run.writes_evenly());
        let settled = of_run.or(of_precondition);
        let is_near = |value: f64, settled: f64| (value / settled - 1.0).abs() <= TOLERANCE;
        let is_settled = run_value.map(|value| settled.is_some_and(|goal| is_near(value, goal)));
        Settled {
            metric: goal.metric.name(),
            rule: match goal.rule {
                Rule::Trend => "trend",
                Rule::Pts => "pts",
                Rule::Fio(_) => "fio",
            },
            settled_value: run_value.and(settled),
            settled_by: run_value.and(settled).map(|_| match of_run {
                Some(_) => "run",
                None => "precondition",
            }),
            run_value,
            ok: is_settled,
            drive_writes: run.settling.drive_writes(&now),
        }
    }
}
