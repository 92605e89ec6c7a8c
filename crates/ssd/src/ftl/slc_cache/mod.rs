//! `slc_cache`: a page map whose host data go to blocks in single-level mode first, which are fast,
//! and are folded into native blocks later.
//!
//! The cache has a static part, blocks of each plane that are kept for it, and a dynamic part: free
//! blocks, as long as the drive has enough of them. Behind it lies the page map of `page`, with its
//! collection, wear levelling and retirement: a block of the cache comes from its free blocks and
//! returns there. `area` knows the blocks of the cache. `behind` says what the cache asks of the
//! blocks that it lies before: `per_die` and `fold` answer die by die, `superblocks` over several
//! dies, where the cache has superblocks of its own, with parity as those behind it.
//!
//! A flush is complete when its data are in the cache: that is flash. Im and Shin (ComboFTL, JSA
//! 2010) describe a buffer of single-level blocks before a log of native ones; the policies here
//! are those that makers of drives state.

mod area;
mod behind;
mod fold;
mod params;
mod per_die;
mod superblocks;

use super::contract::{
    Build, CacheState, Carried, Context, DieSet, Facts, Ftl, FtlCounts, Job, Key, Lpn, Move,
    Occupancy, Parity, Place, Program, Ram, Step, Urgency, Work,
};
use super::dftl::{CacheParams, Plan};
use super::page::{CacheBlocks, Own, PageFtl, Spans, frontier_of};
use super::paged::{Flat, Layout, Ours, Paged};
use crate::recovery::Found;
use crate::space::gc::Victims;
use area::Area;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params as read};
use behind::Behind;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Ppn};
use params::{Params, WhenFull};
use std::ops::Range;

pub const MEMBER: Member<Build> = Member {
    name: "slc_cache",
    summary: "page-level mapping behind a write cache of blocks in single-level mode",
    citation: "im2010",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let params: Params = read::read(given, "ftl")?;
        match Spans::dies_of(&params.of_page(), context.geometry.dies)? {
            1 => build::<PageFtl>(context, &params),
            _ => build::<Spans>(context, &params),
        }
    },
};

/// The cache over a map in RAM, or over one on flash.
fn build<B: Behind>(context: Context, params: &Params) -> Result<Box<dyn Ftl>> {
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
    let own = plan.as_ref().map_or(Own::NOTHING, |plan| plan.own);
    let data = SlcCache::<B>::new(context, params, own)?;
    Ok(match plan {
        None => Box::new(Paged::new(Flat, data, Ours)?),
        Some(plan) => {
            let beside = data.ram().iter().map(|ram| ram.bytes).sum();
            Box::new(Paged::new(plan.map(data.page(), beside), data, Ours)?)
        }
    })
}

/// Layout of a cache and of the blocks behind it.
#[derive(Clone)]
struct SlcCache<B: Behind> {
    data: B,
    area: Area,
    folds: B::Folds,
    /// Logical units with data.
    mapped: u32,
    keep_share: f64,
    when_full: WhenFull,
    /// Die that takes the next row of the host.
    next_die: u32,
    /// Host units that were written to the cache.
    cached_units: u64,
    /// Units that were folded out of the cache.
    folded_units: u64,
}

impl<B: Behind> SlcCache<B> {
    fn new(context: Context, params: &Params, own: Own) -> Result<Self> {
        params.check()?;
        let area = Area::new(&context, params);
        let cache = CacheBlocks { kept: area.static_sets(), pages: area.pages() };
        let data = B::create(context, &params.of_page(), Own { cache: Some(cache), ..own })?;
        Ok(Self {
            folds: data.folds(),
            area,
            data,
            mapped: 0,
            keep_share: params.keep_share,
            when_full: params.when_full,
            next_die: 0,
            cached_units: 0,
            folded_units: 0,
        })
    }

    /// Most blocks of the dynamic part in a plane now.
    fn dynamic_room(&self) -> u32 {
        self.area.dynamic_room(self.mapped, self.data.page().logical_units)
    }

    /// Units among these moves that leave the cache.
    fn folded(&self, moves: &[Move]) -> u64 {
        let geometry = &self.data.page().geometry;
        let is_cached =
            |unit: &&Move| unit.from != Ppn::NONE && self.area.has(geometry.block_of(unit.from));
        moves.iter().filter(is_cached).count() as u64
    }

    /// Mark of the cache's blocks for a start-up, without that of a superblock.
    fn mark(&self) -> u64 {
        self.data.page().cache_stream().map_or(0, |stream| u64::from(stream) + 1)
    }
}

impl<B: Behind> State for SlcCache<B> {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            data,
            area,
            folds,
            mapped,
            keep_share: _,
            when_full: _,
            next_die,
            cached_units,
            folded_units,
        } = self;
        data.exchange(archive)?;
        area.exchange(archive)?;
        folds.exchange(archive)?;
        archive.value(mapped)?;
        archive.value(next_die)?;
        archive.value(cached_units)?;
        archive.value(folded_units)
    }
}

impl<B: Behind> Layout for SlcCache<B> {
    const COPIES_BACK: bool = B::COPIES_BACK;

    #[inline]
    fn page(&self) -> &PageFtl {
        self.data.page()
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        self.data.page_mut()
    }

    fn ask(&mut self, policy: Box<dyn Victims>) {
        self.data.ask(policy);
    }

