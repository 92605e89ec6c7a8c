//! Jobs and sources: a source gives the next request; the pace of a job gives its time.

use base::{Result, Time};
use ssd::Ssd;
use ssd::request::Request;
use std::collections::VecDeque;

/// A request and the time at which its source wants it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Since the start of the job; zero for requests without a time.
    pub at: Time,
    /// What to send.
    pub request: Request,
}

/// A stream of requests: recorded (a trace) or made up (a workload).
///
/// Promises: requests fit the drive they were opened for (aligned to 512 bytes, positive length,
/// inside the capacity; flushes are zero-length); `at` never decreases, but where directions have
/// clocks of their own (rates); memory does not grow with the length of the stream; two sources
/// built from the same inputs and seed give the same requests.
pub trait Source: Send {
    /// The next request, or `None` when the stream has ended. `now` is the time since the start of
    /// the job, for streams that go by it: of a job with rates, drawn one at a time.
    fn next(&mut self, now: Time) -> Result<Option<Arrival>>;

    /// Puts the next `most` requests behind those in `drawn`, or all that are left: whether there
    /// may be more.
    fn draw(&mut self, now: Time, most: usize, drawn: &mut VecDeque<Arrival>) -> Result<bool> {
        for _ in 0..most {
            match self.next(now)? {
                Some(arrival) => drawn.push_back(arrival),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Looks at the drive that a run of it begins on.
    fn begin(&mut self, _ssd: &Ssd) {}

    /// Whether its commands on zones are sent alone: what was sent before is complete then, and
    /// what follows waits.
    fn is_exclusive(&self) -> bool {
        false
    }

    /// A request of an exclusive stream is complete.
    fn completed(&mut self, _request: &Request) {}

    /// Gives its requests so many times in all, one pass after another. Before the first of them.
    fn repeat(&mut self, passes: u64);

    /// Whether its writes are random and alike all over a drive of so many bytes; `None` where it
    /// writes nothing.
    fn writes_evenly(&self, _capacity_bytes: u64) -> Option<bool> {
        Some(false)
    }

    /// How many requests it will give in all, where that is known.
    fn total(&self) -> Option<u64>;
}

/// When a job sends what its source gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// Closed loop: `depth` requests in flight, the next when one completes.
    Closed {
        /// Requests in flight at most (fio's iodepth).
        depth: u32,
    },
    /// Open loop: at the times of the source, independent of the drive. Latency counts from there.
    Open,
    /// Both: at the source's own times, but with `depth` requests in flight at most.
    Paced {
        /// Requests in flight at most.
        depth: u32,
        /// Latency counts from those times also where the depth made a request wait (drawn
        /// arrivals), and not from when it was sent.
        drawn: bool,
    },
}

/// A pause of a job's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Think {
    /// How long.
    pub time: Time,
    /// After how many requests, each time.
    pub every: u32,
}

/// One stream of requests with its pace: a fio job, a replayed trace.
pub struct Job {
    /// For the report.
    pub name: String,
    /// What it sends.
    pub source: Box<dyn Source>,
    /// When it sends.
    pub pace: Pace,
    /// Pause between requests, if any.
    pub think: Option<Think>,
    /// Delay after its group starts.
    pub start_delay: Time,
    /// Waits until every job before it has ended.
    pub stonewall: bool,
    /// Sends nothing later than this after its start (and ramp).
    pub runtime: Option<Time>,
    /// Requests completed in this first stretch are not counted.
    pub ramp: Time,
    /// fio's options of this job as given, for the report's `job options`.
    pub options: Vec<(String, String)>,
}
