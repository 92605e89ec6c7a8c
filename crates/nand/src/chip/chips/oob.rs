//! Out-of-band areas: metadata that each page stores beside its data, for scans of the flash.
//!
//! For each unit its owner and the sequence number of its data; for each program a stamp; for each
//! block the tag that its FTL gave it. They are written when a program completes, and go with the
//! erase. The store is large (12 bytes a unit, 8 a program), so a drive has one only where it asks
//! for it.

use super::Chips;
use super::kinds::Kinds;
use crate::chip::geometry::{Block, Geometry, Ppn};
use crate::chip::mode::BlockMode;
use crate::chip::rules::{BlockFill, PageRules};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;

/// A unit as a program writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    /// Owner: its logical address, or [`Owned::PADDING`].
    pub owner: u32,
    /// When its data were written, counted over the drive. A copy has the number of its data.
    pub sequence: u64,
    /// Its data could not be read when they were moved or completed: a mark stands in their place.
    pub is_lost: bool,
}

impl Owned {
    /// A unit that holds nothing.
    pub const PADDING: Self = Self { owner: u32::MAX, sequence: 0, is_lost: false };
}

/// The out-of-band data of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oob {
    /// The unit.
    pub unit: Owned,
    /// When its program completed, counted over the drive.
    pub stamp: u64,
}

/// No program has completed there.
const NOT_WRITTEN: u64 = u64::MAX;
/// Marks a lost unit, in its sequence number.
const LOST: u64 = 1 << 63;

/// The areas of all pages of a drive.
#[derive(Debug, Clone)]
pub struct OobStore {
    owners: Vec<u32>,
    sequences: Vec<u64>,
    stamps: Vec<u64>,
    /// By block.
    tags: Vec<u64>,
    programs_per_block: u32,
    units_per_page: u32,
}

impl State for OobStore {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { owners, sequences, stamps, tags, programs_per_block: _, units_per_page: _ } =
            self;
        archive.table(owners)?;
        archive.table(sequences)?;
        archive.table(stamps)?;
        archive.table(tags)
    }
}

impl OobStore {
    /// Of erased flash.
    fn new(geometry: &Geometry, kinds: &Kinds) -> Self {
        let programs_per_block = Self::programs(kinds);
        let programs = geometry.blocks() as usize * programs_per_block as usize;
        Self {
            owners: table(geometry.units() as usize, Owned::PADDING.owner),
            sequences: table(geometry.units() as usize, 0),
            stamps: table(programs, NOT_WRITTEN),
            tags: table(geometry.blocks() as usize, 0),
            programs_per_block,
            units_per_page: geometry.units_per_page,
        }
    }

    /// Bytes that it takes.
    fn bytes(geometry: &Geometry, kinds: &Kinds) -> u64 {
        let programs = u64::from(geometry.blocks()) * u64::from(Self::programs(kinds));
        12 * u64::from(geometry.units()) + 8 * (programs + u64::from(geometry.blocks()))
    }

    /// Programs of a block, of the kind and in the mode that has most.
    fn programs(kinds: &Kinds) -> u32 {
        let of = |rules: &PageRules| {
            rules.programs(BlockMode::Native).max(rules.programs(BlockMode::SingleLevel))
        };
        kinds.all().map(|kind| of(&kind.rules)).max().unwrap_or_default()
    }

    fn at(&self, block: Block, program: u32) -> usize {
        block.0 as usize * self.programs_per_block as usize + program as usize
    }

    /// Program number `program` of a block has completed: its `pages` pages hold `units` from
    /// `first` on, and padding behind them.
    pub fn write(
        &mut self,
        (block, program): (Block, u32),
        (first, pages): (Ppn, u32),
        units: &[Owned],
        stamp: u64,
    ) {
        let at = self.at(block, program);
        self.stamps[at] = stamp;
        let places = first.0 as usize..(first.0 + pages * self.units_per_page) as usize;
        let units = units.iter().copied().chain(std::iter::repeat(Owned::PADDING));
        for (place, unit) in places.zip(units) {
            self.owners[place] = unit.owner;
            self.sequences[place] = unit.sequence | if unit.is_lost { LOST } else { 0 };
        }
    }

