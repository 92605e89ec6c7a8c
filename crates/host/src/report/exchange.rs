//! Key `exchange`: exchanges of dies in a run.

use crate::run::exchange::Service;
use crate::session::Session;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::exchange::{Exchanged, Way};

/// Exchange of a die: its progress, and the service of the host during it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Exchange {
    /// Number of the die.
    pub die: u32,
    /// Way of the exchange: `in_service` or `suspended`.
    pub way: &'static str,
    /// Program/erase cycles of the new chip.
    pub pe_cycles: u32,
    /// Time at which the exchange was to begin.
    pub planned_s: f64,
    /// Time at which the exchange began; `null` where the run ended before.
    pub asked_s: Option<f64>,
    /// Time at which the die held no data any more; `null` where the run ended before.
    pub emptied_s: Option<f64>,
    /// Time at which the die had its new chip; `null` where the run ended before.
    pub replaced_s: Option<f64>,
    /// Units that were moved off the die.
    pub moved_units: u64,
    /// Units that were lost because they could not be read.
    pub lost_units: u64,
    /// Longest time in which requests waited and none was completed, up to the first completion
    /// after the end of the exchange.
    pub longest_without_service_ms: f64,
    /// Longest latency of a request that was under way meanwhile.
    pub longest_latency_ms: f64,
    /// Time in which the drive took no requests: 0 in service.
    pub dead_time_s: f64,
}

impl Session {
    /// Progress of the last exchange, and the service of the host during it; `None` without one.
    pub fn last_exchange(&self) -> Option<Exchange> {
        self.exchanges().pop()
    }

    /// Progress and service of all exchanges that were asked for, in order.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let now = self.run.ssd.now();
        self.run.exchanges().map(|(service, done)| Exchange::of(service, done, now)).collect()
    }
}

impl Exchange {
    /// Entry of one exchange; `done` is `None` where the run ended before it was due.
    fn of(service: &Service, done: Option<Exchanged>, now: Time) -> Self {
        let asked = service.plan.asked;
        let seconds = |time: Option<Time>| time.map(Time::s);
        let dead = done
            .filter(|_| asked.way == Way::Suspended)
            .map(|done| done.replaced_at.unwrap_or(now).since(done.asked_at));
        Self {
            die: asked.die.0,
            way: asked.way.name(),
            pe_cycles: asked.pe_cycles,
            planned_s: service.plan.at.s(),
            asked_s: seconds(done.map(|done| done.asked_at)),
            emptied_s: seconds(done.and_then(|done| done.emptied_at)),
            replaced_s: seconds(done.and_then(|done| done.replaced_at)),
            moved_units: done.map_or(0, |done| done.moved_units),
            lost_units: done.map_or(0, |done| done.lost_units),
            longest_without_service_ms: service.longest_gap.ns() as f64 / 1e6,
            longest_latency_ms: service.longest_latency.ns() as f64 / 1e6,
            dead_time_s: dead.unwrap_or(Time::ZERO).s(),
        }
    }
}
