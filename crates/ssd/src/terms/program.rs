//! A program command, and the units that it carries.

use super::{Job, Lpn, Stream};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};

/// Program command, and the places of its units.
///
/// Unit `i` lies in slot `i % units_per_page` of a page; pages go through the planes first, then
/// through the pages of a one-shot wordline.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Die that carries out the program.
    pub die: Die,
    /// Slots that carry data, from the first on, with the holes between them; the rest is padding.
    /// A program of 0 units is of the drive's own data.
    pub units: u32,
    /// First page number, the same in every plane.
    pub page: u32,
    /// Number of planes that the program joins.
    pub planes: u8,
    /// Write frontier that the program belongs to.
    pub stream: Stream,
    /// Bits that the cells of its blocks hold: the same for all programs of a block between two
    /// erases. Pages and rows are those of the mode.
    pub mode: BlockMode,
    /// Block in each joined plane.
    pub blocks: [Block; MAX_PLANES],
}

impl Program {
    /// Blocks that the program writes to, one in each joined plane.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.planes)]
    }

    /// Place of unit `i` of the program.
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
    /// Place that the unit is read from; [`Ppn::NONE`] where nothing is to be read for it.
    pub from: Ppn,
}

impl Move {
    /// A slot that is left empty.
    pub const HOLE: Self = Self { lpn: Lpn::HOLE, from: Ppn::NONE };
}

/// The origin of a program's data.
#[derive(Debug, Clone, Copy)]
pub enum Carried<'a> {
    /// Data of the host, from the write buffer.
    Host,
    /// Units that a job moves, each with its old place.
    Moves(Job, &'a [Move]),
}

impl<'a> Carried<'a> {
    /// Units that a job moves, with their old places; empty for data of the host.
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
