//! Write frontiers: an open block in each plane that a program joins, and the page that comes next.

use crate::terms::{Program, Stream};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES};
use serde::{Deserialize, Serialize};

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
}

/// End of blocks that are filled to their last page.
const WHOLE: u32 = u32::MAX;

impl Frontier {
    /// Frontier without open blocks.
    pub const CLOSED: Self =
        Self { blocks: [Block(0); MAX_PLANES], page: 0, planes_done: 0, open: false, end: WHOLE };

    /// Opens the frontier at the first page of new blocks.
    pub fn open(&mut self) {
        (self.page, self.planes_done, self.open, self.end) = (0, 0, true, WHOLE);
    }

    /// Whether data go to the open blocks: those that are closed early get empty rows and parity.
    #[inline]
    pub fn takes_data(&self) -> bool {
        self.open && self.end == WHOLE
    }

    /// Next program in `mode`, for the first of `units` units, where a program of `joined` planes
    /// takes `plane_units` units of each. A short program takes only the planes that it needs; the
    /// others catch up first next time.
    #[inline]
    pub fn program(
        &self,
        (die, stream, mode): (Die, Stream, BlockMode),
        units: u32,
        plane_units: u32,
        joined: u32,
    ) -> Program {
        let units = units.min((joined - self.planes_done) * plane_units);
        let planes = units.div_ceil(plane_units) as u8;
        let mut blocks = self.blocks;
        if self.planes_done > 0 {
            blocks.copy_within(self.planes_done as usize.., 0);
        }
        Program { die, units, page: self.page, planes, stream, mode, blocks }
    }

    /// Next program as a row without units, where none of the planes has been programmed.
    pub fn empty_row(&self, (die, stream, mode): (Die, Stream, BlockMode), joined: u32) -> Program {
        let blocks = self.blocks;
        Program { die, units: 0, page: self.page, planes: joined as u8, stream, mode, blocks }
    }

    /// Moves on by a program of `pages` pages on the next `planes` planes. Returns whether all
    /// `joined` planes have had their turn.
    #[inline]
    pub fn advance(&mut self, planes: u32, pages: u32, joined: u32, geometry: &Geometry) -> bool {
        self.planes_done += planes;
        if self.planes_done < joined {
            return false;
        }
        self.planes_done = 0;
        self.page += pages;
        self.open = self.page < self.end.min(geometry.pages_per_block);
        true
    }

    /// Pages left in the open blocks, where programs take `pages` pages of `joined` planes.
    pub fn left_pages(&self, pages: u32, joined: u32, geometry: &Geometry) -> u32 {
        if !self.open {
            return 0;
        }
        joined * (geometry.pages_per_block - self.page) - pages * self.planes_done
    }

    /// Blocks that are still written to, and the pages that each has, where programs take `pages`
    /// pages of `joined` planes. A block that has its last page while others wait for theirs is the
    /// frontier's no longer: it may have been collected and opened elsewhere since.
    pub fn filling(
        &self,
        pages: u32,
        joined: u32,
        geometry: &Geometry,
    ) -> impl Iterator<Item = (Block, u32)> {
        let (page, done, last) = (self.page, self.planes_done as usize, geometry.pages_per_block);
        let blocks = if self.open { &self.blocks[..joined as usize] } else { &[] };
        let filled = move |i| page + if i < done { pages } else { 0 };
        let filled = blocks.iter().enumerate().map(move |(i, &block)| (block, filled(i)));
        filled.filter(move |&(_, filled)| filled < last)
    }
}
