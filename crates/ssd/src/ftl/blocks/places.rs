//! Places of units that may be anywhere in a virtual block: those of log blocks, of what a merge
//! has copied so far, or of a superblock.

use super::pool::{Pool, Virtual};
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::Ppn;

/// Their page maps in one table, and the valid units of each virtual block in it.
#[derive(Clone)]
pub struct Places {
    /// By logical unit.
    map: Vec<u32>,
    /// By virtual block.
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

    /// Where a unit is, if it is in one of them.
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

    /// A unit lies in this virtual block from now on: whether nothing valid is left where it was.
    #[inline]
    pub fn set(&mut self, pool: &Pool, unit: u32, ppn: Ppn, of: Virtual) -> bool {
        let is_last = self.clear(pool, unit);
        self.map[unit as usize] = ppn.0;
        self.live[of as usize] += 1;
        is_last
    }

    /// A unit lies in none of them any more: whether nothing valid is left where it was.
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

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        4 * (self.map.len() + self.live.len())
    }
}
