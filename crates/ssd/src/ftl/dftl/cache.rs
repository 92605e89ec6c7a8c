//! The cached part of a map: entries of the units used last, and which of them are newer than the
//! map on flash.
//!
//! Entries stand in a list from the one used last to the one used longest ago, and in a list of
//! those of their map page. An open-addressing table finds them by unit. Nothing is allocated after
//! the start.

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    lpn: u32,
    /// Neighbours in the order of use.
    newer: u32,
    older: u32,
    /// Neighbours among the entries of the same map page.
    before: u32,
    after: u32,
    is_dirty: bool,
}

/// Entries in memory.
#[derive(Clone)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    most: usize,
    /// Entry of each unit, by hash; `NONE` is an empty cell.
    cells: Vec<u32>,
    shift: u32,
    newest: u32,
    oldest: u32,
    /// Units that a map page covers, and the first of its entries that are here.
    per_page: u32,
    of_page: Vec<u32>,
}

impl Cache {
    /// Room for `most` entries of a map of `pages` pages with `per_page` entries each.
    pub(super) fn new(most: usize, pages: u32, per_page: u32) -> Self {
        let cells = (2 * most).next_power_of_two().max(4);
        Self {
            entries: Vec::with_capacity(most),
            most,
            cells: vec![NONE; cells],
            shift: 32 - cells.trailing_zeros(),
            newest: NONE,
            oldest: NONE,
            per_page,
            of_page: vec![NONE; pages as usize],
        }
    }

    /// The page that holds the entry of a unit.
    #[inline]
    pub(super) fn page_of(&self, lpn: u32) -> u32 {
        lpn / self.per_page
    }

    /// Most entries that it takes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    #[inline]
    fn home(&self, lpn: u32) -> usize {
        (lpn.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// The entry of a unit.
    #[inline]
    fn find(&self, lpn: u32) -> Option<u32> {
        let mut cell = self.home(lpn);
        loop {
            match self.cells[cell] {
                NONE => return None,
                entry if self.entries[entry as usize].lpn == lpn => return Some(entry),
                _ => cell = (cell + 1) & (self.cells.len() - 1),
            }
        }
    }

    /// Whether the entry of a unit is here; it is the one used last then.
    #[inline]
    pub(super) fn touch(&mut self, lpn: u32) -> bool {
        let Some(entry) = self.find(lpn) else { return false };
        if self.newest != entry {
            self.unlink(entry);
            self.link_newest(entry);
        }
        true
    }

    /// Notes that the place of a unit has changed: whether its entry is here to take that.
    #[inline]
    pub(super) fn set_dirty(&mut self, lpn: u32) -> bool {
        let Some(entry) = self.find(lpn) else { return false };
        self.entries[entry as usize].is_dirty = true;
        true
    }

    /// Takes the entry of a unit in, which is not here: the page of the map that must be written
    /// for the one that makes room, if that is dirty.
    pub(super) fn insert(&mut self, lpn: u32, is_dirty: bool) -> Option<u32> {
        let mut written = None;
        let entry = if self.entries.len() < self.most {
            let blank =
                Entry { lpn, newer: NONE, older: NONE, before: NONE, after: NONE, is_dirty };
            self.entries.push(blank);
            self.entries.len() as u32 - 1
        } else {
            let oldest = self.oldest;
            written = self.evict(oldest);
            let entry = &mut self.entries[oldest as usize];
            (entry.lpn, entry.is_dirty) = (lpn, is_dirty);
            oldest
        };
        let mut cell = self.home(lpn);
        while self.cells[cell] != NONE {
            cell = (cell + 1) & (self.cells.len() - 1);
        }
        self.cells[cell] = entry;
        self.link_newest(entry);
        let page = self.page_of(lpn) as usize;
        let after = std::mem::replace(&mut self.of_page[page], entry);
        let own = &mut self.entries[entry as usize];
        (own.before, own.after) = (NONE, after);
        if after != NONE {
            self.entries[after as usize].before = entry;
        }
        written
    }

    /// Takes an entry out of all lists: the page that must be written for it.
    fn evict(&mut self, entry: u32) -> Option<u32> {
        let Entry { lpn, is_dirty, before, after, .. } = self.entries[entry as usize];
        let page = self.page_of(lpn);
        match before {
            NONE => self.of_page[page as usize] = after,
            before => self.entries[before as usize].after = after,
        }
        if after != NONE {
            self.entries[after as usize].before = before;
        }
        self.unlink(entry);
        self.erase_cell(lpn);
        is_dirty.then_some(page)
    }

    /// A page is written with all its entries that are here: they are clean.
    pub(super) fn clean(&mut self, page: u32) {
        let mut other = self.of_page[page as usize];
        while other != NONE {
            let entry = &mut self.entries[other as usize];
            entry.is_dirty = false;
            other = entry.after;
        }
    }

    fn unlink(&mut self, entry: u32) {
        let Entry { newer, older, .. } = self.entries[entry as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, entry: u32) {
        let older = std::mem::replace(&mut self.newest, entry);
        let own = &mut self.entries[entry as usize];
        (own.newer, own.older) = (NONE, older);
        match older {
            NONE => self.oldest = entry,
            older => self.entries[older as usize].newer = entry,
        }
    }

    /// Linear probing's deletion: later entries of the run move up into the hole.
    fn erase_cell(&mut self, lpn: u32) {
        let mask = self.cells.len() - 1;
        let mut hole = self.home(lpn);
        while self.cells[hole] == NONE || self.entries[self.cells[hole] as usize].lpn != lpn {
            hole = (hole + 1) & mask;
        }
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            let entry = self.cells[cell];
            if entry == NONE {
                break;
            }
            let home = self.home(self.entries[entry as usize].lpn);
            if (cell.wrapping_sub(home) & mask) >= (cell.wrapping_sub(hole) & mask) {
                self.cells[hole] = entry;
                hole = cell;
            }
        }
        self.cells[hole] = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// It holds the units used last, and tells of each dirty one that leaves.
        #[test]
        fn keeps_what_was_used_last(
            steps in prop::collection::vec((0u32..40, any::<bool>()), 1..400),
            cleans in any::<bool>(),
        ) {
            let mut cache = Cache::new(7, 10, 4);
            let (mut order, mut dirty) = (Vec::new(), BTreeMap::new());
            for (lpn, writes) in steps {
                let is_here = order.contains(&lpn);
                prop_assert_eq!(cache.touch(lpn), is_here);
                order.retain(|&other| other != lpn);
                order.push(lpn);
                if is_here {
                    if writes {
                        prop_assert!(cache.set_dirty(lpn));
                        dirty.insert(lpn, true);
                    }
                    continue;
                }
                let left = (order.len() > 7).then(|| order.remove(0));
                let expected = left.filter(|left| dirty.remove(left) == Some(true));
                prop_assert_eq!(cache.insert(lpn, writes), expected.map(|left| left / 4));
                dirty.insert(lpn, writes);
                if let (Some(left), true) = (expected, cleans) {
                    cache.clean(left / 4);
                    dirty.iter_mut().filter(|(other, _)| *other / 4 == left / 4).for_each(
                        |(_, is_dirty)| *is_dirty = false,
                    );
                }
            }
        }
    }
}
