//! Rows of the write buffer: keys with units to program, and the order of their programs.
//!
//! Waiting units gather by key, in lists threaded through the buffer's slots. A key with units is
//! in one of these queues: keys with a whole row, keys with a short row, keys that wait for the
//! host program of a die, keys that wait for a step of an internal job, keys that wait for an
//! erase. Each queue is first in, first out, and threaded through the keys: nothing is allocated
//! after the start.

use super::NONE;
use crate::terms::{Key, Lpn, Until};
use nand::geometry::Die;

/// Units of a key that wait to be programmed, and where the key stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) len: u32,
    /// Older data of units that were rewritten here, linked from the first: they take room in rows.
    pub(super) stale: u32,
    pub(super) first_stale: u32,
    queue: u32,
    previous: u32,
    next: u32,
}

impl List {
    const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        len: 0,
        stale: 0,
        first_stale: NONE,
        queue: IDLE,
        previous: NONE,
        next: NONE,
    };
}

/// A queue of keys.
#[derive(Debug, Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
    len: u32,
}

impl Queue {
    const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };
}

/// The queues by number; behind these comes one for each die.
const WHOLE: u32 = 0;
const SHORT: u32 = 1;
const JOB: u32 = 2;
const ERASE: u32 = 3;
const CALLED: u32 = 4;
const OF_DIES: u32 = 5;
/// Queue number of a key that is in no queue.
const IDLE: u32 = NONE;

/// Lists of all keys, and the queues that the keys wait in.
#[derive(Debug)]
pub struct Rows {
    pub(super) lists: Vec<List>,
    queues: Vec<Queue>,
    row_units: u32,
    /// Keys that wait for a die or a job.
    waiting: u32,
    /// Stale data of all keys.
    pub(super) stale: u32,
}

impl Rows {
    /// Creates empty lists for `keys` keys, rows of `row_units` units, and `dies` dies.
    pub(super) fn new(keys: u32, row_units: u32, dies: u32) -> Self {
        Self {
            lists: vec![List::EMPTY; keys as usize],
            queues: vec![Queue::EMPTY; (OF_DIES + dies) as usize],
            row_units,
            waiting: 0,
            stale: 0,
        }
    }

    /// Number of keys, with or without units.
    pub(super) fn keys(&self) -> u32 {
        self.lists.len() as u32
    }

    /// Units of a row.
    pub(super) fn row_units(&self) -> u32 {
        self.row_units
    }

    /// Number of dies that keys can wait for.
    pub(super) fn dies(&self) -> u32 {
        self.queues.len() as u32 - OF_DIES
    }

    /// Units of a key that wait to be programmed.
    #[inline]
    pub fn len(&self, key: Key) -> u32 {
        self.lists[key.0 as usize].len
    }

    /// Whether there are stale data.
    #[inline]
    pub(super) fn has_stale(&self) -> bool {
        self.stale > 0
    }

    /// Units of a key that its next row takes at most: stale data take the rest, but for one unit,
    /// which a row always carries.
    #[inline]
    pub fn most(&self, key: Key) -> u32 {
        let List { stale, .. } = self.lists[key.0 as usize];
        self.row_units - stale.min(self.row_units - 1)
    }

    /// Adds holes to the units of a row for the stale data that it has room for.
    #[cold]
    pub fn add_holes(&self, key: Key, lpns: &mut Vec<Lpn>) {
        let List { stale, .. } = self.lists[key.0 as usize];
        let units = (lpns.len() as u32 + stale).min(self.row_units);
        lpns.resize(units as usize, Lpn::HOLE);
    }

    /// Whether a key has units for a whole row that need not wait.
    #[inline]
    pub fn has_whole(&self) -> bool {
        self.queues[WHOLE as usize].len > 0
    }

    /// Whether a row waits for a die or a job.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Number of keys that need not wait, with a whole row or with a short one.
    #[inline]
    pub fn count(&self, is_whole: bool) -> u32 {
        self.queues[usize::from(!is_whole)].len
    }

