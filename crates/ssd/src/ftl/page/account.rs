//! Account of the page map and its blocks: places, counts, wear and memory.

use super::{PageFtl, fast_pages};
use crate::ftl::contract::{Facts, FtlCounts, Hint, Key, Lead, Lpn, Occupancy, Ram, Wear};
use crate::space::frontier::Frontier;
use crate::space::stationary::Stationary;
use base::memory::prefetch;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, Ppn};

impl PageFtl {
    /// Key of data of a unit with a hint of the host.
    pub(in crate::ftl) fn key_of(&self, Lpn(lpn): Lpn, hint: Hint) -> Key {
        if self.by_speed.is_empty() {
            return self.placing.key(hint.stream, lpn / self.row_units);
        }
        fast_pages::key(hint.is_urgent || self.fast_units.contains(&lpn))
    }

    /// Place of the newest data of a unit.
    #[inline]
    pub(in crate::ftl) fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    /// Whether a physical unit holds the newest data of its owner.
    #[inline]
    pub(in crate::ftl) fn is_valid(&self, ppn: u32) -> bool {
        // Padding has an owner that no map has.
        self.map.get(self.owner[ppn as usize] as usize) == Some(&ppn)
    }

    /// Forgets the data of a unit. Returns the block that they were in.
    pub(in crate::ftl) fn trim(&mut self, lpn: Lpn) -> Option<Block> {
        let old = std::mem::replace(&mut self.map[lpn.0 as usize], Ppn::NONE.0);
        (old != Ppn::NONE.0).then(|| self.invalidate(old))
    }

    /// State that uniform writes end in, with one stream of the host and no data of its own.
    pub(super) fn stationary(&self) -> Option<Stationary> {
        let is_plain = self.host_streams == 1
            && !self.placing.are_several()
            && self.by_speed.is_empty()
            && self.metadata_units == 0
            && self.code_stages.is_off();
        let law = self.candidates.law().filter(|_| is_plain)?;
        let Geometry { dies, .. } = self.geometry;
        let bad = (0..self.geometry.blocks()).filter(|&block| self.wear.is_bad(Block(block)));
        let good = self.geometry.blocks() - bad.count() as u32;
        // Open blocks are half full on average.
        let open = dies * self.groups * self.joined * self.streams / 2;
        let free = self.geometry.planes() * self.gc.start_free_blocks;
        let block_units = self.geometry.units_per_block();
        let units = u64::from(good.saturating_sub(open + free)) * u64::from(block_units);
        Some(Stationary { law, units, block_units })
    }

    /// Room for data of the host die by die ([`Account::lead`]). `None` where empty pages, or
    /// blocks that hold less, take a share of it that hangs on the data.
    ///
    /// Rows go to dies in turn, so the poorest die decides. The host leaves each group of planes
    /// its reserve. Streams beside the one that is written may have begun a block each.
    ///
    /// [`Account::lead`]: crate::ftl::contract::Account::lead
    pub(super) fn lead_by_die(&self) -> Option<Lead> {
        if self.has_uneven_rows() {
            return None;
        }
        let begun = u32::from(self.host_streams) - 1;
        let block_units = self.geometry.units_per_block() - self.metadata_units;
        let set_units = u64::from(self.joined * block_units);
        let of_blocks = |free: u32, kept: u32| {
            u64::from(free.saturating_sub(kept).saturating_sub(begun)) * set_units
        };
        // A row less: dies stand at most one apart.
        let of_dies = |units: u64| {
            u64::from(self.geometry.dies) * units.saturating_sub(self.row_units.into())
        };
        let of_die = |die: Die| {
            let kept = self.reserve + u32::from(self.needs_room(die));
            let free = |group: u32| self.free_blocks(die, group);
            let blocks: u64 = (0..self.groups).map(|group| of_blocks(free(group), kept)).sum();
            let open = |stream: u32| -> u64 {
                // The host writes to blocks that it shares with collection above the reserve alone.
                let is_free = |group: &u32| stream != self.gc_frontier || free(*group) >= kept;
                let left = |group: u32| self.left_at(self.frontier_index(die, stream, group));
                (0..self.groups).filter(is_free).map(left).sum()
            };
            blocks + (0..u32::from(self.host_streams)).map(open).min().unwrap_or(0)
        };
        let rested = self.gc.start_free_blocks.max(self.gc.background_free_blocks);
        let left = (0..self.geometry.dies).map(|die| of_die(Die(die))).min().unwrap_or(0);
        let most = u64::from(self.groups) * of_blocks(rested, self.reserve);
        Some(Lead { most_units: of_dies(most), left_units: of_dies(left) })
    }

