//! A runner: the progress of one job, and the time of its next request.

use crate::request::{Arrival, Job, Pace, Think};
use crate::run::stats::JobStats;
use base::{Result, Time};
use ssd::Ssd;
use ssd::request::{Op, Request, Status};
use std::collections::VecDeque;

/// Requests that a job draws ahead, so that the drive can prefetch its map for them.
const AHEAD: usize = 24;
/// Requests that a job draws at a time.
const DRAWN: usize = 8;

/// Phase of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The group of the job has not started.
    Waiting,
    /// The job sends requests.
    Running,
    /// The job sends no more requests.
    Over,
}

/// Runner: the state of one job in a run.
pub struct Runner {
    pub job: Job,
    pub phase: Phase,
    pub group: u32,
    pub start: Time,
    /// Time after which the job sends nothing.
    pub deadline: Time,
    /// Time from which completions are counted.
    pub measure_from: Time,
    /// Requests drawn and not fetched, of which the first `queued` are sent: the times of these are
    /// arrivals.
    requests: VecDeque<Arrival>,
    queued: usize,
    exhausted: bool,
    /// Requests that are drawn ahead, `DRAWN` at a time.
    ahead: usize,
    /// Requests sent and not completed, and their limit.
    pub in_flight: u32,
    depth: u32,
    /// Completion time of the last request.
    pub last_completion: Time,
    /// Time at which the job had no more to send, and the time that requests took after it, in ns.
    pub over_at: Time,
    pub tail_ns: u128,
    /// Time until which the job's thread is busy.
    pub ready_at: Time,
    /// Requests until the next pause.
    pub until_think: u32,
    /// Time of the wake-up that is asked for.
    pub wake: Time,
    /// Whether commands on zones are sent alone, and whether the last request was one.
    is_exclusive: bool,
    is_alone: bool,
    /// Whether a request has failed, and the write with which the job ended, as the drive refused
    /// it.
    pub has_failed: bool,
    pub refused: Option<Refused>,
    /// Requests that were sent, and whether the source ended before its amount.
    sent: u64,
    is_short: bool,
    pub stats: JobStats,
    /// Requests of the skipped beginning, which count in no figure.
    skipped: Skipped,
}

/// Write that a drive refused.
#[derive(Debug, Clone, Copy)]
pub struct Refused {
    /// Request that asked for the write.
    pub request: Request,
    /// Error with which the drive answered.
    pub status: Status,
}

/// Counts of the skipped beginning of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Skipped {
    requests: u64,
    latencies_ns: u128,
}

/// Queue depth that a job kept: its requests under way while it had more to send.
#[derive(Debug, Clone, Copy)]
pub struct Depth {
    /// Mean number of requests under way, from their latencies.
    pub mean: f64,
    /// Length of the time over which the mean is taken.
    pub window: Time,
    /// Requests of the job.
    pub requests: u64,
}

impl Runner {
    /// Runner of a job in group `group` that has not started.
    pub fn new(job: Job, group: u32) -> Self {
        // A job with rates goes by the time at which a request is drawn: it draws none ahead.
        let is_exclusive = job.source.is_exclusive();
        let paced = matches!(job.pace, Pace::Paced { .. }) || is_exclusive;
        Self {
            phase: Phase::Waiting,
            group,
            start: Time::ZERO,
            deadline: Time::NEVER,
            measure_from: Time::ZERO,
            requests: VecDeque::with_capacity(AHEAD),
            queued: 0,
            exhausted: false,
            ahead: if paced { 1 } else { AHEAD },
            in_flight: 0,
            depth: match job.pace {
                Pace::Closed { depth } | Pace::Paced { depth, .. } => depth,
                Pace::Open => u32::MAX,
            },
            last_completion: Time::ZERO,
            over_at: Time::ZERO,
            tail_ns: 0,
            ready_at: Time::ZERO,
            until_think: job.think.map_or(0, |think| think.every),
            wake: Time::NEVER,
            is_exclusive,
            is_alone: false,
            has_failed: false,
            refused: None,
            sent: 0,
            is_short: false,
            stats: JobStats::default(),
            skipped: Skipped::default(),
            job,
        }
    }

