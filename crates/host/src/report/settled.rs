//! Settling in the report: the value that a metric settled at, beside that of the whole run.

use crate::run::settling::{Metric, Rule};
use crate::session::Session;
use serde_json::{Value, json};

/// Largest difference of a run from its settled value, relative to it, for the run to stand for it.
const TOLERANCE: f64 = 0.1;

impl Session {
    /// Settling of the run, the report's `settled`: of the metric that the run was to settle in, or
    /// else of write amplification. Where a run of uniform random writes is too short to tell, the
    /// value of preconditioning stands in.
    pub(super) fn settled(&mut self) -> Value {
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
        json!({
            "metric": goal.metric.name(),
            "rule": match goal.rule {
                Rule::Trend => "trend",
                Rule::Pts => "pts",
                Rule::Fio(_) => "fio",
            },
            "settled_value": run_value.and(settled),
            "settled_by": run_value.and(settled).map(|_| match of_run {
                Some(_) => "run",
                None => "precondition",
            }),
            "run_value": run_value,
            "ok": is_settled,
            "drive_writes": run.settling.drive_writes(&now),
        })
    }
}
