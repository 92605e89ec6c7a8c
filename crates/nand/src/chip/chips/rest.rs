//! Rest of blocks between cycles: the wear that cells recover from while they rest.
//!
//! With `chip.cell.wear.recovery` each cycle wears a block less, the longer ago its last erase is
//! ([`Cell::wear_of_rest`](crate::cell::Cell::wear_of_rest)). The state of a block then holds the
//! cycles without a rest that wear as much, which times and errors go by; the cycles are counted
//! here. Cells of a drive that do not recover have no such table.

use super::Chips;
use crate::chip::geometry::Block;
use base::Result;
use base::archive::Archive;
use base::units::Hours;
use bytemuck::{Pod, Zeroable};

/// Cycles of a block, and when the last one ended.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Rested {
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Age of the device at the last erase, in minutes.
    pub erased: u32,
    /// Cycles without a rest that wear as much.
    pub worn: f64,
}

impl Rested {
    /// Creates a block that was erased at the age `erased` of the device, after `pe_cycles` cycles
    /// without a rest.
    pub fn new(pe_cycles: u32, erased: u32) -> Self {
        Self { pe_cycles, erased, worn: f64::from(pe_cycles) }
    }
}

impl Chips {
    /// Ends a cycle of a block by an erase: its wear follows from the time since the one before.
    /// Returns the cycles without a rest that wear as the block has.
    #[cold]
    pub(super) fn end_cycle(&mut self, block: Block) -> u32 {
        let minutes = self.age.minutes();
        let erased = self.rested[block.0 as usize].erased;
        let rest = Hours(f64::from(minutes.saturating_sub(erased)) / 60.0);
        self.rested[block.0 as usize].erased = minutes;
        self.add_rested(block, 1, rest)
    }

    /// Adds cycles with a rest of `rest`, at the temperature of the drive, after each. Returns the
    /// cycles without a rest that wear as the block has.
    pub(super) fn add_rested(&mut self, block: Block, cycles: u32, rest: Hours) -> u32 {
        let each = self.wear_of_rest(block, rest);
        let rested = &mut self.rested[block.0 as usize];
        rested.pe_cycles = rested.pe_cycles.saturating_add(cycles);
        rested.worn += each * f64::from(cycles);
        rested.worn.round() as u32
    }

    /// Wear of a cycle of a block with a rest of `rest` after it, at the temperature of the drive,
    /// as a multiple of that without a rest.
    pub fn wear_of_rest(&self, block: Block, rest: Hours) -> f64 {
        let kind = self.kinds.of(block);
        kind.resting.as_ref().map_or(1.0, |cell| cell.wear_of_rest(rest.0 * kind.retention.pace))
    }

    /// Program/erase cycles without a rest that wear as those of a block have: its cycles, where
    /// cells do not recover.
    #[inline]
    pub fn worn_cycles(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].pe_cycles
    }

    /// Saves or loads the rests of blocks.
    pub(super) fn exchange_rested(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        // Whether there are any follows from the cells, which a saved drive keeps.
        if self.rested.is_empty() { Ok(()) } else { archive.table(&mut self.rested) }
    }
}
