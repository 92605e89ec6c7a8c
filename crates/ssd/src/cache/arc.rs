//! `arc`: adaptive replacement (Megiddo and Modha, FAST'03).
//!
//! Units that were read once and units that were read again stand in a list each. Behind each list
//! the cache remembers units that have left it, without their data. One of those that comes back
//! says that its list was too short, and moves the aim between the two. A scan fills the first list
//! only.

use super::index::Index;
use super::list::Lists;
use super::policy::Policy;

/// List of units that were read once, or of those that have left it.
const ONCE: usize = 0;
/// List of units that were read again, or of those that have left it.
const AGAIN: usize = 1;

/// Slots by list, and units that have left.
pub(super) struct Arc {
    capacity: u32,
    /// Slots of the cache that hold units: `T1` and `T2` of the paper.
    slots: Lists<2>,
    /// Unit of each slot.
    units: Vec<u32>,
    /// Slots that `ONCE` aims at: `p` of the paper.
    aim: u32,
    left: Left,
}

/// Units that have left the cache: `B1` and `B2` of the paper.
struct Left {
    lists: Lists<2>,
    units: Vec<u32>,
    free: Vec<u32>,
    index: Index,
}

impl Left {
    fn new(capacity: u32) -> Self {
        Self {
            lists: Lists::new(capacity),
            units: vec![0; capacity as usize],
            free: (0..capacity).rev().collect(),
            index: Index::new(capacity),
        }
    }

    fn len(&self, list: usize) -> u32 {
        self.lists.len(list)
    }

    /// Adds a unit that leaves a list.
    fn push(&mut self, list: usize, unit: u32) {
        let number = self.free.pop().expect("no more units are remembered than the cache holds");
        self.units[number as usize] = unit;
        self.index.insert(unit, number);
        self.lists.push(list, number);
    }

    fn remove(&mut self, number: u32) {
        self.lists.remove(number);
        self.index.remove(self.units[number as usize]);
        self.free.push(number);
    }

    /// Forgets the unit that left a list longest ago.
    fn forget_oldest(&mut self, list: usize) {
        if let Some(number) = self.lists.oldest(list) {
            self.remove(number);
        }
    }

    /// Takes out a unit that comes back. Returns the list that it had left.
    fn take_back(&mut self, unit: u32) -> Option<usize> {
        let number = self.index.find(unit)?;
        let list = self.lists.list_of(number);
        self.remove(number);
        list
    }

    fn clear(&mut self) {
        let capacity = self.units.len() as u32;
        *self = Self::new(capacity);
    }
}

impl Arc {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            slots: Lists::new(capacity),
            units: vec![0; capacity as usize],
            aim: 0,
            left: Left::new(capacity),
        }
    }

    /// Frees a slot: `REPLACE` of the paper. `is_again` if the unit that comes had left `AGAIN`.
    fn replace(&mut self, is_again: bool) -> u32 {
        let once = self.slots.len(ONCE);
        let takes_once = once > self.aim || (is_again && once == self.aim);
        // Units that have changed leave a list too, so either may be empty.
        let list = match self.slots.len(AGAIN) {
            0 => ONCE,
            _ if once > 0 && takes_once => ONCE,
            _ => AGAIN,
        };
        let slot = self.slots.pop(list).expect("a full cache has a slot in a list");
        self.left.push(list, self.units[slot as usize]);
        slot
    }

    /// Makes room in the lists for a unit that nothing is remembered of. Returns the slot of a unit
    /// that leaves the cache without being remembered.
    fn make_room(&mut self) -> Option<u32> {
        let (once, once_left) = (self.slots.len(ONCE), self.left.len(ONCE));
        if once + once_left >= self.capacity {
            if once == self.capacity {
                return self.slots.pop(ONCE);
            }
            self.left.forget_oldest(ONCE);
        } else {
            let all = once + once_left + self.slots.len(AGAIN) + self.left.len(AGAIN);
            if all >= 2 * self.capacity {
                self.left.forget_oldest(AGAIN);
            }
        }
        None
    }
}

impl Policy for Arc {
    #[inline]
    fn hit(&mut self, slot: u32, is_first: bool) {
        self.slots.remove(slot);
        self.slots.push(if is_first { ONCE } else { AGAIN }, slot);
    }

    fn take(&mut self, unit: u32, free: Option<u32>) -> u32 {
        let came_from = self.left.take_back(unit);
        let step = |own: u32, other: u32| (other / own.max(1)).max(1);
        let (once_left, again_left) = (self.left.len(ONCE), self.left.len(AGAIN));
        let mut gone = None;
        match came_from {
            // The lengths are those without the unit itself.
            Some(ONCE) => {
                let aim = self.aim + step(once_left + 1, again_left);
                self.aim = aim.min(self.capacity);
            }
            Some(_) => self.aim = self.aim.saturating_sub(step(again_left + 1, once_left)),
            None => gone = self.make_room(),
        }
        let slot = free.or(gone).unwrap_or_else(|| self.replace(came_from == Some(AGAIN)));
        self.units[slot as usize] = unit;
        self.slots.push(if came_from.is_some() { AGAIN } else { ONCE }, slot);
        slot
    }

    fn vacate(&mut self, slot: u32) {
        self.slots.remove(slot);
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.left.clear();
        self.aim = 0;
    }
}