    /// The tag of a block.
    pub fn tag(&self, block: Block) -> u64 {
        self.tags[block.0 as usize]
    }

    /// Tags a block.
    pub fn set_tag(&mut self, block: Block, tag: u64) {
        self.tags[block.0 as usize] = tag;
    }

    /// When program number `program` of a block completed, if it did and can be read.
    pub fn stamp(&self, block: Block, program: u32) -> Option<u64> {
        let stamp = self.stamps[self.at(block, program)];
        (stamp != NOT_WRITTEN).then_some(stamp)
    }

    /// The out-of-band data of a unit that program number `program` of its block writes; `None`
    /// where none has completed.
    pub fn read(&self, ppn: Ppn, block: Block, program: u32) -> Option<Oob> {
        let stamp = self.stamp(block, program)?;
        let (owner, sequence) = (self.owners[ppn.0 as usize], self.sequences[ppn.0 as usize]);
        let unit = Owned { owner, sequence: sequence & !LOST, is_lost: sequence & LOST != 0 };
        Some(Oob { unit, stamp })
    }

    /// Program number `program` of a block has left nothing that can be read.
    pub fn lose(&mut self, block: Block, program: u32) {
        let at = self.at(block, program);
        self.stamps[at] = NOT_WRITTEN;
    }

    /// The block is erased.
    pub fn erase(&mut self, block: Block) {
        let first = self.at(block, 0);
        self.stamps[first..][..self.programs_per_block as usize].fill(NOT_WRITTEN);
        self.tags[block.0 as usize] = 0;
    }
}

impl Chips {
    /// Keeps out-of-band areas from now on: [`Chips::oob_bytes`] of memory.
    pub fn keep_oob(&mut self) {
        self.oob.get_or_insert_with(|| OobStore::new(&self.geometry, &self.kinds));
    }

    /// Bytes that out-of-band areas take.
    pub fn oob_bytes(&self) -> u64 {
        OobStore::bytes(&self.geometry, &self.kinds)
    }

    /// Writes the out-of-band areas of the program from `page` on, which has completed: its units
    /// in the order of their places, those that are left padding. A tag of 0 leaves that of the
    /// block. Nothing where no areas are kept.
    #[inline]
    pub fn write_oob(&mut self, block: Block, page: u32, units: &[Owned], stamp: u64, tag: u64) {
        let Some(oob) = &mut self.oob else { return };
        let mode = self.blocks[block.0 as usize].fill().mode;
        let rules = &self.kinds.of(block).rules;
        let pages = (self.geometry.ppn(block, page, 0), rules.pages_per_program(mode));
        oob.write((block, rules.program_of(mode, page)), pages, units, stamp);
        if tag != 0 {
            oob.set_tag(block, tag);
        }
    }

    /// What stands beside a unit: nothing where its page has not been programmed to the end, was
    /// torn, or no areas are kept.
    #[inline]
    pub fn oob(&self, ppn: Ppn) -> Option<Oob> {
        let (block, page) = self.geometry.page_of(ppn);
        let BlockFill { mode, next_page } = self.blocks[block.0 as usize].fill();
        if page >= next_page {
            return None;
        }
        self.oob.as_ref()?.read(ppn, block, self.kinds.of(block).rules.program_of(mode, page))
    }

    /// When the program of a page completed, if it did and the page can be read.
    pub fn stamp(&self, block: Block, page: u32) -> Option<u64> {
        let BlockFill { mode, next_page } = self.blocks[block.0 as usize].fill();
        if page >= next_page {
            return None;
        }
        self.oob.as_ref()?.stamp(block, self.kinds.of(block).rules.program_of(mode, page))
    }

    /// The tag of a block, if its areas can be read.
    pub fn tag(&self, block: Block) -> u64 {
        self.oob.as_ref().map_or(0, |oob| oob.tag(block))
    }
}
