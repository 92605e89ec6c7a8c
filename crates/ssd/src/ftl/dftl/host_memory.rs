//! Map pages in the memory of the host: the *host memory buffer* of NVM Express 1.2.
//!
//! A page comes in once it was read from flash, and its copy follows each new version that is
//! written; the page used longest ago makes room. All copies are clean: the host may take its
//! memory back, and a power cut loses nothing that flash does not have.

use crate::cache::list::Lists;
use base::Result;
use base::archive::{Archive, State};

/// Bytes that one read of the host's memory brings at least: a line of its caches.
const LINE_BYTES: u32 = 64;

/// Only list of the pages.
const HELD: usize = 0;

/// Map pages that the host's memory holds, in the order of their use.
#[derive(Clone)]
pub(super) struct HostMemory {
    /// Pages that there is room for; 0 is a drive without host memory.
    most: u32,
    /// Held pages among all map pages; empty without host memory.
    pages: Lists<1>,
    /// Pages that were copied and not told to the controller yet.
    copied: u32,
}

impl State for HostMemory {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { most: _, pages, copied } = self;
        pages.exchange(archive)?;
        archive.value(copied)
    }
}

impl HostMemory {
    /// Creates an empty memory with room for `most` of the `pages` pages of a map.
    pub(super) fn new(most: u32, pages: u32) -> Self {
        Self { most, pages: Lists::new(if most == 0 { 0 } else { pages }), copied: 0 }
    }

    /// Pages that there is room for.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Bytes that cross the link for `count` entries of `entry_bytes` each.
    pub(super) fn read_bytes(count: u32, entry_bytes: u32) -> u32 {
        (count * entry_bytes).next_multiple_of(LINE_BYTES)
    }

    /// Uses a page. True if the memory holds it.
    #[inline]
    pub(super) fn ask(&mut self, page: u32) -> bool {
        let is_held = self.holds(page);
        if is_held {
            self.pages.remove(page);
            self.pages.push(HELD, page);
        }
        is_held
    }

    /// Takes in a page that was read from flash.
    pub(super) fn take(&mut self, page: u32) {
        if self.most == 0 || self.ask(page) {
            return;
        }
        if self.pages.len(HELD) == self.most {
            self.pages.pop(HELD);
        }
        self.pages.push(HELD, page);
        self.copied += 1;
    }

    /// Notes that a new version of a page was written: a copy that is here follows.
    pub(super) fn written(&mut self, page: u32) {
        self.copied += u32::from(self.holds(page));
    }

    /// Forgets a page, whose units all were trimmed.
    pub(super) fn forget(&mut self, page: u32) {
        if self.holds(page) {
            self.pages.remove(page);
        }
    }

    /// Pages that were copied to the host's memory since the last call.
    #[inline]
    pub(super) fn copied(&mut self) -> u32 {
        std::mem::take(&mut self.copied)
    }

    #[inline]
    fn holds(&self, page: u32) -> bool {
        self.most > 0 && self.pages.list_of(page).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The memory holds what a list in the order of use holds, whatever is done to it.
        #[test]
        fn holds_the_pages_used_last(
            most in 1u32..6,
            calls in prop::collection::vec((0u32..12, 0u8..3), 1..200),
        ) {
            let mut memory = HostMemory::new(most, 12);
            let mut list: Vec<u32> = Vec::new();
            let mut copied = 0;
            for (page, call) in calls {
                let at = list.iter().position(|&held| held == page);
                match call {
                    0 => {
                        memory.take(page);
                        copied += u32::from(at.is_none());
                        match at {
                            Some(at) => _ = list.remove(at),
                            None if list.len() == most as usize => _ = list.remove(0),
                            None => {}
                        }
                        list.push(page);
                    }
                    1 => {
                        prop_assert_eq!(memory.ask(page), at.is_some());
                        if let Some(at) = at {
                            list.remove(at);
                            list.push(page);
                        }
                        memory.written(page);
                        copied += u32::from(at.is_some());
                    }
                    _ => {
                        memory.forget(page);
                        at.map(|at| list.remove(at));
                    }
                }
                prop_assert_eq!(memory.pages.len(HELD) as usize, list.len());
            }
            prop_assert_eq!(memory.copied(), copied);
            prop_assert_eq!(memory.copied(), 0);
        }
    }
}
