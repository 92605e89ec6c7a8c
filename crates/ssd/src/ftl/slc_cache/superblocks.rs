//! The cache over several dies: superblocks of single-level blocks, opened, filled and emptied like
//! those behind it. With parity each row of them is a stripe.
//!
//! A superblock of the static part gives no room back: it is emptied where native superblocks have
//! room beyond the reserve. One of the dynamic part takes less room than it gives back, and goes
//! without that.

use super::area::Part;
use super::behind::Behind;
use super::{SlcCache, WhenFull};
use crate::ftl::contract::{
    Carried, Context, DieSet, Job, Lpn, Place, Program, Reason, Step, Until, Urgency, Work,
};
use crate::ftl::page::{Own, PageParams, Spans};
use crate::ftl::paged::Layout;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die};

/// Queue of a layout whose superblocks have one of their own.
#[derive(Clone)]
pub(super) struct InSpans;

impl State for InSpans {
    fn exchange(&mut self, _: &mut Archive<'_>) -> Result<()> {
        Ok(())
    }
}

impl SlcCache<Spans> {
    /// Part of the cache that has blocks for a superblock of a span.
    fn part_for(&self, span: usize) -> Option<Part> {
        let (spans, page) = (&self.data, self.data.page());
        let floor = page.gc.start_free_blocks + u32::from(spans.needs_room(span));
        let can_spare = spans.free(span) > floor;
        self.area.part_for(&page.free, spans.planes_of(span), can_spare, self.dynamic_room())
    }

    /// Whether a superblock belongs to the dynamic part.
    fn is_dynamic(&self, superblock: u32) -> bool {
        self.data.blocks_in(superblock).next().is_some_and(|first| self.area.is_dynamic(first))
    }

    /// Whether the dynamic part of a span has shrunk, or takes blocks that collection would have to
    /// make free.
    fn is_too_large(&self, span: usize) -> bool {
        let is_short = self.data.free(span) < self.data.page().gc.start_free_blocks;
        let most = if is_short { 0 } else { self.dynamic_room() };
        self.data.planes_of(span).any(|plane| self.area.dynamic_used(plane) > most)
    }

    /// Whether a span has more full superblocks of the cache than idle times leave it.
    fn keeps_too_much(&self, span: usize) -> bool {
        let room = self.area.static_sets() + self.dynamic_room();
        self.data.full_cached(span).count() as f64 > self.keep_share * f64::from(room)
    }

    /// Superblock of the cache that is to be emptied next, if one is to be now.
    fn next_fold(&self, span: usize, urgency: Urgency) -> Option<u32> {
        let spans = &self.data;
        let oldest = spans.full_cached(span).next()?;
        if spans.is_dead(oldest) {
            return Some(oldest);
        }
        let is_too_large = self.is_too_large(span);
        let has_time = urgency == Urgency::Idle && self.keeps_too_much(span);
        let takes_no_more = || !spans.is_cache_open(span) && self.part_for(span).is_none();
        let is_asked = has_time || self.when_full == WhenFull::Fold && takes_no_more();
        if spans.is_roomy(span) && is_asked && !is_too_large {
            return Some(oldest);
        }
        let is_dynamic = |superblock: &u32| self.is_dynamic(*superblock);
        let dynamic = (is_asked || is_too_large) && spans.free(span) > 0;
        spans.full_cached(span).find(|superblock| dynamic && is_dynamic(superblock))
    }
}

impl Behind for Spans {
    type Folds = InSpans;

    fn create(context: Context, params: &PageParams, own: Own) -> Result<Self> {
        let dies = Self::dies_of(params, context.geometry.dies)?;
        Self::new(context, params, own, dies)
    }

    fn folds(&self) -> InSpans {
        InSpans
    }

    fn part(cache: &mut SlcCache<Self>, die: Die) -> Option<usize> {
        let span = cache.data.span_of(die);
        if cache.data.fills_found(span) {
            return None;
        }
        if let Some(index) = cache.data.cache_part(die) {
            return Some(index);
        }
        if cache.data.is_cache_open(span) {
            return None;
        }
        let part = cache.part_for(span)?;
        for block in cache.data.open_cache(span, part.pick()) {
            cache.area.opened(block, cache.data.page().geometry.plane_of(block), part);
        }
        cache.data.cache_part(die)
    }

    fn append(&mut self, index: usize, die: Die, lpns: &[Lpn]) -> Program {
        self.append_to_cache(index, die, lpns)
    }

    fn full(cache: &mut SlcCache<Self>, _: &DieSet) -> Option<Place> {
        if let Some(place) = cache.data.behind_filling(0..cache.data.page().geometry.dies) {
            return Some(place);
        }
        // What is left of the superblocks of the cache is on dies that are at work.
        if let Some(die) = cache.data.cache_dies().next() {
            return Some(Place::Later(Until::Die(die)));
        }
        let can_fold = cache.data.all_spans().any(|span| cache.data.can_fold(span));
        if cache.when_full == WhenFull::Native || !can_fold {
            return None;
        }
        cache.data.call_all();
        Some(Place::Later(Until::Erase))
    }

    fn taken_over(&self) -> Vec<Vec<Block>> {
        let all = self.all_spans().flat_map(|span| self.all_cached(span));
        all.map(|superblock| self.blocks_in(superblock).collect()).collect()
    }

    fn reported(cache: &mut SlcCache<Self>, program: &Program, carried: Carried, failed: bool) {
        cache.data.reported(program, carried, failed);
    }

    fn wants_with(cache: &SlcCache<Self>, job: Job, urgency: Urgency) -> bool {
        cache.data.has_work(Die(job.0), urgency, |span| {
            // Idle times do not hurry a rebuild that rests.
            let is_idle = urgency == Urgency::Idle && !cache.data.is_in_rebuild(span);
            let urgency = if is_idle { urgency } else { Urgency::Due };
            cache.next_fold(span, urgency).is_some()
        })
    }

    fn step_with(
        cache: &mut SlcCache<Self>,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let die = Die(job.0);
        let span = cache.data.span_of(die);
        if cache.data.may_begin_fold(die)
            && let Some(superblock) = cache.next_fold(span, urgency)
        {
            cache.data.fold(span, superblock);
        }
        let step = cache.data.step(job, urgency, work, stream_of);
        if step == Step::Move && work.reason == Reason::Space && cache.data.is_fold(span) {
            work.reason = Reason::Folding;
        }
        step
    }
}
