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
//! Where the whole map fits the cache it stays there, and nothing of it is on flash.

mod area;
mod cache;
mod nodes;
mod order;
mod recover;

use super::contract::{
    Access, Build, Carried, Context, DieSet, Ftl, FtlCounts, Job, Key, Known, Lpn, MapCounts, Move,
    Occupancy, Place, Program, Ram, Step, Stream, Until, Urgency, Wear, Work,
};
use super::page::{Own, PageFtl, PageParams};
use crate::recovery::Found;
use area::{Area, Phase};
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use cache::Cache;
use nand::geometry::{Block, Die, Ppn};
use order::MapCachePolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Bytes of an entry in memory (which unit, and where) and on flash.
const CACHED_BYTES: u64 = 8;
const STORED_BYTES: u32 = 4;
/// State of a block in memory, at most.
const MOST_BLOCK_BYTES: f64 = 64.0;
/// Fewest entries that a drive works with.
const LEAST_ENTRIES: u64 = 64;

/// Parameters of `dftl`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// RAM for cached map entries, 8 bytes each. A map that fits with 4 bytes a unit stays in RAM
    /// as a whole. Less where `ftl.ram_bytes` leaves less. The default is assumed: SRAM of the
    /// controller.
    map_cache_bytes: u64,
    /// Which cached entry makes room for another: `lru`, `segmented_lru` or `tpftl`.
    map_cache_policy: MapCachePolicy,
    /// Writing a map page cleans all its cached entries, not only the evicted ones. Always so
    /// with `tpftl`.
    map_batch: bool,
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
            map_cache_bytes: 2 << 20,
            map_cache_policy: MapCachePolicy::Lru,
            map_batch: true,
            separate_gc_stream,
            host_streams,
            static_wear_delta,
        }
    }
}

/// With the whole map in memory it is `page`; else there are pages of it on flash.
fn build(context: Context, params: &Params) -> Result<Box<dyn Ftl>> {
    let &Params { map_cache_bytes, map_cache_policy, map_batch, .. } = params;
    let page_params = PageParams {
        separate_gc_stream: params.separate_gc_stream,
        host_streams: params.host_streams,
        static_wear_delta: params.static_wear_delta,
        ..PageParams::default()
    };
    // As many units as the drive may have at most: what it has hangs on what is kept for the map.
    let most_units = context.geometry.units();
    if map_cache_bytes / CACHED_BYTES < LEAST_ENTRIES {
        let problem = format!("{map_cache_bytes} bytes");
        return Err(Error::new("ftl.map_cache_bytes", problem)
            .expected(format!("at least {}", LEAST_ENTRIES * CACHED_BYTES)));
    }
    if map_cache_policy == MapCachePolicy::Tpftl && !map_batch {
        let problem = "false with `ftl.map_cache_policy = \"tpftl\"`, which writes in batches";
        return Err(Error::new("ftl.map_batch", problem).expected("true"));
    }
    let sold = f64::from(most_units) / (1.0 + context.config.overprovisioning);
    let (limit, blocks) = (context.config.ram_bytes, context.geometry.blocks());
    let whole = f64::from(STORED_BYTES) * sold;
    // Of the state of blocks more is reckoned with than it takes.
    let has_room = limit == 0 || whole + f64::from(blocks) * MOST_BLOCK_BYTES <= limit as f64;
    if map_cache_bytes as f64 >= whole && has_room {
        return Ok(Box::new(PageFtl::new(context, &page_params, Own::NOTHING)?));
    }
    let per_page = context.geometry.unit_bytes / STORED_BYTES;
    let most_pages = most_units.div_ceil(per_page);
    let own = Area::own(&context.geometry, context.planes_per_program, most_pages);
    let page = PageFtl::new(context, &page_params, own)?;
    let pages = page.logical_units.div_ceil(per_page);
    let ram = page.ram();
    let others = ram.iter().filter(|ram| ram.name != "map").map(|ram| ram.bytes);
    let others = others.sum::<u64>() + 4 * u64::from(pages);
    let cache_bytes = match limit {
        0 => map_cache_bytes,
        // Too little is refused with the need.
        _ => limit.saturating_sub(others).clamp(LEAST_ENTRIES * CACHED_BYTES, map_cache_bytes),
    };
    let entries = (cache_bytes / CACHED_BYTES).min(page.logical_units.into()) as usize;
    let dies = page.geometry.dies as usize;
    Ok(Box::new(Dftl {
        area: Area::new(&page, pages),
        cache: Cache::new(map_cache_policy, entries, pages, per_page),
        cache_bytes,
        batch: map_batch,
        per_page,
        most_waiting: 4 * page.row_units as usize * dies,
        counts: MapCounts::default(),
        touched: vec![Vec::new(); dies],
        erases: vec![Vec::new(); dies],
        page,
    }))
}

