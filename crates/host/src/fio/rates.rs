//! Rate limits of a job: fio's `rate` and `rate_iops`, each direction with a separate clock.
//!
//! A clock says when the next request of its direction is due; each request moves it on. In a job
//! of reads and writes, a request that is not yet due lets the other direction go first, so that
//! neither holds the other up (`rate_ddir` of fio's `io_u.c`). So rates decide the share of reads,
//! and `rwmixread` only where both directions are late.

use base::Time;
use base::rng::Rng;
use ssd::request::Op;

/// Rate limit of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Requests in a second.
    Requests(f64),
    /// Bytes in a second.
    Bytes(f64),
}

/// Clock of one direction: its rate, and when its next request is due.
#[derive(Debug, Clone)]
struct Clock {
    rate: Rate,
    /// Time of the next request in ns since the start of the job: a sum of many intervals, which
    /// rounding must not shift.
    due_ns: f64,
}

/// Rate limits of a running job.
#[derive(Debug, Clone)]
pub struct Rates {
    /// Clocks of reads, writes and trims; `None` without a limit.
    clocks: [Option<Clock>; 3],
    /// Generator of the intervals of a Poisson process; `None` = equal intervals.
    poisson: Option<Rng>,
}

impl Rates {
    /// Clocks of reads, writes and trims at the start of a job; `poisson` draws intervals.
    pub fn new(rates: &[Option<Rate>; 3], poisson: Option<Rng>) -> Self {
        let clocks = rates.map(|rate| rate.map(|rate| Clock { rate, due_ns: 0.0 }));
        let mut rates = Self { clocks, poisson };
        if rates.poisson.is_some() {
            // A Poisson process begins with an interval, an even one with a request.
            for op in [Op::Read, Op::Write, Op::Trim] {
                rates.advance(op, 0);
            }
        }
        rates
    }

    /// Time at which the next request of `op` is due; 0 without a limit.
    #[inline]
    pub fn due(&self, op: Op) -> Time {
        let clock = self.clocks.get(op as usize).and_then(Option::as_ref);
        clock.map_or(Time::ZERO, |clock| Time(clock.due_ns.round() as u64))
    }

    /// Direction that sends next: `drawn` if it is due by `now` or no later than `other`.
    #[inline]
    pub fn turn(&self, drawn: Op, other: Op, now: Time) -> Op {
        let due = self.due(drawn);
        if due <= now || due <= self.due(other) { drawn } else { other }
    }

    /// Books a request of `op`: moves its clock on, and returns when the request was due.
    #[inline]
    pub fn take(&mut self, op: Op, length: u64) -> Time {
        let due = self.due(op);
        self.advance(op, length);
        due
    }

    fn advance(&mut self, op: Op, length: u64) {
        let Some(clock) = self.clocks.get_mut(op as usize).and_then(Option::as_mut) else { return };
        let mean_ns = match clock.rate {
            Rate::Requests(per_s) => 1e9 / per_s,
            Rate::Bytes(per_s) => length as f64 * 1e9 / per_s,
        };
        clock.due_ns += match &mut self.poisson {
            Some(rng) => rng.exponential(mean_ns),
            None => mean_ns,
        };
    }
}
