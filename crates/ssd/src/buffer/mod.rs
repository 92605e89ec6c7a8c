//! The write buffer: data of the host that are not yet on flash.
//!
//! A fixed pool of slots, one for each unit held, an open-addressing index from logical unit to
//! its newest slot, and lists threaded through the slots: nothing is allocated after the start.
//! A unit that is rewritten while its slot is being programmed gets a second slot, a *successor*,
//! which may be programmed only after the first: programs of one unit keep their order. `rows` says
//! which units share a program, and which key comes next.

pub mod flush;
pub mod rows;

use crate::terms::{Key, Lpn};
use rows::Rows;

/// Number that stands for no slot, no key or no request.
pub const NONE: u32 = u32::MAX;

/// State of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Free slot, which holds no unit.
    Free,
    /// Held while a page of the map, or the rest of a partly written unit, is read.
    Filling,
    /// Waits to be programmed.
    Dirty,
    /// Waits for its predecessor to be programmed.
    Behind,
    /// Can be overwritten until the random write area of its zone is committed.
    Area,
    /// Part of a program under way.
    InFlight,
}

/// The part of a unit that the host did not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// No rest: the unit was written whole, or the rest has been read.
    None,
    /// Rest that is still to be read from the flash.
    OnFlash,
    /// Rest that could not be read: its data are lost.
    Lost,
}

/// Slot of the buffer: one unit on its way to the flash.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// Logical unit that the slot holds.
    pub lpn: Lpn,
    /// State on the way to the flash.
    pub state: State,
    /// The key by which it shares programs with others.
    pub key: Key,
    /// Part of the unit that the host did not write.
    pub rest: Rest,
    /// Whether the unit was trimmed since: its data are dropped once they are programmed.
    pub trimmed: bool,
    /// Request that waits until the data are durable; `NONE` without.
    pub waiter: u32,
    /// Flush epoch in which the slot was taken.
    pub epoch: u32,
    /// Whether the data are durable in the buffer, so that no flush waits for them.
    pub is_protected: bool,
    /// Slot with newer data of the unit, which wait for this one; `NONE` without.
    pub successor: u32,
    /// Next slot of the list that the slot is in.
    pub next: u32,
    /// Slot before this one in the list of those that wait to be programmed.
    previous: u32,
    /// Number of the data, where the drive can lose power.
    pub sequence: u64,
}

/// Write buffer: slots for units, and the order of their programs.
pub struct Buffer {
    slots: Vec<Slot>,
    free: u32,
    held: u32,
    /// Slots that wait to be programmed, by key.
    pub rows: Rows,
    /// Newest slot of each held unit, by hash; `NONE` is an empty cell.
    index: Vec<u32>,
    mask: usize,
    /// Working space: the slots of a row.
    order: Vec<u32>,
}

impl Buffer {
    /// A buffer of `capacity` slots for data of `keys` keys, which go to `dies` dies in rows of
    /// `row_units` units.
    pub fn new(capacity: u32, keys: u32, row_units: u32, dies: u32) -> Self {
        let empty = Slot {
            lpn: Lpn(0),
            state: State::Free,
            key: Key(0),
            rest: Rest::None,
            trimmed: false,
            waiter: NONE,
            epoch: 0,
            is_protected: false,
            successor: NONE,
            next: NONE,
            previous: NONE,
            sequence: 0,
        };
        let mut slots = vec![empty; capacity as usize];
        for (i, slot) in slots.iter_mut().enumerate() {
            slot.next = if i + 1 == capacity as usize { NONE } else { i as u32 + 1 };
        }
        let cells = (4 * capacity as usize).next_power_of_two();
        Self {
            slots,
            free: 0,
            held: 0,
            rows: Rows::new(keys, row_units, dies),
            index: vec![NONE; cells],
            mask: cells - 1,
            order: Vec::with_capacity(row_units as usize),
        }
    }

    /// Empties the buffer: the data in it are lost.
    pub fn clear(&mut self) {
        let (capacity, rows) = (self.slots.len() as u32, &self.rows);
        *self = Self::new(capacity, rows.keys(), rows.row_units(), rows.dies());
    }

    /// Units held, one for each slot in use.
    pub fn held_units(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter(|slot| slot.state != State::Free).map(|slot| slot.lpn.0)
    }

    /// Units held whose writes need not wait for the flash.
    pub fn acknowledged(&self) -> u64 {
        let is_it =
            |slot: &&Slot| slot.state != State::Free && slot.waiter == NONE && !slot.trimmed;
        self.slots.iter().filter(is_it).count() as u64
    }

    /// Slots in use, without those of stale data.
    #[inline]
    pub fn held(&self) -> u32 {
        self.held
    }

