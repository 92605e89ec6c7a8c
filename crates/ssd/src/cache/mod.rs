//! The read cache: units of flash that stay in the controller's memory for further reads.
//!
//! A unit comes in once a read has decoded it, and leaves when its data change or when another one
//! takes its slot. `policy` says what a policy decides, `lru`, `clock` and `arc` are policies;
//! `index` finds the slot of a unit, `list` keeps slots in order, `changes` tells whether data have
//! changed while they were read, `sequences` finds reads that follow one another. Nothing here
//! knows the drive, and nothing is allocated after the start. The cache holds no bytes: the drive
//! keeps those, where anybody wants them.

mod arc;
mod changes;
mod clock;
pub(crate) mod index;
pub(crate) mod list;
mod lru;
pub mod policy;
mod sequences;

pub use policy::{CachePolicy, ReadCacheConfig};
pub use sequences::MOST_SEQUENCES;
pub(crate) use sequences::Sequences;

use crate::terms::Lpn;
use base::{Time, counts, memory};
use changes::Changes;
use index::Index;
use policy::Policy;
use schemars::JsonSchema;
use serde::Serialize;

/// Counts of the read cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadCacheCounts {
    /// Units of reads that came from the cache.
    pub hits: u64,
    /// Units of reads that came from flash.
    pub misses: u64,
    /// Units that waited for a read ahead which was under way; they are among the hits if it has
    /// brought them.
    pub late_units: u64,
    /// Partly written units whose rest came from the cache.
    pub fills: u64,
    /// Units that were read ahead and have entered the cache.
    pub ahead_units: u64,
    /// Units read ahead that a read then has asked for: the first hit of each.
    pub ahead_used: u64,
    /// Units read ahead that have left the cache before any read asked for them.
    pub ahead_unused: u64,
    /// Units that have made room for others.
    pub evicted_units: u64,
    /// Units that have left because they were written, trimmed or reset.
    pub dropped_units: u64,
}

counts!(ReadCacheCounts {
    hits,
    misses,
    late_units,
    fills,
    ahead_units,
    ahead_used,
    ahead_unused,
    evicted_units,
    dropped_units,
});

/// Unit that a slot holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    lpn: Lpn,
    /// Whether the unit was read ahead, and no read has asked for it yet.
    is_ahead: bool,
}

impl Held {
    const NOTHING: Self = Self { lpn: Lpn::HOLE, is_ahead: false };
}

/// Slot that a unit has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub slot: u32,
    /// Unit that has made room.
    pub evicted: Option<Lpn>,
}

/// Read cache: which units it holds, and what leaves first.
pub struct ReadCache {
    index: Index,
    slots: Vec<Held>,
    free: Vec<u32>,
    policy: Box<dyn Policy>,
    changes: Changes,
    /// Counts since the start of the run.
    pub counts: ReadCacheCounts,
}

impl ReadCache {
    /// Creates an empty cache of `capacity` units.
    pub fn new(policy: CachePolicy, capacity: u32) -> Self {
        Self {
            index: Index::new(capacity),
            slots: memory::table(capacity as usize, Held::NOTHING),
            free: (0..capacity).rev().collect(),
            policy: policy.build(capacity),
            changes: Changes::new(capacity),
            counts: ReadCacheCounts::default(),
        }
    }

    /// Units that the cache can hold.
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Units that the cache holds.
    pub fn held(&self) -> u32 {
        self.capacity() - self.free.len() as u32
    }

    /// Prefetches what tells whether the cache holds a unit.
    #[inline]
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.index.prefetch(lpn.0);
    }

    /// Prefetches the slot of a unit, once `prefetch` has had time to act. Returns whether the
    /// cache holds the unit.
    #[inline]
    pub(crate) fn prefetch_slot(&self, lpn: Lpn) -> bool {
        let slot = self.index.find(lpn.0);
        if let Some(slot) = slot {
            memory::prefetch(&self.slots, slot as usize);
        }
        slot.is_some()
    }

    /// Whether the cache holds a unit. This is no use of it.
    #[inline]
    pub fn has(&self, lpn: Lpn) -> bool {
        self.index.find(lpn.0).is_some()
    }

    /// Slot of a unit that a read asks for, if the cache holds it.
    #[inline]
    pub(crate) fn read(&mut self, lpn: Lpn) -> Option<u32> {
        let slot = self.index.find(lpn.0)?;
        let held = &mut self.slots[slot as usize];
        let is_first = std::mem::take(&mut held.is_ahead);
        self.counts.hits += 1;
        self.counts.ahead_used += u64::from(is_first);
        self.policy.hit(slot, is_first);
        Some(slot)
    }

    /// Whether data of a unit that were asked for at `since` are still its data.
    #[inline]
    pub(crate) fn is_unchanged(&self, lpn: Lpn, since: Time) -> bool {
        self.changes.is_unchanged(lpn, since)
    }

    /// Takes in a unit that the cache does not hold; `is_ahead` if no read has asked for it.
    #[inline]
    pub(crate) fn take(&mut self, lpn: Lpn, is_ahead: bool) -> Taken {
        debug_assert!(!self.has(lpn), "a unit has one slot");
        let slot = self.policy.take(lpn.0, self.free.last().copied());
        let evicted = match self.free.pop() {
            Some(free) => {
                debug_assert_eq!(slot, free, "a free slot is taken first");
                None
            }
            None => {
                let Held { lpn: evicted, is_ahead } = self.slots[slot as usize];
                self.counts.evicted_units += 1;
                self.counts.ahead_unused += u64::from(is_ahead);
                self.index.remove(evicted.0);
                Some(evicted)
            }
        };
        self.index.insert(lpn.0, slot);
        self.slots[slot as usize] = Held { lpn, is_ahead };
        self.counts.ahead_units += u64::from(is_ahead);
        Taken { slot, evicted }
    }

    /// Notes that the data of a unit have changed: the cache holds it no longer. Returns whether it
    /// did.
    #[inline]
    pub(crate) fn changed(&mut self, lpn: Lpn, now: Time) -> bool {
        self.changes.note(lpn, now);
        let Some(slot) = self.index.remove(lpn.0) else { return false };
        let held = std::mem::replace(&mut self.slots[slot as usize], Held::NOTHING);
        self.counts.dropped_units += 1;
        self.counts.ahead_unused += u64::from(held.is_ahead);
        self.policy.vacate(slot);
        self.free.push(slot);
        true
    }

    /// Empties the cache: the memory has lost its power, or data have changed without time.
    pub(crate) fn clear(&mut self) {
        let capacity = self.capacity();
        self.index.clear();
        self.free.clear();
        self.free.extend((0..capacity).rev());
        self.slots.fill(Held::NOTHING);
        self.policy.clear();
        self.changes.clear();
    }
}

#[cfg(test)]
mod tests;
