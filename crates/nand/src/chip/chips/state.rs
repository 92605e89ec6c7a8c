//! State of a block of a drive, in sixteen bytes: a random read touches one cache line.

use crate::chip::mode::BlockMode;
use crate::chip::rules::BlockFill;
use bytemuck::{Pod, Zeroable};

/// Wear, reads, fill and age of a block.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct BlockState {
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Page reads since the erase.
    pub reads: u32,
    /// From the lowest bit: pages programmed since the erase (17 bits), pages that hold data from
    /// before the run (17), age of the device at the first program since the erase in minutes (26),
    /// the mode (3), and whether a power cut has left pages that cannot be read.
    packed: u64,
}

const PAGES: u64 = (1 << 17) - 1;
const AGED: u32 = 17;
const BORN: u32 = 34;
const MINUTES: u64 = (1 << 26) - 1;
const MODE: u32 = 60;
const MODES: u64 = 7;
const TORN: u64 = 1 << 63;

impl BlockState {
    /// Creates the state of an erased block after `pe_cycles` cycles.
    #[inline]
    pub fn erased(pe_cycles: u32) -> Self {
        Self { pe_cycles, ..Self::default() }
    }

    /// Mode of the block, and how far it is programmed.
    #[inline]
    pub fn fill(&self) -> BlockFill {
        let mode = match self.packed >> MODE & MODES {
            0 => BlockMode::Native,
            1 => BlockMode::Coded,
            2 => BlockMode::SingleLevel,
            3 => BlockMode::Recoded,
            _ => BlockMode::Reduced,
        };
        BlockFill { next_page: (self.packed & PAGES) as u32, mode }
    }

    /// Sets the mode of the block, and how far it is programmed.
    #[inline]
    pub fn set_fill(&mut self, fill: BlockFill) {
        let rest = self.packed & !(PAGES | MODES << MODE);
        self.packed = rest | u64::from(fill.next_page) & PAGES | (fill.mode as u64) << MODE;
    }

    /// Number of pages that hold data from before the run: the first ones.
    #[inline]
    pub fn aged_pages(&self) -> u32 {
        (self.packed >> AGED & PAGES) as u32
    }

    /// Sets the number of pages that hold data from before the run.
    #[inline]
    pub fn set_aged_pages(&mut self, pages: u32) {
        self.packed = self.packed & !(PAGES << AGED) | (u64::from(pages) & PAGES) << AGED;
    }

    /// Age of the device at the first program since the erase, in minutes.
    #[inline]
    pub fn born(&self) -> u32 {
        (self.packed >> BORN & MINUTES) as u32
    }

    /// Sets the age of the device at the first program; it is limited to 127 years.
    #[inline]
    pub fn set_born(&mut self, minutes: u32) {
        self.packed = self.packed & !(MINUTES << BORN) | u64::from(minutes).min(MINUTES) << BORN;
    }

    /// Whether a power cut has left pages that cannot be read.
    #[inline]
    pub fn is_torn(&self) -> bool {
        self.packed & TORN != 0
    }

    /// Marks the block as one with pages that a power cut has left unreadable.
    pub fn tear(&mut self) {
        self.packed |= TORN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_keeps_to_itself() {
        assert_eq!(size_of::<BlockState>(), 16);
        let mut state = BlockState::erased(3);
        for (next_page, mode) in [
            (65_536, BlockMode::SingleLevel),
            (9, BlockMode::Coded),
            (80_000, BlockMode::Recoded),
            (80_001, BlockMode::Reduced),
            (7, BlockMode::Native),
        ] {
            state.set_fill(BlockFill { next_page, mode });
            state.set_aged_pages(65_536);
            state.set_born(u32::MAX);
            assert_eq!(state.fill(), BlockFill { next_page, mode });
            assert_eq!((state.aged_pages(), state.born()), (65_536, (1 << 26) - 1));
            state.set_aged_pages(5);
            state.set_born(9);
            assert_eq!(state.fill(), BlockFill { next_page, mode });
            assert_eq!((state.aged_pages(), state.born(), state.pe_cycles), (5, 9, 3));
        }
        assert!(!state.is_torn());
        state.tear();
        assert!(state.is_torn() && state.born() == 9);
    }
}
