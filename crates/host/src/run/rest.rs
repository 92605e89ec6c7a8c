//! Rest of a job whose beginning was not measured: what it has not sent, from time zero on.

use crate::request::{Arrival, Source};
use base::{Result, Time};
use ssd::request::Request;
use std::collections::VecDeque;

/// The requests that are left of a source.
pub struct Rest {
    source: Box<dyn Source>,
    /// Drawn from it before, and not sent.
    drawn: VecDeque<Arrival>,
    /// Time of the job that has passed.
    passed: Time,
}

impl Rest {
    /// Of a job that has gone on for `passed`.
    pub fn new(source: Box<dyn Source>, drawn: VecDeque<Arrival>, passed: Time) -> Self {
        Self { source, drawn, passed }
    }
}

impl Source for Rest {
    fn next(&mut self, now: Time) -> Result<Option<Arrival>> {
        let next = match self.drawn.pop_front() {
            Some(arrival) => Some(arrival),
            None => self.source.next(now.saturating_add(self.passed))?,
        };
        Ok(next.map(|Arrival { at, request }| Arrival { at: at.since(self.passed), request }))
    }

    fn is_exclusive(&self) -> bool {
        self.source.is_exclusive()
    }

    fn completed(&mut self, request: &Request) {
        self.source.completed(request);
    }

    fn repeat(&mut self, passes: u64) {
        self.source.repeat(passes);
    }

    /// Unknown: the source does not say how many it has given.
    fn total(&self) -> Option<u64> {
        None
    }
}
