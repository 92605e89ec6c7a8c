//! Index of numbers by unit: an open-addressing table with linear probing.

use base::memory;

/// Key that stands for an empty cell.
const EMPTY: u32 = u32::MAX;

/// Numbers by unit. It takes as many as it was made for, and allocates nothing after the start.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    /// Unit and number of each entry, by hash of the unit.
    cells: Vec<(u32, u32)>,
    shift: u32,
}

impl Index {
    /// An empty index with room for `capacity` units.
    pub(crate) fn new(capacity: u32) -> Self {
        let cells = (2 * u64::from(capacity)).next_power_of_two().max(4);
        let shift = 32 - cells.trailing_zeros();
        Self { cells: memory::table(cells as usize, (EMPTY, 0)), shift }
    }

    #[inline]
    fn home(&self, unit: u32) -> usize {
        (unit.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    #[inline]
    fn after(&self, cell: usize) -> usize {
        (cell + 1) & (self.cells.len() - 1)
    }

    /// Cell of a unit, or the empty one where it would be.
    #[inline]
    fn cell_of(&self, unit: u32) -> usize {
        debug_assert_ne!(unit, EMPTY, "this is no unit");
        let mut cell = self.home(unit);
        while self.cells[cell].0 != EMPTY && self.cells[cell].0 != unit {
            cell = self.after(cell);
        }
        cell
    }

    /// Number of a unit, if it has one.
    #[inline]
    pub(crate) fn find(&self, unit: u32) -> Option<u32> {
        let (key, number) = self.cells[self.cell_of(unit)];
        (key == unit).then_some(number)
    }

    /// Prefetches the cell that a look for a unit begins at.
    #[inline]
    pub(crate) fn prefetch(&self, unit: u32) {
        memory::prefetch(&self.cells, self.home(unit));
    }

    /// Gives a unit a number, in the place of an earlier one.
    #[inline]
    pub(crate) fn insert(&mut self, unit: u32, number: u32) {
        let cell = self.cell_of(unit);
        self.cells[cell] = (unit, number);
    }

    /// Takes the number of a unit away. Returns it, if there was one.
    #[inline]
    pub(crate) fn remove(&mut self, unit: u32) -> Option<u32> {
        let mut hole = self.cell_of(unit);
        let (key, number) = self.cells[hole];
        if key != unit {
            return None;
        }
        // Later entries of the run move up into the hole.
        let mut cell = hole;
        loop {
            cell = self.after(cell);
            let (key, _) = self.cells[cell];
            if key == EMPTY {
                break;
            }
            let mask = self.cells.len() - 1;
            if cell.wrapping_sub(self.home(key)) & mask >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[cell];
                hole = cell;
            }
        }
        self.cells[hole] = (EMPTY, 0);
        Some(number)
    }

    /// Forgets all units and their numbers.
    pub(crate) fn clear(&mut self) {
        self.cells.fill((EMPTY, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The index behaves as a map, through any order of insertions and removals.
        #[test]
        fn is_a_map(steps in prop::collection::vec((0u32..60, any::<bool>()), 1..600)) {
            let mut index = Index::new(24);
            let mut model = BTreeMap::new();
            for (number, (unit, inserts)) in (0..).zip(steps) {
                if inserts && model.len() < 24 {
                    index.insert(unit, number);
                    model.insert(unit, number);
                } else {
                    prop_assert_eq!(index.remove(unit), model.remove(&unit));
                }
                for unit in 0..60 {
                    prop_assert_eq!(index.find(unit), model.get(&unit).copied());
                }
            }
        }
    }
}
