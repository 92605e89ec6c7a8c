//! The cache of a map: entries of units, and which of them are newer than the map on flash.
//!
//! Entries stand in the order of the policy (`order`). An open-addressing table finds them by unit.
//! Map pages have versions: an entry is dirty if it is newer than the last version of its page, so
//! one count more makes all entries of a page clean. Nothing is allocated after the start.

use super::order::{Entry, MapCachePolicy, NONE, Order};
use base::Result;
use base::archive::{Archive, State};
use base::units::Divisor;

/// Cached entries of a map, in memory.
#[derive(Clone)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    most: usize,
    /// Entry of each unit, by hash; `NONE` is an empty cell.
    cells: Vec<u32>,
    shift: u32,
    order: Order,
    /// Divides a unit by the units that a map page covers.
    per_page: Divisor,
    /// Version of each map page, from 1 on.
    versions: Vec<u32>,
}

impl State for Cache {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { entries, most, cells, shift: _, order, per_page: _, versions } = self;
        archive.value(entries)?;
        entries.reserve_exact(most.saturating_sub(entries.len()));
        archive.table(cells)?;
        archive.value(order)?;
        archive.table(versions)
    }
}

impl Cache {
    /// Creates a cache of `most` entries, for a map of `pages` pages with `per_page` entries each.
    pub(super) fn new(policy: MapCachePolicy, most: usize, pages: u32, per_page: u32) -> Self {
        let cells = (2 * most).next_power_of_two().max(4);
        Self {
            entries: Vec::with_capacity(most),
            most,
            cells: vec![NONE; cells],
            shift: 32 - cells.trailing_zeros(),
            order: Order::new(policy, most, pages, per_page),
            per_page: Divisor::new(per_page),
            versions: vec![1; pages as usize],
        }
    }

    /// The page that holds the entry of a unit.
    #[inline]
    pub(super) fn page_of(&self, lpn: u32) -> u32 {
        self.per_page.quotient(lpn)
    }

    /// Version of its map page that the entry of a unit is newer than; 0 if it is clean.
    #[inline]
    fn version(&self, lpn: u32, is_dirty: bool) -> u32 {
        if is_dirty { self.versions[self.page_of(lpn) as usize] } else { 0 }
    }

    #[inline]
    fn is_dirty(&self, entry: &Entry) -> bool {
        entry.newer_than == self.version(entry.lpn, true)
    }

