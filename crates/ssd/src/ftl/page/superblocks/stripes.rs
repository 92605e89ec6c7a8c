//! Stripes with parity (RAIN) over the dies of a superblock: `parity.pages`.
//!
//! The programs at one row of the open blocks of a stream, one on each die, are a stripe. The last
//! ones that are placed are the parity of the others: the controller has then seen all of them, and
//! nothing waits for the parity of data that have not come. In each superblock other dies begin
//! behind the others, and stay the last of them as long as all are equally fast: so parity is
//! spread over the dies. With m pages of parity any m pages of a stripe follow from the others,
//! whichever of them are the parity. Until the parity of a row is placed, the controller's memory
//! holds it.

use super::Spans;
use crate::ftl::contract::Context;
use crate::ftl::page::{PageFtl, PageParams};
use crate::space::frontier::Frontier;
use base::{Error, Result};
use ecc::stripe::StripeCode;
use nand::geometry::{Die, Geometry};
use std::ops::Range;

/// Stripes of the open blocks: the dies that a stripe has a page of each plane on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ftl::page) struct Stripes {
    /// Dies of a stripe; 0 where there is no parity.
    dies: u32,
    /// Pages of parity in a stripe.
    pages: u32,
    /// Stripes are made whole before they are full of data.
    is_early: bool,
}

impl Stripes {
    /// Stripes over the dies of superblocks, where the drive has parity.
    pub(in crate::ftl::page) fn of(context: &Context, params: &PageParams) -> Result<Self> {
        let (dies, pages) = (Spans::dies_of(params, context.geometry.dies)?, context.parity_pages);
        if pages > 1 && pages >= dies {
            let problem = format!("{pages} pages in stripes over {dies} dies");
            return Err(Error::new("parity.pages", problem)
                .expected("a page of data in each stripe beside those of parity")
                .hint("use a larger ftl.superblock_dies, or fewer pages of parity"));
        }
        if pages > 1 && dies > StripeCode::MOST_PAGES {
            let problem = format!("{pages} pages in stripes over {dies} dies");
            return Err(Error::new("parity.pages", problem)
                .expected(format!("at most {} dies in a superblock", StripeCode::MOST_PAGES))
                .hint("use a smaller ftl.superblock_dies, or one page of parity"));
        }
        let is_early = pages > 0 && context.writes_partial_stripes;
        Ok(Self { dies: if pages > 0 { dies } else { 0 }, pages, is_early })
    }

    /// Whether stripes are made whole before they are full of data.
    pub(super) fn are_written_early(self) -> bool {
        self.is_early
    }

    /// Most rows without data that collection of a superblock brings with it, where `lost` of its
    /// dies have failed, in `groups` groups of joined planes and in `move_streams` streams beside
    /// that of cold data: the last row where data stay with their handle, with its parity, and
    /// where stripes are made whole early the last one of each stream with the rest of its stripe.
    pub(in crate::ftl::page) fn padded_rows(
        self,
        lost: u32,
        keeps_handles: bool,
        move_streams: u32,
        groups: u32,
    ) -> u32 {
        let last = if keeps_handles { 1 + self.pages } else { 0 };
        // Its data go to the stream of cold data or to these: the other one is whole by then.
        let rows = (self.dies - lost) * move_streams.max(1) * groups;
        last + if self.is_early { rows } else { 0 }
    }

    /// Whether there is parity.
    #[inline]
    pub(in crate::ftl::page) fn are_on(self) -> bool {
        self.dies > 0
    }

    /// Pages of parity in a stripe; 0 where there is none.
    pub(in crate::ftl::page) fn pages(self) -> u32 {
        self.pages
    }

    /// Pages of parity in a stripe of `left` pages, where dies have failed: one page at least holds
    /// data.
    pub(super) fn pages_of(self, left: u32) -> u32 {
        self.pages.min(left.saturating_sub(1))
    }

    /// Blocks of a plane of `blocks` that are as large as the parity on it.
    pub(in crate::ftl::page) fn blocks(self, blocks: u32) -> u32 {
        if self.are_on() { (self.pages * blocks).div_ceil(self.dies) } else { 0 }
    }

