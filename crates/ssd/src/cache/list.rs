//! Lists of slots in the order of their use, threaded through one array.

use base::Result;
use base::archive::{Archive, State};
use base::memory;
use serde::{Deserialize, Serialize};

/// Number that stands for no slot.
const NONE: u32 = u32::MAX;

/// Neighbours of a slot in its list.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Link {
    newer: u32,
    older: u32,
    /// Number of the list; `NONE` in none.
    list: u32,
}

/// Ends of a list, and its length.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Ends {
    newest: u32,
    oldest: u32,
    len: u32,
}

const EMPTY: Ends = Ends { newest: NONE, oldest: NONE, len: 0 };
const UNLISTED: Link = Link { newer: NONE, older: NONE, list: NONE };

/// `N` lists over the same slots. A slot is in one of them, or in none.
#[derive(Debug, Clone)]
pub(crate) struct Lists<const N: usize> {
    links: Vec<Link>,
    ends: [Ends; N],
}

impl<const N: usize> State for Lists<N> {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { links, ends } = self;
        archive.value(links)?;
        ends.iter_mut().try_for_each(|ends| archive.value(ends))
    }
}

impl<const N: usize> Lists<N> {
    /// Empty lists for `slots` slots.
    pub(crate) fn new(slots: u32) -> Self {
        Self { links: memory::table(slots as usize, UNLISTED), ends: [EMPTY; N] }
    }

    /// Slots in a list.
    #[inline]
    pub(crate) fn len(&self, list: usize) -> u32 {
        self.ends[list].len
    }

    /// Slot that has been in its list longest.
    #[inline]
    pub(crate) fn oldest(&self, list: usize) -> Option<u32> {
        Some(self.ends[list].oldest).filter(|&slot| slot != NONE)
    }

    /// List that a slot is in.
    #[inline]
    pub(crate) fn list_of(&self, slot: u32) -> Option<usize> {
        Some(self.links[slot as usize].list).filter(|&list| list != NONE).map(|list| list as usize)
    }

    /// Puts a slot that is in no list to the new end of one.
    #[inline]
    pub(crate) fn push(&mut self, list: usize, slot: u32) {
        let ends = &mut self.ends[list];
        let before = std::mem::replace(&mut ends.newest, slot);
        ends.len += 1;
        match before {
            NONE => ends.oldest = slot,
            before => self.links[before as usize].newer = slot,
        }
        self.links[slot as usize] = Link { newer: NONE, older: before, list: list as u32 };
    }

    /// Takes a slot out of its list.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        let Link { newer, older, list } = self.links[slot as usize];
        let ends = &mut self.ends[list as usize];
        ends.len -= 1;
        match newer {
            NONE => ends.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => ends.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        self.links[slot as usize] = UNLISTED;
    }

    /// Takes the slot out of a list that has been there longest.
    #[inline]
    pub(crate) fn pop(&mut self, list: usize) -> Option<u32> {
        let slot = self.oldest(list)?;
        self.remove(slot);
        Some(slot)
    }

    /// Empties all of the lists.
    pub(crate) fn clear(&mut self) {
        self.links.fill(UNLISTED);
        self.ends = [EMPTY; N];
    }
}
