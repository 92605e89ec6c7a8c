//! Map pages in the memory of the host: the *host memory buffer* of NVM Express 1.2.
//!
//! A page comes in once it was read from flash, and its copy follows each new version that is
//! written; the page used longest ago makes room. All copies are clean: the host may take its
//! memory back, and a power cut loses nothing that flash does not have.

use super::order::NONE;
use base::Result;
use base::archive::{Archive, State};
use serde::{Deserialize, Serialize};

/// Bytes that one read of the host's memory brings at least: a line of its caches.
const LINE_BYTES: u32 = 64;

/// Place of a map page in the order of use.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Link {
    newer: u32,
    older: u32,
    is_held: bool,
}

/// Map pages that the host's memory holds, in the order of their use.
#[derive(Clone)]
pub(super) struct HostMemory {
    /// Pages that there is room for; 0 is a drive without host memory.
    most: u32,
    /// By map page; empty without host memory.
    links: Vec<Link>,
    newest: u32,
    oldest: u32,
    held: u32,
    /// Pages that were copied and not told to the controller yet.
    copied: u32,
}

impl State for HostMemory {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { most: _, links, newest, oldest, held, copied } = self;
        archive.value(links)?;
        archive.value(newest)?;
        archive.value(oldest)?;
        archive.value(held)?;
        archive.value(copied)
    }
}

impl HostMemory {
    /// Creates an empty memory with room for `most` of the `pages` pages of a map.
    pub(super) fn new(most: u32, pages: u32) -> Self {
        let link = Link { newer: NONE, older: NONE, is_held: false };
        let links = if most == 0 { Vec::new() } else { vec![link; pages as usize] };
        Self { most, links, newest: NONE, oldest: NONE, held: 0, copied: 0 }
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
        if !self.links.get(page as usize).is_some_and(|link| link.is_held) {
            return false;
        }
        if self.newest != page {
            self.unlink(page);
            self.push(page);
        }
        true
    }

    /// Takes in a page that was read from flash.
    pub(super) fn take(&mut self, page: u32) {
        if self.most == 0 || self.ask(page) {
            return;
        }
        if self.held == self.most {
            self.drop(self.oldest);
        }
        self.links[page as usize].is_held = true;
        self.held += 1;
        self.copied += 1;
        self.push(page);
    }

    /// Notes that a new version of a page was written: a copy that is here follows.
    pub(super) fn written(&mut self, page: u32) {
        let is_held = self.links.get(page as usize).is_some_and(|link| link.is_held);
        self.copied += u32::from(is_held);
    }

    /// Forgets a page, whose units all were trimmed.
    pub(super) fn forget(&mut self, page: u32) {
        if self.links.get(page as usize).is_some_and(|link| link.is_held) {
            self.drop(page);
        }
    }

    /// Pages that were copied to the host's memory since the last call.
    #[inline]
    pub(super) fn copied(&mut self) -> u32 {
        std::mem::take(&mut self.copied)
    }

    fn drop(&mut self, page: u32) {
        self.unlink(page);
        self.links[page as usize].is_held = false;
        self.held -= 1;
    }

    fn push(&mut self, page: u32) {
        let older = std::mem::replace(&mut self.newest, page);
        let link = &mut self.links[page as usize];
        (link.newer, link.older) = (NONE, older);
        match older {
            NONE => self.oldest = page,
            older => self.links[older as usize].newer = page,
        }
    }

    fn unlink(&mut self, page: u32) {
        let Link { newer, older, .. } = self.links[page as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
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
                prop_assert_eq!(memory.held as usize, list.len());
            }
            prop_assert_eq!(memory.copied(), copied);
            prop_assert_eq!(memory.copied(), 0);
        }
    }
}
