//! The order in which cached entries of a map leave the cache, and how many neighbours are read
//! with an entry.
//!
//! `lru`: the entry used longest ago leaves. `segmented_lru` (Karedla 1994, the policy of the DFTL
//! paper): an entry that was asked for again is protected; new ones leave first. `tpftl` (Zhou
//! 2015) is in `nodes`.

use super::nodes::Nodes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number that stands for no entry.
pub(super) const NONE: u32 = u32::MAX;

/// Entries are protected up to this share of the cache: 6,552 of 8,192, as in the code of the
/// authors of DFTL.
const PROTECTED: f64 = 0.8;

/// Policy of the map cache: which entry leaves, and whether neighbours are read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::ftl) enum MapCachePolicy {
    /// The entry used longest ago leaves.
    Lru,
    /// Entries that were asked for again (at most 80 %) leave after all others.
    SegmentedLru,
    /// The map page used longest ago gives up its entries, clean ones first; neighbours are read
    /// ahead in sequential phases.
    Tpftl,
}

/// A cached entry of the map, in memory.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) lpn: u32,
    /// Newer neighbour in the order of use.
    pub(super) newer: u32,
    /// Older neighbour in the order of use.
    pub(super) older: u32,
    /// Version of its map page that the entry is newer than; 0 where it is clean.
    pub(super) newer_than: u32,
    is_protected: bool,
}

impl Entry {
    pub(super) fn new(lpn: u32, newer_than: u32) -> Self {
        Self { lpn, newer: NONE, older: NONE, newer_than, is_protected: false }
    }
}

/// Entries from the one used last to the one used longest ago.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct List {
    pub(super) newest: u32,
    pub(super) oldest: u32,
    pub(super) count: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { newest: NONE, oldest: NONE, count: 0 };

    #[inline]
    pub(super) fn push(&mut self, entries: &mut [Entry], entry: u32) {
        let older = std::mem::replace(&mut self.newest, entry);
        let own = &mut entries[entry as usize];
        (own.newer, own.older) = (NONE, older);
        match older {
            NONE => self.oldest = entry,
            older => entries[older as usize].newer = entry,
        }
        self.count += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, entries: &mut [Entry], entry: u32) {
        let Entry { newer, older, .. } = entries[entry as usize];
        match newer {
            NONE => self.newest = older,
            newer => entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => entries[older as usize].newer = newer,
        }
        self.count -= 1;
    }

    /// Makes an entry of the list the one used last.
    #[inline]
    pub(super) fn renew(&mut self, entries: &mut [Entry], entry: u32) {
        if self.newest != entry {
            self.remove(entries, entry);
            self.push(entries, entry);
        }
    }
}

/// Entries in two segments: on probation, and protected.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Segments {
    protected: List,
    probation: List,
    most_protected: u32,
}

impl Segments {
    fn new(most: usize) -> Self {
        let most_protected = ((most as f64 * PROTECTED) as u32).clamp(1, most as u32 - 1);
        Self { protected: List::EMPTY, probation: List::EMPTY, most_protected }
    }

    fn of(&mut self, entry: &Entry) -> &mut List {
        if entry.is_protected { &mut self.protected } else { &mut self.probation }
    }

    /// Protects an entry that was asked for again; it may push another one out of the protected
    /// ones.
    fn protect(&mut self, entries: &mut [Entry], entry: u32) {
        if entries[entry as usize].is_protected {
            self.protected.renew(entries, entry);
            return;
        }
        self.probation.remove(entries, entry);
        entries[entry as usize].is_protected = true;
        self.protected.push(entries, entry);
        if self.protected.count > self.most_protected {
            let oldest = self.protected.oldest;
            self.protected.remove(entries, oldest);
            entries[oldest as usize].is_protected = false;
            self.probation.push(entries, oldest);
        }
    }
}

/// The order of the entries of a cache.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Order {
    Lru(List),
    Segmented(Segments),
    Nodes(Nodes),
}

impl Order {
    /// Order of an empty cache of `most` entries, over a map of `pages` pages of `per_page` entries
    /// each.
    pub(super) fn new(policy: MapCachePolicy, most: usize, pages: u32, per_page: u32) -> Self {
        match policy {
            MapCachePolicy::Lru => Self::Lru(List::EMPTY),
            MapCachePolicy::SegmentedLru => Self::Segmented(Segments::new(most)),
            MapCachePolicy::Tpftl => Self::Nodes(Nodes::new(pages, per_page)),
        }
    }

    /// Takes in a new entry.
    #[inline]
    pub(super) fn added(&mut self, entries: &mut [Entry], entry: u32) {
        match self {
            Self::Lru(all) => all.push(entries, entry),
            Self::Segmented(segments) => {
                entries[entry as usize].is_protected = false;
                segments.probation.push(entries, entry);
            }
            Self::Nodes(nodes) => nodes.added(entries, entry),
        }
    }

    /// Notes that a request has asked for an entry.
    #[inline]
    pub(super) fn asked(&mut self, entries: &mut [Entry], entry: u32) {
        match self {
            Self::Lru(all) => all.renew(entries, entry),
            Self::Segmented(segments) => segments.protect(entries, entry),
            Self::Nodes(nodes) => nodes.used(entries, entry),
        }
    }

    /// Notes that the request that has asked for an entry has changed it: the same use, and no
    /// second one.
    #[inline]
    pub(super) fn changed(&mut self, entries: &mut [Entry], entry: u32) {
        match self {
            Self::Lru(all) => all.renew(entries, entry),
            Self::Segmented(segments) => {
                let own = entries[entry as usize];
                segments.of(&own).renew(entries, entry);
            }
            Self::Nodes(nodes) => nodes.used(entries, entry),
        }
    }

    /// Takes out an entry that has left.
    #[inline]
    pub(super) fn removed(&mut self, entries: &mut [Entry], entry: u32) {
        match self {
            Self::Lru(all) => all.remove(entries, entry),
            Self::Segmented(segments) => {
                let own = entries[entry as usize];
                segments.of(&own).remove(entries, entry);
            }
            Self::Nodes(nodes) => nodes.removed(entries, entry),
        }
    }

    /// Entry of a full cache that is to leave.
    #[inline]
    pub(super) fn victim(&self, entries: &[Entry], is_dirty: impl Fn(&Entry) -> bool) -> u32 {
        match self {
            Self::Lru(all) => all.oldest,
            // Not all can be protected.
            Self::Segmented(segments) => segments.probation.oldest,
            Self::Nodes(nodes) => nodes.victim(entries, is_dirty),
        }
    }
}
