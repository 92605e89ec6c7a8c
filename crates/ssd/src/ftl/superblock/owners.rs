//! Owners: the unit that was placed at each position of each virtual block.
//!
//! A drive has this in the spare areas of its pages: collection reads it with the page.

use crate::ftl::blocks::pool::{NONE, Virtual};
use base::Result;
use base::archive::{Archive, State};

/// The table of all owners. What a virtual block had before its erase is still in it: a unit is
/// where its map says.
#[derive(Clone)]
pub(super) struct Owners {
    units: usize,
    of: Vec<u32>,
}

impl State for Owners {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { units: _, of } = self;
        archive.table(of)
    }
}

impl Owners {
    /// Of so many virtual blocks of so many units.
    pub(super) fn new(blocks: u32, units: u32) -> Self {
        Self { units: units as usize, of: vec![NONE; blocks as usize * units as usize] }
    }

    /// The unit that was last placed at a position.
    #[inline]
    pub(super) fn at(&self, block: Virtual, position: u32) -> u32 {
        self.of[block as usize * self.units + position as usize]
    }

    /// A unit is placed at a position.
    #[inline]
    pub(super) fn set(&mut self, block: Virtual, position: u32, unit: u32) {
        self.of[block as usize * self.units + position as usize] = unit;
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        4 * self.of.len()
    }
}
