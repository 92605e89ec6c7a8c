//! `learned`: page-mapped, with a map of learned segments in memory (LeaFTL; Sun et al.,
//! ASPLOS'23).
//!
//! Data live as with `page`. In place of one entry for each unit the map has pieces of lines
//! (`segments`) over addresses that follow the order of writing (`addresses`). Rows are sorted
//! before they are programmed, and learned when they are on flash. A line may err by `gamma`
//! addresses: where this leads to another page, that page is read first. Beside its data stand the
//! units of its neighbours, so one such read finds the unit.

mod addresses;
mod segments;

use super::contract::{
    Access, Build, Carried, Context, Ftl, FtlCounts, Job, Known, Lpn, MapCounts, Program, Ram,
    Step, Stream, Work,
};
use super::page::{Isolation, Own, PageFtl, PageParams};
use super::paged::{self, Layout, Mapping, Ours};
use crate::recovery::Found;
use addresses::Addresses;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use nand::chip::BlockMode;
use nand::geometry::{Block, MAX_PLANES, Ppn};
use schemars::JsonSchema;
use segments::Segments;
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub const MEMBER: Member<Build> = Member {
    name: "learned",
    summary: "page-level mapping: learned line segments in RAM, a wrong one costs a read",
    citation: "sun2023",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| build(context, &params::read(given, "ftl")?),
};

/// Largest error of a prediction, in addresses: the spare area of a page lists twice as many units.
const MOST_GAMMA: u32 = 64;

/// Stream of blocks that were filled before a power cut.
const FOUND: Stream = Stream(u8::MAX - 8);

/// Parameters of `learned`: accuracy and compaction of the map, and those of the data.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Addresses by which a learned place may be wrong, 0 to 64. With 0 every place is right.
    gamma: u32,
    /// Units that are written between two compactions of the map. 0 switches them off.
    #[schemars(extend("x-scale" = 1))]
    compaction_units: u32,
    /// Garbage collection writes moved data to separate blocks, as with `page`.
    separate_gc_stream: bool,
    /// Write frontiers for the host's stream hints (1 to 16), as with `page`.
    host_streams: u8,
    /// Host streams at reduced levels, as with `page`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reduced_streams: Vec<u8>,
    /// Isolation of the host's streams once collection moves their data, as with `page`.
    #[serde(skip_serializing_if = "Isolation::is_initial")]
    isolation: Isolation,
    /// Shares of the spare for the host's streams, as with `page`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    handle_quota: Vec<f64>,
    /// Static wear levelling of data blocks, as with `page`; 0 switches it off.
    static_wear_delta: u32,
    /// Writes that somebody waits for go to fast pages, as with `page`.
    fast_pages: bool,
    /// Bytes of the drive whose writes go to fast pages, as with `page`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 0))]
    fast_region: Option<[u64; 2]>,
    /// Superblocks of data: dies whose blocks are filled and erased together, as with `page`.
    superblock_dies: u32,
}

impl Default for Params {
    fn default() -> Self {
        let PageParams {
            separate_gc_stream,
            host_streams,
            reduced_streams,
            isolation,
            handle_quota,
            static_wear_delta,
            fast_pages,
            fast_region,
            superblock_dies,
            ..
        } = PageParams::default();
        Self {
            gamma: 4,
            compaction_units: 1_000_000,
            separate_gc_stream,
            host_streams,
            reduced_streams,
            isolation,
            handle_quota,
            static_wear_delta,
            fast_pages,
            fast_region,
            superblock_dies,
        }
    }
}

/// Map of learned segments. The map of `page` is the truth, which the firmware does not have.
#[derive(Clone)]
struct Learned {
    segments: Segments,
    addresses: Addresses,
    gamma: u32,
    compaction_units: u32,
    /// Units written since the last compaction.
    written: u32,
    counts: MapCounts,
    /// Working space of learning: units with their addresses.
    learning: Vec<(u32, u64)>,
}

