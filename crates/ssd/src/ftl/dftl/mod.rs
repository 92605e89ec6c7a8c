//! `dftl`: page-mapped, with the map on flash and its entries cached on demand (Gupta et al.,
//! ASPLOS'09).
//!
//! Data live as with `page`. The map lies in pages on flash (`area`), found through a directory in
//! memory; entries of units are in memory (`cache`), and leave in the `order` of a policy. A miss
//! costs a read of the map page. A dirty entry that makes room for another has its page read and
//! written again; such pages wait until they fill a program of one plane. Collection writes the map
//! pages of the units that it has moved before it erases their old blocks; where the entry of a
//! unit is in memory, only that changes ("lazy copying").
//!
//! Where the whole map fits the cache it stays there, and nothing of it is on flash. Copies of map
//! pages may lie in the memory of the host (`host_memory`): entries then come over the link.

mod area;
mod cache;
mod copies;
mod host_memory;
mod nodes;
mod order;
mod recover;

use super::contract::{
    Access, Build, Carried, Context, Ftl, FtlCounts, Job, Known, MapCounts, Move, Place, Program,
    Ram, Step, Stream, Until, Work,
};
use super::page::{Isolation, Own, PageFtl, PageParams};
use super::paged::{self, Flat, Layout, Mapping, Ours};
use crate::recovery::Found;
use crate::space::free_blocks::Use;
use area::{Area, Phase};
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use cache::Cache;
use host_memory::HostMemory;
use nand::geometry::{Block, Die, Ppn};
pub(super) use order::MapCachePolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

pub const MEMBER: Member<Build> = Member {
    name: "dftl",
    summary: "page-level mapping: the map in flash, its entries cached on demand",
    citation: "gupta2009",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let params: Params = params::read(given, "ftl")?;
        build(context, &params)
    },
};

/// Bytes of an entry in memory: unit and place.
const CACHED_BYTES: u64 = 8;
/// Bytes of an entry on flash: its place.
const STORED_BYTES: u32 = 4;
/// Most bytes that the state of a block takes in memory.
const MOST_BLOCK_BYTES: f64 = 64.0;
/// Fewest entries that a drive works with.
const LEAST_ENTRIES: u64 = 64;

/// Smallest cache of map entries.
pub(super) const LEAST_CACHE_BYTES: u64 = LEAST_ENTRIES * CACHED_BYTES;

/// Memory of the host that scaling leaves: a page of the map of the largest units.
pub(super) const LEAST_HOST_MEMORY_BYTES: u64 = 64 << 10;

/// Parameters of `dftl`: size and policy of the map cache, and those of the data.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// RAM for cached map entries, 8 bytes each. A map that fits with 4 bytes a unit stays in RAM
    /// as a whole. Less where `ftl.ram_bytes` leaves less. The default is assumed: SRAM of the
    /// controller.
    #[schemars(extend("x-scale" = LEAST_CACHE_BYTES))]
    map_cache_bytes: u64,
    /// Policy by which a cached entry makes room for another: `lru`, `segmented_lru` or `tpftl`.
    map_cache_policy: MapCachePolicy,
    /// Writing a map page cleans all its cached entries, not only the evicted ones. Always so
    /// with `tpftl`.
    map_batch: bool,
    /// Memory of the host for copies of whole map pages (host memory buffer of NVM Express); 0 is
    /// none. Entries come from there over the link, in `host.memory_latency_us`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0, "x-scale" = LEAST_HOST_MEMORY_BYTES))]
    host_memory_bytes: u64,
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
            map_cache_bytes: 2 << 20,
            map_cache_policy: MapCachePolicy::Lru,
            map_batch: true,
            host_memory_bytes: 0,
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

/// Whether a number is 0.
pub(super) fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Params {
    /// Parameters of the data.
    fn data(&self) -> PageParams {
        PageParams {
            separate_gc_stream: self.separate_gc_stream,
            host_streams: self.host_streams,
            reduced_streams: self.reduced_streams.clone(),
            isolation: self.isolation,
            handle_quota: self.handle_quota.clone(),
            static_wear_delta: self.static_wear_delta,
            fast_pages: self.fast_pages,
            skip_slow_pages: false,
            fast_region: self.fast_region,
            superblock_dies: self.superblock_dies,
            metadata_share: 0.0,
            reclaim_groups: 1,
        }
    }
}

