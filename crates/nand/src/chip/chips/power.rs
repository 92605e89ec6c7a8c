//! Power cuts: torn programs and erases, and the pages that become unreadable.

use super::{Chips, Silicon};
use crate::chip::geometry::Block;
use crate::chip::mode::BlockMode;
use crate::chip::rules::BlockFill;

impl Chips {
    /// Earlier pages that a power cut during the program from `page` on could spoil: those on its
    /// cells, and on the cells of a summary that follows.
    pub fn pages_under(&self, mode: BlockMode, page: u32) -> Vec<u32> {
        // In single-level mode no row of cells has two pages.
        let Silicon { rules, faults, pages_per_program, .. } = self.first();
        let has_pairs = mode.is_plain() && *pages_per_program == 1;
        if !faults.may_lose_pairs() || !has_pairs {
            return Vec::new();
        }
        let row = |page: u32| {
            let site = rules.site(BlockMode::Native, page);
            (site.wordline, site.parity)
        };
        let behind = if self.is_summarised(page) { self.summary_pages } else { 0 };
        let rows: Vec<_> = (page..=page + behind).map(row).collect();
        (0..page).filter(|&earlier| rows.contains(&row(earlier))).collect()
    }

    /// Tears the last program of a block by a power cut. Its pages become unreadable and, by chance
    /// (`chip.fault.paired_page_loss`), so do earlier pages on their cells. The block takes further
    /// programs.
    pub fn tear_program(&mut self, block: Block) {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill();
        let data_pages = next_page.min(self.geometry.pages_per_block);
        let Silicon { rules, faults, .. } = self.kinds.of(block);
        let per_program = rules.pages_per_program(mode);
        let Some(first) = data_pages.checked_sub(per_program) else { return };
        state.tear();
        let row = |page: u32| {
            let site = rules.site(mode, page);
            (site.wordline, site.parity)
        };
        let rows: Vec<_> = (first..next_page).map(row).collect();
        let loses_pairs = faults.pairs_are_lost(self.identity(block), self.pe_cycles(block), first);
        let is_lost = |&page: &u32| page >= first || (loses_pairs && rows.contains(&row(page)));
        self.torn.extend((0..next_page).filter(is_lost).map(|page| (block.0, page)));
        if let Some(oob) = &mut self.oob {
            // A lower page is lost with the upper one, its area too.
            let torn = self.torn.range((block.0, 0)..=(block.0, u32::MAX));
            torn.for_each(|&(_, page)| oob.lose(block, rules.program_of(mode, page)));
        }
    }

    /// Tears the erase of a block by a power cut. All its pages become unreadable, and it takes no
    /// program before the next erase.
    pub fn tear_erase(&mut self, block: Block) {
        let state = &mut self.blocks[block.0 as usize];
        let mode = state.fill().mode;
        let pages = self.kinds.of(block).pages(mode);
        state.set_fill(BlockFill { next_page: pages, mode });
        state.tear();
        self.torn.extend((0..pages).map(|page| (block.0, page)));
        if let Some(oob) = &mut self.oob {
            oob.erase(block);
        }
    }

    /// Whether a power cut has left a page unreadable.
    #[inline]
    pub fn is_torn(&self, block: Block, page: u32) -> bool {
        self.blocks[block.0 as usize].is_torn() && self.torn.contains(&(block.0, page))
    }
}
