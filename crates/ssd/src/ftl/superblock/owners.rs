//! Owners: the unit that was placed at each position of each virtual block.
//!
//! A drive has this in the spare areas of its pages: collection reads it with the page.

use crate::ftl::blocks::pool::{NONE, Virtual};
use base::Result;
use base::archive::{Archive, State};

/// Units placed at all positions. Owners from before the erase of a virtual block are still here: a
/// unit is where its map says.
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
    /// Creates the table for `blocks` virtual blocks of `units` units.
    pub(super) fn new(blocks: u32, units: u32) -> Self {
        Self { units: units as usize, of: vec![NONE; blocks as usize * units as usize] }
    }

    /// Unit that was last placed at a position.
    #[inline]
    pub(super) fn at(&self, block: Virtual, position: u32) -> u32 {
        self.of[block as usize * self.units + position as usize]
    }

    /// Notes the unit that is placed at a position.
    #[inline]
    pub(super) fn set(&mut self, block: Virtual, position: u32, unit: u32) {
        self.of[block as usize * self.units + position as usize] = unit;
    }

    /// Bytes of the table of owners.
    pub(super) fn bytes(&self) -> usize {
        4 * self.of.len()
    }
}