    /// Whether the job sends no more, and everything it sent is complete.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.in_flight == 0
    }

    pub fn end_sending(&mut self, now: Time) {
        (self.phase, self.over_at) = (Phase::Over, now);
        self.job.source.end();
    }

    /// Ends the sending, as the source gives no more: it may have given less than was asked for.
    pub fn run_dry(&mut self, now: Time) {
        self.end_sending(now);
        self.is_short = self.job.source.shortfall().is_some();
    }

    /// Reason for which the job ended before its amount.
    pub fn shortfall(&self) -> Option<String> {
        if let Some(Refused { request, status }) = self.refused {
            let (op, offset) = (request.op.name(), request.offset);
            let left = self.job.source.total().map_or(0, |total| total.saturating_sub(self.sent));
            let unsent = if left > 0 { format!("; {left} not sent") } else { String::new() };
            return Some(format!(
                "the drive refused a {op} at byte {offset} with \"{}\"{unsent}",
                status.name()
            ));
        }
        self.job.source.shortfall().filter(|_| self.is_short).map(str::to_owned)
    }

    /// Requests that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Ends the sending, whatever is left to send. Requests under way are completed.
    pub fn stop(&mut self, now: Time) {
        if self.phase == Phase::Running {
            self.end_sending(now);
        }
    }

    /// Begins to count at `now`, and keeps of earlier requests only the counts for the depth.
    pub fn count_from(&mut self, now: Time) {
        let before = std::mem::take(&mut self.stats);
        self.skipped.requests += before.requests();
        self.skipped.latencies_ns += before.latencies_ns();
        if self.phase != Phase::Waiting {
            self.measure_from = self.measure_from.max(now);
            if let Some(runtime) = self.job.runtime {
                self.deadline = self.measure_from.saturating_add(runtime);
            }
        }
    }

    /// Notes a failed request. True for a refused write, which is not counted: a drive that refuses
    /// one write refuses all, so that ends the job, as an error does in fio.
    #[cold]
    pub fn fail(&mut self, request: Request, status: Status, now: Time) -> bool {
        self.has_failed = true;
        if matches!(request.op, Op::Read | Op::Trim | Op::Flush) {
            return false;
        }
        self.refused = self.refused.or(Some(Refused { request, status }));
        if self.phase == Phase::Running {
            self.end_sending(now);
        }
        true
    }

    /// Mean number of requests under way; `None` before the job is over, and where `ramp` or a
    /// refusal leaves latencies out.
    pub fn depth(&self) -> Option<Depth> {
        let window = self.over_at.since(self.start);
        let is_told = self.job.ramp == Time::ZERO && self.refused.is_none();
        if !self.is_over() || !is_told || window == Time::ZERO {
            return None;
        }
        let latencies = self.skipped.latencies_ns + self.stats.latencies_ns();
        let mean = latencies.saturating_sub(self.tail_ns) as f64 / window.0 as f64;
        Some(Depth { mean, window, requests: self.skipped.requests + self.stats.requests() })
    }

    /// Time of the next request to send, if there is one. Others are drawn ahead of it, so that the
    /// drive can prepare for them.
    #[inline]
    pub fn next(&mut self, ssd: &Ssd) -> Result<Option<Time>> {
        if self.requests.len() - self.queued <= self.ahead.saturating_sub(DRAWN) && !self.exhausted
        {
            self.draw(ssd)?;
        }
        Ok(self.requests.get(self.queued).map(|next| next.at))
    }

    #[inline(never)]
    fn draw(&mut self, ssd: &Ssd) -> Result<()> {
        // The drive's prefetches for the last draw have had time to arrive.
        for arrival in self.requests.iter().rev().take(DRAWN) {
            ssd.prefetch_blocks(&arrival.request);
        }
        let drawn = self.requests.len();
        let most = self.ahead - (drawn - self.queued);
        let now = ssd.now().max(self.ready_at).since(self.start);
        let has_more = self.job.source.draw(now, most, &mut self.requests)?;
        self.exhausted = !has_more && !self.job.source.waits();
        for arrival in self.requests.range(drawn..) {
            ssd.prefetch(&arrival.request);
        }
        Ok(())
    }

    /// Loses all requests that were sent, in a power cut.
    pub fn lose(&mut self) {
        self.requests.drain(..self.queued);
        (self.queued, self.in_flight, self.wake) = (0, 0, Time::NEVER);
    }

    /// Whether the queue holds a request.
    #[inline]
    pub fn has_queued(&self) -> bool {
        self.queued > 0
    }

    /// Fetches the oldest request of the queue for the drive, with its arrival time.
    #[inline]
    pub fn fetch(&mut self) -> Option<Arrival> {
        self.queued = self.queued.checked_sub(1)?;
        self.requests.pop_front()
    }

    /// Notes a completed request of the job.
    #[inline]
    pub fn completed(&mut self, request: &Request) {
        self.in_flight -= 1;
        if self.is_exclusive {
            self.job.source.completed(request);
        }
    }

    /// Whether the source has none to give before other jobs have gone on.
    pub fn waits(&self) -> bool {
        self.phase == Phase::Running && !self.exhausted && self.requests.len() == self.queued
    }

    /// Whether the job has as many requests under way as its depth.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.in_flight >= self.depth
    }

    /// Earliest time to send the next request, which its source wants sent `at`, and the time from
    /// which its latency counts; `None` where only a completion can tell.
    #[inline]
    pub fn due(&self, at: Time, now: Time) -> Option<(Time, Time)> {
        if self.job.think.is_some() && self.until_think == 0 && self.in_flight > 0 {
            return None;
        }
        if self.is_exclusive && self.in_flight > 0 {
            let manages = self.requests.get(self.queued).map(|next| next.request.op.manages());
            if self.is_alone || manages == Some(true) {
                return None;
            }
        }
        let earliest = self.ready_at.max(self.start);
        match &self.job.pace {
            Pace::Closed { .. } => Some((earliest, now.max(earliest))),
            Pace::Open => {
                // Only one request waits in the queue: the others stay in the source.
                let at = self.start.saturating_add(at);
                (self.queued == 0).then_some((at.max(self.start), at))
            }
            Pace::Paced { drawn, .. } => {
                let (due, sent) = (self.start.saturating_add(at), now.max(earliest));
                // A request without a time arrives when it is sent.
                let drawn = *drawn && at > Time::ZERO;
                Some((earliest.max(due), if drawn { due } else { sent.max(due) }))
            }
        }
    }

    /// Puts the next request into the queue at `now`. Its latency counts from `arrival`.
    #[inline]
    pub fn send(&mut self, arrival: Time, now: Time, submit_time: Time) {
        let next = &mut self.requests[self.queued];
        next.at = arrival;
        let op = next.request.op;
        self.is_alone = op.manages();
        self.queued += 1;
        self.in_flight += 1;
        self.sent += 1;
        if self.job.pace != Pace::Open {
            self.ready_at = self.ready_at.max(now).saturating_add(submit_time);
        }
        if let Some(Think { every, .. }) = self.job.think {
            if self.until_think == 0 {
                self.until_think = every;
            }
            // A flush does not count for the pause: it belongs to the writes before it.
            self.until_think -= u32::from(op != Op::Flush);
        }
    }
}
