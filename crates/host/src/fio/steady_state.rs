//! fio's `steadystate`: the criterion of a job that ends once its rate no longer changes.

use crate::fio::options::Options;
use crate::fio::value::bytes;
use crate::run::settling::{FioRule, Goal, Metric, Rule};
use base::{Error, Result, Time};

/// Criterion of `steadystate`, such as `iops:0.3%` or `bw_slope:10M`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    metric: Metric,
    is_slope: bool,
    limit: f64,
    is_percent: bool,
}

/// Reads the value of `steadystate`.
pub fn steady_state(text: &str) -> Result<Criterion> {
    let refuse = || {
        Error::new("", format!("`{text}` is not a criterion"))
            .expected("iops, iops_slope, bw or bw_slope with a limit, such as iops:2% or bw:10M")
    };
    let (name, limit) = text.split_once(':').ok_or_else(refuse)?;
    let (metric, is_slope) = match name.trim() {
        "iops" => (Metric::Iops, false),
        "iops_slope" => (Metric::Iops, true),
        "bw" => (Metric::Bandwidth, false),
        "bw_slope" => (Metric::Bandwidth, true),
        _ => return Err(refuse()),
    };
    let percent = limit.trim().strip_suffix('%');
    let limit = match (percent, metric) {
        (None, Metric::Bandwidth) => bytes(limit.trim()).ok().map(|bytes| bytes as f64),
        _ => percent.unwrap_or(limit).trim().parse().ok(),
    };
    let limit = limit.filter(|&limit: &f64| limit > 0.0 && limit.is_finite()).ok_or_else(refuse)?;
    Ok(Criterion { metric, is_slope, limit, is_percent: percent.is_some() })
}

impl Options {
    /// Steady state in which the job ends. As in fio there is none without `ss_dur`.
    pub fn goal(&self) -> Option<Goal> {
        let Criterion { metric, is_slope, limit, is_percent } = self.steady_state?;
        let rule = FioRule {
            is_slope,
            limit,
            is_percent,
            window: self.ss_dur,
            ramp: self.ss_ramp,
            interval: self.ss_interval,
        };
        (self.ss_dur > Time::ZERO).then_some(Goal { metric, rule: Rule::Fio(rule) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_understood() {
        let of = |text| steady_state(text).unwrap();
        let plain =
            Criterion { metric: Metric::Iops, is_slope: false, limit: 0.3, is_percent: true };
        assert_eq!(of("iops:0.3%"), plain);
        assert_eq!(
            of("iops_slope: 50"),
            Criterion { is_slope: true, limit: 50.0, is_percent: false, ..plain }
        );
        let rate = of("bw:10M");
        assert_eq!((rate.metric, rate.limit), (Metric::Bandwidth, 10.0 * 1048576.0));
        for text in ["", "iops", "iops:", "iops:0", "iops:-1%", "lat:1%", "bw:x", "iops:inf"] {
            assert!(steady_state(text).is_err(), "{text}");
        }
    }
}
