//! Data blocks: the virtual block of each logical block, and the valid units in it.

use crate::ftl::blocks::layout::Layout;
use crate::ftl::blocks::pool::{NONE, Virtual};
use base::Result;
use base::archive::{Archive, State};

/// Block map: the data block of each logical block, and the units that are newest there.
#[derive(Clone)]
pub(super) struct Data {
    /// By logical block: its data block, `NONE` without one.
    of: Vec<Virtual>,
    /// By logical unit: whether its newest data lie in the data block.
    is_newest: Vec<u64>,
    /// By logical block, and by the index of a block in its data block: units whose newest data
    /// lie there.
    newest: Vec<u32>,
    /// Blocks of a virtual block.
    stripe: usize,
}

impl State for Data {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { of, is_newest, newest, stripe: _ } = self;
        archive.table(of)?;
        archive.table(is_newest)?;
        archive.table(newest)
    }
}

impl Data {
    /// Empty tables for a number of logical blocks and units.
    pub(super) fn new(blocks: u32, units: u32, layout: &Layout) -> Self {
        let stripe = layout.stripe as usize;
        Self {
            of: vec![NONE; blocks as usize],
            is_newest: vec![0; units.div_ceil(64) as usize],
            newest: vec![0; blocks as usize * stripe],
            stripe,
        }
    }

    /// The data block of a logical block.
    #[inline]
    pub(super) fn of(&self, block: u32) -> Virtual {
        self.of[block as usize]
    }

    /// Gives a logical block another data block, in which no unit is the newest yet. Returns the
    /// old one.
    pub(super) fn replace(&mut self, block: u32, new: Virtual) -> Option<Virtual> {
        debug_assert!(self.newest(block) == 0);
        let old = std::mem::replace(&mut self.of[block as usize], new);
        (old != NONE).then_some(old)
    }

    /// Units of a logical block whose newest data lie in its data block.
    #[inline]
    pub(super) fn newest(&self, block: u32) -> u32 {
        self.of_blocks(block).iter().sum()
    }

    /// Units of a logical block whose newest data lie in its data block, by the blocks of that.
    #[inline]
    pub(super) fn of_blocks(&self, block: u32) -> &[u32] {
        &self.newest[block as usize * self.stripe..][..self.stripe]
    }

    /// Count of the block that a unit lies in, if it lies in its data block.
    #[inline]
    fn count_of(&mut self, layout: &Layout, unit: u32) -> &mut u32 {
        let (block, offset) = layout.split(unit);
        let (index, _, _) = layout.place(offset);
        &mut self.newest[block as usize * self.stripe + index as usize]
    }

    /// Units whose newest data lie in data blocks.
    pub(super) fn units(&self) -> u64 {
        self.newest.iter().map(|&units| u64::from(units)).sum()
    }

    /// Whether the newest data of a unit lie in its data block.
    #[inline]
    pub(super) fn has(&self, unit: u32) -> bool {
        self.is_newest[unit as usize / 64] >> (unit % 64) & 1 != 0
    }

    /// Notes that the newest data of a unit lie in its data block from now on.
    pub(super) fn add(&mut self, layout: &Layout, unit: u32) {
        if !self.has(unit) {
            *self.count_of(layout, unit) += 1;
            self.is_newest[unit as usize / 64] |= 1 << (unit % 64);
        }
    }

    /// Notes that the newest data of a unit lie elsewhere from now on.
    #[inline]
    pub(super) fn drop(&mut self, layout: &Layout, unit: u32) {
        if self.has(unit) {
            *self.count_of(layout, unit) -= 1;
            self.is_newest[unit as usize / 64] &= !(1 << (unit % 64));
        }
    }

    /// Bytes of the three tables.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.of.len() + self.newest.len()) + 8 * self.is_newest.len()
    }

    /// Offset of the first unit, in a logical block of `size` units from `first` on, whose newest
    /// data lie in the data block.
    pub(super) fn first(&self, first: u32, size: u32) -> Option<u32> {
        (0..size).find(|&offset| self.has(first + offset))
    }
}
