//! Stripes with parity (RAIN) over the dies of a superblock: `parity.pages`.
//!
//! The programs at one row of the open blocks of a stream, one on each die, are a stripe. The last
//! one that is placed is the parity of the others: the controller has then seen all of them, and
//! nothing waits for the parity of data that have not come. In each superblock another die begins
//! behind the others, and stays the last of them as long as all are equally fast: so parity is
//! spread over the dies. Any page of a stripe follows from all others, whichever of them is the
//! parity. Until the parity of a row is placed, the controller's memory holds it.

use super::Spans;
use crate::ftl::contract::Context;
use crate::ftl::page::{PageFtl, PageParams};
use crate::space::frontier::Frontier;
use base::Result;
use nand::geometry::{Die, Geometry};

/// Stripes of the open blocks: the dies that a stripe has a page of each plane on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl::page) struct Stripes {
    /// Dies of a stripe; 0 where there is no parity.
    dies: u32,
}

impl Stripes {
    /// Stripes over the dies of superblocks, where the drive has parity.
    pub(in crate::ftl::page) fn of(context: &Context, params: &PageParams) -> Result<Self> {
        let dies = Spans::dies_of(params, context.geometry.dies)?;
        Ok(Self { dies: if context.has_parity { dies } else { 0 } })
    }

    /// Whether there is parity.
    #[inline]
    pub(in crate::ftl::page) fn are_on(self) -> bool {
        self.dies > 0
    }

    /// Blocks of a plane of `blocks` that are as large as the parity on it.
    pub(in crate::ftl::page) fn blocks(self, blocks: u32) -> u32 {
        if self.are_on() { blocks.div_ceil(self.dies) } else { 0 }
    }

    /// Units of a superblock on one of its dies; 0 without parity. As many are parity in all.
    pub(in crate::ftl::page) fn die_units(self, geometry: &Geometry) -> u64 {
        let of_die = u64::from(geometry.planes_per_die) * u64::from(geometry.units_per_block());
        if self.are_on() { of_die } else { 0 }
    }

    /// Dies of the stripes that a die is in.
    fn around(self, die: Die) -> impl Iterator<Item = Die> {
        let first = die.0 / self.dies * self.dies;
        (first..first + self.dies).map(Die)
    }
}

impl PageFtl {
    /// Whether the next row of an open frontier is the parity of its stripe: all other dies have
    /// the row, or will never have it, and one has it at least.
    #[inline]
    pub(in crate::ftl::page) fn is_stripe_parity(&self, index: usize, die: Die) -> bool {
        let page = self.frontiers[index].page;
        let others = || self.beside(index, die);
        // A closed one stands behind its last page, or at the first one if it has none.
        others().all(|frontier| frontier.page > page || !frontier.open)
            && others().any(|frontier| frontier.page > page)
    }

    /// Whether a frontier at its first row keeps back, so that its die has the parity of its
    /// superblock: other dies are to begin first.
    #[inline]
    pub(in crate::ftl::page) fn keeps_back(&self, index: usize, die: Die) -> bool {
        self.stripes.are_on()
            && self.frontiers[index].page == 0
            && self.parity_die(index, die) == die
            && self.beside(index, die).any(|frontier| frontier.page == 0 && frontier.open)
    }

    /// Die that begins last in the superblock that a frontier of a die writes to: another one for
    /// each block of the first die.
    fn parity_die(&self, index: usize, die: Die) -> Die {
        let first = die.0 / self.stripes.dies * self.stripes.dies;
        let block = self.frontiers[self.at_die(index, die, Die(first))].blocks[0];
        Die(first + block.0 % self.stripes.dies)
    }

    /// Index of the frontier of another die that writes to the same superblock as that of `die`.
    fn at_die(&self, index: usize, die: Die, other: Die) -> usize {
        let per_die = ((self.streams + 2) * self.groups) as usize;
        index - die.0 as usize * per_die + other.0 as usize * per_die
    }

    /// Frontiers of a stream on the other dies of the stripes that a die is in.
    fn beside(&self, index: usize, die: Die) -> impl Iterator<Item = &Frontier> {
        let others = self.stripes.around(die).filter(move |&other| other != die);
        others.map(move |other| &self.frontiers[self.at_die(index, die, other)])
    }

    /// Units that parity will take of the open blocks of a stream: a row for each one that is not
    /// whole yet.
    pub(in crate::ftl::page) fn parity_ahead(&self, stream: u32) -> u64 {
        if !self.stripes.are_on() {
            return 0;
        }
        let rows = |page: u32| (self.geometry.pages_per_block - page) / self.pages_per_program;
        let mut ahead = 0;
        for first in (0..self.geometry.dies).step_by(self.stripes.dies as usize).map(Die) {
            for group in 0..self.groups {
                let of_dies = self.stripes.around(first);
                let all =
                    of_dies.map(|die| &self.frontiers[self.frontier_index(die, stream, group)]);
                let most = all.filter(|frontier| frontier.open).map(|frontier| rows(frontier.page));
                ahead += u64::from(most.max().unwrap_or(0)) * u64::from(self.row_units);
            }
        }
        ahead
    }
}
