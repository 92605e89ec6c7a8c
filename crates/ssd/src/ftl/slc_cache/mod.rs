//! `slc_cache`: a page map whose host data go to blocks in single-level mode first, which are fast,
//! and are folded into native blocks later.
//!
//! The cache has a static part, blocks of each plane that are kept for it, and a dynamic part: free
//! blocks, as long as the drive has enough of them. Behind it lies the page map of `page`, with its
//! collection, wear levelling and retirement: a block of the cache comes from its free blocks and
//! returns there. `area` knows the blocks of the cache, `fold` empties them.
//!
//! A flush is complete when its data are in the cache: that is flash. Im and Shin (ComboFTL, JSA
//! 2010) describe a buffer of single-level blocks before a log of native ones; the policies here
//! are those that makers of drives state.

mod area;
mod fold;

use super::contract::{
    Build, CacheState, Carried, Context, DieSet, Facts, Ftl, FtlCounts, Job, Key, Lpn, Move,
    Occupancy, Place, Program, Ram, Reason, Step, Stream, Urgency, Work,
};
use super::dftl::{
    CacheParams, LEAST_CACHE_BYTES, LEAST_HOST_MEMORY_BYTES, MapCachePolicy, Plan, is_zero,
};
use super::page::{Isolation, Own, PageFtl, PageParams};
use super::paged::{Flat, Layout, Ours, Paged};
use crate::recovery::Found;
use area::Area;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use fold::Folds;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "slc_cache",
    summary: "page-level mapping behind a write cache of blocks in single-level mode",
    citation: "im2010",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| build(context, &params::read(given, "ftl")?),
};

/// Target of host data when the cache is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WhenFull {
    /// Native blocks take the data.
    Native,
    /// The cache takes the data, once its oldest ones have been folded.
    Fold,
}

/// Parameters of `slc_cache`: sizes of the cache, and when it is folded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Bytes of the static part of the cache, rounded up to whole blocks of each plane; default:
    /// one block of each plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    static_bytes: Option<u64>,
    /// Bytes of the dynamic part on an empty drive, rounded down to whole blocks of each plane;
    /// default: as many as there are free blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    dynamic_bytes: Option<u64>,
    /// Share of the logical drive that has data, up to which the dynamic part keeps its size.
    shrink_from: f64,
    /// Share of the logical drive that has data, at which the dynamic part is gone; between
    /// `shrink_from` and this it shrinks in proportion.
    shrink_to: f64,
    /// Share of the cache that keeps its data in idle times: with 0 all are folded then, with 1
    /// only when their room is needed.
    keep_share: f64,
    /// Target of host data when the cache is full: "native" blocks, or "fold": the cache, once its
    /// oldest data have been folded.
    when_full: WhenFull,
    /// Collection and folding write to separate blocks.
    separate_gc_stream: bool,
    /// Static wear levelling of native blocks, as for `page`; 0 switches it off.
    static_wear_delta: u32,
    /// RAM for cached map entries, as with `dftl`; default: the whole map is in RAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = LEAST_CACHE_BYTES))]
    map_cache_bytes: Option<u64>,
    /// Policy of the cache of map entries, as with `dftl`, if `map_cache_bytes` is given.
    map_cache_policy: MapCachePolicy,
    /// Writing a map page cleans all its cached entries, as with `dftl`, if `map_cache_bytes` is
    /// given.
    map_batch: bool,
    /// Memory of the host for copies of map pages, as with `dftl`, if `map_cache_bytes` is given.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0, "x-scale" = LEAST_HOST_MEMORY_BYTES))]
    host_memory_bytes: u64,
}

impl Default for Params {
    fn default() -> Self {
        let PageParams { separate_gc_stream, static_wear_delta, .. } = PageParams::default();
        Self {
            static_bytes: None,
            dynamic_bytes: None,
            shrink_from: 0.0,
            shrink_to: 1.0,
            keep_share: 0.0,
            when_full: WhenFull::Native,
            separate_gc_stream,
            static_wear_delta,
            map_cache_bytes: None,
            map_cache_policy: MapCachePolicy::Lru,
            map_batch: true,
            host_memory_bytes: 0,
        }
    }
}

impl Params {
    fn check(&self) -> Result<()> {
        for (key, value, of) in [
            ("shrink_from", self.shrink_from, "the logical drive with data"),
            ("shrink_to", self.shrink_to, "the logical drive with data"),
            ("keep_share", self.keep_share, "the cache"),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::new(format!("ftl.{key}"), format!("{value} is out of range"))
                    .expected(format!("0 to 1 (share of {of})")));
            }
        }
        if self.shrink_from > self.shrink_to {
            let problem =
                format!("{} is above ftl.shrink_to, {}", self.shrink_from, self.shrink_to);
            return Err(Error::new("ftl.shrink_from", problem).expected("at most ftl.shrink_to"));
        }
        Ok(())
    }
}

/// Tag of the cache's blocks, for a start-up.
const TAG: u64 = 255;

