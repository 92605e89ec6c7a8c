//! Out-of-band areas: metadata that each page stores beside its data, for scans of the flash.
//!
//! An owner for each unit, and a sequence number for each program. They are written when a program
//! completes, and go with the erase. The store is large (4 bytes a unit, 8 a program), so a drive
//! has one only where it asks for it.

use super::geometry::{Block, Geometry, Ppn};
use super::mode::BlockMode;
use super::rules::PageRules;
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;

/// What stands beside a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oob {
    /// Whom the unit belongs to: its logical address, or [`Oob::PADDING`].
    pub owner: u32,
    /// When its program was issued, counted over the drive.
    pub sequence: u64,
}

impl Oob {
    /// The owner of a unit that holds nothing.
    pub const PADDING: u32 = u32::MAX;
}

/// No program has completed there.
const NOT_WRITTEN: u64 = u64::MAX;

/// The areas of all pages of a drive.
#[derive(Debug, Clone)]
pub struct OobStore {
    owners: Vec<u32>,
    sequences: Vec<u64>,
    programs_per_block: u32,
    units_per_page: u32,
}

impl State for OobStore {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { owners, sequences, programs_per_block: _, units_per_page: _ } = self;
        archive.table(owners)?;
        archive.table(sequences)
    }
}

impl OobStore {
    /// Of erased flash.
    pub fn new(geometry: &Geometry, rules: &PageRules) -> Self {
        let programs_per_block = Self::programs(rules);
        let programs = geometry.blocks() as usize * programs_per_block as usize;
        Self {
            owners: table(geometry.units() as usize, Oob::PADDING),
            sequences: table(programs, NOT_WRITTEN),
            programs_per_block,
            units_per_page: geometry.units_per_page,
        }
    }

    /// Bytes that it takes.
    pub fn bytes(geometry: &Geometry, rules: &PageRules) -> u64 {
        let programs = u64::from(geometry.blocks()) * u64::from(Self::programs(rules));
        4 * u64::from(geometry.units()) + 8 * programs
    }

    /// Programs of a block, in the mode that has more.
    fn programs(rules: &PageRules) -> u32 {
        [BlockMode::Native, BlockMode::SingleLevel].map(|mode| rules.programs(mode))[..]
            .iter()
            .copied()
            .max()
            .unwrap_or_default()
    }

    fn at(&self, block: Block, program: u32) -> usize {
        block.0 as usize * self.programs_per_block as usize + program as usize
    }

    /// Program number `program` of a block has completed: units from `first` on belong to `owners`,
    /// and those that are left of its `pages` pages to nobody.
    pub fn write(
        &mut self,
        (block, program): (Block, u32),
        (first, pages): (Ppn, u32),
        owners: &[u32],
        sequence: u64,
    ) {
        let at = self.at(block, program);
        self.sequences[at] = sequence;
        let units = (pages * self.units_per_page) as usize;
        let places = &mut self.owners[first.0 as usize..][..units];
        let (owned, padding) = places.split_at_mut(owners.len().min(units));
        owned.copy_from_slice(&owners[..owned.len()]);
        padding.fill(Oob::PADDING);
    }

    /// What stands beside a unit that program number `program` of its block writes; nothing where
    /// none has completed.
    pub fn read(&self, ppn: Ppn, block: Block, program: u32) -> Option<Oob> {
        let sequence = self.sequences[self.at(block, program)];
        let owner = self.owners[ppn.0 as usize];
        (sequence != NOT_WRITTEN).then_some(Oob { owner, sequence })
    }

    /// Program number `program` of a block has left nothing that can be read.
    pub fn lose(&mut self, block: Block, program: u32) {
        let at = self.at(block, program);
        self.sequences[at] = NOT_WRITTEN;
    }

    /// The block is erased.
    pub fn erase(&mut self, block: Block) {
        let first = self.at(block, 0);
        self.sequences[first..][..self.programs_per_block as usize].fill(NOT_WRITTEN);
    }
}
