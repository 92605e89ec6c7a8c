//! Contents of the flash at start-up: the newest data of each unit, and the state of each block.

use super::dump::Dump;
use super::stripes::Stripes;
use super::trims::Trims;
use crate::terms::Lpn;
use nand::chip::{Chips, Oob, Owned};
use nand::geometry::{Block, Geometry, Ppn};
use std::ops::Range;

/// Part of the flash that an FTL knows: its first block, and the drive's numbers of its units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// First block of the part.
    pub first_block: u32,
    /// Logical units of the part.
    pub units: Range<u32>,
    /// Pages of its map, which the part counts behind its logical units.
    pub pages: Range<u32>,
}

impl Part {
    /// Number that the part gives a unit of the drive; `None` for a unit of another part.
    pub fn inside(&self, lpn: u32) -> Option<u32> {
        let Self { units, pages, .. } = self;
        if units.contains(&lpn) {
            Some(lpn - units.start)
        } else if pages.contains(&lpn) {
            Some(lpn - pages.start + units.len() as u32)
        } else {
            None
        }
    }
}

/// The flash, as the spare areas of its pages tell of it.
pub struct Found<'a> {
    chips: &'a Chips,
    geometry: Geometry,
    part: Part,
    /// By block: whether it belongs to the FTL.
    is_ours: Vec<bool>,
    /// By unit: the number of its newest data; 0 without data.
    newest: Vec<u64>,
    /// Words that the FTL had in protected memory.
    words: &'a [u64],
    /// Pages of failed dies that are found or not.
    stripes: &'a Stripes,
}

impl<'a> Found<'a> {
    /// Collects the contents of `chips` for a drive of `logical_units` units, with these trims and
    /// the dump of its buffer. `log` blocks are not the FTL's, and `stripes` lack what was on
    /// failed dies and follows from nothing.
    pub(crate) fn new(
        chips: &'a Chips,
        logical_units: u32,
        (trims, dump): (&Trims, &'a Dump),
        log: impl Iterator<Item = Block>,
        stripes: &'a Stripes,
    ) -> Self {
        let mut is_ours = vec![true; chips.geometry.blocks() as usize];
        log.for_each(|block| is_ours[block.0 as usize] = false);
        let geometry = chips.geometry.clone();
        let part = Part { first_block: 0, units: 0..u32::MAX, pages: 0..0 };
        let words = &dump.words;
        let newest = Vec::new();
        let mut found = Self { chips, geometry, part, is_ours, newest, words, stripes };
        let mut newest = vec![0; logical_units as usize];
        for block in found.blocks() {
            for (_, Oob { unit: Owned { owner, sequence, .. }, .. }) in found.units(block) {
                if owner as usize >= newest.len() {
                    newest.resize(owner as usize + 1, 0);
                }
                let newest = &mut newest[owner as usize];
                *newest = sequence.max(*newest);
            }
        }
        for (newest, trimmed) in newest.iter_mut().zip(trims.newest(logical_units)) {
            if trimmed > *newest {
                *newest = 0;
            }
        }
        for dumped in &dump.units {
            // The buffer held the newest data.
            newest[dumped.unit as usize] = dumped.sequence;
        }
        found.newest = newest;
        found
    }

    /// Contents of the dies that `geometry` has, from the first block of `part` on, by the part's
    /// own numbers of blocks and units. `words` are those of the part's FTL.
    pub(crate) fn of(&self, part: Part, geometry: &Geometry, words: &'a [u64]) -> Self {
        let first = part.first_block as usize;
        let is_ours = self.is_ours[first..first + geometry.blocks() as usize].to_vec();
        let units = part.units.clone().chain(part.pages.clone());
        let newest = units.map(|unit| self.newest(Lpn(unit))).collect();
        let (chips, geometry, stripes) = (self.chips, geometry.clone(), self.stripes);
        Self { chips, geometry, part, is_ours, newest, words, stripes }
    }

    /// The drive's name of a block.
    fn outside(&self, block: Block) -> Block {
        Block(self.part.first_block + block.0)
    }

    /// The out-of-band data of a unit's place, with the part's name of the unit.
    fn named(&self, mut oob: Oob) -> Option<Oob> {
        if oob.unit.owner != Owned::PADDING.owner {
            oob.unit.owner = self.part.inside(oob.unit.owner)?;
        }
        Some(oob)
    }

    /// Number of the newest data of a unit; 0 without data, or if they were trimmed.
    pub fn newest(&self, lpn: Lpn) -> u64 {
        self.newest.get(lpn.0 as usize).copied().unwrap_or(0)
    }

    /// Numbers of the newest data of all units, as [`newest`](Self::newest) tells them.
    pub(crate) fn newest_of_all(self) -> Vec<u64> {
        self.newest
    }

    /// Words of the FTL that the drive has dumped at the power cut
    /// ([`protected`](crate::ftl::contract::Recovery::protected)).
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Layout of the flash.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Blocks that an FTL may use, bad ones included.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<'a> {
        let is_ours = self.is_ours.clone();
        let blocks = (0..self.geometry.blocks()).map(Block);
        blocks.filter(move |block| is_ours[block.0 as usize])
    }

