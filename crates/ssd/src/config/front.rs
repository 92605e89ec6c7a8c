//! Parameters of the host interface: the link, and how the drive takes commands from queues.
//!
//! After NVM Express, Base Specification 2.0, "Command Arbitration": round robin, and weighted
//! round robin with an urgent priority class.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest weight: NVM Express has eight bits for it, and counts from 1.
const MOST_WEIGHT: u32 = 256;

/// Largest arbitration burst: NVM Express has powers of two up to this one.
const MOST_BURST: u32 = 64;

/// The link to the host, the host's own cost, and the order and rate in which commands are taken
/// from its queues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Bandwidth of the link in each direction, in 10^6 bytes a second; 0 is unlimited.
    pub link_mb_s: f64,
    /// Fixed latency of the link, added to the data of a read or write and to the completion of a
    /// trim.
    pub link_latency_us: f64,
    /// Time that a request takes of the link beside its data: its command and its completion.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub link_request_us: f64,
    /// Latency of a read of the host's memory by the drive, beside its time on the link: the way of
    /// the request, the memory, and the way back (`ftl.host_memory_bytes`).
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub memory_latency_us: f64,
    /// Time that the thread of a job needs to submit one request.
    pub submit_us: f64,
    /// Order in which the drive takes commands from the submission queues of jobs, where more wait
    /// than it has room for (`drive.queue_depth`): `round_robin`, or `weighted_round_robin` with an
    /// urgent class.
    #[serde(skip_serializing_if = "Arbitration::is_default")]
    #[schemars(extend("default" = "round_robin"))]
    pub arbitration: Arbitration,
    /// Commands that are taken from one queue before the next queue has its turn; 0 is without a
    /// limit.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(extend("default" = 1))]
    pub arbitration_burst: u32,
    /// Commands of queues of class `high` in a round of `weighted_round_robin`, 1 to 256.
    #[serde(skip_serializing_if = "is_high_weight")]
    #[schemars(extend("default" = 4))]
    pub weight_high: u32,
    /// Commands of queues of class `medium` in a round of `weighted_round_robin`, 1 to 256.
    #[serde(skip_serializing_if = "is_medium_weight")]
    #[schemars(extend("default" = 2))]
    pub weight_medium: u32,
    /// Commands of queues of class `low` in a round of `weighted_round_robin`, 1 to 256.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(extend("default" = 1))]
    pub weight_low: u32,
    /// Commands a second that the drive takes of each job at most; 0 is unlimited.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub limit_iops: f64,
    /// Data of reads and writes that the drive takes of each job at most, in 10^6 bytes a second; 0
    /// is unlimited.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub limit_mb_s: f64,
    /// Time by which a job may be behind its limits and catch up.
    #[serde(skip_serializing_if = "is_default_burst")]
    #[schemars(extend("default" = 1000.0))]
    pub limit_burst_us: f64,
    /// Jobs with a class, a weight or limits of their own, by their names. All jobs of one name, as
    /// the clones of `numjobs`, are one tenant: they share its weight and its limits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<String, TenantConfig>,
}

/// Order in which a drive takes commands from submission queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Arbitration {
    /// All queues by turns.
    #[default]
    RoundRobin,
    /// Urgent queues first, then the others by the weights of their classes.
    WeightedRoundRobin,
}

/// Class of a submission queue under `weighted_round_robin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Priority {
    /// Queues that go before all others.
    Urgent,
    /// Queues with the weight `host.weight_high`.
    High,
    /// Queues with the weight `host.weight_medium`.
    #[default]
    Medium,
    /// Queues with the weight `host.weight_low`.
    Low,
}

/// Class, weight and limits of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TenantConfig {
    /// Class of the job's queue under `weighted_round_robin`; default: by `prio` and `prioclass` of
    /// the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Commands of the job in a round of `weighted_round_robin`, 1 to 256, beside the classes and
    /// not in one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Commands a second that the drive takes of the job at most; default: `host.limit_iops`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_iops: Option<f64>,
    /// Data that the drive takes of the job at most, in 10^6 bytes a second; default:
    /// `host.limit_mb_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_mb_s: Option<f64>,
}

/// Level of a queue under `weighted_round_robin`: queues of one level are served by turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// Class of NVM Express.
    Class(Priority),
    /// Job with a weight of its own, and this weight.
    Own(String, u32),
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            link_mb_s: 0.0,
            link_latency_us: 0.0,
            link_request_us: 0.0,
            memory_latency_us: 0.0,
            submit_us: 0.0,
            arbitration: Arbitration::default(),
            arbitration_burst: 1,
            weight_high: 4,
            weight_medium: 2,
            weight_low: 1,
            limit_iops: 0.0,
            limit_mb_s: 0.0,
            limit_burst_us: 1000.0,
            jobs: BTreeMap::new(),
        }
    }
}

