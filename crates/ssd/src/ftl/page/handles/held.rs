//! Blocks that each placement handle holds, counted by their program/erase cycles as they are
//! opened and erased: a report or a time series may ask at any moment, and no block is looked at.

use crate::ftl::contract::HeldBlocks;
use crate::space::wear::Wear;

/// Blocks of one handle, counted by their cycles.
#[derive(Clone, Default)]
pub(super) struct Held {
    /// Cycles, fewest first, and the blocks that have so many; none without a block.
    by_cycles: Vec<(u32, u32)>,
}

impl Held {
    /// Counts a block that begins to take data of the handle.
    pub(super) fn add(&mut self, cycles: u32) {
        match self.by_cycles.binary_search_by_key(&cycles, |&(cycles, _)| cycles) {
            Ok(at) => self.by_cycles[at].1 += 1,
            Err(at) => self.by_cycles.insert(at, (cycles, 1)),
        }
    }

    /// Takes out a block that is erased, by the cycles that it had before.
    pub(super) fn remove(&mut self, cycles: u32) {
        let found = self.by_cycles.binary_search_by_key(&cycles, |&(cycles, _)| cycles);
        debug_assert!(found.is_ok(), "no block with {cycles} cycles is held");
        if let Ok(at) = found {
            self.by_cycles[at].1 -= 1;
            if self.by_cycles[at].1 == 0 {
                self.by_cycles.remove(at);
            }
        }
    }

    /// Forgets all blocks of the handle.
    pub(super) fn clear(&mut self) {
        self.by_cycles.clear();
    }

    /// Number of the blocks, and their wear.
    pub(super) fn blocks(&self) -> HeldBlocks {
        let ends = (self.by_cycles.first(), self.by_cycles.last());
        let (Some(&(min, _)), Some(&(max, _))) = ends else { return HeldBlocks::default() };
        let all = || self.by_cycles.iter().map(|&(cycles, blocks)| (cycles, u64::from(blocks)));
        let blocks: u64 = all().map(|(_, blocks)| blocks).sum();
        let cycles: f64 = all().map(|(cycles, blocks)| f64::from(cycles) * blocks as f64).sum();
        HeldBlocks { blocks, pe_cycles: Wear { min, mean: cycles / blocks as f64, max } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_by_their_cycles() {
        let mut held = Held::default();
        assert_eq!(held.blocks(), HeldBlocks::default());
        for cycles in [7, 3, 7, 20] {
            held.add(cycles);
        }
        let HeldBlocks { blocks, pe_cycles } = held.blocks();
        assert_eq!((blocks, pe_cycles.min, pe_cycles.max), (4, 3, 20));
        assert!((pe_cycles.mean - 9.25).abs() < 1e-12);
        // The second of two blocks with as many cycles stays.
        for cycles in [20, 7, 3] {
            held.remove(cycles);
        }
        let pe_cycles = Wear { min: 7, mean: 7.0, max: 7 };
        assert_eq!(held.blocks(), HeldBlocks { blocks: 1, pe_cycles });
    }
}
