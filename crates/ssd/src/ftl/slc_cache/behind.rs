//! Behind the cache: a layout of native blocks, die by die or in superblocks, and what the cache
//! asks of it.

use super::SlcCache;
use crate::ftl::contract::{
    Carried, Context, DieSet, Job, Lpn, Place, Program, Step, Urgency, Work,
};
use crate::ftl::page::{Own, PageParams};
use crate::ftl::paged::Layout;
use base::Result;
use base::archive::State;
use nand::geometry::{Block, Die};

/// Layout of native blocks that a cache lies before. Its frontiers have one more kind, for blocks
/// of the cache.
pub(super) trait Behind: Layout {
    /// Queue of the blocks that are full, where the layout itself has none.
    type Folds: Clone + Send + State;

    /// Creates an empty layout, with the space that `own` says beside its data.
    fn create(context: Context, params: &PageParams, own: Own) -> Result<Self>;

    /// Creates a queue without full blocks.
    fn folds(&self) -> Self::Folds;

    /// Frontier of the cache on a die that takes data now; blocks are opened if need be.
    fn part(cache: &mut SlcCache<Self>, die: Die) -> Option<usize>;

    /// Appends data of the host to an open frontier of the cache.
    fn append(&mut self, index: usize, die: Die, lpns: &[Lpn]) -> Program;

    /// Answer for a row that the cache takes on none of `dies` now; `None` if native blocks are to
    /// take it.
    fn full(cache: &mut SlcCache<Self>, dies: &DieSet) -> Option<Place>;

    /// Takes in the report of a program, whose units are mapped, or taken back.
    fn reported(cache: &mut SlcCache<Self>, program: &Program, carried: Carried, has_failed: bool);

    /// Whether the job of a die has work of this urgency.
    fn wants_with(cache: &SlcCache<Self>, job: Job, urgency: Urgency) -> bool;

    /// Next step of a job: of folding, or of the layout.
    fn step_with(
        cache: &mut SlcCache<Self>,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step;

    /// Sets of the cache that a start-up has taken over as such, the oldest first.
    fn taken_over(&self) -> Vec<Vec<Block>> {
        Vec::new()
    }

    /// Learns that a block of the cache is to be retired.
    fn doomed(_cache: &mut SlcCache<Self>, _block: Block) {}

    /// Moves the data of a full block of the cache off. True if that is new.
    fn reclaim_with(cache: &mut SlcCache<Self>, block: Block) -> bool {
        cache.data.reclaim(block)
    }

    /// Closes an open block of the cache before it is full. True if it has done so.
    fn close_with(cache: &mut SlcCache<Self>, block: Block) -> bool {
        cache.data.close(block)
    }
}
