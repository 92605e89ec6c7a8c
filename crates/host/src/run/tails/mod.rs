//! Tails: the time of requests by cause, in buckets of latency, and the slowest requests one by
//! one. `recent` keeps the latest ones.

pub mod recent;

use base::Time;
use ssd::Completion;
use ssd::blame::{Account, CAUSES};
use ssd::request::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets for each doubling of the latency, each 1.1 % wide.
const PARTS: u32 = 64;

/// Number of slowest requests that are kept one by one.
const SLOWEST: usize = 1000;

/// Requests of about the same latency.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    /// Requests in the bucket.
    pub requests: u64,
    /// Time of all its requests by cause, in nanoseconds.
    pub causes: [u64; CAUSES],
}

impl Bucket {
    const EMPTY: Self = Self { requests: 0, causes: [0; CAUSES] };
}

/// One of the slowest requests, ordered by latency, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// Latency from arrival to completion, in nanoseconds.
    pub latency_ns: u64,
    /// Arrival time in nanoseconds.
    pub arrival_ns: u64,
    /// Operation, as an index of [`Op::ALL`].
    pub op: u8,
    /// First byte of the request.
    pub offset: u64,
    /// Length of the request in bytes.
    pub bytes: u64,
    /// Last die that the request waited for; `None` where its data came from the buffer.
    pub die: Option<u32>,
    /// Time by cause, in nanoseconds.
    pub causes: [u64; CAUSES],
    /// Number of the request among the completed ones of its run, from 1.
    pub number: u64,
}

/// Time of all requests by cause, with the slowest requests.
#[derive(Debug, Default)]
pub struct Tails {
    /// Buckets by operation, then by latency: see [`Tails::edge_ns`].
    buckets: [Vec<Bucket>; Op::ALL.len()],
    slowest: BinaryHeap<Reverse<Slow>>,
    /// Largest difference between a latency and the sum of its causes, in nanoseconds; 0 unless the
    /// accounts have a defect.
    pub error_ns: u64,
}

impl Tails {
    /// Adds one completed request, the `number`th of its run.
    pub fn record(&mut self, done: &Completion, number: u64, latency: Time, account: &Account) {
        let latency_ns = latency.ns();
        self.error_ns = self.error_ns.max(account.total().ns().abs_diff(latency_ns));
        let buckets = &mut self.buckets[done.request.op as usize];
        let index = bucket(latency_ns);
        if index >= buckets.len() {
            buckets.resize(index + 1, Bucket::EMPTY);
        }
        let bucket = &mut buckets[index];
        bucket.requests += 1;
        bucket.causes.iter_mut().zip(&account.causes).for_each(|(sum, time)| *sum += time);
        let slow = Slow {
            latency_ns,
            arrival_ns: done.arrival.ns(),
            op: done.request.op as u8,
            offset: done.request.offset,
            bytes: done.request.length,
            die: account.die,
            causes: account.causes,
            number,
        };
        self.keep(slow);
    }

    /// Adds the requests of another run.
    pub fn merge(&mut self, other: Self) {
        self.error_ns = self.error_ns.max(other.error_ns);
        for (own, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            own.resize(own.len().max(theirs.len()), Bucket::EMPTY);
            for (bucket, more) in own.iter_mut().zip(theirs) {
                bucket.requests += more.requests;
                bucket.causes.iter_mut().zip(&more.causes).for_each(|(sum, time)| *sum += time);
            }
        }
        other.slowest.into_iter().for_each(|Reverse(slow)| self.keep(slow));
    }

    /// Keeps a request, if it is among the slowest.
    fn keep(&mut self, slow: Slow) {
        if self.slowest.len() == SLOWEST {
            if self.slowest.peek().is_some_and(|Reverse(least)| slow <= *least) {
                return;
            }
            self.slowest.pop();
        }
        self.slowest.push(Reverse(slow));
    }

    /// Buckets of an operation, by rising latency.
    pub fn buckets(&self, op: Op) -> &[Bucket] {
        &self.buckets[op as usize]
    }

    /// Largest latency of bucket `index`, in ns.
    pub fn edge_ns(index: usize) -> u64 {
        let (octave, part) = (index as u32 / PARTS, index as u64 % u64::from(PARTS));
        match octave {
            0 => part,
            _ => ((u64::from(PARTS) + part + 1) << (octave - 1)) - 1,
        }
    }

    /// Slowest requests, the slowest first.
    pub fn slowest(&self) -> Vec<Slow> {
        let mut list: Vec<Slow> = self.slowest.iter().map(|Reverse(slow)| *slow).collect();
        list.sort_unstable_by(|a, b| b.cmp(a));
        list
    }
}

/// Index of the bucket of a latency: exact below `PARTS` ns, and `PARTS` to each doubling from
/// there on.
fn bucket(ns: u64) -> usize {
    let bits = u64::BITS - ns.leading_zeros();
    let least = PARTS.ilog2() + 1;
    if bits < least {
        return ns as usize;
    }
    let octave = bits - least + 1;
    (octave * PARTS) as usize + (ns >> (octave - 1)) as usize - PARTS as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn edges_follow_one_another() {
        for index in 0..2000 {
            let edge = Tails::edge_ns(index);
            assert_eq!((bucket(edge), bucket(edge + 1)), (index, index + 1), "{edge}");
        }
    }

    proptest! {
        #[test]
        fn a_latency_is_near_the_edge_of_its_bucket(ns in any::<u64>()) {
            let ns = ns >> (ns % 60).max(2);
            let edge = Tails::edge_ns(bucket(ns));
            prop_assert!(edge >= ns && edge - ns <= ns / u64::from(PARTS), "{ns} {edge}");
        }
    }
}