/// Builds `page` where the whole map fits in memory, and otherwise a drive with map pages on flash.
fn build(context: Context, params: &Params) -> Result<Box<dyn Ftl>> {
    let data = params.data();
    let cache = CacheParams {
        bytes: params.map_cache_bytes,
        policy: params.map_cache_policy,
        batch: params.map_batch,
        host_memory_bytes: params.host_memory_bytes,
    };
    match Plan::new(&context, cache)? {
        None => paged::build(context, &data, Own::NOTHING, Ours, |_, _| Flat),
        Some(plan) => {
            paged::build(context, &data, plan.own, Ours, |page, beside| plan.map(page, beside))
        }
    }
}

/// Cache of map entries that the user wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheParams {
    pub bytes: u64,
    pub policy: MapCachePolicy,
    pub batch: bool,
    pub host_memory_bytes: u64,
}

/// Map on flash that is to be built.
pub(super) struct Plan {
    cache: CacheParams,
    /// Space that the map needs on flash.
    pub own: Own,
    /// Pages of parity in a stripe: as many more copies of the map are on flash.
    parity: u32,
    /// Entries of a page of the map.
    per_page: u32,
    /// Bytes of a page of the map.
    page_bytes: u64,
    /// RAM of the controller in bytes, 0 for any.
    limit: u64,
}

impl Plan {
    /// Plan of the map of a drive, or nothing where the whole map fits the cache. Refuses a cache
    /// that cannot be.
    pub(super) fn new(context: &Context, cache: CacheParams) -> Result<Option<Self>> {
        if cache.bytes / CACHED_BYTES < LEAST_ENTRIES {
            let problem = format!("{} bytes", cache.bytes);
            return Err(Error::new("ftl.map_cache_bytes", problem)
                .expected(format!("at least {LEAST_CACHE_BYTES}")));
        }
        let page_bytes = u64::from(context.geometry.unit_bytes);
        if (1..page_bytes).contains(&cache.host_memory_bytes) {
            let problem = format!("{} bytes", cache.host_memory_bytes);
            return Err(Error::new("ftl.host_memory_bytes", problem)
                .expected(format!("at least {page_bytes}, a page of the map, or 0 for none")));
        }
        // As many units as the drive may have at most: the capacity depends on what is kept for
        // the map.
        let most_units = context.geometry.units();
        let sold = f64::from(most_units) / (1.0 + context.config.overprovisioning);
        let (limit, blocks) = (context.config.ram_bytes, context.geometry.blocks());
        let whole = f64::from(STORED_BYTES) * sold;
        // Of the state of blocks more is reckoned with than it takes.
        let has_room = limit == 0 || whole + f64::from(blocks) * MOST_BLOCK_BYTES <= limit as f64;
        if cache.bytes as f64 >= whole && has_room {
            return Ok(None);
        }
        let per_page = context.geometry.unit_bytes / STORED_BYTES;
        let most_pages = most_units.div_ceil(per_page);
        let parity = context.parity_pages;
        let own = Area::own(&context.geometry, context.planes_per_program, most_pages, parity);
        Ok(Some(Self { cache, own, parity, per_page, page_bytes, limit }))
    }

    /// The map, of a page map that has kept the space for it. Other tables take `beside` bytes.
    pub(super) fn map(&self, page: &PageFtl, beside: u64) -> Cached {
        let CacheParams { bytes, policy, batch, host_memory_bytes } = self.cache;
        let pages = page.logical_units.div_ceil(self.per_page);
        let most_held = (host_memory_bytes / self.page_bytes).min(pages.into()) as u32;
        let host_memory = HostMemory::new(most_held, pages);
        let directories = 4 * u64::from(pages) + 4 * u64::from(host_memory.most());
        let others = page.block_bytes() + beside + directories;
        let cache_bytes = match self.limit {
            0 => bytes,
            // Too little is refused with the need.
            limit => limit.saturating_sub(others).clamp(LEAST_CACHE_BYTES, bytes),
        };
        let entries = (cache_bytes / CACHED_BYTES).min(page.logical_units.into()) as usize;
        let dies = page.geometry.dies as usize;
        Cached {
            area: Area::new(page, pages, self.parity),
            cache: Cache::new(policy, entries, pages, self.per_page),
            cache_bytes,
            host_memory,
            batch,
            per_page: self.per_page,
            logical_units: page.logical_units,
            most_waiting: 4 * page.row_units as usize * dies,
            counts: MapCounts::default(),
            touched: vec![Vec::new(); dies],
            erases: vec![Vec::new(); dies],
        }
    }
}

