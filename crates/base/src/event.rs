//! The event queue: events by time, and equal times in order of arrival.
//!
//! An entry is one 128-bit number, `time | sequence | payload`, so that a comparison is one
//! comparison and ties keep arrival order by construction. Two structures hold the entries: a
//! 4-ary heap for the general case, and a few *lanes*, rings for streams of events that are
//! nearly always asked for in the order in which they happen (a first-come-first-served stage of
//! a pipeline is one). An event that would break its lane's order is put ahead of the few that it
//! precedes, or goes to the heap where they are many: a lane is an optimisation and never an
//! assumption.

use crate::Time;

const PAYLOAD_BITS: u32 = 32;
const SEQUENCE_BITS: u32 = 32;

/// Most entries of a lane that a new entry may overtake; one that would overtake more goes to the
/// heap.
const MOST_LATER: usize = 8;

/// Ring of entries in order: they leave at the front, and join at the back or close to it.
#[derive(Debug)]
struct Lane {
    /// Slots for a power of two of entries.
    entries: Box<[u128]>,
    first: usize,
    len: usize,
    /// Entry at the back. Of an empty lane: the entry that left last, which is earlier than any to
    /// come.
    last: u128,
}

impl Default for Lane {
    fn default() -> Self {
        Self { entries: vec![0; 16].into(), first: 0, len: 0, last: 0 }
    }
}

impl Lane {
    /// Slot of the entry at `index` from the front.
    #[inline]
    fn at(&self, index: usize) -> usize {
        self.first.wrapping_add(index) & (self.entries.len() - 1)
    }

    #[inline]
    fn front(&self) -> Option<u128> {
        (self.len > 0).then(|| self.entries[self.at(0)])
    }

    #[inline]
    fn push(&mut self, entry: u128) {
        if self.len == self.entries.len() {
            self.grow();
        }
        let at = self.at(self.len);
        self.entries[at] = entry;
        self.len += 1;
        self.last = entry;
    }

    #[inline]
    fn pop(&mut self) {
        self.first = self.at(1);
        self.len -= 1;
    }

    /// Inserts an entry before the last ones that are later than it. False where they are more than
    /// [`MOST_LATER`].
    fn push_before(&mut self, entry: u128) -> bool {
        let mut index = self.len - 1;
        while index > 0 && self.entries[self.at(index - 1)] > entry {
            index -= 1;
            if self.len - index > MOST_LATER {
                return false;
            }
        }
        self.push(entry);
        for later in (index + 1..self.len).rev() {
            let (from, to) = (self.at(later - 1), self.at(later));
            self.entries[to] = self.entries[from];
        }
        let at = self.at(index);
        self.entries[at] = entry;
        self.last = self.entries[self.at(self.len - 1)];
        true
    }

    #[cold]
    fn grow(&mut self) {
        let in_order = (0..self.len).map(|index| self.entries[self.at(index)]);
        let mut entries: Vec<u128> = in_order.collect();
        entries.resize(2 * self.entries.len(), 0);
        (self.entries, self.first) = (entries.into(), 0);
    }
}

/// Number of lanes of a queue.
pub const LANES: usize = 9;

/// Places for the first entries of lanes and heap: a power of two, so that a mask shows the
/// compiler that an index is in range.
const FRONTS: usize = 16;

/// Event queue, ordered by (time, arrival).
#[derive(Debug)]
pub struct EventQueue {
    heap: Vec<u128>,
    lanes: [Lane; LANES],
    /// First entry of each lane, followed by the first entry of the heap.
    fronts: [u128; FRONTS],
    /// Sources that have an entry: a bit for each lane, then one for the heap.
    waiting: u32,
    sequence: u64,
    renumbered: u64,
    now: Time,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl EventQueue {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Self {
            heap: Vec::with_capacity(1024),
            lanes: Default::default(),
            fronts: [0; FRONTS],
            waiting: 0,
            sequence: 0,
            renumbered: 0,
            now: Time::ZERO,
        }
    }