    /// First key that need not wait, with a whole row or with a short one.
    #[inline]
    pub fn first(&self, is_whole: bool) -> Option<Key> {
        let first = self.queues[usize::from(!is_whole)].first;
        (first != NONE).then_some(Key(first))
    }

    /// Moves a key to its queue after units have come or gone. A key that waits keeps waiting.
    #[inline]
    pub(super) fn changed(&mut self, key: u32) {
        let list = self.lists[key as usize];
        let (queue, due) = (list.queue, self.due(&list));
        if queue != due && (queue < JOB || queue == IDLE || due == IDLE) {
            self.leave(key);
            self.join(key, due);
        }
    }

    /// The queue of a key with enough units to be programmed now.
    #[inline]
    fn due(&self, &List { len, stale, .. }: &List) -> u32 {
        match len {
            0 => IDLE,
            _ if len + stale >= self.row_units => WHOLE,
            _ => SHORT,
        }
    }

    /// Moves a key that has had its turn behind the others of its queue.
    #[inline]
    pub fn turn(&mut self, key: Key) {
        let list = self.lists[key.0 as usize];
        if list.queue != IDLE && self.queues[list.queue as usize].len > 1 {
            self.leave(key.0);
            self.join(key.0, self.due(&list));
        }
    }

    /// Moves a key to the queue of those that wait for an event.
    pub fn wait(&mut self, key: Key, until: Until) {
        self.leave(key.0);
        let queue = match until {
            Until::Job => JOB,
            Until::Erase => ERASE,
            Until::Called => CALLED,
            Until::Die(die) => OF_DIES + die.0,
        };
        self.join(key.0, queue);
    }

    /// A die is free: the keys that waited for it wait no longer.
    #[inline]
    pub fn wake_die(&mut self, die: Die) {
        if self.waiting > 0 {
            self.wake(OF_DIES + die.0);
        }
    }

    /// A job has done a step: the keys that waited for it wait no longer. Returns whether there
    /// were any.
    #[inline]
    pub fn wake_job(&mut self) -> bool {
        self.waiting > 0 && self.wake(JOB)
    }

    /// Blocks have been erased: the keys that waited for it wait no longer.
    #[inline]
    pub fn wake_erase(&mut self) {
        if self.waiting > 0 {
            self.wake(ERASE);
        }
    }

    /// Ends the wait of a key that waits to be called. Returns whether it did wait for that.
    pub fn wake_key(&mut self, key: Key) -> bool {
        let list = self.lists[key.0 as usize];
        if list.queue != CALLED {
            return false;
        }
        self.leave(key.0);
        self.join(key.0, self.due(&list));
        true
    }

    #[cold]
    fn wake(&mut self, queue: u32) -> bool {
        let mut any = false;
        loop {
            let first = self.queues[queue as usize].first;
            if first == NONE {
                return any;
            }
            self.leave(first);
            let due = self.due(&self.lists[first as usize]);
            self.join(first, due);
            any = true;
        }
    }

    fn leave(&mut self, key: u32) {
        let List { queue, previous, next, .. } = self.lists[key as usize];
        if queue == IDLE {
            return;
        }
        match previous {
            NONE => self.queues[queue as usize].first = next,
            before => self.lists[before as usize].next = next,
        }
        match next {
            NONE => self.queues[queue as usize].last = previous,
            after => self.lists[after as usize].previous = previous,
        }
        self.queues[queue as usize].len -= 1;
        self.waiting -= u32::from(queue >= JOB);
        self.lists[key as usize].queue = IDLE;
    }

    fn join(&mut self, key: u32, queue: u32) {
        if queue == IDLE {
            return;
        }
        let last = std::mem::replace(&mut self.queues[queue as usize].last, key);
        match last {
            NONE => self.queues[queue as usize].first = key,
            before => self.lists[before as usize].next = key,
        }
        let list = &mut self.lists[key as usize];
        (list.queue, list.previous, list.next) = (queue, last, NONE);
        self.queues[queue as usize].len += 1;
        self.waiting += u32::from(queue >= JOB);
    }
}
