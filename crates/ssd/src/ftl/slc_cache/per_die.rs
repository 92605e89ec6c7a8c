//! The cache die by die: each group of joined planes has open blocks of its own.

use super::area::Part;
use super::behind::Behind;
use super::fold::Folds;
use super::{SlcCache, WhenFull};
use crate::ftl::contract::{
    Carried, Context, DieSet, Job, Lpn, Place, Program, Reason, Step, Urgency, Work,
};
use crate::ftl::page::{Own, PageFtl, PageParams};
use crate::ftl::paged::Layout;
use base::Result;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Plane};

impl SlcCache<PageFtl> {
    /// The planes of a group.
    pub(super) fn planes_of(
        &self,
        die: Die,
        group: u32,
    ) -> impl Iterator<Item = Plane> + Clone + use<> {
        let joined = self.data.joined;
        let first = self.data.geometry.plane(die, group * joined).0;
        (first..first + joined).map(Plane)
    }

    /// Index of the frontier of a group.
    fn frontier_at(&self, die: Die, group: u32) -> Option<usize> {
        Some(self.data.frontier_index(die, self.data.cache_stream()?, group))
    }

    /// Part of the cache that has blocks for a group.
    fn part_for(&self, die: Die, group: u32) -> Option<Part> {
        let page = &self.data;
        let floor = page.gc.start_free_blocks + u32::from(page.needs_room(die));
        let can_spare = page.free_blocks(die, group) > floor;
        let planes = self.planes_of(die, group);
        self.area.part_for(&page.free, planes, can_spare, self.dynamic_room())
    }

    /// Group of a die whose frontier is open, or can be opened.
    pub(super) fn open_group(&self, die: Die) -> Option<u32> {
        let mut groups = self.data.groups_in_turn(die, self.data.cache_stream()?);
        let is_open = |group: u32| {
            self.frontier_at(die, group).is_some_and(|index| self.data.frontiers[index].open)
        };
        groups.find(|&group| is_open(group) || self.part_for(die, group).is_some())
    }

    /// Has a full block of the cache folded next. True if that is new.
    fn hurry(&mut self, block: Block) -> bool {
        let geometry = &self.data.geometry;
        self.folds.hurry(geometry.die_of(block), geometry.plane_of(block).0, block)
    }

    /// Queues the blocks of a set that takes nothing more.
    fn is_full(&mut self, die: Die, blocks: impl Iterator<Item = Block>) {
        for block in blocks {
            let plane = self.data.geometry.plane_of(block).0;
            self.folds.closed(die, plane, block, self.area.is_dynamic(block));
        }
    }
}

impl Behind for PageFtl {
    type Folds = Folds;

    fn create(context: Context, params: &PageParams, own: Own) -> Result<Self> {
        Self::new(context, params, own)
    }

    fn folds(&self) -> Folds {
        Folds::new(self.geometry.dies, self.geometry.planes_per_die, self.joined)
    }

    fn part(cache: &mut SlcCache<Self>, die: Die) -> Option<usize> {
        let group = cache.open_group(die)?;
        let index = cache.frontier_at(die, group)?;
        if cache.data.frontiers[index].open {
            return Some(index);
        }
        let part = cache.part_for(die, group)?;
        cache.data.open(index, die, part.pick());
        for &block in cache.data.frontiers[index].joined_blocks() {
            cache.area.opened(block, cache.data.geometry.plane_of(block), part);
        }
        Some(index)
    }

    fn append(&mut self, index: usize, die: Die, lpns: &[Lpn]) -> Program {
        self.append_cached(index, die, lpns)
    }

    fn full(cache: &mut SlcCache<Self>, dies: &DieSet) -> Option<Place> {
        let first = dies.next_from(cache.next_die)?;
        (cache.when_full == WhenFull::Fold && cache.can_fold(first)).then_some(Place::NoRoom)
    }

    fn reported(cache: &mut SlcCache<Self>, program: &Program, _: Carried, _: bool) {
        if program.mode != BlockMode::SingleLevel {
            cache.data.close_full(program);
            return;
        }
        if !cache.data.rows_in(program.mode).is_last(program) {
            return;
        }
        for &block in program.blocks() {
            cache.is_full(program.die, std::iter::once(block));
            if cache.data.retirement.is_doomed(block) {
                cache.hurry(block);
            }
        }
    }

    fn wants_with(cache: &SlcCache<Self>, job: Job, urgency: Urgency) -> bool {
        cache.wants_fold(Die(job.0), urgency) || cache.data.wants(job, urgency)
    }

    fn step_with(
        cache: &mut SlcCache<Self>,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let die = Die(job.0);
        let goes_on = cache.data.wants(job, urgency);
        let collects = cache.data.is_collecting(die);
        // The room that one of both has begun to use is the other's too: each ends what it began.
        let is_under_way = cache.folds.is_under_way(die);
        let folds_first = is_under_way || !collects || cache.data.is_roomy(die);
        if folds_first && (cache.wants_fold(die, urgency) || is_under_way && goes_on) {
            let step = cache.fold_step(die, urgency, work);
            if step != Step::Done {
                work.reason = Reason::Folding;
                return step;
            }
        }
        if goes_on { cache.data.step(job, urgency, work, stream_of) } else { Step::Done }
    }

    fn doomed(cache: &mut SlcCache<Self>, block: Block) {
        cache.hurry(block);
    }

    fn reclaim_with(cache: &mut SlcCache<Self>, block: Block) -> bool {
        let is_new = cache.hurry(block);
        cache.data.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn close_with(cache: &mut SlcCache<Self>, block: Block) -> bool {
        let Some(index) = cache.data.frontier_with(block) else { return false };
        // A block that has its last page has been closed by its program.
        if cache.data.frontiers[index].filling().any(|(_, pages)| pages == 0) {
            return false;
        }
        let closed = cache.data.shut(index);
        let die = cache.data.geometry.die_of(block);
        cache.is_full(die, closed.into_iter().map(|(block, _)| block));
        true
    }
}
