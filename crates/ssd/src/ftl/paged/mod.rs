//! Page-mapped FTLs, composed of three parts over one page map and one table of blocks.
//!
//! A [`Mapping`] says what knowing a place costs: nothing (`Flat`), an entry that is cached on
//! demand (`dftl`), a segment that may be wrong (`learned`). A [`Layout`] places data and collects
//! blocks: die by die (`page`), in superblocks over several dies, through a cache of single-level
//! blocks (`slc_cache`), in blocks of coded pages (`wom`), or in block sets on chips of several
//! kinds (`frozen`). [`Choices`] are those of the parameters, of `sepbit`, or of a user's hooks.
//! `build` makes an FTL of any mapping and any choices, with data die by die or in superblocks.

mod choices;
mod layout;
mod mapping;

use super::contract::Context;
use super::contract::parts::parts;
use super::contract::{
    Access, Account, BlockService, CacheState, Carried, CopyBack, DieSet, Facts, Ftl, FtlCounts,
    HandleCounts, Handles, HeldBlocks, Hint, Job, Key, Known, Lead, Lpn, MapOnFlash, Move,
    Occupancy, Parity, Parts, Place, Program, Ram, Recovery, Recycling, Relocation, Step, Stream,
    Urgency, Wear, Withdrawal, Work,
};
use super::page::{Own, PageFtl, PageParams, Spans};
use crate::recovery::Found;
use base::archive::{Archive, State};
use base::{Error, Result, Time};
pub(super) use choices::{Choices, Ours};
pub(super) use layout::Layout;
pub(super) use mapping::{Flat, Mapping};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Ppn};
use std::ops::Range;

/// A page-mapped FTL of a mapping, a layout, and choices.
pub(super) struct Paged<M, L, C> {
    pub(super) map: M,
    pub(super) data: L,
    choices: C,
    facts: Facts,
}

impl<M: Mapping, L: Layout, C: Choices> Paged<M, L, C> {
    /// Composes an FTL of these parts, and lets the choices begin.
    pub(super) fn new(map: M, mut data: L, mut choices: C) -> Result<Self> {
        choices.begin(&mut data)?;
        let (facts, keys) = (data.facts(), choices.keys());
        let facts = Facts {
            map_pages: map.own_pages(),
            keys: keys.unwrap_or(facts.keys),
            streams: choices.handles().unwrap_or(facts.streams),
            sorts_rows: M::SORTS_ROWS,
            jobs_can_wait: facts.jobs_can_wait && map.own_pages() == 0,
            takes_holes: facts.takes_holes && M::IS_IN_RAM && keys.is_none(),
            stationary: facts.stationary.filter(|_| M::IS_IN_RAM && C::LEAVE_THE_POLICY),
            ..facts
        };
        Ok(Self { map, data, choices, facts })
    }
}

/// Builds an FTL with a mapping and choices over data that are laid out as `params` say: die by
/// die, or in superblocks of several dies, or of one where no block may hold data of two handles.
/// `own` is the space that both need.
pub(super) fn build<M: Mapping, C: Choices>(
    context: Context,
    params: &PageParams,
    own: Own,
    choices: C,
    map: impl FnOnce(&PageFtl, u64) -> M,
) -> Result<Box<dyn Ftl>> {
    Ok(match Spans::dies_of(params, context.geometry.dies)? {
        1 if !params.keeps_handles() => {
            let page = PageFtl::new(context, params, own)?;
            Box::new(Paged::new(map(&page, 0), page, choices)?)
        }
        dies => {
            let spans = Spans::new(context, params, own, dies)?;
            let beside = spans.ram().iter().map(|ram| ram.bytes).sum();
            Box::new(Paged::new(map(spans.page(), beside), spans, choices)?)
        }
    })
}

impl<M: Mapping, L: Layout, C: Choices> Clone for Paged<M, L, C> {
    fn clone(&self) -> Self {
        let mut data = self.data.clone();
        let choices = self.choices.twin(data.page_mut());
        Self { map: self.map.clone(), data, choices, facts: self.facts.clone() }
    }
}

impl<M: Mapping, L: Layout, C: Choices> State for Paged<M, L, C> {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { map, data, choices, facts: _ } = self;
        choices.exchange(archive)?;
        data.exchange(archive)?;
        map.exchange(archive)
    }
}

impl<M: Mapping, L: Layout, C: Choices> Ftl for Paged<M, L, C> {
    #[inline]
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn key_of(&mut self, lpn: Lpn, hint: Hint) -> Key {
        self.choices.key_of(lpn, hint).unwrap_or_else(|| self.data.page().key_of(lpn, hint))
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.data.page().lookup(lpn)
    }

