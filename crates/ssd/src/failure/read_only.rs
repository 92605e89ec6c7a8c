//! Sets of dies that take no writes any more: a block has failed, and its plane had none to spare.
//!
//! A drive whose FTL has all dies as one is one set. Other sets go on: nothing of theirs is worn.

use crate::ftl::contract::Facts;
use base::archive::{Archive, State};
use base::{Result, Time};
use nand::geometry::{Block, Geometry};

/// Sets of a drive by the time from which they are read-only.
#[derive(Clone)]
pub(crate) struct ReadOnly {
    sets: Vec<Set>,
    any: bool,
}

/// Set of dies: one past its last block and its last unit.
#[derive(Clone)]
struct Set {
    end_block: u32,
    end_unit: u32,
    /// Time from which the set takes no writes; `NEVER` before that.
    since: Time,
}

impl State for ReadOnly {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { sets, any } = self;
        for Set { end_block: _, end_unit: _, since } in sets.iter_mut() {
            archive.value(since)?;
        }
        *any = sets.iter().any(|set| set.since != Time::NEVER);
        Ok(())
    }
}

impl ReadOnly {
    /// Creates the sets of a new drive, all of which take writes.
    pub(crate) fn new(facts: &Facts, geometry: &Geometry) -> Self {
        let per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        let since = Time::NEVER;
        let own = facts.sets.iter().map(|set| Set {
            end_block: set.dies.end * per_die,
            end_unit: set.units.end,
            since,
        });
        let mut sets: Vec<Set> = own.collect();
        if sets.is_empty() {
            sets.push(Set { end_block: geometry.blocks(), end_unit: facts.logical_units, since });
        }
        Self { sets, any: false }
    }

    /// Makes the set of a block read-only from `now` on, if it is not already.
    pub(crate) fn set(&mut self, block: Block, now: Time) {
        let set = self.of_block(block);
        self.sets[set].since = self.sets[set].since.min(now);
        self.any = true;
    }

    /// Whether any set is read-only.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.any
    }

    /// Whether the set of a block is read-only.
    #[inline]
    pub(crate) fn has_block(&self, block: Block) -> bool {
        self.any && self.sets[self.of_block(block)].since != Time::NEVER
    }

    /// Whether a set that has one of these units is read-only.
    #[inline]
    pub(crate) fn has_units(&self, first: u64, last: u64) -> bool {
        if !self.any {
            return false;
        }
        let of = |unit: u64| {
            let set = self.sets.partition_point(|set| u64::from(set.end_unit) <= unit);
            set.min(self.sets.len() - 1)
        };
        self.sets[of(first)..=of(last)].iter().any(|set| set.since != Time::NEVER)
    }

    /// Time from which no set takes writes; `None` while one does.
    pub(crate) fn all_since(&self) -> Option<Time> {
        let last = self.sets.iter().map(|set| set.since).max();
        last.filter(|&since| since != Time::NEVER)
    }

    /// Time from which a set takes no writes; `None` while it does.
    pub(crate) fn since(&self, set: usize) -> Option<Time> {
        self.sets.get(set).map(|set| set.since).filter(|&since| since != Time::NEVER)
    }

    /// A block of each set.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.sets.iter().map(|set| Block(set.end_block - 1))
    }

    /// Moves past times to zero, as the clock begins anew.
    pub(super) fn restart_clock(&mut self) {
        let sets = self.sets.iter_mut().filter(|set| set.since != Time::NEVER);
        sets.for_each(|set| set.since = Time::ZERO);
    }

    fn of_block(&self, block: Block) -> usize {
        let set = self.sets.partition_point(|set| set.end_block <= block.0);
        set.min(self.sets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_only_one_by_one() {
        let set = |end_block, end_unit| Set { end_block, end_unit, since: Time::NEVER };
        let mut sets = ReadOnly { sets: vec![set(8, 100), set(24, 150)], any: false };
        assert!(!sets.is_any() && !sets.has_units(0, 149) && !sets.has_block(Block(0)));
        sets.set(Block(8), Time(7));
        sets.set(Block(23), Time(9));
        assert!(sets.is_any() && sets.has_block(Block(20)) && !sets.has_block(Block(7)));
        let units = [(0, 99), (100, 100), (99, 100), (120, 149), (0, 0)];
        let refused = units.map(|(first, last)| sets.has_units(first, last));
        assert_eq!(refused, [false, true, true, true, false]);
        assert_eq!((sets.since(0), sets.since(1), sets.all_since()), (None, Some(Time(7)), None));
        sets.set(Block(0), Time(11));
        assert_eq!(sets.all_since(), Some(Time(11)));
        sets.restart_clock();
        assert_eq!((sets.since(0), sets.all_since()), (Some(Time::ZERO), Some(Time::ZERO)));
    }
}
