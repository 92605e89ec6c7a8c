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
    Access, Build, Carried, Context, DieSet, Ftl, FtlCounts, Job, Key, Known, Lpn, MapCounts, Move,
    Occupancy, Place, Program, Ram, Step, Stream, Urgency, Wear, Work,
};
use super::page::{Own, PageFtl, PageParams};
use crate::recovery::Found;
use addresses::Addresses;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, MAX_PLANES, Ppn};
use schemars::JsonSchema;
use segments::Segments;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "learned",
    summary: "page-level mapping: learned line segments in RAM, a wrong one costs a read",
    citation: "sun2023",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| Ok(Box::new(Learned::new(context, &params::read(given, "ftl")?)?)),
};

/// Most addresses that a prediction may err by: the spare area of a page lists twice as many units.
const MOST_GAMMA: u32 = 64;

/// The stream of blocks that were filled before a power cut.
const FOUND: Stream = Stream(u8::MAX - 8);

/// Parameters of `learned`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Addresses by which a learned place may be wrong, 0 to 64. With 0 none ever is.
    gamma: u32,
    /// Units that are written between two compactions of the map. 0 switches them off.
    compaction_units: u32,
    /// Garbage collection writes moved data to separate blocks, as with `page`.
    separate_gc_stream: bool,
    /// Write frontiers for the host's stream hints (1 to 16), as with `page`.
    host_streams: u8,
    /// Static wear levelling of data blocks, as with `page`; 0 switches it off.
    static_wear_delta: u32,
}

impl Default for Params {
    fn default() -> Self {
        let PageParams { separate_gc_stream, host_streams, static_wear_delta, .. } =
            PageParams::default();
        Self {
            gamma: 4,
            compaction_units: 1_000_000,
            separate_gc_stream,
            host_streams,
            static_wear_delta,
        }
    }
}

#[derive(Clone)]
struct Learned {
    /// The data; its map is the truth, which the firmware does not have.
    page: PageFtl,
    segments: Segments,
    addresses: Addresses,
    gamma: u32,
    compaction_units: u32,
    /// Units written since the last compaction.
    written: u32,
    counts: MapCounts,
    /// Working space: units with their addresses.
    learning: Vec<(u32, u64)>,
}

impl Learned {
    fn new(context: Context, params: &Params) -> Result<Self> {
        let &Params { gamma, compaction_units, .. } = params;
        if gamma > MOST_GAMMA {
            let problem = format!("{gamma} addresses");
            return Err(Error::new("ftl.gamma", problem).expected(format!("0 to {MOST_GAMMA}")));
        }
        let page_params = PageParams {
            separate_gc_stream: params.separate_gc_stream,
            host_streams: params.host_streams,
            static_wear_delta: params.static_wear_delta,
            ..PageParams::default()
        };
        let page = PageFtl::new(context, &page_params, Own::NOTHING)?;
        Ok(Self {
            segments: Segments::new(page.logical_units, page.row_units.into()),
            addresses: Addresses::new(&page),
            gamma,
            compaction_units,
            written: 0,
            counts: MapCounts::default(),
            learning: Vec::new(),
            page,
        })
    }

    /// The page that the map has for a unit with data, if it is not the right one.
    #[inline]
    fn wrong_page(&self, lpn: u32) -> Option<Ppn> {
        let place = self.page.lookup(Lpn(lpn))?;
        if !self.segments.has_fitted(lpn) {
            debug_assert_eq!(self.expected(lpn), place, "an exact segment is right");
            return None;
        }
        let (expected, geometry) = (self.expected(lpn), &self.page.geometry);
        (geometry.page_index(expected) != geometry.page_index(place)).then_some(expected)
    }

    /// The place that the map has for a unit with data.
    fn expected(&self, lpn: u32) -> Ppn {
        let address = self.segments.predict(lpn).expect("what is mapped is learned");
        self.addresses.place(&self.page.geometry, address).expect("a block that is in use")
    }

    /// Learns the units in `learning`; exactly, without `gamma`.
    #[inline]
    fn learn(&mut self, gamma: Option<u32>) {
        self.learning.sort_unstable();
        self.segments.learn(&self.learning, gamma);
        self.learning.clear();
    }

    /// A program is on flash: learns the units that it has the newest data of.
    #[inline]
    fn learn_program(&mut self, program: &Program) {
        let geometry = &self.page.geometry;
        self.addresses.begin(geometry, program);
        let mut left = program.units;
        for page in program.page..program.page + self.page.pages_per_program {
            for &block in program.blocks() {
                let slots = geometry.units_per_page.min(left);
                left -= slots;
                let first = geometry.ppn(block, page, 0).0;
                let address = self.addresses.of_page(geometry, block, page);
                for (ppn, address) in (first..first + slots).zip(address..) {
                    let lpn = self.page.owner[ppn as usize];
                    if self.page.map[lpn as usize] == ppn {
                        self.learning.push((lpn, address));
                    }
                }
            }
        }
        // Between the pages of other programs lie those of other blocks, perhaps empty yet.
        self.learn(self.addresses.is_row(program).then_some(self.gamma));
    }

    /// A block is to be erased: what leads to it by mistake, from the blocks beside it, is learned
    /// anew, and exactly.
    fn part_from(&mut self, block: Block) {
        let geometry = &self.page.geometry;
        for other in self.addresses.beside(geometry, block) {
            let first = geometry.ppn(other, 0, 0).0;
            for ppn in first..first + geometry.units_per_block() {
                let lpn = self.page.owner[ppn as usize];
                // Padding has an owner that no map has.
                if lpn < self.page.logical_units
                    && self.segments.has_fitted(lpn)
                    && self.page.map[lpn as usize] == ppn
                    && self.segments.is_fitted(lpn)
                    && self.wrong_page(lpn).is_some_and(|page| geometry.block_of(page) == block)
                {
                    self.learning.push((lpn, self.addresses.of(geometry, Ppn(ppn))));
                }
            }
        }
        self.learn(None);
    }

