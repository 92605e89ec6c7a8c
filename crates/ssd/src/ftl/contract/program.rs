//! A program command, and the units that it carries.

use super::{Job, Lpn, Stream};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};

/// One program command: where its units go.
///
/// Unit `i` lies in slot `i % units_per_page` of a page; pages go through the planes first, then
/// through the pages of a one-shot wordline.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The die.
    pub die: Die,
    /// Slots that it fills from the first on, holes between them counted; the rest is padding. A
    /// program of 0 units is of the drive's own data.
    pub units: u32,
    /// First page number, the same in every plane.
    pub page: u32,
    /// Planes joined.
    pub planes: u8,
    /// The frontier it belongs to.
    pub stream: Stream,
    /// How many bits the cells of its blocks hold: the same for all programs of a block between
    /// two erases. Pages and rows are those of the mode.
    pub mode: BlockMode,
    /// Block in each joined plane.
    pub blocks: [Block; MAX_PLANES],
}

impl Program {
    /// The blocks that it writes to, one in each joined plane.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.planes)]
    }

    /// The place of unit `i`.
    #[inline]
    pub fn ppn(&self, geometry: &Geometry, i: u32) -> Ppn {
        let upp = geometry.units_per_page;
        if i < upp {
            return geometry.ppn(self.blocks[0], self.page, i);
        }
        let (page, slot) = (i / upp, i % upp);
        let planes = u32::from(self.planes);
        geometry.ppn(self.blocks[(page % planes) as usize], self.page + page / planes, slot)
    }
}

/// A unit to move, and its old place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The unit, or [`Lpn::HOLE`].
    pub lpn: Lpn,
    /// Where it is read; [`Ppn::NONE`] where nothing is to be read for it.
    pub from: Ppn,
}

impl Move {
    /// A slot that is left empty.
    pub const HOLE: Self = Self { lpn: Lpn::HOLE, from: Ppn::NONE };
}

/// The origin of a program's data.
#[derive(Debug, Clone, Copy)]
pub enum Carried<'a> {
    /// The host's.
    Host,
    /// Those that a job moves: which, and where each unit came from.
    Moves(Job, &'a [Move]),
}

impl<'a> Carried<'a> {
    /// Where each unit came from; nothing for the host's.
    #[inline]
    pub fn moves(self) -> &'a [Move] {
        match self {
            Self::Host => &[],
            Self::Moves(_, moves) => moves,
        }
    }

    /// Units of `program` that carry data.
    #[inline]
    pub fn units(self, program: &Program) -> u32 {
        match self {
            Self::Host => program.units,
            Self::Moves(_, moves) => {
                moves.iter().filter(|unit| unit.lpn != Lpn::HOLE).count() as u32
            }
        }
    }
}