    /// Most entries that the cache takes.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    #[inline]
    fn home(&self, lpn: u32) -> usize {
        (lpn.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// Number of the entry of a unit, if the cache has it.
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

    /// Looks up the entry of a unit for a request. True if the cache has it.
    #[inline]
    pub(super) fn ask(&mut self, lpn: u32) -> bool {
        let Some(entry) = self.find(lpn) else { return false };
        self.order.asked(&mut self.entries, entry);
        true
    }

    /// Changes an entry for the request that has asked for it. True if the cache still has it.
    #[inline]
    pub(super) fn change(&mut self, lpn: u32) -> bool {
        let Some(entry) = self.find(lpn) else { return false };
        self.order.changed(&mut self.entries, entry);
        self.entries[entry as usize].newer_than = self.version(lpn, true);
        true
    }

    /// Entries behind that of `lpn`, of the same page, that are worth reading with it.
    pub(super) fn ahead(&self, lpn: u32) -> u32 {
        let Order::Nodes(nodes) = &self.order else { return 0 };
        if !nodes.reads_ahead() {
            return 0;
        }
        let in_page = self.per_page.split(lpn).1;
        let before = (1..=in_page).take_while(|back| self.is_here(lpn - back)).count() as u32;
        let free = (self.most - self.entries.len()) as u32;
        before.min(self.per_page.get() - 1 - in_page).min(free + nodes.coldest())
    }

    /// Whether the cache has the entry of a unit.
    pub(super) fn is_here(&self, lpn: u32) -> bool {
        self.find(lpn).is_some()
    }

    /// Notes that the place of a unit has changed. True if the cache has its entry, which is dirty
    /// now.
    #[inline]
    pub(super) fn set_dirty(&mut self, lpn: u32) -> bool {
        let Some(entry) = self.find(lpn) else { return false };
        self.entries[entry as usize].newer_than = self.version(lpn, true);
        true
    }

    /// Takes in the entry of a unit that the cache does not have. Returns the map page that must be
    /// written because the entry that makes room is dirty.
    pub(super) fn insert(&mut self, lpn: u32, is_dirty: bool) -> Option<u32> {
        let mut written = None;
        let entry = if self.entries.len() < self.most {
            self.entries.push(Entry::new(lpn, self.version(lpn, is_dirty)));
            self.entries.len() as u32 - 1
        } else {
            let victim = self.order.victim(&self.entries, |entry| self.is_dirty(entry));
            written = self.evict(victim);
            let newer_than = self.version(lpn, is_dirty);
            let entry = &mut self.entries[victim as usize];
            (entry.lpn, entry.newer_than) = (lpn, newer_than);
            victim
        };
        let mut cell = self.home(lpn);
        while self.cells[cell] != NONE {
            cell = (cell + 1) & (self.cells.len() - 1);
        }
        self.cells[cell] = entry;
        self.order.added(&mut self.entries, entry);
        written
    }

    /// Takes an entry out of all lists. Returns the map page that must be written for it.
    fn evict(&mut self, entry: u32) -> Option<u32> {
        let Entry { lpn, .. } = self.entries[entry as usize];
        let (page, is_dirty) = (self.page_of(lpn), self.is_dirty(&self.entries[entry as usize]));
        self.order.removed(&mut self.entries, entry);
        self.erase_cell(lpn);
        if is_dirty && matches!(self.order, Order::Nodes(_)) {
            self.clean(page);
        }
        is_dirty.then_some(page)
    }

    /// Makes all entries of a page clean that the cache has: the page is written with them.
    pub(super) fn clean(&mut self, page: u32) {
        let version = &mut self.versions[page as usize];
        // 0 is none.
        *version = version.wrapping_add(1).max(1);
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
        /// An LRU cache holds the units used last, and tells of each dirty one that leaves.
        #[test]
        fn keeps_what_was_used_last(
            steps in prop::collection::vec((0u32..40, any::<bool>()), 1..400),
            cleans in any::<bool>(),
        ) {
            let mut cache = Cache::new(MapCachePolicy::Lru, 7, 10, 4);
            let (mut order, mut dirty) = (Vec::new(), BTreeMap::new());
            for (lpn, writes) in steps {
                let is_here = order.contains(&lpn);
                prop_assert_eq!(cache.ask(lpn), is_here);
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

        /// With two segments, an entry that was asked for again stays longest: against plain lists.
        #[test]
        fn protects_what_was_asked_for_again(
            steps in prop::collection::vec((0u32..16, any::<bool>()), 1..400),
        ) {
            let mut cache = Cache::new(MapCachePolicy::SegmentedLru, 10, 4, 4);
            let (mut probation, mut protected) = (Vec::new(), Vec::new());
            for (lpn, changes) in steps {
                let is_here = probation.contains(&lpn) || protected.contains(&lpn);
                prop_assert_eq!(cache.ask(lpn), is_here);
                if is_here {
                    probation.retain(|&other| other != lpn);
                    protected.retain(|&other| other != lpn);
                    protected.push(lpn);
                    if protected.len() > 8 {
                        probation.push(protected.remove(0));
                    }
                } else {
                    if probation.len() + protected.len() == 10 {
                        probation.remove(0);
                    }
                    cache.insert(lpn, false);
                    probation.push(lpn);
                }
                if changes {
                    prop_assert!(cache.change(lpn));
                }
                if let Some(at) = probation.iter().position(|&other| other == lpn) && changes {
                    let renewed = probation.remove(at);
                    probation.push(renewed);
                }
            }
        }

        /// By map page, a clean entry leaves before a dirty one, and a dirty one cleans its page.
        #[test]
        fn gives_up_the_page_used_longest_ago(
            steps in prop::collection::vec((0u32..40, any::<bool>()), 1..400),
        ) {
            let mut cache = Cache::new(MapCachePolicy::Tpftl, 7, 10, 4);
            // Pages from the one used longest ago on, with their entries in the same order.
            let mut pages: Vec<(u32, Vec<(u32, bool)>)> = Vec::new();
            for (lpn, writes) in steps {
                let find = |pages: &[(u32, Vec<(u32, bool)>)]| {
                    pages.iter().position(|&(page, _)| page == lpn / 4)
                };
                let of_page = |page: &(u32, Vec<(u32, bool)>)| page.1.iter().any(|e| e.0 == lpn);
                let is_here = pages.iter().any(of_page);
                prop_assert_eq!(cache.ask(lpn), is_here);
                let mut dirty = false;
                if is_here {
                    let mut page = pages.remove(find(&pages).unwrap());
                    let at = page.1.iter().position(|entry| entry.0 == lpn).unwrap();
                    dirty = page.1.remove(at).1;
                    pages.push(page);
                } else {
                    let mut expected = None;
                    if pages.iter().map(|page| page.1.len()).sum::<usize>() == 7 {
                        let (page, entries) = &mut pages[0];
                        let others = entries.len() - 1;
                        let clean = entries[..others].iter().position(|entry| !entry.1);
                        if entries.remove(clean.unwrap_or(0)).1 {
                            expected = Some(*page);
                            entries.iter_mut().for_each(|entry| entry.1 = false);
                        }
                        if entries.is_empty() {
                            pages.remove(0);
                        }
                    }
                    prop_assert_eq!(cache.insert(lpn, writes), expected);
                    let page = find(&pages).map_or((lpn / 4, Vec::new()), |at| pages.remove(at));
                    pages.push(page);
                }
                if writes {
                    prop_assert!(cache.change(lpn));
                }
                pages.last_mut().unwrap().1.push((lpn, dirty || writes));
            }
        }
    }
}