impl Arbitration {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Priority {
    /// Name of the class in a drive file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

fn is_high_weight(value: &u32) -> bool {
    *value == HostConfig::default().weight_high
}

fn is_medium_weight(value: &u32) -> bool {
    *value == HostConfig::default().weight_medium
}

fn is_default_burst(value: &f64) -> bool {
    *value == HostConfig::default().limit_burst_us
}

impl HostConfig {
    /// Level of the queues of job `name`, to which its own options give the class `asked`.
    pub fn level(&self, name: &str, asked: Priority) -> Level {
        let own = self.jobs.get(name);
        match own.and_then(|own| own.weight) {
            Some(weight) => Level::Own(name.to_owned(), weight),
            None => Level::Class(own.and_then(|own| own.priority).unwrap_or(asked)),
        }
    }

    /// Weight of a level in a round; `None` for the urgent class, which goes before all rounds.
    pub fn weight(&self, level: &Level) -> Option<u32> {
        match level {
            Level::Own(_, weight) => Some(*weight),
            Level::Class(Priority::Urgent) => None,
            Level::Class(Priority::High) => Some(self.weight_high),
            Level::Class(Priority::Medium) => Some(self.weight_medium),
            Level::Class(Priority::Low) => Some(self.weight_low),
        }
    }

    /// Limits of job `name`: commands a second, and 10^6 bytes a second; `None` without a limit.
    pub fn limits(&self, name: &str) -> [Option<f64>; 2] {
        let own = self.jobs.get(name);
        let iops = own.and_then(|own| own.limit_iops).unwrap_or(self.limit_iops);
        let mb_s = own.and_then(|own| own.limit_mb_s).unwrap_or(self.limit_mb_s);
        [iops, mb_s].map(|limit| (limit > 0.0).then_some(limit))
    }

    /// Refuses values out of range.
    pub(super) fn check(&self) -> Result<()> {
        let range = |key: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(Error::new(format!("host.{key}"), format!("{value} is out of range"))
                .expected(format!("{low} to {high}")))
        };
        let unlimited = |key: &str, value: f64, low: f64, high: f64| {
            range(key, if value == 0.0 { low } else { value }, low, high)
                .map_err(|error| error.expected(format!("{low} to {high}, or 0 for unlimited")))
        };
        unlimited("link_mb_s", self.link_mb_s, 1e-3, 1e7)?;
        range("link_latency_us", self.link_latency_us, 0.0, 1e6)?;
        range("link_request_us", self.link_request_us, 0.0, 1e6)?;
        range("memory_latency_us", self.memory_latency_us, 0.0, 1e6)?;
        range("submit_us", self.submit_us, 0.0, 1e6)?;
        range("arbitration_burst", self.arbitration_burst.into(), 0.0, MOST_BURST.into())?;
        let weight = |key: &str, value: u32| range(key, value.into(), 1.0, MOST_WEIGHT.into());
        weight("weight_high", self.weight_high)?;
        weight("weight_medium", self.weight_medium)?;
        weight("weight_low", self.weight_low)?;
        unlimited("limit_iops", self.limit_iops, 1e-3, 1e9)?;
        unlimited("limit_mb_s", self.limit_mb_s, 1e-3, 1e7)?;
        range("limit_burst_us", self.limit_burst_us, 0.0, 1e9)?;
        for (name, job) in &self.jobs {
            let key = |key: &str| format!("jobs.{name}.{key}");
            job.weight.map_or(Ok(()), |value| weight(&key("weight"), value))?;
            for (name, value, high) in
                [("limit_iops", job.limit_iops, 1e9), ("limit_mb_s", job.limit_mb_s, 1e7)]
            {
                value.map_or(Ok(()), |value| unlimited(&key(name), value, 1e-3, high))?;
            }
            if job.weight.is_some() && job.priority.is_some() {
                let problem = "given together with `priority`: a weight is beside the classes";
                return Err(Error::new(format!("host.{}", key("weight")), problem)
                    .hint("give one of weight and priority"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    /// Keys that are not written where they have their defaults have these in the schema.
    #[test]
    fn the_schema_has_the_defaults() {
        let schema = schemars::schema_for!(HostConfig);
        let keys = schema.get("properties").and_then(Value::as_object).unwrap();
        let default =
            |(key, node): (&String, &Value)| Some((key.clone(), node.get("default")?.clone()));
        let defaults: Map<String, Value> = keys.iter().filter_map(default).collect();
        assert_eq!(defaults.len() + 1, keys.len(), "all but `jobs`: {defaults:?}");
        let read: HostConfig = serde_json::from_value(defaults.into()).unwrap();
        assert_eq!(read, HostConfig::default());
    }
}