#[derive(Clone)]
struct Dftl {
    page: PageFtl,
    area: Area,
    cache: Cache,
    cache_bytes: u64,
    batch: bool,
    /// Entries of a page of the map.
    per_page: u32,
    /// Pages that may wait to be written before requests wait for them.
    most_waiting: usize,
    counts: MapCounts,
    /// By die: pages of the map with entries of what collection has moved, and the blocks that are
    /// erased when those are written.
    touched: Vec<Vec<u32>>,
    erases: Vec<Vec<Block>>,
}

impl Dftl {
    /// Takes the entry of a unit in, which is not here.
    fn insert(&mut self, lpn: u32, is_dirty: bool) {
        if let Some(page) = self.cache.insert(lpn, is_dirty) {
            self.area.queue(page, false);
        }
    }

    /// Takes in the entries of up to `count` units from `first` on, of one page: of how many.
    fn load_run(&mut self, first: u32, count: u32) -> u32 {
        let to_end = self.per_page - first % self.per_page;
        let count = count.min(to_end).min(self.cache.most() as u32 / 2);
        for lpn in first..first + count {
            if !self.cache.ask(lpn) {
                self.insert(lpn, false);
            }
        }
        count
    }

    /// Takes in entries that nobody has asked for yet, from `first` on: their page was read.
    fn load_ahead(&mut self, first: u32, count: u32) {
        let end = (first + count).min(self.page.logical_units);
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

    /// The unit at slot `i` of a program.
    fn carried(&self, program: &Program, i: u32) -> (u32, Ppn) {
        let ppn = program.ppn(&self.page.geometry, i);
        (self.page.owner[ppn.0 as usize], ppn)
    }

    /// Entries of data that a program has written change: in memory where they are, or in their
    /// pages before what they replace is erased.
    fn note_places(&mut self, program: &Program, carried: Carried) {
        for i in 0..program.units {
            let (lpn, ppn) = self.carried(program, i);
            if self.page.map[lpn as usize] != ppn.0 {
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

    /// A program of pages of the map is over: a block that it has filled can be collected.
    fn close(&mut self, program: &Program) {
        let geometry = &self.page.geometry;
        if program.page + self.page.pages_per_program == geometry.pages_per_block {
            for &block in program.blocks() {
                self.area.filled(geometry.plane_of(block), block);
            }
        }
    }

    /// The pages with entries of what a die has moved are to be written.
    fn write_touched(&mut self, die: Die) {
        let touched = &mut self.touched[die.0 as usize];
        touched.sort_unstable();
        touched.dedup();
        for &page in &*touched {
            self.area.queue(page, true);
        }
    }

    /// Whether pages of the map are yet to be written before a die may erase.
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

impl State for Dftl {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            page,
            area,
            cache,
            cache_bytes: _,
            batch: _,
            per_page: _,
            most_waiting: _,
            counts,
            touched,
            erases,
        } = self;
        page.exchange(archive)?;
        area.exchange(archive)?;
        cache.exchange(archive)?;
        archive.value(counts)?;
        archive.value(touched)?;
        archive.value(erases)
    }
}

impl Ftl for Dftl {
    fn logical_units(&self) -> u32 {
        self.page.logical_units
    }

    fn row_units(&self) -> u32 {
        self.page.row_units
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

    fn access(&mut self, Lpn(first): Lpn, count: u32, access: Access) -> Known {
        let known = self.known(first, count);
        if known > 0 {
            self.counts.hits += u64::from(known);
            return Known::Units(known);
        }
        let page = self.cache.page_of(first);
        let lpn = self.area.lpn(page);
        let is_whole = first.is_multiple_of(self.per_page) && count >= self.per_page;
        if access == Access::Trim && is_whole {
            // The directory forgets the page: what it says need not be read.
            self.page.trim(lpn);
            self.counts.hits += u64::from(self.per_page);
            return Known::Units(self.per_page);
        }
        if self.area.waiting() >= self.most_waiting {
            self.area.hurry();
            return Known::Later;
        }
        if self.page.lookup(lpn).is_none() {
            if self.area.is_pending(page) {
                // What it holds has left the cache and is not on flash yet.
                self.area.hurry_page(page);
                return Known::Later;
            }
            // Nothing of the page was ever written: there is nothing to read.
            let loaded = self.load_run(first, count);
            self.counts.hits += u64::from(loaded);
            return Known::Units(loaded);
        }
        self.counts.reads += u64::from(self.area.begin_read(page));
        Known::Read(lpn)
    }

    fn map_read(&mut self, Lpn(first): Lpn, count: u32, _: Access) -> u32 {
        self.area.end_read(self.cache.page_of(first));
        let ahead = self.cache.ahead(first);
        let loaded = self.load_run(first, count);
        self.counts.misses += u64::from(loaded);
        self.load_ahead(first + loaded, (ahead + 1).saturating_sub(loaded));
        loaded
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.page.place(key, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        if self.area.page(moves[0].lpn).is_none() {
            return self.page.place_moves(job, moves);
        }
        let Some((die, index)) = self.area.frontier(&mut self.page, moves[0].lpn) else {
            return Place::Later(Until::Job);
        };
        let lpns = moves.iter().map(|unit| unit.lpn);
        let (program, _) = self.page.take(index, die, Stream::MAP, lpns);
        let units = u64::from(program.units);
        match self.area.phase(die) {
            Phase::Write => self.counts.writes += units,
            Phase::Collect | Phase::Data => {
                self.counts.moves += units;
                self.page.counts.moved_units += units;
            }
        }
        Place::At(program)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.page.programmed(program, carried);
        if program.stream != Stream::MAP {
            self.note_places(program, carried);
            return;
        }
        if *self.area.phase(program.die) == Phase::Write {
            for unit in carried.moves() {
                let page = self.area.page(unit.lpn).expect("a page of the map");
                self.area.written(page);
            }
        }
        self.close(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        if program.stream != Stream::MAP {
            self.page.not_programmed(program, carried);
            return;
        }
        self.page.pad(program);
        let units = u64::from(program.units);
        match self.area.phase(program.die) {
            Phase::Write => self.counts.writes -= units,
            Phase::Collect | Phase::Data => {
                self.counts.moves -= units;
                self.page.counts.moved_units -= units;
            }
        }
        self.page.counts.padding_units += units;
        self.close(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.page.trim(lpn);
        self.cache.set_dirty(lpn.0);
    }

    fn jobs(&self) -> u32 {
        self.page.jobs()
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        !self.erases[die.0 as usize].is_empty()
            || self.area.wants(&self.page, die)
            || self.page.wants(job, urgency)
    }

    fn wanted(&mut self) -> Option<Job> {
        self.area.named()
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let die = Die(job.0);
        work.clear();
        *self.area.phase(die) = Phase::Collect;
        self.area.collect(&self.page, die, &mut work.moves, &mut work.blocks);
        if work.moves.is_empty() && work.blocks.is_empty() {
            *self.area.phase(die) = Phase::Write;
            self.area.write(&self.page, die, &mut work.moves);
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
            return Step::Move;
        }
        if !work.blocks.is_empty() {
            return Step::Erase;
        }
        *self.area.phase(die) = Phase::Data;
        if self.erases[die.0 as usize].is_empty() {
            match self.page.step(job, urgency, work) {
                Step::Erase if !self.touched[die.0 as usize].is_empty() => {
                    // What has been moved must be found by the map before its old place goes.
                    self.erases[die.0 as usize].append(&mut work.blocks);
                    self.write_touched(die);
                    return if self.area.wants(&self.page, die) {
                        self.step(job, urgency, work)
                    } else {
                        Step::Wait
                    };
                }
                step => return step,
            }
        }
        if self.awaits(die) {
            return Step::Wait;
        }
        work.blocks.append(&mut self.erases[die.0 as usize]);
        Step::Erase
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.page.keeps_pace(die)
    }

    fn erased(&mut self, block: Block) {
        let was_of_map = self.area.erased(block);
        if was_of_map {
            // Its plane is to keep a block for the map again, this or another.
            self.page.free.claim(self.page.geometry.plane_of(block), 1);
        }
        self.page.erased(block);
    }

    fn retire(&mut self, block: Block) -> bool {
        self.page.retire(block)
    }

    fn close(&mut self, block: Block) -> bool {
        self.page.close(block)
    }

    fn can_reclaim(&self) -> bool {
        true
    }

    fn reclaim(&mut self, block: Block) -> bool {
        self.page.reclaim(block)
    }

    fn own_units(&self) -> u32 {
        self.own_pages()
    }

    fn renews(&self, job: Job) -> bool {
        self.area.is_writing(Die(job.0))
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
        self.rebuild(found);
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
        let pages = u64::from(self.page.logical_units.div_ceil(self.per_page));
        let mut ram = self.page.ram();
        ram.retain(|ram| ram.name != "map");
        ram.push(Ram { name: "map_cache", bytes: self.cache_bytes });
        ram.push(Ram { name: "map_directory", bytes: 4 * pages });
        ram
    }

    fn bytes_per_unit(&self) -> f64 {
        self.page.bytes_per_unit()
    }
}
