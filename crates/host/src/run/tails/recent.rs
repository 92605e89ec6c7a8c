//! Latest requests of a run, for whoever watches it: each with its time by cause, and latencies
//! since they were last looked at.

use super::Slow;
use base::Time;
use ssd::Completion;
use ssd::blame::Account;
use ssd::request::Op;

/// Number of latest requests that are kept one by one.
pub const LATEST: usize = 1 << 12;

/// Parts of each doubling of the latency, and the exponents of two between which they lie: 1 us to
/// 69 s.
const PARTS: u64 = 4;
const FIRST_BITS: u32 = 10;
const LAST_BITS: u32 = 36;

/// Number of buckets of latencies: one below, the parts of each doubling, and one above.
pub const BUCKETS: usize = ((LAST_BITS - FIRST_BITS) as u64 * PARTS) as usize + 2;

/// Requests of one direction since they were last looked at.
#[derive(Debug, Clone)]
pub struct Direction {
    /// Number of requests by latency.
    pub buckets: [u32; BUCKETS],
    /// Number of completed requests.
    pub requests: u64,
    /// Bytes of the requests.
    pub bytes: u64,
    /// Sum of the latencies, in ns.
    pub latency_sum_ns: u64,
    /// Longest latency, in ns.
    pub latency_max_ns: u64,
}

impl Direction {
    const EMPTY: Self =
        Self { buckets: [0; BUCKETS], requests: 0, bytes: 0, latency_sum_ns: 0, latency_max_ns: 0 };

    fn record(&mut self, bytes: u64, ns: u64) {
        self.buckets[bucket(ns)] += 1;
        self.requests += 1;
        self.bytes += bytes;
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(ns);
        self.latency_max_ns = self.latency_max_ns.max(ns);
    }
}

/// Latest requests, and latencies since the last look.
#[derive(Debug)]
pub struct Recent {
    /// Reads that were completed.
    pub reads: Direction,
    /// Writes and appends that were completed.
    pub writes: Direction,
    latest: Vec<Slow>,
    /// Place of the next request, once all places are taken.
    next: usize,
}

impl Recent {
    /// Creates empty records of a run.
    pub fn new() -> Self {
        let (reads, writes) = (Direction::EMPTY, Direction::EMPTY);
        Self { reads, writes, latest: Vec::new(), next: 0 }
    }

    /// Adds a request that is complete, the `number`th of its run. Without an account of its waits
    /// it is only counted: to keep more of it would slow the run.
    pub fn record(
        &mut self,
        done: &Completion,
        number: u64,
        latency: Time,
        account: Option<&Account>,
    ) {
        let latency_ns = latency.ns();
        let op = done.request.op;
        match op {
            Op::Read => self.reads.record(done.request.length, latency_ns),
            Op::Write | Op::ZoneAppend => self.writes.record(done.request.length, latency_ns),
            _ => {}
        }
        let Some(account) = account else { return };
        let slow = Slow {
            latency_ns,
            arrival_ns: done.arrival.ns(),
            op: op as u8,
            offset: done.request.offset,
            bytes: done.request.length,
            die: account.die,
            causes: account.causes,
            number,
        };
        if self.latest.len() < LATEST {
            self.latest.push(slow);
        } else {
            self.latest[self.next] = slow;
            self.next = (self.next + 1) % LATEST;
        }
    }

    /// Latest requests, in no order.
    pub fn latest(&self) -> &[Slow] {
        &self.latest
    }

    /// Begins to count latencies anew.
    pub fn look(&mut self) {
        (self.reads, self.writes) = (Direction::EMPTY, Direction::EMPTY);
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self::new()
    }
}

/// Bucket of a latency.
fn bucket(ns: u64) -> usize {
    if ns >> FIRST_BITS == 0 {
        return 0;
    }
    let bits = ns.ilog2();
    if bits >= LAST_BITS {
        return BUCKETS - 1;
    }
    let part = (ns >> (bits - PARTS.ilog2())) % PARTS;
    1 + ((bits - FIRST_BITS) as u64 * PARTS + part) as usize
}

/// Largest latency of each bucket, in ns; the last one has no end.
pub fn bounds_ns() -> impl Iterator<Item = u64> {
    (0..BUCKETS as u64 - 1).map(|i| {
        let (octave, part) = (i / PARTS, i % PARTS);
        ((PARTS + part) << (octave + u64::from(FIRST_BITS - PARTS.ilog2()))) - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_last_latencies_of_their_buckets() {
        for (index, bound) in bounds_ns().enumerate() {
            assert_eq!((bucket(bound), bucket(bound + 1)), (index, index + 1), "{bound}");
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }
}
