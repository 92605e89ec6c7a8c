//! Jobs and sources: a source gives the next request; the pace of a job gives its time.

use base::{Result, Time};
use ssd::Ssd;
use ssd::config::Priority;
use ssd::request::Request;
use std::collections::VecDeque;

/// A request and the time at which its source wants it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time since the start of the job; zero for requests without a time.
    pub at: Time,
    /// Operation, place and length to send.
    pub request: Request,
}

/// A stream of requests: recorded (a trace) or made up (a workload).
///
/// Promises: requests fit the drive they were opened for (aligned to 512 bytes, positive length,
/// inside the capacity; flushes are zero-length); `at` never decreases, but where directions have
/// clocks of their own (rates); memory does not grow with the length of the stream; two sources
/// built from the same inputs and seed give the same requests.
pub trait Source: Send {
    /// Next request, or `None` when the stream has ended. `now` is the time since the start of the
    /// job, for streams that go by it: those of a job with rates, whose requests are drawn one at a
    /// time.
    fn next(&mut self, now: Time) -> Result<Option<Arrival>>;

    /// Appends the next `most` requests to `drawn`, or all that are left. False if no more will
    /// come.
    fn draw(&mut self, now: Time, most: usize, drawn: &mut VecDeque<Arrival>) -> Result<bool> {
        for _ in 0..most {
            match self.next(now)? {
                Some(arrival) => drawn.push_back(arrival),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads the state of the drive on which a run of the source begins.
    fn begin(&mut self, _ssd: &Ssd) {}

    /// Whether commands on zones are sent alone: earlier requests are complete then, and later ones
    /// wait.
    fn is_exclusive(&self) -> bool {
        false
    }

    /// Notes that a request of an exclusive stream is complete.
    fn completed(&mut self, _request: &Request) {}

    /// Whether a stream that gave no request may give one after requests of other jobs.
    fn waits(&self) -> bool {
        false
    }

    /// Reason for which a stream that gives no more requests has given fewer than its job asks for.
    fn shortfall(&self) -> Option<&str> {
        None
    }

    /// Notes that the job sends no more.
    fn end(&mut self) {}

    /// Corrects the amount of a pass, for which a request was drawn that is sent in another length.
    fn correct(&mut self, _drawn_bytes: u64, _sent_bytes: u64) {}

    /// Repeats the requests for `passes` passes in all. To be called before the first request.
    fn repeat(&mut self, passes: u64);

    /// Whether the writes are random, and even all over a drive of `capacity_bytes`; `None` without
    /// writes.
    fn writes_evenly(&self, _capacity_bytes: u64) -> Option<bool> {
        Some(false)
    }

    /// Number of requests in all; `None` where it is not known.
    fn total(&self) -> Option<u64>;
}

/// Pace of a job: when it sends the requests of its source.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// Closed loop: `depth` requests in flight, the next one when one completes.
    Closed {
        /// Most requests in flight (fio's iodepth).
        depth: u32,
    },
    /// Open loop: at the times of the source, independent of the drive. Latency counts from these
    /// times.
    Open,
    /// Times of the source with a limit of `depth` requests in flight.
    Paced {
        /// Most requests in flight.
        depth: u32,
        /// Whether latency counts from the times of the source also where the depth made a request
        /// wait (drawn arrivals), and not from when it was sent.
        drawn: bool,
    },
}

/// Pause of a job's process between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Think {
    /// Length of the pause.
    pub time: Time,
    /// Requests between two pauses.
    pub every: u32,
}

/// One stream of requests with its pace: a fio job, a replayed trace.
pub struct Job {
    /// Name of the job in the report.
    pub name: String,
    /// Source of the job's requests.
    pub source: Box<dyn Source>,
    /// Pace at which requests are sent.
    pub pace: Pace,
    /// Pause between requests, if any.
    pub think: Option<Think>,
    /// Delay of the job after its group starts.
    pub start_delay: Time,
    /// Whether the job waits until every job before it has ended.
    pub stonewall: bool,
    /// Time after the start (and ramp) from which on the job sends nothing.
    pub runtime: Option<Time>,
    /// Time at the start of the job whose completions are not counted.
    pub ramp: Time,
    /// Class of the job's submission queue.
    pub priority: Priority,
    /// Options of fio as given for this job, for the report's `job options`.
    pub options: Vec<(String, String)>,
}