/// Map on flash, whose entries are cached on demand.
#[derive(Clone)]
pub(super) struct Cached {
    area: Area,
    cache: Cache,
    cache_bytes: u64,
    host_memory: HostMemory,
    batch: bool,
    /// Entries of a map page.
    per_page: u32,
    logical_units: u32,
    /// Map pages that may wait to be written before requests wait for them.
    most_waiting: usize,
    counts: MapCounts,
    /// By die: map pages with entries of units that collection has moved.
    touched: Vec<Vec<u32>>,
    /// By die: blocks to be erased once these map pages are written.
    erases: Vec<Vec<Block>>,
}

impl Cached {
    /// Takes in the entry of a unit that the cache does not have.
    fn insert(&mut self, lpn: u32, is_dirty: bool) {
        if let Some(page) = self.cache.insert(lpn, is_dirty) {
            self.area.queue(page, false);
        }
    }

    /// Entries that are taken in together for `count` units from `first` on: those of one page, and
    /// at most half of what the cache holds.
    fn run(&self, first: u32, count: u32) -> u32 {
        let to_end = self.per_page - first % self.per_page;
        count.min(to_end).min(self.cache.most() as u32 / 2)
    }

    /// Takes in the entries of up to `count` units from `first` on, of one page. Returns their
    /// number.
    fn load_run(&mut self, first: u32, count: u32) -> u32 {
        let count = self.run(first, count);
        for lpn in first..first + count {
            if !self.cache.ask(lpn) {
                self.insert(lpn, false);
            }
        }
        count
    }

    /// Takes in entries that nobody has asked for yet, from `first` on: their page was read.
    fn load_ahead(&mut self, first: u32, count: u32) {
        let end = (first + count).min(self.logical_units);
        for lpn in first..end {
            if !self.cache.is_here(lpn) {
                self.insert(lpn, false);
            }
        }
    }

    /// Units from `first` on whose entries are in memory, at most `count`.
    fn known(&mut self, first: u32, count: u32) -> u32 {
        let mut known = 0;
        while known < count && self.cache.ask(first + known) {
            known += 1;
        }
        known
    }

    /// Notes that entries of data that a program has written change: in memory where they are, or
    /// in their pages before the blocks of their old places are erased.
    fn note_places(&mut self, page: &PageFtl, program: &Program, carried: Carried) {
        for i in 0..program.units {
            let ppn = program.ppn(&page.geometry, i);
            let lpn = page.owner[ppn.0 as usize];
            if page.map[lpn as usize] != ppn.0 {
                continue;
            }
            match carried {
                Carried::Host => {
                    if !self.cache.change(lpn) {
                        self.insert(lpn, true);
                    }
                }
                Carried::Moves(job, _) => {
                    if !self.cache.set_dirty(lpn) {
                        self.touched[job.0 as usize].push(self.cache.page_of(lpn));
                    }
                }
            }
        }
    }

    /// Ends a program of map pages: a block that it has filled can be collected.
    fn close(&mut self, page: &PageFtl, program: &Program) {
        let geometry = &page.geometry;
        if program.page + page.pages_per_program == geometry.pages_per_block {
            for &block in program.blocks() {
                self.area.filled(geometry.plane_of(block), block);
            }
        }
    }

    /// Queues the map pages with entries of units that jobs have moved. `job` awaits them: it is to
    /// erase the emptied blocks.
    fn write_touched(&mut self, job: Job, jobs: Range<u32>) {
        let mut all = Vec::new();
        jobs.for_each(|job| all.append(&mut self.touched[job as usize]));
        all.sort_unstable();
        all.dedup();
        for &page in &all {
            self.area.queue(page, true);
        }
        self.touched[job.0 as usize] = all;
    }

    /// Whether map pages are yet to be written before a die may erase.
    fn awaits(&mut self, die: Die) -> bool {
        let touched = &mut self.touched[die.0 as usize];
        while let Some(&page) = touched.last() {
            if self.area.is_pending(page) {
                // Perhaps it has been written, and since then queued again in its own time.
                self.area.hurry_page(page);
                return true;
            }
            touched.pop();
        }
        false
    }
}