    /// Pages of a block that have been programmed since its erase.
    pub fn pages(&self, block: Block) -> u32 {
        self.chips.programmed_pages(self.outside(block))
    }

    /// Cycles of a block.
    pub fn pe_cycles(&self, block: Block) -> u32 {
        self.chips.pe_cycles(self.outside(block))
    }

    /// Tag that the FTL gave a block; 0 without a tag.
    pub fn tag(&self, block: Block) -> u64 {
        self.chips.tag(self.outside(block))
    }

    /// Stamp of the last program of a block that can be read.
    pub fn last_stamp(&self, block: Block) -> Option<u64> {
        (0..self.pages(block)).rev().find_map(|page| self.chips.stamp(self.outside(block), page))
    }

    /// Units of a block that can be read and are no padding, in the order of their places.
    pub fn units(&self, block: Block) -> impl Iterator<Item = (Ppn, Oob)> {
        let first = self.geometry.ppn(block, 0, 0).0;
        let units = self.pages(block) * self.geometry.units_per_page;
        (first..first + units).map(Ppn).filter_map(move |ppn| {
            let oob = self.oob(ppn)?;
            (oob.unit.owner != Owned::PADDING.owner).then_some((ppn, oob))
        })
    }

    /// Out-of-band data of a unit; `None` where it cannot be read.
    pub fn oob(&self, ppn: Ppn) -> Option<Oob> {
        let place = Ppn(self.geometry.ppn(Block(self.part.first_block), 0, 0).0 + ppn.0);
        let (block, page) = self.chips.geometry.page_of(place);
        if self.stripes.lacks(block, page) {
            return None;
        }
        self.named(self.chips.oob(place)?)
    }

    /// The unit whose newest data are at a place, if there are any.
    pub fn current_at(&self, ppn: Ppn) -> Option<(Lpn, Oob)> {
        let oob = self.oob(ppn)?;
        let Owned { owner, sequence, .. } = oob.unit;
        let newest = self.newest.get(owner as usize)?;
        (*newest == sequence).then_some((Lpn(owner), oob))
    }

    /// Units of a block that hold the newest data of their owner. A unit that was being moved is in
    /// several places.
    pub fn current(&self, block: Block) -> impl Iterator<Item = (Ppn, Lpn, Oob)> {
        self.units(block)
            .filter_map(|(ppn, _)| self.current_at(ppn).map(|(lpn, oob)| (ppn, lpn, oob)))
    }
}

/// Whether a block was written to and nothing in it can be read: it is erased before it is used.
pub(crate) fn is_spoilt(chips: &Chips, block: Block) -> bool {
    let pages = chips.programmed_pages(block);
    pages > 0 && (0..pages).all(|page| chips.stamp(block, page).is_none())
}
