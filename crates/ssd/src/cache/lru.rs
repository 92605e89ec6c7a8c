//! `lru`: the unit that was read longest ago makes room.

use super::list::Lists;
use super::policy::Policy;

/// Slots in the order of their last reads.
pub(super) struct Lru(Lists<1>);

impl Lru {
    pub(super) fn new(capacity: u32) -> Self {
        Self(Lists::new(capacity))
    }
}

impl Policy for Lru {
    #[inline]
    fn hit(&mut self, slot: u32, _: bool) {
        self.0.remove(slot);
        self.0.push(0, slot);
    }

    #[inline]
    fn take(&mut self, _: u32, free: Option<u32>) -> u32 {
        let slot = free.or_else(|| self.0.pop(0)).expect("a cache has slots");
        self.0.push(0, slot);
        slot
    }

    fn vacate(&mut self, slot: u32) {
        self.0.remove(slot);
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
