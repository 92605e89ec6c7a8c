//! Places of units that may be anywhere in a virtual block: those of log blocks, of what a merge
//! has copied so far, or of a superblock.

use super::pool::{Pool, Virtual};
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::Ppn;

/// Page map of these units in one table, with the number of valid units in each virtual block.
#[derive(Clone)]
pub struct Places {
    /// By logical unit: its place, [`Ppn::NONE`] without one.
    map: Vec<u32>,
    /// By virtual block: valid units in it.
    live: Vec<u32>,
}

impl State for Places {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { map, live } = self;
        archive.table(map)?;
        archive.table(live)
    }
}

impl Places {
    /// Empty tables for a number of logical units and virtual blocks.
    pub fn new(units: u32, blocks: u32) -> Self {
        Self { map: vec![Ppn::NONE.0; units as usize], live: vec![0; blocks as usize] }
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
        self.live[of as usize]
    }

    /// Units that the table has a place of.
    pub fn units(&self) -> u64 {
        self.live.iter().map(|&units| u64::from(units)).sum()
    }

    /// Puts a unit at a place in a virtual block. True if the virtual block that it has left holds
    /// nothing valid any more.
    #[inline]
    pub fn set(&mut self, pool: &Pool, unit: u32, ppn: Ppn, of: Virtual) -> bool {
        let is_last = self.clear(pool, unit);
        self.map[unit as usize] = ppn.0;
        self.live[of as usize] += 1;
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
        let live = &mut self.live[pool.of(Ppn(old)) as usize];
        *live -= 1;
        *live == 0
    }

    /// Bytes of both tables in memory.
    pub fn bytes(&self) -> usize {
        4 * (self.map.len() + self.live.len())
    }
}
