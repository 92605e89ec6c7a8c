//! The dies that may take host data now: one host program at a time, and none while a die must be
//! collected first or collection is behind.

use super::Ssd;
use super::wakes::Wake;
use crate::ftl::Job;
use crate::ftl::contract::{Facts, MOST_STREAMS};
use crate::terms::die_set::DieSet;
use nand::geometry::Die;
use std::ops::Range;

/// Dies that may take host data.
pub(super) struct Gate {
    /// Dies with a host program under way, or with collection that must catch up with their last.
    occupied: DieSet,
    /// Occupied dies whose program is done: collection is behind.
    held: DieSet,
    /// By stream: free dies that may take data, and dies that must be collected first. Keys beyond
    /// the streams share one.
    writable: Vec<DieSet>,
    blocked: Vec<DieSet>,
    /// Dies that take data of each stream: all, those of its set, or those of its reclaim group.
    dies: Vec<Range<u32>>,
    /// Stream of each key, of a drive with sets; empty for others.
    by_key: Vec<u32>,
    /// Streams are placement identifiers in several reclaim groups.
    has_groups: bool,
}

impl Gate {
    /// Creates a gate of `dies` dies, all free, for data of an FTL with these facts.
    pub(super) fn new(dies: u32, facts: &Facts) -> Self {
        let streams = |keys: u32| if keys <= MOST_STREAMS { keys } else { 1 };
        let (mut of_streams, mut by_key) = (Vec::new(), Vec::new());
        if facts.groups > 1 {
            let (of_group, handles) = (dies / facts.groups, facts.keys / facts.groups);
            let group = |key: u32| key / handles * of_group;
            of_streams.extend((0..facts.keys).map(|key| group(key)..group(key) + of_group));
        } else if facts.sets.is_empty() {
            of_streams.resize(streams(facts.keys) as usize, 0..dies);
        }
        for set in &facts.sets {
            let (first, count) = (of_streams.len() as u32, streams(set.keys.len() as u32));
            by_key.extend((0..set.keys.len() as u32).map(|key| first + key % count));
            of_streams.resize((first + count) as usize, set.dies.clone());
        }
        let among = |range: &Range<u32>| {
            let mut set = DieSet::none(dies);
            range.clone().for_each(|die| set.insert(Die(die)));
            set
        };
        Self {
            occupied: DieSet::none(dies),
            held: DieSet::none(dies),
            writable: of_streams.iter().map(among).collect(),
            blocked: vec![DieSet::none(dies); of_streams.len()],
            dies: of_streams,
            by_key,
            has_groups: facts.groups > 1,
        }
    }

    /// Whether the dies of a key may be those of another, as reclaim groups fill up.
    #[inline]
    pub(super) fn has_groups(&self) -> bool {
        self.has_groups
    }

    /// Whether all keys share one set of dies.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.writable.len() == 1
    }

    #[inline]
    fn stream(&self, key: u32) -> usize {
        if self.writable.len() == 1 {
            0
        } else if self.by_key.is_empty() {
            key as usize
        } else {
            self.by_key[key as usize] as usize
        }
    }

    /// Dies that may take data of a key now.
    #[inline]
    pub(super) fn writable(&self, key: u32) -> &DieSet {
        &self.writable[self.stream(key)]
    }

    /// Whether any die is set aside for data of a key until it has been collected.
    #[inline]
    pub(super) fn is_blocked(&self, key: u32) -> bool {
        !self.blocked[self.stream(key)].is_empty()
    }

    /// A host program goes to a die.
    #[inline]
    pub(super) fn occupy(&mut self, die: Die) {
        self.occupied.insert(die);
        for dies in &mut self.writable {
            dies.remove(die);
        }
    }

    /// Whether a die is kept from host data by its collection.
    #[inline]
    fn is_closed(&self, die: Die) -> bool {
        self.held.contains(die) || self.blocked.iter().any(|dies| dies.contains(die))
    }

    /// A die may take host data again, where it needs not be collected first.
    fn open(&mut self, die: Die) {
        self.occupied.remove(die);
        self.held.remove(die);
        let sets = self.writable.iter_mut().zip(&self.blocked).zip(&self.dies);
        for ((writable, blocked), dies) in sets {
            if !blocked.contains(die) && dies.contains(&die.0) {
                writable.insert(die);
            }
        }
    }
}

impl Ssd {
    /// Ends the host program of a die. Returns whether the die may take another: it may not while
    /// its collection is at work and behind.
    pub(super) fn vacate(&mut self, die: Die) -> bool {
        if self.jobs.is_busy(Job::of(die)) && !self.ftl.keeps_pace(die) {
            self.gate.held.insert(die);
            self.tell_die(die);
            return false;
        }
        self.gate.open(die);
        self.tell_die(die);
        self.writer.buffer.rows.wake_die(die);
        true
    }

    /// Tells a die whether it is closed to host data.
    #[inline]
    fn tell_die(&mut self, die: Die) {
        self.flash.close_die(self.events.now(), die, self.gate.is_closed(die));
    }

    /// A step of collection of a die is done; returns whether the host waited for it.
    pub(super) fn catch_up(&mut self, die: Die) -> bool {
        self.gate.held.contains(die) && self.vacate(die)
    }

    /// Sets the free dies aside until they have been collected, as none takes data of this key.
    pub(super) fn set_aside(&mut self, key: u32) {
        let stream = self.gate.stream(key);
        while let Some(die) = self.gate.writable[stream].next_from(0) {
            self.gate.writable[stream].remove(die);
            self.gate.blocked[stream].insert(die);
            self.tell_die(die);
            self.wakes.collect(die);
        }
        // Collection that is under way will come back here; without any, look at all again.
        self.wakes.wake(Wake::Blocked);
    }

    /// A block has been erased: its die may take data again.
    pub(super) fn unblock(&mut self, erased: Die) {
        let Gate { occupied, writable, blocked, .. } = &mut self.gate;
        for (writable, blocked) in writable.iter_mut().zip(blocked) {
            if blocked.remove(erased) && !occupied.contains(erased) {
                writable.insert(erased);
            }
        }
        self.tell_die(erased);
        self.collect_blocked();
    }

    /// Dies that were blocked with nothing to collect may have something now.
    pub(super) fn collect_blocked(&mut self) {
        for stream in 0..self.gate.blocked.len() {
            let mut from = 0;
            while let Some(die) = self.gate.blocked[stream].next_from(from)
                && die.0 >= from
            {
                self.wakes.collect(die);
                from = die.0 + 1;
            }
        }
    }
}
