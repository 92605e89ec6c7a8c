//! Exchanges of dies in a run, for the report.

use crate::run::exchange::Service;
use crate::session::Session;
use base::Time;
use serde_json::{Value, json};
use ssd::drive::exchange::{Exchanged, Way};

impl Session {
    /// Progress of the last exchange, and the service of the host during it; `null` without one.
    pub fn last_exchange(&self) -> Value {
        self.exchanges().pop().unwrap_or_default()
    }

    /// Progress and service of all exchanges that were asked for, in order.
    pub fn exchanges(&self) -> Vec<Value> {
        let now = self.run.ssd.now();
        self.run.exchanges().map(|(service, done)| told(service, done, now)).collect()
    }
}

/// Entry of one exchange; `done` is `None` where the run ended before it was due.
fn told(service: &Service, done: Option<Exchanged>, now: Time) -> Value {
    let asked = service.plan.asked;
    let seconds = |time: Option<Time>| time.map(Time::s);
    let dead = done
        .filter(|_| asked.way == Way::Suspended)
        .map(|done| done.replaced_at.unwrap_or(now).since(done.asked_at));
    json!({
        "die": asked.die.0,
        "way": asked.way.name(),
        "pe_cycles": asked.pe_cycles,
        "planned_s": service.plan.at.s(),
        "asked_s": seconds(done.map(|done| done.asked_at)),
        "emptied_s": seconds(done.and_then(|done| done.emptied_at)),
        "replaced_s": seconds(done.and_then(|done| done.replaced_at)),
        "moved_units": done.map_or(0, |done| done.moved_units),
        "lost_units": done.map_or(0, |done| done.lost_units),
        "longest_without_service_ms": service.longest_gap.ns() as f64 / 1e6,
        "longest_latency_ms": service.longest_latency.ns() as f64 / 1e6,
        "dead_time_s": dead.unwrap_or(Time::ZERO).s(),
    })
}
