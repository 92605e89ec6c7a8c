//! Stripes with parity (RAIN) over the dies of a superblock: `parity.pages`.
//!
//! The programs at one row of the open blocks of a stream, one on each die, are a stripe. The last
//! one that is placed is the parity of the others: the controller has then seen all of them, and
//! nothing waits for the parity of data that have not come. For each row another die keeps back, so
//! that the parity of a superblock is spread over its dies. Any page of a stripe follows from all
//! others, whichever of them is the parity. Until the parity of a row is placed, the controller's
//! memory holds it.

use crate::ftl::page::PageFtl;
use nand::geometry::{Die, Geometry};

/// Stripes of the open blocks: the dies that a stripe has a page of each plane on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl::page) struct Stripes {
    /// Dies of a stripe; 0 where there is no parity.
    dies: u32,
}

impl Stripes {
    /// Stripes of a drive without parity: there are none.
    pub(in crate::ftl::page) const NONE: Self = Self { dies: 0 };

    /// Creates stripes over groups of `dies` dies that follow each other.
    pub(in crate::ftl::page) fn over(dies: u32) -> Self {
        Self { dies }
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

/// State of the stripe of the next row of an open frontier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Data can be placed.
    Data,
    /// Other dies are to have the row first: this one is for the parity.
    Waits,
    /// All other dies have the row: its parity comes next.
    Parity,
}

impl PageFtl {
    /// Whether the next row of an open frontier is the parity of its stripe.
    #[inline]
    pub(in crate::ftl::page) fn is_stripe_parity(&self, index: usize, die: Die) -> bool {
        self.turn_of(index, die) == Turn::Parity
    }

    /// Whether an open frontier keeps back: its next row is to be the parity of data that other
    /// dies do not have yet. One of the open frontiers of a stripe never does.
    #[inline]
    pub(in crate::ftl::page) fn keeps_back(&self, index: usize, die: Die) -> bool {
        self.stripes.are_on() && self.turn_of(index, die) == Turn::Waits
    }

    fn turn_of(&self, index: usize, die: Die) -> Turn {
        let page = self.frontiers[index].page;
        let per_die = ((self.streams + 2) * self.groups) as usize;
        let of_die = index - die.0 as usize * per_die;
        let (mut all_have_it, mut any_has_it) = (true, false);
        for other in self.stripes.around(die).filter(|&other| other != die) {
            let frontier = &self.frontiers[other.0 as usize * per_die + of_die];
            // A closed one stands behind its last page, or at the first one if it has none.
            any_has_it |= frontier.page > page;
            all_have_it &= frontier.page > page || !frontier.open;
        }
        let row = page / self.pages_per_program;
        if all_have_it {
            if any_has_it { Turn::Parity } else { Turn::Data }
        } else if row % self.stripes.dies == die.0 % self.stripes.dies {
            Turn::Waits
        } else {
            Turn::Data
        }
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