    fn facts(&self) -> Facts {
        let works_when_idle = self.keep_share < 1.0;
        Facts { works_when_idle, takes_holes: false, ..self.data.page().facts() }
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(first) = dies.next_from(self.next_die) else { return Place::NoRoom };
        let mut die = first;
        loop {
            if let Some(index) = B::part(self, die) {
                let dies = self.data.page().geometry.dies;
                self.next_die = if die.0 + 1 == dies { 0 } else { die.0 + 1 };
                let program = self.data.append(index, die, lpns);
                self.cached_units += u64::from(program.units);
                return Place::At(program);
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => break,
            }
        }
        B::full(self, dies).unwrap_or_else(|| self.data.place(key, lpns, dies))
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let place = self.data.place_moves(job, moves);
        if let Place::At(program) = &place {
            self.folded_units += self.folded(&moves[..program.units as usize]);
        }
        place
    }

    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        self.data.next_of_moves(job, units)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let page = self.data.page_mut();
        let pages = page.rows_in(program.mode).program_pages;
        self.mapped += page.map_program(program, pages, carried, |_, _| ()).new;
        B::reported(self, program, carried, false);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        let page = self.data.page_mut();
        let pages = page.rows_in(program.mode).program_pages;
        page.take_back(program, pages, carried);
        match carried {
            Carried::Host if program.mode == BlockMode::SingleLevel => {
                self.cached_units -= u64::from(program.units);
            }
            Carried::Moves(_, moves) => self.folded_units -= self.folded(moves),
            _ => {}
        }
        B::reported(self, program, carried, true);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.mapped -= u32::from(self.data.page_mut().trim(lpn).is_some());
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        B::wants_with(self, job, urgency)
    }

    fn wanted(&mut self) -> Option<Job> {
        self.data.wanted()
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        B::step_with(self, job, urgency, work, stream_of)
    }

    fn jobs_with(&self, job: Job) -> Range<u32> {
        self.data.jobs_with(job)
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.data.keeps_pace(die)
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        let plane = self.data.page().geometry.plane_of(block);
        self.area.erased(block, plane);
        let number = self.data.erased(block);
        let page = self.data.page_mut();
        self.area.claim(&mut page.free, plane, page.reserve);
        number
    }

    fn number_of(&self, block: Block) -> Option<u32> {
        self.data.number_of(block)
    }

    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.data.retire(block);
        if is_doomed && self.area.has(block) {
            B::doomed(self, block);
        }
        is_doomed
    }

    fn reclaim(&mut self, block: Block) -> bool {
        if self.area.has(block) { B::reclaim_with(self, block) } else { self.data.reclaim(block) }
    }

    fn close(&mut self, block: Block) -> bool {
        if self.area.has(block) { B::close_with(self, block) } else { self.data.close(block) }
    }

    fn parity(&self) -> Option<&dyn Parity> {
        self.data.parity()
    }

    fn parity_mut(&mut self) -> Option<&mut dyn Parity> {
        self.data.parity_mut()
    }

    fn tag(&self, block: Block) -> u64 {
        match self.data.tag(block) {
            0 if self.area.has(block) => self.mark(),
            tag => tag,
        }
    }

    fn mode(&self, block: Block) -> BlockMode {
        if self.area.has(block) { BlockMode::SingleLevel } else { BlockMode::Native }
    }

    fn cache(&self) -> Option<CacheState> {
        Some(self.area.state(self.mapped, self.data.page().logical_units))
    }

    /// Rebuilds the page map. Blocks of the cache that the layout does not take over are blocks
    /// with few pages from then on: collection empties them.
    fn recover(&mut self, found: &Found) -> Result<Vec<Block>> {
        self.area.release(&mut self.data.page_mut().free);
        let own = self.data.recover(found)?;
        let page = self.data.page();
        let lpns = (0..page.logical_units).map(Lpn);
        self.mapped = lpns.filter(|&lpn| page.lookup(lpn).is_some()).count() as u32;
        let stream = page.cache_stream();
        let is_cached = |&block: &Block| {
            let tag = if found.pages(block) > 0 { found.tag(block) } else { self.data.tag(block) };
            frontier_of(tag) == stream
        };
        let cached: Vec<Block> = found.blocks().filter(is_cached).collect();
        let sets = self.data.taken_over();
        let page = self.data.page_mut();
        sets.iter().for_each(|set| self.area.take_over(&page.geometry, set));
        self.area.recover(&mut page.free, &page.geometry, cached.into_iter());
        Ok(own)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        let pages = self.data.filled_pages(block);
        if self.area.has(block) { pages.min(self.area.pages()) } else { pages }
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
        let page = self.data.page();
        let native = page.geometry.pages_per_block;
        page.occupancy_by(|block| {
            let filled = if page.short_pages(block).is_some() {
                native
            } else {
                match self.filled_pages(block) {
                    // The first program decides the mode; until then all pages are free.
                    filled @ 1.. if self.area.has(block) => native - self.area.pages() + filled,
                    filled => filled,
                }
            };
            (filled, native)
        })
    }

    fn ram(&self) -> Vec<Ram> {
        let mut ram = self.data.ram();
        ram.push(Ram { name: "slc_cache", bytes: self.area.bytes() });
        ram
    }
}
