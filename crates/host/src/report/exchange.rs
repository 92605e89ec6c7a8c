//! The exchange of a die in a run, for the report.

use crate::session::Session;
use base::Time;
use serde_json::{Value, json};
use ssd::drive::exchange::Way;

impl Session {
    /// How far it is, and the service that the host had meanwhile; `null` without one.
    pub(super) fn exchange_json(&self) -> Value {
        let Some(service) = self.run.service() else { return Value::Null };
        let asked = service.plan.asked;
        // A run that ended before has asked for none.
        let done = self.run.ssd.exchanged();
        let seconds = |time: Option<Time>| time.map(Time::s);
        let dead = done
            .filter(|_| asked.way == Way::Suspended)
            .map(|done| done.replaced_at.unwrap_or(self.run.ssd.now()).since(done.asked_at));
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
}
