//! Advance of a session, by simulated time or by events.

use super::calls::Advance;
use super::held::Held;
use super::look::Look;
use base::{Error, Result, Time};
use serde_json::{Value, json};

/// Most events of one call, so that it ends soon whatever it asks for.
const MOST_EVENTS: u64 = 1 << 20;

impl Held {
    /// Advances the session: a part of its preconditioning or of a wear, or the run.
    pub fn advance(&mut self, call: Advance) -> Result<Value> {
        let Advance { simulated_ns, events, most_requests } = call;
        if simulated_ns.is_none() && events.is_none() {
            return Err(Error::new("advance", "no length is given")
                .expected("`simulated_ns`, `events`, or both"));
        }
        if self.session.run.ssd.is_off() {
            let problem = "the power of this drive has been cut";
            return Err(Error::new("advance", problem).hint("`act` with the command `recover`"));
        }
        if !self.session.is_preconditioned() {
            let is_done = self.session.precondition()?;
            if !is_done || self.job.is_none() {
                let (done, of) = self.session.precondition_progress();
                let phase = if is_done { "over" } else { "precondition" };
                return Ok(self.look().progress(phase, done, Some(of)));
            }
        }
        if self.is_wearing() {
            return self.wear_on();
        }
        if self.job.is_none() {
            return Err(Error::new("advance", "the drive has no job").hint("begin one with `job`"));
        }
        let requests = most_requests.unwrap_or(u64::MAX);
        let events = events.unwrap_or(u64::MAX).min(MOST_EVENTS);
        let session = &mut self.session;
        if !session.run.is_finished() {
            match simulated_ns {
                None => {
                    session.advance_within(requests, events)?;
                    self.now = self.now.max(session.run.ssd.now());
                }
                Some(ns) => {
                    let until = self.now.saturating_add(Time(ns));
                    session.advance_to(until, requests, events)?;
                    // Time goes on where nothing happens, and stands at the last event where the
                    // bounds ended the advance.
                    let run = &session.run;
                    let is_there = run.ssd.next_time().is_none_or(|next| next > until);
                    self.now = if is_there && !run.is_finished() { until } else { run.ssd.now() };
                }
            }
        }
        let (done, of) = self.session.run.progress();
        let phase = if self.session.run.is_finished() { "over" } else { "run" };
        Ok(self.look().progress(phase, done, of))
    }
}

impl Look<'_> {
    /// Progress of the session: the answer of `advance`.
    pub fn progress(&self, phase: &str, done: u64, of: Option<u64>) -> Value {
        let run = &self.session.run;
        json!({
            "now_ns": self.now.ns(),
            "events": run.ssd.events(),
            "completed": run.completed,
            "finished": run.is_finished(),
            "phase": phase,
            "done": done,
            "of": of,
        })
    }
}
