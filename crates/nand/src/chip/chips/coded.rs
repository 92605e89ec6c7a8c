//! Blocks of a drive that hold a write-once code: their programs, and reads through the code.
//!
//! A unit that is coded lies in two pages, which are both sensed. A group is read before it is
//! programmed again: the new code depends on what the cells hold. Between two erases a block has
//! one birth, that of its first generation: the second is taken for older than it is.

use super::{Block, BlockMode, Chips, Time, illegal};
use crate::chip::coded::CodedPages;
use crate::chip::rules::BlockFill;
use base::Result;

/// Pages that are sensed for a page of coded data.
const SENSED: u64 = 2;

/// The code, as the chips need it.
#[derive(Debug, Clone)]
pub struct Codes {
    pages: CodedPages,
    /// Error rate of a decoded bit, for each rate of a cell.
    data_rber: fn(f64) -> f64,
}

impl Chips {
    /// Lets blocks hold a code on the first pages of their cells. `data_rber` says how errors of
    /// cells become errors of data. Refuses chips that program several pages of a cell at once.
    pub fn hold_codes(&mut self, data_rber: fn(f64) -> f64) -> Result<()> {
        let is_safe = |page| self.first().page_type(page) == 0;
        let safe: Vec<bool> = (0..self.geometry.pages_per_block).map(is_safe).collect();
        self.codes = Some(Box::new(Codes { pages: CodedPages::new(&safe)?, data_rber }));
        Ok(())
    }

    /// Whether the data of a page are coded.
    #[inline]
    pub fn is_coded(&self, block: Block, page: u32) -> bool {
        self.codes.as_ref().is_some_and(|codes| {
            self.blocks[block.0 as usize].fill().mode.is_coded() && codes.pages.is_coded(page)
        })
    }

    /// What comes of a page that was sensed so, if it is coded.
    pub(super) fn through_code(
        &self,
        block: Block,
        page: u32,
        (time, rber): (Time, f64),
    ) -> (Time, f64) {
        match &self.codes {
            Some(codes) if self.is_coded(block, page) => {
                (Time(time.0 * SENSED), (codes.data_rber)(rber))
            }
            _ => (time, rber),
        }
    }

    /// Pages that the program from `page` on of such a block writes.
    pub(super) fn coded_pages_by(&self, mode: BlockMode, page: u32) -> u32 {
        self.codes.as_ref().map_or(1, |codes| codes.pages.taken(mode, page).0)
    }

    /// Pages of data of the program from `page` on, where it writes `pages`.
    #[inline]
    pub fn data_pages_by(&self, mode: BlockMode, page: u32, pages: u32) -> u32 {
        match &self.codes {
            Some(codes) if mode.is_coded() => codes.pages.taken(mode, page).1,
            _ => pages,
        }
    }

    /// Pages that cross the bus for the program from `page` on, where it writes `pages`: those that
    /// are programmed again are read before.
    #[inline]
    pub fn pages_on_bus(&self, mode: BlockMode, pages: u32) -> u32 {
        if mode == BlockMode::Recoded { 2 * pages } else { pages }
    }

    /// Says that so many groups of a full block were programmed again before the run began.
    pub fn load_again(&mut self, block: Block, groups: u32) {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill();
        state.set_fill(BlockFill { next_page: next_page + groups, mode });
    }

    /// Programs the pages of one command from `page` on: how long it takes, with the reads before.
    #[cold]
    pub(super) fn program_coded(
        &mut self,
        mode: BlockMode,
        block: Block,
        page: u32,
    ) -> Result<Time> {
        let Some(codes) = &self.codes else {
            return Err(illegal(crate::chip::rules::Illegal::NotSafe, block, page));
        };
        let state = &mut self.blocks[block.0 as usize];
        let (mut fill, pe_cycles) = (state.fill(), state.pe_cycles);
        if let Err(why) = codes.pages.program(&mut fill, mode, page) {
            return Err(illegal(why, block, page));
        }
        state.set_fill(fill);
        if page == 0 && mode == BlockMode::Coded {
            state.set_born(self.age.minutes());
        }
        let kind = self.kinds.of(block);
        let taken = codes.pages.taken(mode, page).0;
        let mut time = Time::ZERO;
        for page in page..page + taken {
            // Groups of the second generation are of the first type throughout.
            let is_again = mode == BlockMode::Recoded;
            let page_type = if is_again { 0 } else { kind.rules.site(mode, page).page_type };
            time += kind.timing.program_in(mode, page_type, pe_cycles);
            if is_again {
                time += kind.timing.read_in(mode, page_type, pe_cycles);
            }
        }
        Ok(time)
    }
}