    /// Units of a superblock on one of its dies; 0 without parity. As many are a page of parity in
    /// all stripes.
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
    /// Whether the next row of an open frontier is parity of its stripe: fewer other dies than the
    /// stripe has pages of parity are still to have the row, and one has it at least.
    #[inline]
    pub(in crate::ftl::page) fn is_stripe_parity(&self, index: usize, die: Die) -> bool {
        let page = self.frontiers[index].page;
        let others = || self.beside(index, die).map(|(_, frontier)| frontier);
        // A closed one stands behind its last page, or at the first one if it has none.
        let waits = |frontier: &&Frontier| frontier.page <= page && frontier.open;
        let most = self.stripes.pages as usize;
        others().filter(waits).take(most).count() < most
            && others().any(|frontier| frontier.page > page)
    }

    /// Whether a frontier at its first row keeps back, so that its die has parity of its
    /// superblock: other dies are to begin first.
    #[inline]
    pub(in crate::ftl::page) fn keeps_back(&self, index: usize, die: Die) -> bool {
        self.stripes.are_on() && self.frontiers[index].page == 0 && {
            let first = self.parity_die(index, die);
            let has_parity = |die: Die| self.is_behind(die, first);
            let is_first = |(other, frontier): (Die, &Frontier)| {
                frontier.page == 0 && frontier.open && !has_parity(other)
            };
            has_parity(die) && self.beside(index, die).any(is_first)
        }
    }

    /// Whether a die is one of those that begin last in a superblock, of which `first` is the
    /// first: as many follow each other as a stripe has pages of parity.
    fn is_behind(&self, die: Die, first: Die) -> bool {
        (die.0 + self.stripes.dies - first.0) % self.stripes.dies < self.stripes.pages
    }

    /// First of the dies that begin last in the superblock that a frontier of a die writes to:
    /// another one for each block of the first die.
    fn parity_die(&self, index: usize, die: Die) -> Die {
        let first = die.0 / self.stripes.dies * self.stripes.dies;
        let block = self.frontiers[self.at_die(index, die, Die(first))].blocks[0];
        Die(first + block.0 % self.stripes.dies)
    }

    /// Index of the frontier of another die that writes to the same superblock as that of `die`.
    fn at_die(&self, index: usize, die: Die, other: Die) -> usize {
        index - self.frontiers_at(die).start + self.frontiers_at(other).start
    }

    /// Frontiers of a stream on the other dies of the stripes that a die is in.
    fn beside(&self, index: usize, die: Die) -> impl Iterator<Item = (Die, &Frontier)> {
        let others = self.stripes.around(die).filter(move |&other| other != die);
        others.map(move |other| (other, &self.frontiers[self.at_die(index, die, other)]))
    }

    /// Rows that a frontier of a die lacks and another die of its stripes has: from its own page to
    /// that one.
    pub(super) fn lacking(&self, index: usize, die: Die) -> Range<u32> {
        let others = self.beside(index, die).map(|(_, frontier)| frontier.page);
        self.frontiers[index].page..others.max().unwrap_or(0)
    }

    /// Units that parity will take of the open blocks of a stream on these dies: in each row that
    /// is not whole yet, as many rows as it lacks, and as stripes have of parity.
    pub(in crate::ftl::page) fn parity_ahead(&self, stream: u32, dies: Range<u32>) -> u64 {
        if !self.stripes.are_on() {
            return 0;
        }
        let rows = |page: u32| (self.geometry.pages_per_block - page) / self.pages_per_program;
        let mut ahead = 0;
        for first in dies.step_by(self.stripes.dies as usize).map(Die) {
            for group in 0..self.groups {
                let of_dies = self.stripes.around(first);
                let all =
                    of_dies.map(|die| &self.frontiers[self.frontier_index(die, stream, group)]);
                let takes_data = all.filter(|frontier| frontier.takes_data());
                let mut left: Vec<u32> = takes_data.map(|frontier| rows(frontier.page)).collect();
                left.sort_unstable_by_key(|&rows| std::cmp::Reverse(rows));
                let parity: u32 = left.iter().take(self.stripes.pages as usize).sum();
                ahead += u64::from(parity) * u64::from(self.row_units);
            }
        }
        ahead
    }
}