fn build(context: Context, params: &Params) -> Result<Box<dyn Ftl>> {
    let gamma = params.gamma;
    if gamma > MOST_GAMMA {
        let problem = format!("{gamma} addresses");
        return Err(Error::new("ftl.gamma", problem).expected(format!("0 to {MOST_GAMMA}")));
    }
    let data = PageParams {
        separate_gc_stream: params.separate_gc_stream,
        host_streams: params.host_streams,
        reduced_streams: params.reduced_streams.clone(),
        isolation: params.isolation,
        handle_quota: params.handle_quota.clone(),
        static_wear_delta: params.static_wear_delta,
        fast_pages: params.fast_pages,
        skip_slow_pages: false,
        fast_region: params.fast_region,
        superblock_dies: params.superblock_dies,
        metadata_share: 0.0,
        reclaim_groups: 1,
    };
    paged::build(context, &data, Own::NOTHING, Ours, |page, _| Learned::new(page, params))
}

impl Learned {
    /// Creates the map of a drive without data.
    fn new(page: &PageFtl, params: &Params) -> Self {
        Self {
            segments: Segments::new(page.logical_units, page.row_units.into()),
            addresses: Addresses::new(page),
            gamma: params.gamma,
            compaction_units: params.compaction_units,
            written: 0,
            counts: MapCounts::default(),
            learning: Vec::new(),
        }
    }

    /// Page that the map has for a unit with data, if that is wrong.
    #[inline]
    fn wrong_page(&self, page: &PageFtl, lpn: u32) -> Option<Ppn> {
        let place = page.lookup(Lpn(lpn))?;
        if !self.segments.has_fitted(lpn) {
            debug_assert_eq!(self.expected(page, lpn), place, "an exact segment is right");
            return None;
        }
        let (expected, geometry) = (self.expected(page, lpn), &page.geometry);
        (geometry.page_index(expected) != geometry.page_index(place)).then_some(expected)
    }

    /// Place that the map has for a unit with data.
    fn expected(&self, page: &PageFtl, lpn: u32) -> Ppn {
        let address = self.segments.predict(lpn).expect("what is mapped is learned");
        self.addresses.place(&page.geometry, address).expect("a block that is in use")
    }

    /// Learns the units in `learning`: within `gamma`, or exactly without it.
    #[inline]
    fn learn(&mut self, gamma: Option<u32>) {
        self.learning.sort_unstable();
        self.segments.learn(&self.learning, gamma);
        self.learning.clear();
    }

    /// Learns the units that a program, now on flash, has the newest data of.
    #[inline]
    fn learn_program(&mut self, data: &PageFtl, program: &Program) {
        let geometry = &data.geometry;
        self.addresses.begin(geometry, program);
        let mut left = program.units;
        for page in program.page..program.page + data.pages_per_program {
            for &block in program.blocks() {
                let slots = geometry.units_per_page.min(left);
                left -= slots;
                let first = geometry.ppn(block, page, 0).0;
                let address = self.addresses.of_page(geometry, block, page);
                for (ppn, address) in (first..first + slots).zip(address..) {
                    let lpn = data.owner[ppn as usize];
                    if data.map[lpn as usize] == ppn {
                        self.segments.prefetch(lpn);
                        self.learning.push((lpn, address));
                    }
                }
            }
        }
        // Between the pages of other programs lie those of other blocks, perhaps empty yet.
        self.learn(self.addresses.is_row(program).then_some(self.gamma));
    }

    /// Prepares the erase of a block: units that a wrong prediction leads to it, from the blocks
    /// beside it, are learned anew, and exactly.
    fn part_from(&mut self, data: &PageFtl, block: Block) {
        let geometry = &data.geometry;
        for other in self.addresses.beside(geometry, block) {
            let first = geometry.ppn(other, 0, 0).0;
            for ppn in first..first + geometry.units_per_block() {
                let lpn = data.owner[ppn as usize];
                // Padding has an owner that no map has.
                if lpn < data.logical_units
                    && self.segments.has_fitted(lpn)
                    && data.map[lpn as usize] == ppn
                    && self.segments.is_fitted(lpn)
                    && self
                        .wrong_page(data, lpn)
                        .is_some_and(|page| geometry.block_of(page) == block)
                {
                    self.learning.push((lpn, self.addresses.of(geometry, Ppn(ppn))));
                }
            }
        }
        self.learn(None);
    }

