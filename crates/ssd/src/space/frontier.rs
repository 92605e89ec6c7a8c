//! Write frontiers: an open block in each plane that a program joins, and the page that comes next.

use crate::terms::{Program, Stream};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES};
use serde::{Deserialize, Serialize};

/// Sizes of the rows that programs write to open blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Planes that a program joins.
    pub joined: u32,
    /// Pages of each plane that a program takes.
    pub program_pages: u32,
    /// Pages of a block.
    pub block_pages: u32,
    /// Units of a page.
    pub page_units: u32,
}

impl Rows {
    /// Rows of whole blocks, where programs take `program_pages` pages of `joined` planes.
    pub fn new(geometry: &Geometry, joined: u32, program_pages: u32) -> Self {
        let &Geometry { pages_per_block, units_per_page, .. } = geometry;
        Self { joined, program_pages, block_pages: pages_per_block, page_units: units_per_page }
    }

    /// Units of a row on one of its planes.
    #[inline]
    pub fn plane_units(&self) -> u32 {
        self.program_pages * self.page_units
    }

    /// Units of a row.
    #[inline]
    pub fn units(&self) -> u32 {
        self.joined * self.plane_units()
    }

    /// Whether a program takes the last pages of its blocks.
    #[inline]
    pub fn is_last(&self, program: &Program) -> bool {
        program.page + self.program_pages >= self.block_pages
    }
}

/// An open block in each plane that a program joins, and the page it stands at.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Frontier {
    /// The block of each plane.
    pub blocks: [Block; MAX_PLANES],
    /// The page that the next program takes.
    pub page: u32,
    /// Planes that already have this page.
    pub planes_done: u32,
    /// Whether there are blocks to write to.
    pub open: bool,
    /// Page that the blocks end before: `WHOLE`, or an earlier one where they are closed early.
    pub end: u32,
    /// Rows of the blocks.
    pub rows: Rows,
}

/// End of blocks that are filled to their last page.
const WHOLE: u32 = u32::MAX;

impl Frontier {
    /// Frontier without open blocks, which are to have these rows.
    pub const fn closed(rows: Rows) -> Self {
        let blocks = [Block(0); MAX_PLANES];
        Self { blocks, page: 0, planes_done: 0, open: false, end: WHOLE, rows }
    }

    /// Opens the frontier at the first page of new blocks.
    pub fn open(&mut self) {
        (self.page, self.planes_done, self.open, self.end) = (0, 0, true, WHOLE);
    }

    /// Blocks of the planes that a program joins.
    #[inline]
    pub fn joined_blocks(&self) -> &[Block] {
        &self.blocks[..self.rows.joined as usize]
    }

    /// Whether data go to the open blocks: those that are closed early get empty rows and parity.
    #[inline]
    pub fn takes_data(&self) -> bool {
        self.open && self.end == WHOLE
    }

    /// Next program in `mode`, for the first of `units` units. A short program takes only the
    /// planes that it needs; the others catch up first next time.
    #[inline]
    pub fn program(&self, (die, stream, mode): (Die, Stream, BlockMode), units: u32) -> Program {
        let plane_units = self.rows.plane_units();
        let units = units.min((self.rows.joined - self.planes_done) * plane_units);
        let planes = units.div_ceil(plane_units) as u8;
        let mut blocks = self.blocks;
        if self.planes_done > 0 {
            blocks.copy_within(self.planes_done as usize.., 0);
        }
        Program { die, units, page: self.page, planes, stream, mode, blocks }
    }

    /// Next program as a row without units, where none of the planes has been programmed.
    pub fn empty_row(&self, (die, stream, mode): (Die, Stream, BlockMode)) -> Program {
        let (blocks, planes) = (self.blocks, self.rows.joined as u8);
        Program { die, units: 0, page: self.page, planes, stream, mode, blocks }
    }

    /// Moves on by a program on the next `planes` planes. Returns whether all planes have had their
    /// turn.
    #[inline]
    pub fn advance(&mut self, planes: u32) -> bool {
        self.planes_done += planes;
        if self.planes_done < self.rows.joined {
            return false;
        }
        self.planes_done = 0;
        self.page += self.rows.program_pages;
        self.open = self.page < self.end.min(self.rows.block_pages);
        true
    }

    /// Pages left in the open blocks.
    pub fn left_pages(&self) -> u32 {
        if !self.open {
            return 0;
        }
        let Rows { joined, program_pages, block_pages, .. } = self.rows;
        joined * (block_pages - self.page) - program_pages * self.planes_done
    }

    /// Blocks that are still written to, and the pages that each has. A block that has its last
    /// page while others wait for theirs is the frontier's no longer: it may have been collected
    /// and opened elsewhere since.
    pub fn filling(&self) -> impl Iterator<Item = (Block, u32)> + use<'_> {
        let (page, done) = (self.page, self.planes_done as usize);
        let Rows { program_pages, block_pages, .. } = self.rows;
        let blocks = if self.open { self.joined_blocks() } else { &[] };
        let filled = move |i| page + if i < done { program_pages } else { 0 };
        let filled = blocks.iter().enumerate().map(move |(i, &block)| (block, filled(i)));
        filled.filter(move |&(_, filled)| filled < block_pages)
    }
}
