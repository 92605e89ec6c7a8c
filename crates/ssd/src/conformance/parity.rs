//! Parity over dies in an account of an FTL: the pages of a stripe are on different dies, at one
//! place of their blocks, and were handed out.

use super::tally::{Tally, hold};
use crate::ftl::contract::Parity;
use base::Result;
use nand::geometry::{Block, Die, Ppn};
use std::ops::Range;

impl Tally {
    fn parity_part(&self) -> &dyn Parity {
        self.ftl.parity().expect("parity is named among the parts")
    }

    /// Holds the pages that are to stand in one stripe with `place` against the account. Pages of
    /// the map have copies anywhere on other dies.
    pub(super) fn check_stripe(&self, place: Ppn, is_data: bool) -> Result<()> {
        let mut others = Vec::new();
        if self.parity_part().others(place, &mut others) == 0 {
            return Ok(());
        }
        let (block, page) = self.geometry.page_of(place);
        let mut dies = vec![self.geometry.die_of(block)];
        for other in others {
            let (other, same) = self.geometry.page_of(other);
            let die = self.geometry.die_of(other);
            let is_there = !is_data || same == page;
            hold!(is_there && !dies.contains(&die), "a stripe of {place:?} has {other:?} too");
            let pages = self.blocks[other.0 as usize].pages;
            hold!(pages > same, "page {same} of {other:?}, with {pages}, is in a stripe");
            dies.push(die);
        }
        Ok(())
    }
}

impl Parity for Tally {
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> u32 {
        self.parity_part().others(place, others)
    }

    fn stripe(&self, die: Die, tag: u64) -> Option<Range<u32>> {
        self.parity_part().stripe(die, tag)
    }

    fn can_lose(&self, die: Die) -> Result<()> {
        self.parity_part().can_lose(die)
    }

    fn lose(&mut self, die: Die) {
        self.ftl.parity_mut().expect("parity is named among the parts").lose(die);
    }

    fn rest_rebuild(&mut self, rests: bool) {
        self.ftl.parity_mut().expect("parity is named among the parts").rest_rebuild(rests);
    }

    fn ask_whole(&mut self) {
        self.ftl.parity_mut().expect("parity is named among the parts").ask_whole();
    }

    fn is_whole(&self) -> bool {
        self.parity_part().is_whole()
    }

    fn takes_rows(&self, block: Block) -> bool {
        self.parity_part().takes_rows(block)
    }

    fn holds_data(&self, die: Die) -> bool {
        self.parity_part().holds_data(die)
    }
}