    #[inline]
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        if self.choices.is_broken() {
            return Place::NoRoom;
        }
        let key = self.choices.key_of_row(key, lpns.len());
        self.data.place(key, lpns, dies)
    }

    #[inline]
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        match self.map.place(self.data.page_mut(), job, moves) {
            Some(place) => place,
            None => self.data.place_moves(job, moves),
        }
    }

    #[inline]
    fn programmed(&mut self, program: &Program, carried: Carried) {
        let is_of_map = program.stream == Stream::MAP;
        if !is_of_map {
            self.data.programmed(program, carried);
        }
        self.map.programmed(self.data.page_mut(), program, carried);
        if !is_of_map {
            let is_moved = matches!(carried, Carried::Moves(..));
            self.choices.programmed(&self.data, program, is_moved);
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        if program.stream != Stream::MAP {
            self.data.not_programmed(program, carried);
        }
        self.map.not_programmed(self.data.page_mut(), program, carried);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.data.trim(lpn);
        self.map.trimmed(lpn.0);
        self.choices.trimmed(lpn);
    }

    #[inline]
    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.map.wants(self.data.page(), job) || self.choices.wants(&self.data, job, urgency)
    }

    #[inline]
    fn wanted(&mut self) -> Option<Job> {
        self.map.wanted().or_else(|| self.data.wanted())
    }

    #[inline]
    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let Self { map, data, choices, facts: _ } = self;
        let urgency = choices.urgency(job, urgency);
        loop {
            work.clear();
            if let Some(step) = map.step(data.page(), job, work) {
                return step;
            }
            let step = data.step(job, urgency, work, &mut |lpn| choices.stream_of(lpn));
            if choices.is_broken() {
                work.clear();
                return Step::Done;
            }
            let jobs = data.jobs_with(job);
            if let Some(step) = map.follows(data.page(), job, jobs, step, work) {
                return step;
            }
        }
    }

    fn erased(&mut self, block: Block, took: Time) {
        let page = self.data.page_mut();
        page.candidates.measured(page.geometry.plane_of(block), block, took);
        self.map.erased(self.data.page_mut(), block);
        if let Some(number) = self.data.erased(block) {
            self.choices.erased(number);
        }
    }

    #[inline]
    fn keeps_pace(&self, die: Die) -> bool {
        self.data.keeps_pace(die)
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.data.page().prefetch(lpn);
    }

    #[inline]
    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        self.data.page().prefetch_old(lpn)
    }

    fn fault(&mut self, _: bool) -> Option<Error> {
        self.choices.fault()
    }
}

impl<M: Mapping, L: Layout, C: Choices> Account for Paged<M, L, C> {
    fn counts(&self) -> FtlCounts {
        let mut counts = self.data.page().counts;
        self.data.count(&mut counts);
        self.map.count(&mut counts);
        counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.data.page_mut().start_run(pe_cycles);
        self.data.start_run();
        self.map.start_run();
    }

    fn occupancy(&self) -> Occupancy {
        self.data.occupancy()
    }

    fn wear(&self) -> Wear {
        self.data.page().spread_of_wear()
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.data.filled_pages(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        self.data.page().valid_units(block)
    }

    fn group(&self, block: Block) -> Option<u32> {
        self.data.group(block)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.data.page().is_bad(block)
    }

    fn mode(&self, block: Block) -> BlockMode {
        self.data.mode(block)
    }

    fn cache(&self) -> Option<CacheState> {
        self.data.cache()
    }

    fn lead(&self) -> Option<Lead> {
        if M::IS_IN_RAM { self.data.lead() } else { None }
    }

    fn ram(&self) -> Vec<Ram> {
        let page = self.data.page();
        let blocks = Ram { name: "blocks", bytes: self.data.block_bytes() };
        let mut parts = self.map.ram(page, page.map_ram());
        // The tables of blocks stand behind a whole map, and before what stands in its place.
        parts.insert(usize::from(M::IS_IN_RAM), blocks);
        parts.extend(self.data.ram());
        parts.extend(self.choices.ram());
        parts
    }

    fn bytes_per_unit(&self) -> f64 {
        let ram = self.data.ram().into_iter().chain(self.choices.ram());
        let beside = self.map.bytes() + ram.map(|ram| ram.bytes).sum::<u64>();
        let page = self.data.page();
        let tables = 4 * (page.map.len() + page.owner.len()) as u64 + self.data.block_bytes();
        let units = f64::from(self.facts.logical_units);
        tables as f64 / units + beside as f64 / units
    }
}

impl<M: Mapping, L: Layout, C: Choices> Parts for Paged<M, L, C> {
    parts!(@map_on_flash |_ftl| M::HAS_COST);
    parts!(@block_service);
    parts!(@relocation |_ftl| L::RELOCATES);
    parts!(@recovery |_ftl| L::RECOVERS);
    parts!(@handles |ftl| ftl.facts.streams > 1 && ftl.choices.handles().is_none());
    parts!(@copy_back |_ftl| M::IS_IN_RAM && L::COPIES_BACK && C::IS_ASIDE);

    fn withdrawal(&self) -> Option<&dyn Withdrawal> {
        if M::IS_IN_RAM && C::IS_ASIDE { self.data.withdrawal() } else { None }
    }

    fn withdrawal_mut(&mut self) -> Option<&mut dyn Withdrawal> {
        if M::IS_IN_RAM && C::IS_ASIDE { self.data.withdrawal_mut() } else { None }
    }

    parts!(@parity |ftl| ftl.data.parity().is_some());