impl State for Cached {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            area,
            cache,
            cache_bytes: _,
            host_memory,
            batch: _,
            per_page: _,
            logical_units: _,
            most_waiting: _,
            counts,
            touched,
            erases,
        } = self;
        area.exchange(archive)?;
        cache.exchange(archive)?;
        host_memory.exchange(archive)?;
        archive.value(counts)?;
        archive.value(touched)?;
        archive.value(erases)
    }
}

impl Mapping for Cached {
    fn own_pages(&self) -> u32 {
        self.area.all()
    }

    fn access(&mut self, data: &mut PageFtl, first: u32, count: u32, access: Access) -> Known {
        let known = self.known(first, count);
        if known > 0 {
            self.counts.hits += u64::from(known);
            return Known::Units(known);
        }
        let page = self.cache.page_of(first);
        let is_whole = first.is_multiple_of(self.per_page) && count >= self.per_page;
        if access == Access::Trim && is_whole {
            // The directory forgets the page: what it says need not be read.
            self.area.lpns(page).for_each(|lpn| _ = data.trim(lpn));
            self.host_memory.forget(page);
            self.counts.hits += u64::from(self.per_page);
            return Known::Units(self.per_page);
        }
        if self.area.waiting() >= self.most_waiting {
            self.area.hurry();
            return Known::Later;
        }
        let Some(lpn) = self.area.readable(data, page) else {
            if self.area.is_pending(page) {
                // What it holds has left the cache and is not on flash yet.
                self.area.hurry_page(page);
                return Known::Later;
            }
            // Nothing of the page was ever written: there is nothing to read.
            let loaded = self.load_run(first, count);
            self.counts.hits += u64::from(loaded);
            return Known::Units(loaded);
        };
        if self.host_memory.ask(page) {
            let run = self.run(first, count);
            self.counts.host_memory_hits += u64::from(run);
            return Known::HostMemory(HostMemory::read_bytes(run, STORED_BYTES));
        }
        self.counts.reads += u64::from(self.area.begin_read(page));
        Known::Read(lpn)
    }

    fn map_read(&mut self, _: &PageFtl, first: u32, count: u32) -> u32 {
        let page = self.cache.page_of(first);
        if self.area.end_read(page) {
            self.host_memory.take(page);
        }
        let ahead = self.cache.ahead(first);
        let loaded = self.load_run(first, count);
        self.counts.misses += u64::from(loaded);
        self.load_ahead(first + loaded, (ahead + 1).saturating_sub(loaded));
        loaded
    }

    fn place(&mut self, page: &mut PageFtl, job: Job, moves: &[Move]) -> Option<Place> {
        let first = moves.first()?.lpn;
        self.area.copy(first)?;
        let Some((die, index)) = self.area.frontier(page, job, first) else {
            return Some(Place::Later(Until::Job));
        };
        // Where a die has failed meanwhile, the next ones may have other homes.
        let lpns = moves[..self.area.of_one_home(moves)].iter().map(|unit| unit.lpn);
        let (program, _) = page.take(index, die, Stream::MAP, lpns);
        let units = u64::from(program.units);
        match self.area.phase(Die(job.0)) {
            Phase::Write => self.counts.writes += units,
            Phase::Collect | Phase::Data => {
                self.counts.moves += units;
                page.counts.moved_units += units;
            }
        }
        Some(Place::At(program))
    }

    fn programmed(&mut self, page: &mut PageFtl, program: &Program, carried: Carried) {
        if program.stream != Stream::MAP {
            self.note_places(page, program, carried);
            return;
        }
        page.map_program(program, page.pages_per_program, carried, |_, _| ());
        if let Carried::Moves(job, moves) = carried
            && *self.area.phase(Die(job.0)) == Phase::Write
        {
            for unit in moves {
                let copy = self.area.copy(unit.lpn).expect("a page of the map");
                self.area.written(copy);
                self.host_memory.written(self.area.page(unit.lpn).unwrap_or(copy));
            }
        }
        self.close(page, program);
    }