    /// The time of the event that was popped last.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.renumbered + self.sequence
    }

    /// Numbers the pending events anew, from zero, in their order: once in 2^32 events.
    #[cold]
    fn renumber(&mut self) {
        let mut pending = self.take_pending();
        const SEQUENCE: u128 = ((1 << SEQUENCE_BITS) - 1) << PAYLOAD_BITS;
        for (i, entry) in pending.iter_mut().enumerate() {
            *entry = (*entry & !SEQUENCE) | (i as u128) << PAYLOAD_BITS;
        }
        self.renumbered += self.sequence - pending.len() as u64;
        self.sequence = pending.len() as u64;
        self.put_pending(pending);
    }

    /// Takes out all pending events, in their order.
    fn take_pending(&mut self) -> Vec<u128> {
        let mut pending = std::mem::take(&mut self.heap);
        for lane in &mut self.lanes {
            pending.extend((0..lane.len).map(|index| lane.entries[lane.at(index)]));
            (lane.len, lane.last) = (0, 0);
        }
        pending.sort_unstable();
        pending
    }

    /// Puts pending events, in their order, into a queue without any.
    fn put_pending(&mut self, pending: Vec<u128>) {
        // A sorted array is a heap.
        self.heap = pending;
        self.waiting = 0;
        self.set_front(LANES, self.heap.first().copied());
    }

    /// Drops the pending events whose payload is not to be kept.
    pub fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        let mut pending = self.take_pending();
        pending.retain(|&entry| is_kept((entry & ((1 << PAYLOAD_BITS) - 1)) as u32));
        self.put_pending(pending);
    }

    #[inline]
    fn set_front(&mut self, source: usize, entry: Option<u128>) {
        match entry {
            Some(entry) => {
                self.fronts[source] = entry;
                self.waiting |= 1 << source;
            }
            None => self.waiting &= !(1 << source),
        }
    }

    #[inline]
    fn entry(&mut self, time: Time, payload: u32) -> u128 {
        debug_assert!(time >= self.now, "an event in the past: {time} at {}", self.now);
        if self.sequence == 1 << SEQUENCE_BITS {
            self.renumber();
        }
        let sequence = self.sequence;
        self.sequence += 1;
        u128::from(time.0) << 64 | u128::from(sequence << PAYLOAD_BITS | u64::from(payload))
    }

    /// Schedules `payload` at `time`, which must not be in the past.
    #[inline]
    pub fn push(&mut self, time: Time, payload: u32) {
        let entry = self.entry(time, payload);
        self.push_heap(entry);
    }

    /// Like [`push`](Self::push), through lane `lane` where that keeps the lane in order.
    #[inline(always)]
    pub fn push_lane(&mut self, lane: usize, time: Time, payload: u32) {
        let entry = self.entry(time, payload);
        let ring = &mut self.lanes[lane];
        if ring.last > entry {
            self.push_before(lane, entry);
            return;
        }
        ring.push(entry);
        if ring.len == 1 {
            self.set_front(lane, Some(entry));
        }
    }

    #[inline(never)]
    fn push_before(&mut self, lane: usize, entry: u128) {
        if self.lanes[lane].push_before(entry) {
            self.set_front(lane, self.lanes[lane].front());
        } else {
            self.push_heap(entry);
        }
    }

    /// Drops all pending events; the clock stays.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.lanes.iter_mut().for_each(|lane| (lane.len, lane.last) = (0, 0));
        self.waiting = 0;
    }

    /// Whether events are pending.
    pub fn is_pending(&self) -> bool {
        self.waiting != 0
    }

    /// Time of the next event, if any is pending.
    pub fn next_time(&self) -> Option<Time> {
        let is_waiting = |source: &usize| self.waiting & 1 << source != 0;
        let next = (0..=LANES).filter(is_waiting).map(|source| self.fronts[source]).min();
        next.map(|entry| Time((entry >> 64) as u64))
    }

    /// Moves the clock on to `time`, which must not be later than the next event.
    pub fn advance_to(&mut self, time: Time) {
        debug_assert!(self.next_time().is_none_or(|next| time <= next));
        self.now = self.now.max(time);
    }

    /// Takes the next event before [`Time::LIMIT`], if any, and moves the clock to it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        self.pop_before(Time::LIMIT)
    }

    /// Takes the next event before `end`, if any, and moves the clock to it.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<(Time, u32)> {
        if self.waiting == 0 {
            return None;
        }
        let front = |bits: u32| bits.trailing_zeros() as usize & (FRONTS - 1);
        let mut source = front(self.waiting);
        let mut best = self.fronts[source];
        let mut others = self.waiting & (self.waiting - 1);
        while others != 0 {
            let other = front(others);
            source = if self.fronts[other] < best { other } else { source };
            best = best.min(self.fronts[other]);
            others &= others - 1;
        }
        let time = Time((best >> 64) as u64);
        if time >= end {
            return None;
        }
        let next = if source == LANES {
            self.pop_heap();
            self.heap.first().copied()
        } else {
            let lane = &mut self.lanes[source];
            lane.pop();
            lane.front()
        };
        self.set_front(source, next);
        self.now = time;
        Some((time, best as u32))
    }

    fn push_heap(&mut self, entry: u128) {
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
        self.set_front(LANES, self.heap.first().copied());
    }

    fn pop_heap(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        let len = self.heap.len();
        if len == 0 {
            return;
        }
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            if first >= len {
                break;
            }
            let children = &self.heap[first..(first + 4).min(len)];
            let mut least = 0;
            for child in 1..children.len() {
                if children[child] < children[least] {
                    least = child;
                }
            }
            if children[least] >= last {
                break;
            }
            self.heap[hole] = children[least];
            hole = first + least;
        }
        self.heap[hole] = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forgets_what_was_asked_for() {
        let mut queue = EventQueue::new();
        queue.push_lane(0, Time(5), 1);
        queue.push_lane(0, Time(70), 2);
        queue.push(Time(60), 3);
        assert_eq!(queue.pop(), Some((Time(5), 1)));
        queue.clear();
        assert_eq!((queue.pop(), queue.now()), (None, Time(5)));
        queue.push_lane(0, Time(6), 4);
        assert_eq!(queue.pop(), Some((Time(6), 4)));
    }

    #[test]
    fn nothing_happens_beyond_the_limit() {
        let mut queue = EventQueue::new();
        assert!(!queue.is_pending());
        queue.push(Time::LIMIT, 1);
        queue.push_lane(0, Time::NEVER, 2);
        queue.push(Time(Time::LIMIT.0 - 1), 3);
        assert_eq!(queue.pop(), Some((Time(Time::LIMIT.0 - 1), 3)));
        assert_eq!((queue.pop(), queue.is_pending()), (None, true));
    }

    #[test]
    fn keeps_what_is_wanted() {
        let mut queue = EventQueue::new();
        for (time, payload) in [(9, 1), (3, 2), (9, 3), (4, 4)] {
            queue.push_lane(payload as usize % 2, Time(time), payload);
            queue.push(Time(time + 1), payload + 10);
        }
        queue.retain(|payload| !payload.is_multiple_of(2));
        let left = std::iter::from_fn(|| queue.pop()).map(|(time, payload)| (time.0, payload));
        assert!(left.eq([(9, 1), (9, 3), (10, 11), (10, 13)]));
        queue.push_lane(1, Time(10), 5);
        assert_eq!(queue.pop(), Some((Time(10), 5)));
    }

    proptest! {
        /// Events come out by (time, arrival) whichever lane or heap they went in by.
        #[test]
        fn orders_by_time_then_arrival(
            asked in prop::collection::vec((0u64..50, 0usize..=LANES), 1..2000)
        ) {
            let mut queue = EventQueue::new();
            queue.sequence = 1 << 20;
            for (i, &(time, door)) in asked.iter().enumerate() {
                if i == 100 {
                    queue.renumber();
                }
                if door == LANES {
                    queue.push(Time(time), i as u32);
                } else {
                    queue.push_lane(door, Time(time), i as u32);
                }
            }
            let mut expected: Vec<(u64, u32)> =
                asked.iter().enumerate().map(|(i, &(time, _))| (time, i as u32)).collect();
            expected.sort();
            let popped: Vec<(u64, u32)> =
                std::iter::from_fn(|| queue.pop()).map(|(t, p)| (t.0, p)).collect();
            prop_assert_eq!(popped, expected);
        }
    }
}