    /// Whether blocks take more or fewer units of data by what these are, or by their wear.
    pub(super) fn has_uneven_rows(&self) -> bool {
        !self.by_speed.is_empty() || !self.code_stages.is_off() || !self.reduced.blocks.is_empty()
    }

    /// Units of data that the open blocks of a frontier still take at least.
    fn left_at(&self, index: usize) -> u64 {
        let frontier = &self.frontiers[index];
        if !frontier.takes_data() {
            return 0;
        }
        let own = self.joined * self.metadata_units;
        (frontier.left_pages() * frontier.rows.page_units).saturating_sub(own).into()
    }

    /// Constants of an FTL over the page map.
    pub(in crate::ftl) fn facts(&self) -> Facts {
        let Geometry { dies, units_per_page, .. } = self.geometry;
        let groups = self.placing.count();
        let (takes_holes, keys) = (self.by_speed.is_empty(), u32::from(self.host_streams) * groups);
        Facts {
            keys,
            // By speed, the two keys are one stream of the host.
            streams: if takes_holes { keys } else { 1 },
            groups,
            takes_holes,
            has_reuse: true,
            jobs_can_wait: true,
            skips_pages: self.skips_slow,
            wear_delta: self.wear.static_delta(),
            ..Facts::new(self.logical_units, self.row_units, dies, units_per_page)
        }
    }

    /// Whether a block is out of use.
    pub(in crate::ftl) fn is_bad(&self, block: Block) -> bool {
        self.wear.is_bad(block)
    }

    /// Mode of a block in use.
    pub(in crate::ftl) fn mode(&self, block: Block) -> BlockMode {
        self.reduced.mode(block)
    }

    /// Pages of a block that have been handed out since its erase.
    pub(in crate::ftl) fn filled_pages(&self, block: Block) -> u32 {
        let frontiers = self.frontiers_of(self.geometry.die_of(block)).iter();
        let mut filling = frontiers.flat_map(Frontier::filling);
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
        self.handles.start_run();
        self.placing.start_run();
        if let Some(pe_cycles) = pe_cycles {
            self.wear.start_run(pe_cycles);
            self.free.sort(|_| pe_cycles);
            self.handles.count_again(&self.candidates, &self.wear);
        }
    }

    /// State of every physical unit, by counting (slow).
    pub(in crate::ftl) fn occupancy(&self) -> Occupancy {
        let pages = self.geometry.pages_per_block;
        // What was cut off of a block cannot be programmed before its erase.
        let is_short = |block| self.short_pages(block).is_some();
        self.occupancy_by(|block| {
            (if is_short(block) { pages } else { self.filled_pages(block) }, pages)
        })
    }

    /// State of every physical unit, where `pages` says of a block how many of its pages have been
    /// handed out, and how many there are.
    pub(in crate::ftl) fn occupancy_by(&self, pages: impl Fn(Block) -> (u32, u32)) -> Occupancy {
        let Geometry { pages_per_block, units_per_page, .. } = self.geometry;
        let units = |pages: u32| u64::from(pages) * u64::from(units_per_page);
        let mapped = self.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64;
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        for block in (0..self.geometry.blocks()).map(Block) {
            let (filled, there) = if self.is_bad(block) { (0, 0) } else { pages(block) };
            occupancy.bad += units(pages_per_block - there);
            occupancy.free += units(there - filled);
            occupancy.invalid += units(filled) - u64::from(self.valid_units(block));
        }
        occupancy
    }

    /// Units of a block that hold the newest data of a unit, or a map page in use.
    pub(in crate::ftl) fn valid_units(&self, block: Block) -> u32 {
        let word = self.candidates.word(block);
        word.valid() - if word.is_free() { 0 } else { self.code_stages.parity_units(block) }
    }

    /// Wear of the good blocks (slow).
    pub(in crate::ftl) fn spread_of_wear(&self) -> Wear {
        self.wear.spread()
    }

    /// Adds cycles to every block, listed by block.
    pub(in crate::ftl) fn wear_on(&mut self, more: &[u32]) {
        self.wear.add(more);
        self.free.sort(|block| self.wear.cycles(block));
        self.handles.count_again(&self.candidates, &self.wear);
    }

    /// Memory of the map.
    pub(in crate::ftl) fn map_ram(&self) -> Ram {
        Ram { name: "map", bytes: 4 * u64::from(self.logical_units) }
    }

    /// Bytes of the state of blocks.
    pub(in crate::ftl) fn block_bytes(&self) -> u64 {
        (self.candidates.bytes() + self.wear.bytes()) as u64
    }
}
