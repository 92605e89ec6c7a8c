//! Mapping: the cost of knowing the place of a unit, and the memory and flash that the map needs.

use super::Layout;
use crate::ftl::contract::{
    Access, Carried, FtlCounts, Job, Known, Move, Place, Program, Ram, Step, Work,
};
use crate::ftl::page::PageFtl;
use crate::recovery::Found;
use base::Result;
use base::archive::State;
use nand::geometry::{Block, Die, Ppn};
use std::ops::Range;

/// Map of a page-mapped FTL, as the firmware has it. The truth is in `PageFtl::map`.
///
/// Promise: the calls of a mapping change no place of data. A mapping with pages of its own places
/// them in blocks that the page map keeps for it.
pub(in crate::ftl) trait Mapping: Clone + Send + State + 'static {
    /// Knowing a place may cost a read.
    const HAS_COST: bool = true;
    /// Rows are sorted by the numbers of their units.
    const SORTS_ROWS: bool = false;
    /// The whole map is in RAM: data can be moved by copyback, and leave a die whose chip is
    /// exchanged, without the map's help.
    const IS_IN_RAM: bool = false;

    /// Pages of the map on flash, numbered behind the logical units.
    fn own_pages(&self) -> u32 {
        0
    }

    /// Cost of knowing the places of `count` units from `first` on.
    fn access(&mut self, page: &mut PageFtl, first: u32, count: u32, access: Access) -> Known;

    /// Takes in the page that `access` has asked for. Returns how many units from `first` on are
    /// known by it.
    fn map_read(&mut self, page: &PageFtl, first: u32, count: u32) -> u32;

    /// Pages of the map that were copied to the memory of the host since the last call.
    fn copied_to_host(&mut self) -> u32 {
        0
    }

    /// Page where the map wrongly expects a unit.
    fn mispredicted(&self, _page: &PageFtl, _lpn: u32) -> Option<Ppn> {
        None
    }

    /// Place for pages of the map that a job moves or writes; `None` where `moves` are data.
    fn place(&mut self, _page: &mut PageFtl, _job: Job, _moves: &[Move]) -> Option<Place> {
        None
    }

    /// Refuses the failure of a die that the pages of the map would not survive.
    fn can_lose(&self, _die: Die) -> Result<()> {
        Ok(())
    }

    /// Learns that a die has failed: pages of the map go to other dies.
    fn lose(&mut self, _page: &PageFtl, _die: Die) {}

    /// Adds the places of the other copies of a page of the map: how many of all may be unreadable.
    /// `None` where `place` is one of data.
    fn others(&self, _page: &PageFtl, _place: Ppn, _others: &mut Vec<Ppn>) -> Option<u32> {
        None
    }

    /// Learns that a program of data has changed places, or one of the map is on flash.
    fn programmed(&mut self, _page: &mut PageFtl, _program: &Program, _carried: Carried) {}

    /// Learns that a program has failed, of data or of the map.
    fn not_programmed(&mut self, _page: &mut PageFtl, _program: &Program, _carried: Carried) {}

    /// Forgets the entry of a unit.
    fn trimmed(&mut self, _lpn: u32) {}

    /// Whether the map has work for a job.
    fn wants(&self, _page: &PageFtl, _job: Job) -> bool {
        false
    }

    /// Next job with work on the map that requests wait for.
    fn wanted(&mut self) -> Option<Job> {
        None
    }

    /// Step of a job on the map, which goes before steps on the data.
    fn step(&mut self, _page: &PageFtl, _job: Job, _work: &mut Work) -> Option<Step> {
        None
    }

    /// Step that is carried out in place of `step` of the data, where `jobs` empty blocks together;
    /// `None` where the map has to be asked again first.
    fn follows(
        &mut self,
        _page: &PageFtl,
        _job: Job,
        _jobs: Range<u32>,
        step: Step,
        _work: &mut Work,
    ) -> Option<Step> {
        Some(step)
    }

    /// Learns that a block was erased, before it is free.
    fn erased(&mut self, _page: &mut PageFtl, _block: Block) {}

    /// Mark of a block that holds pages of the map.
    fn tag(&self, _page: &PageFtl, _block: Block) -> Option<u64> {
        None
    }

    /// Rebuilds the map after a power cut: `own` are full blocks of its pages.
    fn recover<L: Layout>(&mut self, _data: &L, _found: &Found, _own: Vec<Block>) {}

    /// Adds the map's counts to those of the data.
    fn count(&self, _counts: &mut FtlCounts) {}

    /// Resets the counts of the map.
    fn start_run(&mut self) {}

    /// Tables of the mapping in RAM, in place of `map`, the whole map.
    fn ram(&self, _page: &PageFtl, map: Ram) -> Vec<Ram> {
        vec![map]
    }

    /// Bytes of the simulator's tables.
    fn bytes(&self) -> u64 {
        0
    }
}

/// Whole map in RAM, which costs nothing to ask.
#[derive(Clone)]
pub(in crate::ftl) struct Flat;

impl State for Flat {
    fn exchange(&mut self, _: &mut base::archive::Archive<'_>) -> base::Result<()> {
        Ok(())
    }
}

impl Mapping for Flat {
    const HAS_COST: bool = false;
    const IS_IN_RAM: bool = true;

    fn access(&mut self, _: &mut PageFtl, _: u32, count: u32, _: Access) -> Known {
        Known::Units(count)
    }

    fn map_read(&mut self, _: &PageFtl, _: u32, count: u32) -> u32 {
        count
    }
}
