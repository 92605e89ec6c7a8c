//! Out-of-band areas: metadata that each page stores beside its data, for scans of the flash.
//!
//! Each unit has its owner and the sequence number of its data, each program a stamp, and each
//! block the tag that its FTL gave it. The areas are written when a program completes, and the
//! erase clears them. The store is large (12 bytes a unit, 8 a program), so only a drive that asks
//! for it has one.

use super::Chips;
use super::kinds::Kinds;
use crate::chip::geometry::{Block, Geometry, Ppn};
use crate::chip::mode::BlockMode;
use crate::chip::rules::{BlockFill, PageRules};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;

/// Owner and sequence number that a program stores with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    /// Logical address of the data, or the owner of [`Owned::PADDING`].
    pub owner: u32,
    /// Sequence number of the host's write, counted over the drive. A copy keeps that of its data.
    pub sequence: u64,
    /// Whether the data are lost: they could not be read when they were moved or completed, and a
    /// mark stands in their place.
    pub is_lost: bool,
}

impl Owned {
    /// Unit without data, as padding of a program.
    pub const PADDING: Self = Self { owner: u32::MAX, sequence: 0, is_lost: false };
}

/// Out-of-band data of a unit that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oob {
    /// Owner and sequence number of the unit.
    pub unit: Owned,
    /// Number of the program in order of completion, counted over the drive.
    pub stamp: u64,
}

/// Stamp of a program that has not completed.
const NOT_WRITTEN: u64 = u64::MAX;
/// Bit of a sequence number that marks a lost unit.
const LOST: u64 = 1 << 63;

/// Out-of-band areas of all pages of a drive.
#[derive(Debug, Clone)]
pub struct OobStore {
    owners: Vec<u32>,
    sequences: Vec<u64>,
    stamps: Vec<u64>,
    /// Tag of each block; 0 without one.
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
    /// Creates the areas of erased flash.
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

    /// Memory of the areas, in bytes.
    fn bytes(geometry: &Geometry, kinds: &Kinds) -> u64 {
        let programs = u64::from(geometry.blocks()) * u64::from(Self::programs(kinds));
        12 * u64::from(geometry.units()) + 8 * (programs + u64::from(geometry.blocks()))
    }

    /// Programs of a block, in the kind and mode with the most.
    fn programs(kinds: &Kinds) -> u32 {
        let of = |rules: &PageRules| {
            rules.programs(BlockMode::Native).max(rules.programs(BlockMode::SingleLevel))
        };
        kinds.all().map(|kind| of(&kind.rules)).max().unwrap_or_default()
    }

    fn at(&self, block: Block, program: u32) -> usize {
        block.0 as usize * self.programs_per_block as usize + program as usize
    }

    /// Writes the areas of a completed program, number `program` of its block. Its `pages` pages
    /// hold `units` from `first` on, and padding behind them.
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

    /// Tag of a block; 0 without one.
    pub fn tag(&self, block: Block) -> u64 {
        self.tags[block.0 as usize]
    }

    /// Sets the tag of a block.
    pub fn set_tag(&mut self, block: Block, tag: u64) {
        self.tags[block.0 as usize] = tag;
    }

    /// Stamp of program number `program` of a block, if it completed and can be read.
    pub fn stamp(&self, block: Block, program: u32) -> Option<u64> {
        let stamp = self.stamps[self.at(block, program)];
        (stamp != NOT_WRITTEN).then_some(stamp)
    }

    /// Out-of-band data of a unit that program number `program` of its block writes; `None` unless
    /// the program has completed.
    pub fn read(&self, ppn: Ppn, block: Block, program: u32) -> Option<Oob> {
        let stamp = self.stamp(block, program)?;
        let (owner, sequence) = (self.owners[ppn.0 as usize], self.sequences[ppn.0 as usize]);
        let unit = Owned { owner, sequence: sequence & !LOST, is_lost: sequence & LOST != 0 };
        Some(Oob { unit, stamp })
    }

    /// Clears the stamp of program number `program` of a block, whose pages cannot be read.
    pub fn lose(&mut self, block: Block, program: u32) {
        let at = self.at(block, program);
        self.stamps[at] = NOT_WRITTEN;
    }

    /// Clears the areas of a block that is erased.
    pub fn erase(&mut self, block: Block) {
        let first = self.at(block, 0);
        self.stamps[first..][..self.programs_per_block as usize].fill(NOT_WRITTEN);
        self.tags[block.0 as usize] = 0;
    }
}

impl Chips {
    /// Keeps out-of-band areas from now on, in [`Chips::oob_bytes`] of memory.
    pub fn keep_oob(&mut self) {
        self.oob.get_or_insert_with(|| OobStore::new(&self.geometry, &self.kinds));
    }

    /// Memory that out-of-band areas take, in bytes.
    pub fn oob_bytes(&self) -> u64 {
        OobStore::bytes(&self.geometry, &self.kinds)
    }

    /// Writes the out-of-band areas of the completed program from `page` on. `units` are in the
    /// order of their slots, and units beyond them are padding. A `tag` of 0 keeps the tag of the
    /// block. Without areas nothing happens.
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

    /// Out-of-band data of a unit; `None` if no program of its page has completed, if the page is
    /// torn, or without areas.
    #[inline]
    pub fn oob(&self, ppn: Ppn) -> Option<Oob> {
        let (block, page) = self.geometry.page_of(ppn);
        let BlockFill { mode, next_page } = self.blocks[block.0 as usize].fill();
        if page >= next_page {
            return None;
        }
        self.oob.as_ref()?.read(ppn, block, self.kinds.of(block).rules.program_of(mode, page))
    }

    /// Stamp of the program of a page, if it completed and the page can be read.
    pub fn stamp(&self, block: Block, page: u32) -> Option<u64> {
        let BlockFill { mode, next_page } = self.blocks[block.0 as usize].fill();
        if page >= next_page {
            return None;
        }
        self.oob.as_ref()?.stamp(block, self.kinds.of(block).rules.program_of(mode, page))
    }

    /// Tag of a block; 0 without one or without areas.
    pub fn tag(&self, block: Block) -> u64 {
        self.oob.as_ref().map_or(0, |oob| oob.tag(block))
    }
}