#[derive(Clone)]
struct SlcCache {
    page: PageFtl,
    area: Area,
    folds: Folds,
    /// Logical units with data.
    mapped: u32,
    keep_share: f64,
    when_full: WhenFull,
    /// Host units that were written to the cache.
    cached_units: u64,
    /// Units that were folded out of the cache.
    folded_units: u64,
}

/// The cache over a map in RAM, or over one on flash.
fn build(context: Context, params: &Params) -> Result<Box<dyn Ftl>> {
    let &Params { map_cache_bytes, map_cache_policy: policy, map_batch: batch, .. } = params;
    let host_memory_bytes = params.host_memory_bytes;
    let plan = match map_cache_bytes {
        Some(bytes) => {
            Plan::new(&context, CacheParams { bytes, policy, batch, host_memory_bytes })?
        }
        None if host_memory_bytes > 0 => {
            let problem = "given without ftl.map_cache_bytes: the whole map is in the controller";
            return Err(Error::new("ftl.host_memory_bytes", problem)
                .hint("set ftl.map_cache_bytes, or leave both out"));
        }
        None => None,
    };
    Ok(match plan {
        None => Box::new(Paged::new(Flat, SlcCache::new(context, params, Own::NOTHING)?, Ours)?),
        Some(plan) => {
            let data = SlcCache::new(context, params, plan.own)?;
            let beside = data.ram().map_or(0, |ram| ram.bytes);
            Box::new(Paged::new(plan.map(data.page(), beside), data, Ours)?)
        }
    })
}

impl SlcCache {
    fn new(context: Context, params: &Params, own: Own) -> Result<Self> {
        params.check()?;
        let slc_pages = context.single_level_pages;
        let area = Area::new(&context, params, slc_pages);
        let page_params = PageParams {
            separate_gc_stream: params.separate_gc_stream,
            host_streams: 1,
            reduced_streams: Vec::new(),
            isolation: Isolation::Initial,
            handle_quota: Vec::new(),
            static_wear_delta: params.static_wear_delta,
            fast_pages: false,
            skip_slow_pages: false,
            fast_region: None,
            metadata_share: 0.0,
            superblock_dies: 1,
            reclaim_groups: 1,
        };
        let own = Own { cache_blocks: area.static_sets(), ..own };
        let page = PageFtl::new(context, &page_params, own)?;
        Ok(Self {
            folds: Folds::new(page.geometry.dies, page.geometry.planes_per_die, page.joined),
            area,
            page,
            mapped: 0,
            keep_share: params.keep_share,
            when_full: params.when_full,
            cached_units: 0,
            folded_units: 0,
        })
    }

    /// Places host data in the cache.
    fn place_in_cache(&mut self, die: Die, group: u32, lpns: &[Lpn]) -> Program {
        let (page, area) = (&mut self.page, &mut self.area);
        let place = (die, Stream::host(0), BlockMode::SingleLevel);
        let program = area.frontier(die, group).program(place, lpns.len() as u32);
        area.advance(die, group, program.planes.into());
        page.own(&program, 1, lpns.iter().copied());
        page.count_host(&program);
        self.cached_units += u64::from(program.units);
        program
    }

    /// Has a full block of the cache folded next. True if that is new.
    fn hurry(&mut self, block: Block) -> bool {
        let geometry = &self.page.geometry;
        self.folds.hurry(geometry.die_of(block), geometry.plane_of(block).0, block)
    }

    /// Takes in the report of a program of the cache: its set may be full.
    fn close_full(&mut self, program: &Program) {
        if program.page + 1 < self.area.slc_pages() {
            return;
        }
        for &block in program.blocks() {
            let plane = self.page.geometry.plane_of(block).0;
            self.folds.closed(program.die, plane, block, self.area.is_dynamic(block));
            if self.page.retirement.is_doomed(block) {
                self.folds.hurry(program.die, plane, block);
            }
        }
    }
}

impl State for SlcCache {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            page,
            area,
            folds,
            mapped,
            keep_share: _,
            when_full: _,
            cached_units,
            folded_units,
        } = self;
        page.exchange(archive)?;
        area.exchange(archive)?;
        archive.value(folds)?;
        archive.value(mapped)?;
        archive.value(cached_units)?;
        archive.value(folded_units)
    }
}

impl Layout for SlcCache {
    const COPIES_BACK: bool = true;

    #[inline]
    fn page(&self) -> &PageFtl {
        &self.page
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        &mut self.page
    }