    fn not_programmed(&mut self, page: &mut PageFtl, program: &Program, carried: Carried) {
        let (Stream::MAP, Carried::Moves(job, _)) = (program.stream, carried) else { return };
        page.pad(program, page.pages_per_program);
        let units = u64::from(program.units);
        match self.area.phase(Die(job.0)) {
            Phase::Write => self.counts.writes -= units,
            Phase::Collect | Phase::Data => {
                self.counts.moves -= units;
                page.counts.moved_units -= units;
            }
        }
        page.counts.padding_units += units;
        self.close(page, program);
    }

    fn can_lose(&self, die: Die) -> Result<()> {
        self.area.can_lose(die)
    }

    fn lose(&mut self, page: &PageFtl, die: Die) {
        self.area.lose(page, die);
    }

    fn others(&self, page: &PageFtl, place: Ppn, others: &mut Vec<Ppn>) -> Option<u32> {
        let is_map = self.area.has(page.geometry.block_of(place));
        is_map.then(|| self.area.others(page, place, others))
    }

    fn trimmed(&mut self, lpn: u32) {
        self.cache.set_dirty(lpn);
    }

    fn wants(&self, page: &PageFtl, job: Job) -> bool {
        !self.erases[job.0 as usize].is_empty() || self.area.wants(page, Die(job.0))
    }

    fn wanted(&mut self) -> Option<Job> {
        self.area.named()
    }

    fn step(&mut self, page: &PageFtl, job: Job, work: &mut Work) -> Option<Step> {
        let die = Die(job.0);
        *self.area.phase(die) = Phase::Collect;
        self.area.collect(page, die, &mut work.moves, &mut work.blocks);
        if work.moves.is_empty() && work.blocks.is_empty() {
            *self.area.phase(die) = Phase::Write;
            self.area.write(page, die, &mut work.moves);
            work.is_new = true;
            for unit in &work.moves {
                self.counts.reads += u64::from(unit.from != Ppn::NONE);
                if self.batch
                    && let Some(page) = self.area.page(unit.lpn)
                {
                    self.cache.clean(page);
                }
            }
        }
        if !work.moves.is_empty() {
            return Some(Step::Move);
        }
        if !work.blocks.is_empty() {
            return Some(Step::Erase);
        }
        *self.area.phase(die) = Phase::Data;
        work.is_new = false;
        if self.erases[job.0 as usize].is_empty() {
            return None;
        }
        if self.awaits(die) {
            return Some(Step::Wait);
        }
        work.blocks.append(&mut self.erases[job.0 as usize]);
        Some(Step::Erase)
    }

    fn follows(
        &mut self,
        page: &PageFtl,
        job: Job,
        jobs: Range<u32>,
        step: Step,
        work: &mut Work,
    ) -> Option<Step> {
        let has_touched = jobs.clone().any(|job| !self.touched[job as usize].is_empty());
        if step != Step::Erase || !has_touched {
            return Some(step);
        }
        // What has been moved must be found by the map before its old place goes.
        self.erases[job.0 as usize].append(&mut work.blocks);
        self.write_touched(job, jobs);
        if self.area.wants(page, Die(job.0)) { None } else { Some(Step::Wait) }
    }

    fn erased(&mut self, page: &mut PageFtl, block: Block) {
        if self.area.erased(block) {
            // Its plane is to keep a block for the map again, this or another.
            page.free.claim(page.geometry.plane_of(block), Use::Map, 1);
        }
    }

    fn tag(&self, page: &PageFtl, block: Block) -> Option<u64> {
        self.area.has(block).then(|| page.tag_of_own())
    }

    fn recover<L: Layout>(&mut self, data: &L, found: &Found, own: Vec<Block>) {
        self.rebuild(data.page(), found, own);
    }

    fn count(&self, counts: &mut FtlCounts) {
        counts.map = self.counts;
    }

    fn start_run(&mut self) {
        self.counts = MapCounts::default();
    }

    fn copied_to_host(&mut self) -> u32 {
        self.host_memory.copied()
    }

    fn ram(&self, _: &PageFtl, _: Ram) -> Vec<Ram> {
        let mut ram = vec![
            Ram { name: "map_cache", bytes: self.cache_bytes },
            Ram { name: "map_directory", bytes: 4 * u64::from(self.own_pages()) },
        ];
        if self.host_memory.most() > 0 {
            let bytes = 4 * u64::from(self.host_memory.most());
            ram.push(Ram { name: "host_memory_directory", bytes });
        }
        ram
    }
}