    /// Slot with this number.
    #[inline]
    pub fn slot(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    #[inline]
    fn home(&self, lpn: Lpn) -> usize {
        (lpn.0.wrapping_mul(0x9e37_79b1) >> 7) as usize & self.mask
    }

    /// The newest slot of a unit.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        if self.held == 0 {
            return None;
        }
        let mut cell = self.home(lpn);
        loop {
            let slot = self.index[cell];
            if slot == NONE {
                return None;
            }
            if self.slots[slot as usize].lpn == lpn {
                return Some(slot);
            }
            cell = (cell + 1) & self.mask;
        }
    }

    /// Takes a slot for `lpn` and makes it the unit's newest; `None` when the buffer is full.
    #[inline]
    pub fn take(&mut self, lpn: Lpn, state: State) -> Option<u32> {
        let slot = self.free;
        if slot == NONE {
            return None;
        }
        let mut cell = self.home(lpn);
        loop {
            let other = self.index[cell];
            if other == NONE || self.slots[other as usize].lpn == lpn {
                break;
            }
            cell = (cell + 1) & self.mask;
        }
        self.index[cell] = slot;
        let entry = &mut self.slots[slot as usize];
        self.free = entry.next;
        (entry.lpn, entry.state, entry.trimmed) = (lpn, state, false);
        (entry.waiter, entry.successor, entry.next) = (NONE, NONE, NONE);
        self.held += 1;
        Some(slot)
    }

    /// Gives a slot back; if it is still the unit's newest, the unit is no longer held.
    pub fn release(&mut self, slot: u32) {
        let lpn = self.slots[slot as usize].lpn;
        let mut cell = self.home(lpn);
        loop {
            let other = self.index[cell];
            if other == slot {
                self.erase_cell(cell);
                break;
            }
            if other == NONE || self.slots[other as usize].lpn == lpn {
                break;
            }
            cell = (cell + 1) & self.mask;
        }
        let entry = &mut self.slots[slot as usize];
        entry.state = State::Free;
        entry.next = self.free;
        self.free = slot;
        self.held -= 1;
        if self.held == 0 && self.rows.has_stale() {
            // A buffer at rest holds nothing.
            (0..self.rows.keys()).for_each(|key| self.spend(Key(key), u32::MAX));
        }
    }

    /// A slot in flight belongs to no unit any more; the unit may be taken anew at once.
    pub fn disown(&mut self, slot: u32) {
        let mut cell = self.home(self.slots[slot as usize].lpn);
        while self.index[cell] != slot {
            cell = (cell + 1) & self.mask;
        }
        self.erase_cell(cell);
        let entry = &mut self.slots[slot as usize];
        (entry.lpn, entry.trimmed) = (Lpn::HOLE, true);
    }

    /// Linear probing's deletion: later entries of the run move up into the hole.
    fn erase_cell(&mut self, mut hole: usize) {
        let mut cell = hole;
        loop {
            cell = (cell + 1) & self.mask;
            let slot = self.index[cell];
            if slot == NONE {
                break;
            }
            let home = self.home(self.slots[slot as usize].lpn);
            if (cell.wrapping_sub(home) & self.mask) >= (cell.wrapping_sub(hole) & self.mask) {
                self.index[hole] = slot;
                hole = cell;
            }
        }
        self.index[hole] = NONE;
    }

    /// Appends a slot to those of its key that wait to be programmed.
    #[inline]
    pub fn push_dirty(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let key = entry.key.0;
        let list = &mut self.rows.lists[key as usize];
        entry.state = State::Dirty;
        (entry.previous, entry.next) = (list.tail, NONE);
        if list.tail == NONE {
            list.head = slot;
        } else {
            self.slots[list.tail as usize].next = slot;
        }
        list.tail = slot;
        list.len += 1;
        self.rows.changed(key);
    }

    /// The data of a slot have been overwritten: the older ones keep a free slot until a row has
    /// room for them. False if no slot is free.
    pub fn replace(&mut self, slot: u32) -> bool {
        let older = self.free;
        if older == NONE {
            return false;
        }
        self.free = self.slots[older as usize].next;
        let key = self.slots[slot as usize].key.0;
        let list = &mut self.rows.lists[key as usize];
        self.slots[older as usize].next = std::mem::replace(&mut list.first_stale, older);
        list.stale += 1;
        self.rows.stale += 1;
        self.rows.changed(key);
        true
    }

    /// Frees the slots of up to `room` stale units of a key, after a row with room for as many was
    /// sent.
    pub fn spend(&mut self, key: Key, room: u32) {
        let list = &mut self.rows.lists[key.0 as usize];
        for _ in 0..room.min(list.stale) {
            let slot = list.first_stale;
            let entry = &mut self.slots[slot as usize];
            list.first_stale = std::mem::replace(&mut entry.next, self.free);
            self.free = slot;
            list.stale -= 1;
            self.rows.stale -= 1;
        }
        self.rows.changed(key.0);
    }

    /// Lists the units of the first waiting slots of a key, at most `most`.
    #[inline]
    pub fn peek_dirty(&self, key: Key, most: u32, lpns: &mut Vec<Lpn>) {
        lpns.clear();
        let mut slot = self.rows.lists[key.0 as usize].head;
        while slot != NONE && lpns.len() < most as usize {
            let entry = &self.slots[slot as usize];
            lpns.push(entry.lpn);
            slot = entry.next;
        }
    }

    /// Sorts the units of the next row of a key, of `most` units, by their numbers.
    pub fn sort_dirty(&mut self, key: Key, most: u32) {
        let list = &mut self.rows.lists[key.0 as usize];
        let slots = &mut self.slots;
        let mut order = std::mem::take(&mut self.order);
        let mut slot = list.head;
        for _ in 0..list.len.min(most) {
            order.push(slot);
            slot = slots[slot as usize].next;
        }
        let behind = slot;
        order.sort_unstable_by_key(|&slot| slots[slot as usize].lpn);
        let mut previous = NONE;
        for &slot in &order {
            match previous {
                NONE => list.head = slot,
                before => slots[before as usize].next = slot,
            }
            slots[slot as usize].previous = previous;
            previous = slot;
        }
        if previous != NONE {
            slots[previous as usize].next = behind;
            match behind {
                NONE => list.tail = previous,
                after => slots[after as usize].previous = previous,
            }
        }
        order.clear();
        self.order = order;
    }

    /// Takes the first `count` waiting slots of a key: they are in flight now, linked from the one
    /// returned.
    #[inline]
    pub fn send_dirty(&mut self, key: Key, count: u32) -> u32 {
        let list = &mut self.rows.lists[key.0 as usize];
        let first = list.head;
        let mut last = NONE;
        let mut slot = first;
        for _ in 0..count {
            let entry = &mut self.slots[slot as usize];
            entry.state = State::InFlight;
            last = slot;
            slot = entry.next;
        }
        list.head = slot;
        if slot == NONE {
            list.tail = NONE;
        } else {
            self.slots[slot as usize].previous = NONE;
        }
        list.len -= count;
        if last != NONE {
            self.slots[last as usize].next = NONE;
        }
        self.rows.changed(key.0);
        first
    }

    /// The `count` slots in flight that are linked from `first` wait again, ahead of all others of
    /// their key.
    pub fn return_dirty(&mut self, first: u32, count: u32) {
        let key = self.slots[first as usize].key.0;
        let (mut slot, mut previous) = (first, NONE);
        for _ in 0..count {
            let entry = &mut self.slots[slot as usize];
            (entry.state, entry.previous) = (State::Dirty, previous);
            (previous, slot) = (slot, entry.next);
        }
        let list = &mut self.rows.lists[key as usize];
        self.slots[previous as usize].next = list.head;
        match list.head {
            NONE => list.tail = previous,
            after => self.slots[after as usize].previous = previous,
        }
        list.head = first;
        list.len += count;
        self.rows.changed(key);
    }

    /// Takes one waiting slot out of its list, wherever it is (a trim).
    pub fn unlink_dirty(&mut self, slot: u32) {
        let Slot { key, previous, next, .. } = self.slots[slot as usize];
        let list = &mut self.rows.lists[key.0 as usize];
        match previous {
            NONE => list.head = next,
            before => self.slots[before as usize].next = next,
        }
        match next {
            NONE => list.tail = previous,
            after => self.slots[after as usize].previous = previous,
        }
        list.len -= 1;
        self.rows.changed(key.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The index behaves as a map, through any order of takes and releases.
        #[test]
        fn index_is_a_map(steps in prop::collection::vec((0u32..40, any::<bool>()), 1..400)) {
            let mut buffer = Buffer::new(16, 1, 4, 1);
            let mut model: BTreeMap<u32, u32> = BTreeMap::new();
            for (lpn, write) in steps {
                let found = buffer.find(Lpn(lpn));
                prop_assert_eq!(found, model.get(&lpn).copied());
                match found {
                    Some(slot) if !write => {
                        buffer.release(slot);
                        model.remove(&lpn);
                    }
                    None if write => match buffer.take(Lpn(lpn), State::Dirty) {
                        Some(slot) => {
                            model.insert(lpn, slot);
                        }
                        None => prop_assert_eq!(model.len(), 16),
                    },
                    _ => {}
                }
                prop_assert_eq!(buffer.held() as usize, model.len());
            }
        }
    }

    #[test]
    fn a_successor_hides_its_predecessor() {
        let mut buffer = Buffer::new(4, 1, 4, 1);
        let old = buffer.take(Lpn(7), State::InFlight).unwrap();
        let new = buffer.take(Lpn(7), State::Behind).unwrap();
        assert_eq!(buffer.find(Lpn(7)), Some(new));
        buffer.release(old);
        assert_eq!(buffer.find(Lpn(7)), Some(new));
        buffer.release(new);
        assert_eq!(buffer.find(Lpn(7)), None);
    }

    #[test]
    fn dirty_slots_leave_in_order_by_stream() {
        let mut buffer = Buffer::new(8, 2, 4, 1);
        for lpn in 0..6 {
            let slot = buffer.take(Lpn(lpn), State::Dirty).unwrap();
            buffer.slot(slot).key = Key(u32::from(lpn >= 4));
            buffer.push_dirty(slot);
        }
        let mut lpns = Vec::new();
        buffer.peek_dirty(Key(0), 8, &mut lpns);
        assert_eq!(lpns, [0, 1, 2, 3].map(Lpn));
        let third = buffer.find(Lpn(2)).unwrap();
        buffer.unlink_dirty(third);
        let first = buffer.send_dirty(Key(0), 1);
        assert_eq!(buffer.slot(first).lpn, Lpn(0));
        // The new first, then the last, then the only one.
        for (lpn, left) in [(1, 1), (3, 0)] {
            let slot = buffer.find(Lpn(lpn)).unwrap();
            buffer.unlink_dirty(slot);
            assert_eq!(buffer.rows.len(Key(0)), left);
        }
        buffer.push_dirty(third);
        buffer.peek_dirty(Key(0), 8, &mut lpns);
        assert_eq!(lpns, [Lpn(2)]);
        assert_eq!(buffer.rows.len(Key(1)), 2);
        buffer.peek_dirty(Key(1), 1, &mut lpns);
        assert_eq!(lpns, [Lpn(4)]);
    }

    #[test]
    fn stale_data_take_slots_and_room_in_rows() {
        let mut buffer = Buffer::new(8, 2, 4, 1);
        let slot = buffer.take(Lpn(7), State::Dirty).unwrap();
        buffer.push_dirty(slot);
        for older in 0..7 {
            assert_eq!(buffer.rows.has_whole(), older >= 3, "{older} and the newest");
            assert_eq!(buffer.rows.most(Key(0)), 4 - older.min(3));
            assert!(buffer.replace(slot));
        }
        assert!(!buffer.replace(slot), "no slot is left");
        assert_eq!((buffer.find(Lpn(7)), buffer.held()), (Some(slot), 1));
        // A row takes three of seven; those of a key without units wait for its next.
        let first = buffer.send_dirty(Key(0), 1);
        buffer.spend(Key(0), 3);
        assert!(!buffer.rows.has_whole());
        let mut others: Vec<u32> =
            (0..3).map(|lpn| buffer.take(Lpn(lpn), State::Dirty).unwrap()).collect();
        buffer.release(first);
        others.push(buffer.take(Lpn(3), State::Dirty).unwrap());
        assert!(buffer.take(Lpn(9), State::Dirty).is_none());
        buffer.push_dirty(others[0]);
        assert!(buffer.rows.has_whole());
        buffer.unlink_dirty(others[0]);
        // With the last data of the host they go too.
        others.into_iter().for_each(|slot| buffer.release(slot));
        assert_eq!((buffer.held(), buffer.rows.most(Key(0))), (0, 4));
        assert!((10..18).all(|lpn| buffer.take(Lpn(lpn), State::Dirty).is_some()));
    }

    #[test]
    fn slots_that_come_back_go_ahead() {
        let mut buffer = Buffer::new(8, 1, 4, 1);
        for lpn in 0..4 {
            let slot = buffer.take(Lpn(lpn), State::Dirty).unwrap();
            buffer.push_dirty(slot);
        }
        let mut lpns = Vec::new();
        for count in [3, 4] {
            let first = buffer.send_dirty(Key(0), count);
            assert_eq!(buffer.slot(first).state, State::InFlight);
            buffer.return_dirty(first, count);
            buffer.peek_dirty(Key(0), 8, &mut lpns);
            assert_eq!(lpns, [0, 1, 2, 3].map(Lpn));
            assert_eq!((buffer.rows.len(Key(0)), buffer.slot(first).state), (4, State::Dirty));
        }
        // In the middle, at the end, at the head: the links hold both ways.
        for (lpn, left) in [(2, &[0, 1, 3][..]), (3, &[0, 1]), (0, &[1])] {
            let slot = buffer.find(Lpn(lpn)).unwrap();
            buffer.unlink_dirty(slot);
            buffer.release(slot);
            buffer.peek_dirty(Key(0), 8, &mut lpns);
            assert_eq!(lpns, left.iter().copied().map(Lpn).collect::<Vec<_>>());
        }
    }
}