    fn facts(&self) -> Facts {
        let works_when_idle = self.keep_share < 1.0;
        Facts { works_when_idle, takes_holes: false, ..self.page.facts() }
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(first) = dies.next_from(self.area.next_die()) else { return Place::NoRoom };
        let mut die = first;
        loop {
            if let Some(group) = self.group_for(die) {
                self.area.turn(die);
                return Place::At(self.place_in_cache(die, group, lpns));
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => break,
            }
        }
        if self.when_full == WhenFull::Fold && self.can_fold(first) {
            return Place::NoRoom;
        }
        self.page.place(key, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let place = self.page.place_moves(job, moves);
        if let Place::At(program) = &place
            && self.folds.is_moving(Die(job.0))
        {
            self.folded_units += u64::from(program.units);
        }
        place
    }

    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        self.page.next_of_moves(job, units)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let is_cached = program.mode == BlockMode::SingleLevel;
        let pages = if is_cached { 1 } else { self.page.pages_per_program };
        self.mapped += self.page.map_program(program, pages, carried, |_, _| ()).new;
        if is_cached {
            self.close_full(program);
        } else {
            self.page.close_full(program);
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        if program.mode == BlockMode::SingleLevel {
            self.page.take_back(program, 1, carried);
            self.cached_units -= u64::from(program.units);
            self.close_full(program);
            return;
        }
        if self.folds.is_moving(program.die) && !matches!(carried, Carried::Host) {
            self.folded_units -= u64::from(program.units);
        }
        self.page.not_programmed(program, carried);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.mapped -= u32::from(self.page.trim(lpn).is_some());
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.wants_fold(Die(job.0), urgency) || self.page.wants(job, urgency)
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let die = Die(job.0);
        self.folds.moving(die, false);
        let goes_on = self.page.wants(job, urgency);
        let collects = self.page.is_collecting(die);
        // The room that one of both has begun to use is the other's too: each ends what it began.
        let folds_first = self.folds.is_under_way(die) || !collects || self.page.is_roomy(die);
        if folds_first && (self.wants_fold(die, urgency) || self.folds.is_under_way(die) && goes_on)
        {
            let step = self.fold_step(die, urgency, work);
            if step != Step::Done {
                self.folds.moving(die, step == Step::Move);
                work.reason = Reason::Folding;
                return step;
            }
        }
        if goes_on { self.page.step(job, urgency, work, stream_of) } else { Step::Done }
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.page.keeps_pace(die)
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        let plane = self.page.geometry.plane_of(block);
        self.area.erased(block, plane);
        let number = self.page.erased(block);
        self.area.claim(&mut self.page.free, plane, self.page.reserve);
        number
    }

    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.page.retire(block);
        if is_doomed && self.area.has(block) {
            self.hurry(block);
        }
        is_doomed
    }

    fn reclaim(&mut self, block: Block) -> bool {
        if !self.area.has(block) {
            return self.page.reclaim(block);
        }
        let is_new = self.hurry(block);
        self.page.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn close(&mut self, block: Block) -> bool {
        if !self.area.has(block) {
            return self.page.close(block);
        }
        let die = self.page.geometry.die_of(block);
        let closed = self.area.close(die, block);
        for &(other, pages) in &closed {
            self.page.short.push((other, pages));
            let plane = self.page.geometry.plane_of(other).0;
            self.folds.closed(die, plane, other, self.area.is_dynamic(other));
        }
        !closed.is_empty()
    }

    fn tag(&self, block: Block) -> u64 {
        if self.area.has(block) { TAG } else { self.page.tag_of(block) }
    }

    fn mode(&self, block: Block) -> BlockMode {
        if self.area.has(block) { BlockMode::SingleLevel } else { BlockMode::Native }
    }

    fn cache(&self) -> Option<CacheState> {
        Some(self.area.state(self.mapped, self.page.logical_units))
    }

    /// Rebuilds the page map. Blocks of the cache are blocks with few pages from then on:
    /// collection empties them.
    fn recover(&mut self, found: &Found) -> Result<Vec<Block>> {
        let own = self.page.rebuild(found);
        let lpns = (0..self.page.logical_units).map(Lpn);
        self.mapped = lpns.filter(|&lpn| self.page.lookup(lpn).is_some()).count() as u32;
        self.area.recover(&mut self.page.free, found, TAG);
        Ok(own)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        if !self.area.has(block) {
            return self.page.filled_pages(block);
        }
        if let Some(pages) = self.page.short_pages(block) {
            return pages;
        }
        let die = self.page.geometry.die_of(block);
        self.area.filled_pages(die, block)
    }

    fn count(&self, counts: &mut FtlCounts) {
        counts.cache.host_units = self.cached_units;
        counts.cache.folded_units = self.folded_units;
        counts.cache.erased_blocks = self.area.erased_blocks();
    }

    fn start_run(&mut self) {
        (self.cached_units, self.folded_units) = (0, 0);
        self.area.start_run();
    }

    fn occupancy(&self) -> Occupancy {
        let mut occupancy = self.page.occupancy();
        // The page map takes open blocks of the cache for full ones.
        let Geometry { units_per_page, pages_per_block, .. } = self.page.geometry;
        let unused = self.area.unused_units(units_per_page, pages_per_block);
        occupancy.invalid -= unused;
        occupancy.free += unused;
        occupancy
    }

    fn ram(&self) -> Option<Ram> {
        Some(Ram { name: "slc_cache", bytes: self.area.bytes() })
    }
}