    fn recycling(&self) -> Option<&dyn Recycling> {
        self.data.recycling()
    }

    fn recycling_mut(&mut self) -> Option<&mut dyn Recycling> {
        self.data.recycling_mut()
    }
}

impl<M: Mapping, L: Layout, C: Choices> MapOnFlash for Paged<M, L, C> {
    fn access(&mut self, Lpn(first): Lpn, count: u32, access: Access) -> Known {
        self.map.access(self.data.page_mut(), first, count, access)
    }

    fn map_read(&mut self, Lpn(first): Lpn, count: u32, _: Access) -> u32 {
        self.map.map_read(self.data.page(), first, count)
    }

    fn mispredicted(&self, Lpn(lpn): Lpn) -> Option<Ppn> {
        self.map.mispredicted(self.data.page(), lpn)
    }

    fn copied_to_host(&mut self) -> u32 {
        self.map.copied_to_host()
    }
}

impl<M: Mapping, L: Layout, C: Choices> BlockService for Paged<M, L, C> {
    fn retire(&mut self, block: Block) -> bool {
        self.data.retire(block)
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.data.page_mut().wear_on(more);
    }

    fn code_stage(&self, block: Block) -> u8 {
        self.data.page().code_stage(block)
    }

    fn has_outgrown(&self, _block: Block) -> bool {
        self.data.page().has_outgrown()
    }
}

impl<M: Mapping, L: Layout, C: Choices> Relocation for Paged<M, L, C> {
    fn reclaim(&mut self, block: Block) -> bool {
        self.data.reclaim(block)
    }

    fn close(&mut self, block: Block) -> bool {
        self.data.close(block)
    }
}

impl<M: Mapping, L: Layout, C: Choices> Handles for Paged<M, L, C> {
    fn unit_units(&self) -> u64 {
        let geometry = &self.data.page().geometry;
        let planes = geometry.planes() / self.facts.groups;
        u64::from(planes) * u64::from(geometry.units_per_block())
    }

    fn open_blocks(&self, handle: u32) -> Vec<Block> {
        self.data.page().open_blocks(handle)
    }

    fn left_units(&self, handle: u32) -> Option<u64> {
        self.data.page().left_units(handle)
    }

    fn renew(&mut self, handle: u32, is_busy: &dyn Fn(Block) -> bool) -> Vec<Block> {
        self.data.renew(handle, is_busy)
    }

    fn is_persistent(&self) -> bool {
        self.data.page().has_persistent_handles()
    }

    fn counts(&self, handle: u32) -> HandleCounts {
        self.data.page().counts_of_handle(handle)
    }

    fn held(&self, handle: u32) -> HeldBlocks {
        self.data.page().held_by_handle(handle)
    }

    #[inline]
    fn home(&self, key: Key) -> Key {
        self.data.page().home(key)
    }

    fn redirected_units(&self) -> u64 {
        self.data.page().placing.redirected()
    }
}

impl<M: Mapping, L: Layout, C: Choices> Recovery for Paged<M, L, C> {
    fn tag(&self, block: Block) -> u64 {
        self.map.tag(self.data.page(), block).unwrap_or_else(|| self.data.tag(block))
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        let own = self.data.recover(found)?;
        self.map.recover(&self.data, found, own);
        self.choices.recovered(&self.data);
        Ok(())
    }
}

/// Stripes of the data, and copies of the pages of the map.
impl<M: Mapping, L: Layout, C: Choices> Parity for Paged<M, L, C> {
    fn others(&self, place: Ppn, others: &mut Vec<Ppn>) -> u32 {
        let of_map = self.map.others(self.data.page(), place, others);
        of_map.unwrap_or_else(|| self.data.parity().map_or(0, |part| part.others(place, others)))
    }

    fn stripe(&self, die: Die, tag: u64) -> Option<Range<u32>> {
        self.data.parity()?.stripe(die, tag)
    }

    fn can_lose(&self, die: Die) -> Result<()> {
        self.map.can_lose(die)?;
        self.data.parity().map_or(Ok(()), |part| part.can_lose(die))
    }

    fn lose(&mut self, die: Die) {
        if let Some(part) = self.data.parity_mut() {
            part.lose(die);
        }
        self.map.lose(self.data.page(), die);
    }

    fn rest_rebuild(&mut self, rests: bool) {
        if let Some(part) = self.data.parity_mut() {
            part.rest_rebuild(rests);
        }
    }

    fn ask_whole(&mut self) {
        if let Some(part) = self.data.parity_mut() {
            part.ask_whole();
        }
    }

    fn is_whole(&self) -> bool {
        self.data.parity().is_none_or(Parity::is_whole)
    }

    fn takes_rows(&self, block: Block) -> bool {
        self.data.parity().is_some_and(|part| part.takes_rows(block))
    }

    fn holds_data(&self, die: Die) -> bool {
        self.data.parity().is_some_and(|part| part.holds_data(die))
    }
}

impl<M: Mapping, L: Layout, C: Choices> CopyBack for Paged<M, L, C> {
    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        self.data.next_of_moves(job, units)
    }
}
