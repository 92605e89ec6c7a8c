//! Layout: the blocks that data go to, and the blocks that collection empties.

use crate::ftl::contract::{
    CacheState, Carried, DieSet, Facts, FtlCounts, Job, Key, Lead, Lpn, Move, Occupancy, Parity,
    Place, Program, Ram, Recycling, Step, Urgency, Withdrawal, Work,
};
use crate::ftl::page::PageFtl;
use crate::recovery::Found;
use crate::space::gc::Victims;
use base::Result;
use base::archive::State;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die};
use std::ops::Range;

/// Placement and collection of the data of a page-mapped FTL, over one page map and one table of
/// blocks.
///
/// Promises: those of [`Ftl`](crate::ftl::Ftl) about places, jobs and erases. Methods with a
/// default do as the page map does.
pub(in crate::ftl) trait Layout: Clone + Send + State + 'static {
    /// The program that takes moved data next is known, as copyback needs it.
    const COPIES_BACK: bool = false;

    /// Data of single blocks can be moved off.
    const RELOCATES: bool = true;
    /// The tables can be rebuilt after a power cut.
    const RECOVERS: bool = true;

    /// Gives the page map and the block table.
    fn page(&self) -> &PageFtl;

    /// Gives the page map and the block table, to be changed.
    fn page_mut(&mut self) -> &mut PageFtl;

    /// Lets another victim policy pick from now on, before any block has been filled.
    fn ask(&mut self, policy: Box<dyn Victims>) {
        self.page_mut().candidates.ask(policy);
    }

    /// Constants that follow from the layout.
    fn facts(&self) -> Facts {
        self.page().facts()
    }

    /// Place for data of the host on one of `dies`.
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place;

    /// Place for data that a job moves.
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place;

    /// Program that `place_moves` would answer now, where that is known.
    fn next_of_moves(&self, _job: Job, _units: u32) -> Option<Program> {
        None
    }

    /// Maps the units of a program that is on flash.
    fn programmed(&mut self, program: &Program, carried: Carried);

    /// Takes back a program that has failed.
    fn not_programmed(&mut self, program: &Program, carried: Carried);

    /// Forgets the data of a unit.
    #[inline]
    fn trim(&mut self, lpn: Lpn) {
        self.page_mut().trim(lpn);
    }

    /// Whether the job of a die has work of this urgency on data.
    fn wants(&self, job: Job, urgency: Urgency) -> bool;

    /// Next job that has work and needs no call of `wants`.
    fn wanted(&mut self) -> Option<Job> {
        None
    }

    /// Next step of a job. `stream_of` says the stream of each unit that is moved, where moved
    /// data have several.
    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step;

    /// Jobs that empty the same blocks as this one.
    fn jobs_with(&self, job: Job) -> Range<u32> {
        job.0..job.0 + 1
    }

    /// Whether collection of a die keeps pace with the host.
    fn keeps_pace(&self, die: Die) -> bool;

    /// Takes back a block that was erased. Returns the number by which the victim policy knows what
    /// is free with it.
    fn erased(&mut self, block: Block) -> Option<u32>;

    /// Number by which the victim policy knows a block in use.
    fn number_of(&self, block: Block) -> Option<u32> {
        Some(block.0)
    }

    /// Retires a block. True if it is being retired, or bad.
    fn retire(&mut self, block: Block) -> bool;

    /// Moves the data of a full block off. True if that is new.
    fn reclaim(&mut self, block: Block) -> bool;

    /// Closes an open block before it is full. True if it has done so.
    fn close(&mut self, _block: Block) -> bool {
        false
    }

    /// Closes open blocks of a placement handle ([`Handles::renew`]). Without handles of the host
    /// nobody asks.
    ///
    /// [`Handles::renew`]: crate::ftl::contract::Handles::renew
    fn renew(&mut self, _handle: u32, _is_busy: &dyn Fn(Block) -> bool) -> Vec<Block> {
        Vec::new()
    }

    /// Gives the withdrawal of dies, if the layout has it.
    fn withdrawal(&self) -> Option<&dyn Withdrawal> {
        None
    }

    /// Gives the withdrawal of dies for calls that change it.
    fn withdrawal_mut(&mut self) -> Option<&mut dyn Withdrawal> {
        None
    }

    /// Gives the parity over dies, if the layout has it.
    fn parity(&self) -> Option<&dyn Parity> {
        None
    }

    /// Gives the parity over dies for calls that change it.
    fn parity_mut(&mut self) -> Option<&mut dyn Parity> {
        None
    }

    /// Gives the reuse of blocks without an erase, if the layout has it.
    fn recycling(&self) -> Option<&dyn Recycling> {
        None
    }

    /// Gives the reuse of blocks for calls that change it.
    fn recycling_mut(&mut self) -> Option<&mut dyn Recycling> {
        None
    }

    /// Mark that is stored with a block, for `recover`.
    fn tag(&self, block: Block) -> u64 {
        self.page().tag_of(block)
    }

    /// Rebuilds its tables after a power cut. Returns the full blocks of the units of the map.
    fn recover(&mut self, found: &Found) -> Result<Vec<Block>> {
        Ok(self.page_mut().rebuild(found))
    }

    /// Mode of a block in use.
    fn mode(&self, block: Block) -> BlockMode {
        self.page().mode(block)
    }

    /// Room and use of a cache of blocks in single-level mode.
    fn cache(&self) -> Option<CacheState> {
        None
    }

    /// Pages of a block that have been handed out.
    fn filled_pages(&self, block: Block) -> u32 {
        self.page().filled_pages(block)
    }

    /// Superblock that a block belongs to, if any.
    fn group(&self, _block: Block) -> Option<u32> {
        None
    }

    /// Room for data of the host before collection must make more, where the layout knows it.
    fn lead(&self) -> Option<Lead> {
        None
    }

    /// Adds the layout's counts to those of the page map.
    fn count(&self, _counts: &mut FtlCounts) {}

    /// Resets the layout's counts, beside those of the page map.
    fn start_run(&mut self) {}

    /// State of every physical unit.
    fn occupancy(&self) -> Occupancy {
        self.page().occupancy()
    }

    /// Bytes of the state of blocks.
    fn block_bytes(&self) -> u64 {
        self.page().block_bytes()
    }

    /// Memory beside the tables of the page map.
    fn ram(&self) -> Vec<Ram> {
        Vec::new()
    }
}
