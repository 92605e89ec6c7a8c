//! Account of the page map and its blocks: places, counts, wear and memory.

use super::{PageFtl, fast_pages};
use crate::ftl::contract::{FtlCounts, Hint, Key, Lpn, Occupancy, Ram, Wear};
use base::memory::prefetch;
use nand::geometry::{Block, Ppn};

impl PageFtl {
    /// Number of keys by which rows are gathered.
    pub(in crate::ftl) fn keys(&self) -> u32 {
        self.host_streams.into()
    }

    /// Streams of the host whose data are kept apart.
    pub(in crate::ftl) fn streams(&self) -> u32 {
        if self.by_speed.is_empty() { self.host_streams.into() } else { 1 }
    }

    /// Whether rows of the host may end with holes.
    pub(in crate::ftl) fn takes_holes(&self) -> bool {
        self.by_speed.is_empty()
    }

    /// Key of data with a hint of the host.
    pub(in crate::ftl) fn key_of(&self, hint: Hint) -> Key {
        if self.by_speed.is_empty() { Key(hint.stream.into()) } else { fast_pages::key(hint) }
    }

    /// Place of the newest data of a unit.
    #[inline]
    pub(in crate::ftl) fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    /// Forgets the data of a unit.
    pub(in crate::ftl) fn trim(&mut self, lpn: Lpn) {
        let old = std::mem::replace(&mut self.map[lpn.0 as usize], Ppn::NONE.0);
        if old != Ppn::NONE.0 {
            self.invalidate(old);
        }
    }

    /// Whether a block is out of use.
    pub(in crate::ftl) fn is_bad(&self, block: Block) -> bool {
        self.wear.is_bad(block)
    }

    /// Pages of a block that have been handed out since its erase.
    pub(in crate::ftl) fn filled_pages(&self, block: Block) -> u32 {
        let die = self.geometry.die_of(block);
        let frontiers = self.frontiers_of(die).iter();
        let mut filling = frontiers.flat_map(|frontier| self.filling(frontier));
        if let Some((_, filled)) = filling.find(|&(open, _)| open == block) {
            return filled;
        }
        if let Some(pages) = self.short_pages(block) {
            return pages;
        }
        let untouched = self.candidates.word(block).is_free() || self.wear.is_bad(block);
        if untouched { 0 } else { self.geometry.pages_per_block }
    }

    /// Prefetches the entry of a unit in the map.
    #[inline]
    pub(in crate::ftl) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.0 as usize);
    }

    /// Prefetches the state of the block that a unit is in. Returns the block.
    #[inline]
    pub(in crate::ftl) fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        let old = self.map[lpn.0 as usize];
        if old == Ppn::NONE.0 {
            return None;
        }
        let block = self.geometry.block_of(Ppn(old));
        self.candidates.prefetch(block);
        Some(block)
    }

    /// Resets the counts, and sets the wear of every block if one is given.
    pub(in crate::ftl) fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.wear.start_run(pe_cycles);
            self.free.set_wear(pe_cycles);
        }
    }

    /// State of every physical unit, by counting (slow).
    pub(in crate::ftl) fn occupancy(&self) -> Occupancy {
        let per_block = u64::from(self.geometry.units_per_block());
        let mut occupancy = Occupancy {
            mapped: self.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64,
            free: self.free.total() * per_block,
            invalid: self.cut_off_units(),
            bad: self.wear.bad_blocks() * per_block,
        };
        for (_, filled) in self.frontiers.iter().flat_map(|frontier| self.filling(frontier)) {
            let unused = self.geometry.pages_per_block - filled;
            occupancy.free += u64::from(unused * self.geometry.units_per_page);
        }
        // By the table of blocks: units that are handed out and not valid.
        for block in (0..self.geometry.blocks()).map(Block) {
            let filled = self.filled_pages(block) * self.geometry.units_per_page;
            occupancy.invalid += u64::from(filled - self.candidates.word(block).valid());
        }
        occupancy
    }

    /// Wear of the good blocks (slow).
    pub(in crate::ftl) fn spread_of_wear(&self) -> Wear {
        self.wear.spread()
    }

    /// Adds cycles to every block, listed by block.
    pub(in crate::ftl) fn wear_on(&mut self, more: &[u32]) {
        self.wear.add(more);
        self.free.sort(|block| self.wear.cycles(block));
    }

    /// Largest spread of cycles in a plane that wear levelling tolerates.
    pub(in crate::ftl) fn wear_delta(&self) -> u32 {
        self.wear.static_delta()
    }

    /// Memory of the map and of the state of blocks.
    pub(in crate::ftl) fn ram(&self) -> [Ram; 2] {
        let map = 4 * u64::from(self.logical_units);
        let blocks = (self.candidates.bytes() + self.wear.bytes()) as u64;
        [Ram { name: "map", bytes: map }, Ram { name: "blocks", bytes: blocks }]
    }

    /// Bytes of the tables for each logical unit.
    pub(in crate::ftl) fn bytes_per_unit(&self) -> f64 {
        let bytes =
            4 * (self.map.len() + self.owner.len()) + self.candidates.bytes() + self.wear.bytes();
        bytes as f64 / f64::from(self.logical_units)
    }
}
