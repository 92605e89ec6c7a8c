//! Stripes of a drive with failed dies at a start-up: the pages of these dies that follow from
//! others.
//!
//! A stripe gives back the owners of a page as it gives back its data: parity covers the spare
//! areas too. For that all pages of the stripe on other dies are read. A stripe that a power cut
//! has left without one of them gives nothing back.

use nand::chip::Chips;
use nand::geometry::{Block, Die};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages of failed dies that can be found, and the pages that they are found by.
#[derive(Debug, Default)]
pub(crate) struct Stripes {
    /// By block of a failed die: whether each of its pages follows from others.
    follows: BTreeMap<u32, Vec<bool>>,
    /// By block of another die: blocks of failed dies that stand in its stripes.
    beside: BTreeMap<u32, Vec<Block>>,
}

/// Blocks of a stripe: those of failed dies, and those of others.
#[derive(Default)]
struct Members {
    failed: Vec<Block>,
    others: Vec<Block>,
    /// Dies of the stripe that have not failed.
    dies: usize,
}

impl Stripes {
    /// Looks at the stripes of the `failed` dies, of which `parity` pages may be missing. `stripe`
    /// tells the dies that the stripes of a block of a die with a tag stand on.
    pub(crate) fn of(
        chips: &Chips,
        failed: &[Die],
        parity: u32,
        stripe: impl Fn(Die, u64) -> Option<Range<u32>>,
    ) -> Self {
        let mut stripes = Self::default();
        if failed.is_empty() {
            return stripes;
        }
        let geometry = &chips.geometry;
        let mut all: BTreeMap<(u32, u64, u32), Members> = BTreeMap::new();
        for block in (0..geometry.blocks()).map(Block) {
            let (die, tag) = (geometry.die_of(block), chips.tag(block));
            let is_failed = failed.contains(&die);
            let pages = chips.programmed_pages(block);
            if pages == 0 {
                continue;
            }
            if is_failed {
                stripes.follows.insert(block.0, vec![false; pages as usize]);
            }
            let Some(dies) = stripe(die, tag) else { continue };
            let plane = geometry.plane_of(block).0 % geometry.planes_per_die;
            let members = all.entry((dies.start, tag, plane)).or_default();
            members.dies = dies.filter(|&die| !failed.contains(&Die(die))).count();
            let list = if is_failed { &mut members.failed } else { &mut members.others };
            list.push(block);
        }
        for members in all.into_values().filter(|members| !members.failed.is_empty()) {
            stripes.look_at(&members, chips, parity);
        }
        stripes
    }

    fn look_at(&mut self, members: &Members, chips: &Chips, parity: u32) {
        let Members { failed, others, dies } = members;
        for other in others {
            self.beside.entry(other.0).or_default().extend(failed);
        }
        for &block in failed {
            let Some(follows) = self.follows.get_mut(&block.0) else { continue };
            for (page, follows) in (0..).zip(follows) {
                let has_page = |block: &&Block| chips.programmed_pages(**block) > page;
                // Of a failed die without the page that may be parity.
                let lost = failed.len() as u32;
                let pages = *dies as u32 + lost;
                let is_whole = others.iter().filter(has_page).count() == *dies;
                let can_be_read = |block: &Block| chips.stamp(*block, page).is_some();
                let spoilt = |block: &&Block| !can_be_read(block) && !chips.is_torn(**block, page);
                let is_torn = others.iter().any(|block| chips.is_torn(*block, page));
                let missing = lost + others.iter().filter(spoilt).count() as u32;
                *follows = is_whole && !is_torn && missing <= parity.min(pages.saturating_sub(1));
            }
        }
    }

    /// Whether a page of a failed die is not found.
    #[inline]
    pub(crate) fn lacks(&self, block: Block, page: u32) -> bool {
        let follows = self.follows.get(&block.0);
        follows.is_some_and(|pages| !pages.get(page as usize).copied().unwrap_or(false))
    }

    /// Blocks of failed dies whose pages are found by those of this block.
    pub(crate) fn beside(&self, block: Block) -> &[Block] {
        self.beside.get(&block.0).map_or(&[], Vec::as_slice)
    }
}
