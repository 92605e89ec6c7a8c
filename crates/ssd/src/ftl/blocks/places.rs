//! Places of units that may be anywhere in a virtual block: those of log blocks, of what a merge
//! has copied so far, or of a superblock.

use super::pool::{Pool, Virtual};
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Ppn};

/// Page map of these units in one table, with the number of valid units in each physical block.
#[derive(Clone)]
pub struct Places {
    /// By logical unit: its place, [`Ppn::NONE`] without one.
    map: Vec<u32>,
    /// By virtual block, and by the index of a block in it: valid units there.
    valid: Vec<u32>,
    /// Blocks of a virtual block.
    stripe: usize,
}

impl State for Places {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { map, valid, stripe: _ } = self;
        archive.table(map)?;
        archive.table(valid)
    }
}

impl Places {
    /// Empty tables for a number of logical units and the virtual blocks of a pool.
    pub fn new(units: u32, pool: &Pool) -> Self {
        let stripe = pool.layout.stripe as usize;
        let blocks = pool.virtual_blocks() as usize * stripe;
        Self { map: vec![Ppn::NONE.0; units as usize], valid: vec![0; blocks], stripe }
    }

    /// Place of a unit, if the table has one.
    #[inline]
    pub fn at(&self, unit: u32) -> Option<Ppn> {
        let ppn = self.map[unit as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    /// Valid units of a virtual block.
    #[inline]
    pub fn live(&self, of: Virtual) -> u32 {
        self.of_blocks(of).iter().sum()
    }

    /// Valid units of each block of a virtual block.
    #[inline]
    pub fn of_blocks(&self, of: Virtual) -> &[u32] {
        &self.valid[of as usize * self.stripe..][..self.stripe]
    }

    /// Valid units of a physical block.
    pub fn of_block(&self, pool: &Pool, block: Block) -> u32 {
        pool.home(block).map_or(0, |(of, index)| self.of_blocks(of)[index as usize])
    }

    /// Units that the table has a place of.
    pub fn units(&self) -> u64 {
        self.valid.iter().map(|&units| u64::from(units)).sum()
    }

    /// Puts a unit at a place. True if the virtual block that it has left holds nothing valid any
    /// more.
    #[inline]
    pub fn set(&mut self, pool: &Pool, unit: u32, ppn: Ppn) -> bool {
        let is_last = self.clear(pool, unit);
        self.map[unit as usize] = ppn.0;
        self.valid[pool.place_of(ppn) as usize] += 1;
        is_last
    }

    /// Takes a unit out of the table. True if the virtual block that it has left holds nothing
    /// valid any more.
    #[inline]
    pub fn clear(&mut self, pool: &Pool, unit: u32) -> bool {
        let old = std::mem::replace(&mut self.map[unit as usize], Ppn::NONE.0);
        if old == Ppn::NONE.0 {
            return false;
        }
        let place = pool.place_of(Ppn(old));
        let valid = &mut self.valid[place as usize];
        *valid -= 1;
        *valid == 0 && self.live(place / pool.layout.stripe) == 0
    }

    /// Bytes of both tables in memory.
    pub fn bytes(&self) -> usize {
        4 * (self.map.len() + self.valid.len())
    }
}
