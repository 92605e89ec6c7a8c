//! Blocks of a drive that hold a write-once code: their programs, and reads through the code.
//!
//! A coded unit lies in several pages, which are all sensed. A group is read before it is
//! programmed again, since the new code depends on the levels of its cells. The age of data is
//! counted from the first generation of a block: data of later generations are taken for older than
//! they are.

use super::{Block, BlockMode, Chips, Time, illegal};
use crate::chip::coded::{CodedPages, Group};
use crate::chip::rules::BlockFill;
use base::Result;
use std::sync::Arc;

/// Pages sensed for a page of data in the code of Rivest and Shamir.
const SENSED: u64 = 2;

/// Bit error rate of decoded data as a function of the bit error rate of cells.
pub type DataRber = Arc<dyn Fn(f64) -> f64 + Send + Sync>;

/// Write-once code of a drive: its pages and its error rates.
#[derive(Clone)]
pub struct Codes {
    pages: CodedPages,
    data_rber: DataRber,
}

impl Chips {
    /// Allows blocks to hold a code on `pages`. `data_rber` turns the error rate of cells into that
    /// of decoded data.
    pub fn hold_codes(&mut self, pages: CodedPages, data_rber: DataRber) {
        self.codes = Some(Box::new(Codes { pages, data_rber }));
    }

    /// Whether a page of a block holds coded data.
    #[inline]
    pub fn is_coded(&self, block: Block, page: u32) -> bool {
        self.codes.as_ref().is_some_and(|codes| {
            self.blocks[block.0 as usize].fill().mode.is_coded() && codes.pages.is_coded(page)
        })
    }

    /// Pages sensed for a coded page of data, and bytes on the bus for `bytes` of its data.
    pub fn coded_read(&self, bytes: u32) -> (u64, u32) {
        match &self.codes {
            Some(codes) if codes.pages.is_of_levels() => {
                let Group { pages, data, .. } = codes.pages.shape();
                (u64::from(pages), (u64::from(bytes) * u64::from(pages) / u64::from(data)) as u32)
            }
            _ => (SENSED, bytes + bytes / 2),
        }
    }

    /// Senses a page of a drive with codes, and decodes it if it is coded. Results as
    /// [`Chips::read`].
    #[inline(never)]
    pub(super) fn read_through_code(
        &mut self,
        block: Block,
        page: u32,
        shift_v: f32,
    ) -> Result<(Time, f64)> {
        let (mut time, mut rber) = self.sense(block, page, shift_v)?;
        if !self.is_coded(block, page) {
            return Ok((time, rber));
        }
        let shape = self.codes.as_ref().filter(|codes| codes.pages.is_of_levels());
        if let Some(Group { pages, .. }) = shape.map(|codes| codes.pages.shape()) {
            // The level of a cell shows in all pages of its wordline.
            let first = page - page % pages;
            for other in (first..first + pages).filter(|&other| other != page) {
                let (more, of_other) = self.sense(block, other, shift_v)?;
                (time, rber) = (time + more, rber + of_other);
            }
            rber /= f64::from(pages);
        } else {
            time = Time(time.0 * SENSED);
        }
        let Some(codes) = &self.codes else { return Ok((time, rber)) };
        Ok((time, (codes.data_rber)(rber)))
    }

    /// Pages that the program from `page` on of a block in a coded mode writes.
    pub(super) fn coded_pages_by(&self, mode: BlockMode, page: u32) -> u32 {
        self.codes.as_ref().map_or(1, |codes| codes.pages.taken(mode, page).0)
    }

    /// Pages of data that the program from `page` on carries, where it writes `pages`.
    #[inline]
    pub fn data_pages_by(&self, mode: BlockMode, page: u32, pages: u32) -> u32 {
        match &self.codes {
            Some(codes) if mode.is_coded() => codes.pages.taken(mode, page).1,
            _ => pages,
        }
    }

    /// Pages that cross the bus for a program that writes `pages`: pages that are programmed again
    /// are read before.
    #[inline]
    pub fn pages_on_bus(&self, mode: BlockMode, pages: u32) -> u32 {
        if mode == BlockMode::Recoded { 2 * pages } else { pages }
    }

    /// Marks `groups` groups of a full block as programmed again before the run began.
    pub fn load_again(&mut self, block: Block, groups: u32) {
        let state = &mut self.blocks[block.0 as usize];
        let BlockFill { next_page, mode } = state.fill();
        state.set_fill(BlockFill { next_page: next_page + groups, mode });
    }

    /// Programs the pages of one coded command from `page` on. Returns its time, with its reads.
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
        let (number, kind) = (self.identity(block), self.kinds.of(block));
        let program = |page, site| kind.program_time(mode, number, page, site, pe_cycles);
        let taken = codes.pages.taken(mode, page).0;
        let mut time = Time::ZERO;
        if codes.pages.is_of_levels() {
            // One command programs the wordline, from wherever its cells are.
            time += program(page, kind.rules.site(mode, page));
            if mode == BlockMode::Recoded {
                for page in page..page + taken {
                    let page_type = kind.rules.site(mode, page).page_type;
                    time += kind.timing.read_in(mode, page_type, pe_cycles);
                }
            }
            return Ok(time);
        }
        for page in page..page + taken {
            // Groups of the second generation are of the first type throughout.
            let is_again = mode == BlockMode::Recoded;
            let mut site = kind.rules.site(mode, page);
            if is_again {
                site.page_type = 0;
                time += kind.timing.read_in(mode, site.page_type, pe_cycles);
            }
            time += program(page, site);
        }
        Ok(time)
    }
}
