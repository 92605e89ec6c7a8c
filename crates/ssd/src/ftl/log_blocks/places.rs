//! Places of all units that are newer than the data block of their logical block: in log blocks,
//! or in what a merge has copied so far.

use crate::ftl::blocks::pool::{Pool, Virtual};
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::Ppn;

/// The page maps of all log blocks in one table, and the valid units of each virtual block in it.
#[derive(Clone)]
pub(super) struct Places {
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
    pub(super) fn new(units: u32, blocks: u32) -> Self {
        Self { map: vec![Ppn::NONE.0; units as usize], live: vec![0; blocks as usize] }
    }

    /// Where a unit is, if not in a data block.
    #[inline]
    pub(super) fn at(&self, unit: u32) -> Option<Ppn> {
        let ppn = self.map[unit as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    /// Valid units of a virtual block.
    #[inline]
    pub(super) fn live(&self, of: Virtual) -> u32 {
        self.live[of as usize]
    }

    /// A unit lies in this virtual block from now on.
    #[inline]
    pub(super) fn set(&mut self, pool: &Pool, unit: u32, ppn: Ppn, of: Virtual) {
        self.clear(pool, unit);
        self.map[unit as usize] = ppn.0;
        self.live[of as usize] += 1;
    }

    /// A unit lies in none of them any more.
    #[inline]
    pub(super) fn clear(&mut self, pool: &Pool, unit: u32) {
        let old = std::mem::replace(&mut self.map[unit as usize], Ppn::NONE.0);
        if old != Ppn::NONE.0 {
            self.live[pool.of(Ppn(old)) as usize] -= 1;
        }
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.map.len() + self.live.len())
    }
}
