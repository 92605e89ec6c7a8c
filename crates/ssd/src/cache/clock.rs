//! `clock`: a hand goes round the slots, and spares each unit that was read again since its last
//! visit (Corbato, 1968).
//!
//! The read that brings a unit in sets no mark: a unit that is read once goes with the next round.

use super::policy::Policy;

/// Slots on a ring, with the marks of those that were read again.
pub(super) struct Clock {
    is_marked: Vec<bool>,
    hand: u32,
}

impl Clock {
    pub(super) fn new(capacity: u32) -> Self {
        Self { is_marked: vec![false; capacity as usize], hand: 0 }
    }

    /// The slot under the hand, which moves on.
    #[inline]
    fn next(&mut self) -> u32 {
        let slot = self.hand;
        self.hand = if slot + 1 == self.is_marked.len() as u32 { 0 } else { slot + 1 };
        slot
    }
}

impl Policy for Clock {
    #[inline]
    fn hit(&mut self, slot: u32, is_first: bool) {
        self.is_marked[slot as usize] |= !is_first;
    }

    #[inline]
    fn take(&mut self, _: u32, free: Option<u32>) -> u32 {
        if let Some(slot) = free {
            return slot;
        }
        loop {
            let slot = self.next();
            if !std::mem::take(&mut self.is_marked[slot as usize]) {
                return slot;
            }
        }
    }

    fn vacate(&mut self, slot: u32) {
        self.is_marked[slot as usize] = false;
    }

    fn clear(&mut self) {
        self.is_marked.fill(false);
        self.hand = 0;
    }
}
