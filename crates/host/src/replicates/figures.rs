//! Key `replicates`: figures of the report over the replicates of a run, with their intervals.

use base::tails::student_quantile;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// Keys of a report without figures of the simulated drive: its configuration, measurements of the
/// machine, checks, and constants of fio.
const WITHOUT: [&str; 6] =
    ["nandlab", "checks", "timestamp", "wall_s", "requests_per_wall_s", "peak_rss_mb"];

/// Replicates of a run, the report's `replicates`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replicates {
    /// Replicates that have ended.
    pub count: usize,
    /// Seed of each replicate.
    pub seeds: Vec<u64>,
    /// Figures of the report over the replicates, by their paths: `host.read.latency_us.p99`. A
    /// figure that a replicate lacks is left out, and one that is 0 in all of them.
    pub figures: BTreeMap<String, Figure>,
}

/// Figure over the replicates of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Figure {
    /// Mean of the replicates.
    pub mean: f64,
    /// Half of the width of the 95 % interval of the mean, by Student's t; `null` of one replicate,
    /// and where replicates are alike in all figures, as nothing in the run depends on the seed.
    pub half_width: Option<f64>,
    /// Value in each replicate.
    pub each: Vec<f64>,
}

impl Replicates {
    /// Replicates with their seeds and the figures of each.
    pub(crate) fn of(seeds: Vec<u64>, all: &[Figures]) -> Self {
        let mut figures = BTreeMap::new();
        for path in all.first().into_iter().flat_map(|first| first.0.keys()) {
            let values: Option<Vec<f64>> = all.iter().map(|one| one.0.get(path).copied()).collect();
            if let Some(values) = values.filter(|values| values.iter().any(|&value| value != 0.0)) {
                figures.insert(path.clone(), Figure::of(values));
            }
        }
        if !figures.values().any(Figure::differs) {
            figures.values_mut().for_each(|figure| figure.half_width = None);
        }
        Self { count: seeds.len(), seeds, figures }
    }

    /// Whether several replicates are alike in all figures.
    pub(crate) fn are_alike(&self) -> bool {
        self.count > 1 && !self.figures.values().any(Figure::differs)
    }
}

impl Figure {
    fn of(values: Vec<f64>) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let half_width = (values.len() > 1).then(|| {
            let error = (squares / (count - 1.0) / count).sqrt();
            student_quantile(CONFIDENCE, count - 1.0) * error
        });
        Self { mean, half_width, each: values }
    }

    /// Whether the value is not the same in all replicates.
    fn differs(&self) -> bool {
        self.each.iter().any(|value| *value != self.each[0])
    }
}

/// Figures of a report by their paths.
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    /// Figures of a report.
    pub(crate) fn of(report: &Value) -> Self {
        let mut found = BTreeMap::new();
        collect(report, String::new(), &mut found);
        Self(found)
    }
}

/// Collects the numbers below a value that lies at `path`.
fn collect(value: &Value, path: String, found: &mut BTreeMap<String, f64>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(table) => {
            for (key, value) in table.iter().filter(|(key, _)| !WITHOUT.contains(&key.as_str())) {
                collect(value, join(key), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, join(&index.to_string()), found);
            }
        }
        Value::Number(number) => found.extend(number.as_f64().map(|number| (path, number))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn replicates(reports: &[Value]) -> Replicates {
        let figures: Vec<Figures> = reports.iter().map(Figures::of).collect();
        Replicates::of((0..reports.len() as u64).collect(), &figures)
    }

    /// The interval by hand: t of four degrees of freedom is 2.776, the deviation 1.5811.
    #[test]
    fn an_interval_is_students() {
        let reports = [3.0, 1.0, 5.0, 2.0, 4.0].map(|value| json!({"host": {"iops": value}}));
        let found = replicates(&reports);
        let figure = &found.figures["host.iops"];
        assert_eq!((figure.mean, &figure.each[..2]), (3.0, &[3.0, 1.0][..]));
        let expected = 2.776_445 * 2.5f64.sqrt() / 5f64.sqrt();
        assert!((figure.half_width.unwrap() - expected).abs() < 1e-6, "{figure:?}");
    }

    #[test]
    fn figures_are_numbers_that_every_replicate_has() {
        let found = replicates(&[
            json!({"nandlab": {"seed": 1}, "sim": {"wall_s": 2, "events": 3}, "a": [0, {"b": 7}]}),
            json!({"nandlab": {"seed": 2}, "sim": {"wall_s": 3, "events": 4}, "a": [0, {}]}),
        ]);
        assert_eq!(found.figures.keys().collect::<Vec<_>>(), ["sim.events"]);
        assert!(!found.are_alike());
    }

    /// Replicates that are alike tell nothing of the spread: they have no interval.
    #[test]
    fn replicates_that_are_alike_have_no_interval() {
        let found = replicates(&[json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2})]);
        assert!(found.are_alike() && found.figures["a"].half_width.is_none());
        let found = replicates(&[json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3})]);
        assert!(!found.are_alike() && found.figures["a"].half_width == Some(0.0));
        let one = replicates(&[json!({"a": 1})]);
        assert!(!one.are_alike() && one.figures["a"].half_width.is_none());
    }
}
