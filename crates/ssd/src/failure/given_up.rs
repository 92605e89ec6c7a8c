//! Uncorrectable pages of each block; a block with enough of them is retired.
//!
//! A page that fails again counts once: a host that reads one bad unit over and over says nothing
//! about the rest of its block.

use nand::geometry::Block;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page and the cycle in which it was programmed.
type Programmed = (u32, u32);

/// Pages given up, for each block that has any.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct GivenUp {
    pages: BTreeMap<u32, Vec<Programmed>>,
}

impl GivenUp {
    /// Notes a page of a block, up to `most` of them, and returns how many the block has.
    #[cold]
    pub(crate) fn note(&mut self, block: Block, page: Programmed, most: u32) -> u32 {
        let pages = self.pages.entry(block.0).or_default();
        if pages.len() < most as usize && !pages.contains(&page) {
            pages.push(page);
        }
        pages.len() as u32
    }

    /// Forgets the pages of a block.
    pub(crate) fn forget(&mut self, block: Block) {
        self.pages.remove(&block.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once_for_each_programming() {
        let mut given_up = GivenUp::default();
        let mut note = |block, page| given_up.note(Block(block), page, 3);
        assert_eq!((note(7, (1, 100)), note(7, (1, 100)), note(7, (2, 100))), (1, 1, 2));
        assert_eq!(note(8, (1, 100)), 1, "another block");
        assert_eq!((note(7, (1, 101)), note(7, (3, 101))), (3, 3), "enough is enough");
    }
}