    /// Learns the places of all units that were found, exactly: the rows in which blocks were
    /// filled are not known any more. Blocks get their names in the order in which they were
    /// written.
    fn learn_found(&mut self, page: &PageFtl, found: &Found) {
        let written = found.blocks().filter_map(|block| Some((found.last_stamp(block)?, block)));
        let mut written: Vec<(u64, Block)> = written.collect();
        written.sort_unstable();
        for (_, block) in written {
            let mut blocks = [Block(0); MAX_PLANES];
            blocks[0] = block;
            let die = page.geometry.die_of(block);
            let mode = BlockMode::Native;
            let program =
                Program { die, units: 0, page: 0, planes: 1, stream: FOUND, mode, blocks };
            self.addresses.begin(&page.geometry, &program);
        }
        let placed = |lpn: u32| {
            let ppn = page.lookup(Lpn(lpn))?;
            Some((lpn, self.addresses.of(&page.geometry, ppn)))
        };
        self.learning.extend((0..page.logical_units).filter_map(placed));
        self.learn(None);
    }

    fn compact(&mut self, units: u32) {
        self.written += units;
        if self.compaction_units > 0 && self.written >= self.compaction_units {
            self.written = 0;
            self.segments.compact();
        }
    }
}

impl State for Learned {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            segments,
            addresses,
            gamma: _,
            compaction_units: _,
            written,
            counts,
            learning: _,
        } = self;
        segments.exchange(archive)?;
        addresses.exchange(archive)?;
        archive.value(written)?;
        archive.value(counts)
    }
}

impl Mapping for Learned {
    const SORTS_ROWS: bool = true;

    fn access(&mut self, page: &mut PageFtl, first: u32, count: u32, _: Access) -> Known {
        let is_known = |lpn: &u32| self.wrong_page(page, *lpn).is_none();
        let known = (first..first + count).take_while(is_known).count() as u32;
        if known > 0 {
            self.counts.hits += u64::from(known);
            return Known::Units(known);
        }
        self.counts.mispredictions += 1;
        Known::Mispredicted(Lpn(first))
    }

    fn map_read(&mut self, data: &PageFtl, first: u32, count: u32) -> u32 {
        let geometry = &data.geometry;
        let page = |lpn: u32| self.wrong_page(data, lpn).map(|ppn| geometry.page_index(ppn));
        let read = page(first);
        // Others that were expected in the page which was read are found with it.
        let more = (first + 1..first + count).take_while(|&lpn| page(lpn) == read);
        let known = 1 + more.count() as u32;
        self.counts.misses += u64::from(known);
        known
    }

    fn mispredicted(&self, page: &PageFtl, lpn: u32) -> Option<Ppn> {
        self.wrong_page(page, lpn)
    }

    fn programmed(&mut self, page: &mut PageFtl, program: &Program, carried: Carried) {
        self.learn_program(page, program);
        if matches!(carried, Carried::Host) {
            self.compact(program.units);
        }
    }

    fn not_programmed(&mut self, page: &mut PageFtl, program: &Program, _: Carried) {
        self.addresses.begin(&page.geometry, program);
    }

    fn trimmed(&mut self, lpn: u32) {
        self.segments.forget(lpn);
    }

    fn follows(
        &mut self,
        page: &PageFtl,
        _: Job,
        _: Range<u32>,
        step: Step,
        work: &mut Work,
    ) -> Option<Step> {
        if self.gamma > 0 {
            work.blocks.iter().for_each(|&block| self.part_from(page, block));
        }
        Some(step)
    }

    fn erased(&mut self, page: &mut PageFtl, block: Block) {
        self.addresses.end(&page.geometry, block);
    }

    fn recover<L: Layout>(&mut self, data: &L, found: &Found, _: Vec<Block>) {
        self.learn_found(data.page(), found);
    }

    fn count(&self, counts: &mut FtlCounts) {
        counts.map = self.counts;
    }

    fn start_run(&mut self) {
        self.counts = MapCounts::default();
    }

    fn ram(&self, _: &PageFtl, _: Ram) -> Vec<Ram> {
        vec![
            Ram { name: "map_segments", bytes: self.segments.bytes() },
            Ram { name: "block_names", bytes: self.addresses.bytes() },
        ]
    }

    fn bytes(&self) -> u64 {
        self.segments.bytes()
    }
}

#[cfg(test)]
mod tests;
