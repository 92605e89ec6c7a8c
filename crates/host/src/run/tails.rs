//! Tails: what slow requests waited for, by latency, and the slowest of them one by one.

use base::Time;
use ssd::Completion;
use ssd::blame::{Account, CAUSES};
use ssd::request::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Buckets of each doubling of the latency: one is 1.1 % wide.
const PARTS: u32 = 64;

/// Requests that are kept one by one.
const SLOWEST: usize = 1000;

/// Requests of about the same latency.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    /// Requests.
    pub requests: u64,
    /// Time by cause, over all of them, in nanoseconds.
    pub causes: [u64; CAUSES],
}

impl Bucket {
    const EMPTY: Self = Self { requests: 0, causes: [0; CAUSES] };
}

/// One of the slowest requests. They are ordered by latency, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// From arrival to completion, in nanoseconds.
    pub latency_ns: u64,
    /// When it arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// Operation, as a number of [`Op::ALL`].
    pub op: u8,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Die that it waited for last; none where it came from the buffer.
    pub die: Option<u32>,
    /// Time by cause, in nanoseconds.
    pub causes: [u64; CAUSES],
}

/// What all requests waited for.
#[derive(Debug, Default)]
pub struct Tails {
    /// By operation, then by latency: see [`Tails::edge_ns`].
    buckets: [Vec<Bucket>; Op::ALL.len()],
    slowest: BinaryHeap<Reverse<Slow>>,
    /// Largest difference of a latency and the sum of its causes, in nanoseconds: a defect.
    pub error_ns: u64,
}

impl Tails {
    /// Adds a request.
    pub fn record(&mut self, done: &Completion, latency: Time, account: &Account) {
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
        };
        if self.slowest.len() == SLOWEST {
            if self.slowest.peek().is_some_and(|Reverse(least)| slow <= *least) {
                return;
            }
            self.slowest.pop();
        }
        self.slowest.push(Reverse(slow));
    }

    /// The buckets of an operation, from the shortest latencies on.
    pub fn buckets(&self, op: Op) -> &[Bucket] {
        &self.buckets[op as usize]
    }

    /// Latencies of bucket `index` are at most this, and more than that of the one before.
    pub fn edge_ns(index: usize) -> u64 {
        let (octave, part) = (index as u32 / PARTS, index as u64 % u64::from(PARTS));
        match octave {
            0 => part,
            _ => ((u64::from(PARTS) + part + 1) << (octave - 1)) - 1,
        }
    }

    /// The slowest requests, from the slowest on.
    pub fn slowest(&self) -> Vec<Slow> {
        let mut list: Vec<Slow> = self.slowest.iter().map(|Reverse(slow)| *slow).collect();
        list.sort_unstable_by(|a, b| b.cmp(a));
        list
    }
}

/// The bucket of a latency: exact below `PARTS` ns, and `PARTS` to each doubling from there on.
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