    /// Learns the places of all units that were found, exactly: which blocks were filled together
    /// is not known any more. Blocks get their names in the order in which they were written.
    fn learn_found(&mut self, found: &Found) {
        let written = found.blocks().filter_map(|block| Some((found.last_stamp(block)?, block)));
        let mut written: Vec<(u64, Block)> = written.collect();
        written.sort_unstable();
        for (_, block) in written {
            let mut blocks = [Block(0); MAX_PLANES];
            blocks[0] = block;
            let die = self.page.geometry.die_of(block);
            let mode = BlockMode::Native;
            let program =
                Program { die, units: 0, page: 0, planes: 1, stream: FOUND, mode, blocks };
            self.addresses.begin(&self.page.geometry, &program);
        }
        let placed = |lpn: u32| {
            let ppn = self.page.lookup(Lpn(lpn))?;
            Some((lpn, self.addresses.of(&self.page.geometry, ppn)))
        };
        self.learning.extend((0..self.page.logical_units).filter_map(placed));
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
            page,
            segments,
            addresses,
            gamma: _,
            compaction_units: _,
            written,
            counts,
            learning: _,
        } = self;
        page.exchange(archive)?;
        segments.exchange(archive)?;
        addresses.exchange(archive)?;
        archive.value(written)?;
        archive.value(counts)
    }
}

impl Ftl for Learned {
    fn logical_units(&self) -> u32 {
        self.page.logical_units
    }

    fn row_units(&self) -> u32 {
        self.page.row_units
    }

    fn sorts_rows(&self) -> bool {
        true
    }

    fn keys(&self) -> u32 {
        self.page.keys()
    }

    fn streams(&self) -> u32 {
        self.page.streams()
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.page.lookup(lpn)
    }

    fn has_map_on_flash(&self) -> bool {
        true
    }

    fn mispredicted(&self, lpn: Lpn) -> Option<Ppn> {
        self.wrong_page(lpn.0)
    }

    fn access(&mut self, Lpn(first): Lpn, count: u32, _: Access) -> Known {
        let is_known = |lpn: &u32| self.wrong_page(*lpn).is_none();
        let known = (first..first + count).take_while(is_known).count() as u32;
        if known > 0 {
            self.counts.hits += u64::from(known);
            return Known::Units(known);
        }
        self.counts.mispredictions += 1;
        Known::Mispredicted(Lpn(first))
    }

    fn map_read(&mut self, Lpn(first): Lpn, count: u32, _: Access) -> u32 {
        let geometry = &self.page.geometry;
        let page = |lpn: u32| self.wrong_page(lpn).map(|ppn| geometry.page_index(ppn));
        let read = page(first);
        // Others that were expected in the page which was read are found with it.
        let more = (first + 1..first + count).take_while(|&lpn| page(lpn) == read);
        let known = 1 + more.count() as u32;
        self.counts.misses += u64::from(known);
        known
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.page.place(key, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.page.place_moves(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.page.programmed(program, carried);
        self.learn_program(program);
        if matches!(carried, Carried::Host) {
            self.compact(program.units);
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.not_programmed(program, carried);
        self.addresses.begin(&self.page.geometry, program);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.page.trim(lpn);
        self.segments.forget(lpn.0);
    }

    fn jobs(&self) -> u32 {
        self.page.jobs()
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.page.wants(job, urgency)
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let step = self.page.step(job, urgency, work);
        if self.gamma > 0 {
            work.blocks.iter().for_each(|&block| self.part_from(block));
        }
        step
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.page.keeps_pace(die)
    }

    fn erased(&mut self, block: Block) {
        self.addresses.end(&self.page.geometry, block);
        self.page.erased(block);
    }

    fn retire(&mut self, block: Block) -> bool {
        self.page.retire(block)
    }

    fn can_reclaim(&self) -> bool {
        true
    }

    fn reclaim(&mut self, block: Block) -> bool {
        self.page.reclaim(block)
    }

    fn tag(&self, block: Block) -> u64 {
        self.page.tag_of(block)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.page.is_bad(block)
    }

    fn can_recover(&self) -> bool {
        true
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        self.page.rebuild(found);
        self.learn_found(found);
        Ok(())
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.page.filled_pages(block)
    }

    fn prefetch(&self, lpn: Lpn) {
        self.page.prefetch(lpn);
    }

    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        self.page.prefetch_old(lpn)
    }

    fn counts(&self) -> FtlCounts {
        FtlCounts { map: self.counts, ..self.page.counts() }
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.page.start_run(pe_cycles);
        self.counts = MapCounts::default();
    }

    fn occupancy(&self) -> Occupancy {
        self.page.occupancy()
    }

    fn wear(&self) -> Wear {
        self.page.wear()
    }

    fn wear_on(&mut self, more: &[u32]) -> bool {
        self.page.wear_on(more)
    }

    fn levels_to(&self) -> u32 {
        self.page.levels_to()
    }

    fn ram(&self) -> Vec<Ram> {
        let mut ram = self.page.ram();
        ram.retain(|ram| ram.name != "map");
        ram.push(Ram { name: "map_segments", bytes: self.segments.bytes() });
        ram.push(Ram { name: "block_names", bytes: self.addresses.bytes() });
        ram
    }

    fn bytes_per_unit(&self) -> f64 {
        let segments = self.segments.bytes() as f64;
        self.page.bytes_per_unit() + segments / f64::from(self.page.logical_units)
    }
}

#[cfg(test)]
mod tests;
