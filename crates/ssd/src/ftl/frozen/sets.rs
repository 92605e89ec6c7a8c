//! State of block sets, which are opened, collected and erased together.
//!
//! The sets of a lane are taken in turn, for writing and for collection, each in the order of their
//! numbers (round robin). Valid units, candidates, marks and wear are in the table of blocks of
//! the page map.

use super::DENSE_RESERVE;
use crate::ftl::block_sets::{BlockSets, NONE, SetId};
use crate::ftl::contract::{Context, Program, Stream};
use crate::ftl::page::PageFtl;
use crate::space::frontier::{Frontier, Rows};
use base::Result;
use base::archive::{Archive, State};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Present state of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Is {
    /// The set is erased, and can be opened.
    Free,
    /// Programs go to the set, or are under way.
    Open,
    /// All programs of the set are done.
    Full,
    /// A job moves the data of the set, or erases it.
    Draining,
    /// One of the blocks has been taken out of use.
    Gone,
}

/// State of a block set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Set {
    pub is: Is,
    /// Times that collection has spared the set, or moved its data.
    pub rounds: u8,
    /// Programs of the set that are under way.
    flying: u32,
}

/// The sets of a lane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Lane {
    /// Set from which on the next free one is looked for.
    write_at: SetId,
    /// Set from which on the next victim is looked for.
    collect_at: SetId,
    /// Free sets of the lane.
    pub free: u32,
    /// Sets that could still be given up.
    pub spare: u32,
}

/// Sizes that the lanes of a kind of chips have in common.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Layout of the flash, with the pages that a block of this kind has.
    frame: Geometry,
    pub rows: Rows,
    pub set_units: u32,
}

/// All sets of a drive.
#[derive(Clone)]
pub(super) struct Sets {
    pub table: BlockSets,
    /// By kind of chips: sizes of its lanes.
    shapes: Vec<Shape>,
    kind_of_die: Vec<u8>,
    pub lanes: Vec<Lane>,
    all: Vec<Set>,
    /// Pages handed out, by block.
    filled: Vec<u32>,
}

impl State for Sets {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { table: _, shapes: _, kind_of_die: _, lanes, all, filled } = self;
        archive.value(lanes)?;
        archive.value(all)?;
        archive.table(filled)
    }
}

impl Sets {
    /// Makes the sets of a drive, all of them free but those of which a block has failed in use.
    pub(super) fn new(context: &Context) -> Self {
        let Context { geometry, planes_per_program: joined, .. } = context;
        let shape = |kind: &crate::ftl::contract::DieKind| {
            let frame = geometry.with_pages(kind.pages_per_block);
            let rows = Rows::new(&frame, *joined, kind.pages_per_program);
            Shape { rows, set_units: frame.units_per_block() * joined, frame }
        };
        let (table, unusable) = (BlockSets::new(context), context.unusable());
        let state = |set| {
            let is_gone = table.blocks(set).iter().any(|block| unusable[block.0 as usize]);
            Set { is: if is_gone { Is::Gone } else { Is::Free }, rounds: 0, flying: 0 }
        };
        let all: Vec<Set> = (0..table.count()).map(state).collect();
        let lane = |lane| {
            let sets = table.numbers(lane);
            let (write_at, collect_at) = (sets.start, sets.start);
            let free = sets.filter(|&set| all[set as usize].is == Is::Free).count() as u32;
            Lane { write_at, collect_at, free, spare: 0 }
        };
        Self {
            shapes: context.kinds.iter().map(shape).collect(),
            kind_of_die: context.kind_of_die.clone(),
            lanes: (0..table.lanes()).map(lane).collect(),
            all,
            filled: vec![0; geometry.blocks() as usize],
            table,
        }
    }

    /// State of a set.
    #[inline]
    pub(super) fn get(&self, set: SetId) -> &Set {
        &self.all[set as usize]
    }

    /// State of a set, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, set: SetId) -> &mut Set {
        &mut self.all[set as usize]
    }

    /// Whether a die is of a kind other than the first.
    #[inline]
    pub(super) fn is_dense(&self, die: Die) -> bool {
        self.kind_of_die[die.0 as usize] > 0
    }

    /// Sizes of a lane, as of all lanes of its kind.
    #[inline]
    pub(super) fn shape(&self, lane: u32) -> &Shape {
        self.shape_of(self.table.die_of(lane))
    }

    /// Sizes of the lanes of a die.
    #[inline]
    pub(super) fn shape_of(&self, die: Die) -> &Shape {
        &self.shapes[usize::from(self.kind_of_die[die.0 as usize])]
    }

    /// Sets of a lane in turn, from this one on.
    fn numbers_from(&self, lane: u32, from: SetId) -> impl Iterator<Item = SetId> + use<> {
        let Range { start, end } = self.table.numbers(lane);
        (from..end).chain(start..from)
    }

    /// Set whose turn comes behind that of another.
    fn behind(&self, lane: u32, set: SetId) -> SetId {
        let Range { start, end } = self.table.numbers(lane);
        if set + 1 == end { start } else { set + 1 }
    }

    /// Sets of a lane that are or can be used.
    pub(super) fn sound(&self, lane: u32) -> u32 {
        let sets = self.table.numbers(lane);
        sets.filter(|&set| self.get(set).is != Is::Gone).count() as u32
    }

    /// Units of a set that hold newest data.
    pub(super) fn live(&self, page: &PageFtl, set: SetId) -> u32 {
        self.table.blocks(set).iter().map(|&block| page.candidates.word(block).valid()).sum()
    }

    /// Units of full sets of a lane that hold no newest data.
    #[inline]
    pub(super) fn dead(&self, page: &PageFtl, lane: u32) -> u64 {
        // The table of blocks takes the pages of the longest blocks for those of all.
        let frame = &self.shape(lane).frame;
        let beyond = u64::from(self.table.geometry.units_per_block() - frame.units_per_block());
        let of_plane = |plane| {
            let dead = page.candidates.dead_units(Plane(plane));
            dead - u64::from(page.candidates.blocks(Plane(plane))) * beyond
        };
        (lane * self.table.joined..(lane + 1) * self.table.joined).map(of_plane).sum()
    }

    /// Whether a dense lane has no free set for data of fast dies, and could gain one.
    #[inline]
    pub(super) fn is_to_compact(&self, page: &PageFtl, lane: u32) -> bool {
        let units = u64::from(self.shape(lane).set_units);
        self.lanes[lane as usize].free <= DENSE_RESERVE && self.dead(page, lane) >= units
    }

    /// The full set of a lane whose data are to be moved next, whatever that gains.
    #[inline]
    pub(super) fn forced(&self, page: &PageFtl, lane: u32) -> Option<SetId> {
        let marked = page.candidates.marked(self.table.die_of(lane)).iter();
        marked.map(|&block| self.table.of(block)).find(|&set| self.table.lane_of(set) == lane)
    }

    /// Opens the next free set of a lane.
    pub(super) fn open(&mut self, page: &mut PageFtl, lane: u32) -> Option<SetId> {
        let from = self.lanes[lane as usize].write_at;
        let set = self.numbers_from(lane, from).find(|&set| self.get(set).is == Is::Free)?;
        self.lanes[lane as usize].write_at = self.behind(lane, set);
        self.lanes[lane as usize].free -= 1;
        self.table.blocks(set).iter().for_each(|&block| page.candidates.opened(block));
        let open = self.get_mut(set);
        (open.is, open.rounds) = (Is::Open, 0);
        Some(set)
    }

    /// Frontier of a lane that has no open set.
    pub(super) fn closed(&self, lane: u32) -> Frontier {
        Frontier::closed(self.shape(lane).rows)
    }

    /// The frontier of a set that has just been opened.
    pub(super) fn frontier(&self, set: SetId) -> Frontier {
        let mut frontier = self.closed(self.table.lane_of(set));
        frontier.blocks[..self.table.joined as usize].copy_from_slice(self.table.blocks(set));
        frontier.open();
        frontier
    }

    /// The next program of a frontier of this lane, for the first of `units` units.
    #[inline]
    pub(super) fn program(
        &mut self,
        lane: u32,
        frontier: &mut Frontier,
        units: u32,
        stream: Stream,
    ) -> Program {
        let die = self.table.die_of(lane);
        let place = (die, stream, BlockMode::Native);
        let program = frontier.program(place, units);
        frontier.advance(program.planes.into());
        for block in program.blocks() {
            self.filled[block.0 as usize] += frontier.rows.program_pages;
        }
        let set = self.table.of(program.blocks[0]);
        self.all[set as usize].flying += 1;
        program
    }

    /// Notes that a program was reported. A set whose last program this was is full.
    #[inline]
    pub(super) fn reported(&mut self, page: &mut PageFtl, program: &Program) {
        let set = self.table.of(program.blocks[0]);
        let is_full = self.is_filled(set);
        let state = self.get_mut(set);
        state.flying -= 1;
        if is_full && state.flying == 0 {
            self.close(page, set);
        }
    }

    /// Closes a set with nothing under way: it takes nothing more.
    pub(super) fn close(&mut self, page: &mut PageFtl, set: SetId) {
        self.get_mut(set).is = Is::Full;
        for &block in self.table.blocks(set) {
            page.candidates.closed(self.table.geometry.plane_of(block), block, page.clock);
        }
        if self.table.blocks(set).iter().any(|&block| page.retirement.is_doomed(block)) {
            self.force(page, set);
        }
    }

    /// Marks a full set, whose data are to be moved. True if it was not marked before.
    pub(super) fn force(&self, page: &mut PageFtl, set: SetId) -> bool {
        let first = self.table.blocks(set)[0];
        page.candidates.mark(self.table.geometry.plane_of(first), first)
    }

    /// Takes a full set for a job, which moves its data.
    pub(super) fn take(&mut self, page: &mut PageFtl, set: SetId) {
        let state = self.get_mut(set);
        debug_assert!(state.is == Is::Full, "{state:?}");
        state.is = Is::Draining;
        for &block in self.table.blocks(set) {
            page.candidates.withdraw(self.table.geometry.plane_of(block), block);
        }
    }

    /// Full sets of a lane in turn, from the place of collection on.
    pub(super) fn in_turn(&self, lane: u32) -> impl Iterator<Item = SetId> {
        let sets = self.numbers_from(lane, self.lanes[lane as usize].collect_at);
        sets.filter(|&set| self.get(set).is == Is::Full)
    }

    /// Has the next victim looked for behind this set.
    pub(super) fn passed(&mut self, lane: u32, set: SetId) {
        self.lanes[lane as usize].collect_at = self.behind(lane, set);
    }

    /// Takes back an erased block. A doomed block is retired, unless its lane would have fewer free
    /// sets than the reserve: then it is used once more.
    pub(super) fn erased(&mut self, page: &mut PageFtl, block: Block) {
        page.candidates.erased(block);
        page.wear.erased(block);
        self.filled[block.0 as usize] = 0;
        let set = self.table.of(block);
        let lane = self.table.lane_of(set) as usize;
        let is_roomy = self.lanes[lane].free >= page.reserve;
        if page.retirement.is_doomed(block) && is_roomy {
            page.wear.retire(block);
            page.counts.retired_blocks += 1;
        } else {
            page.counts.reclaimed_blocks += 1;
        }
        let blocks = self.table.blocks(set);
        if !blocks.iter().all(|&block| page.candidates.word(block).is_free()) {
            return;
        }
        let is_gone = blocks.iter().any(|&block| page.is_bad(block));
        self.lanes[lane].free += u32::from(!is_gone);
        let state = self.get_mut(set);
        (state.is, state.rounds) = (if is_gone { Is::Gone } else { Is::Free }, 0);
    }

    /// Dooms a block, and with it its set, if the lane has one to spare.
    pub(super) fn doom(&mut self, page: &mut PageFtl, block: Block) -> bool {
        let set = self.table.of(block);
        let is_doomed = page.retirement.is_doomed(block);
        if is_doomed || set == NONE || self.get(set).is == Is::Gone {
            // What has no set, or lost it, is not used: nothing is to be moved.
            return is_doomed;
        }
        let is_lost = self.table.blocks(set).iter().any(|&other| page.retirement.is_doomed(other));
        let lane = self.table.lane_of(set);
        let spare = &mut self.lanes[lane as usize].spare;
        if !is_lost && *spare == 0 {
            return false;
        }
        *spare -= u32::from(!is_lost);
        page.retirement.doom(&self.table.geometry, block);
        self.force(page, set);
        true
    }

    /// Whether all pages of the blocks of a set have been handed out.
    pub(super) fn is_filled(&self, set: SetId) -> bool {
        self.table.blocks(set).iter().all(|&block| self.filled(block) == self.pages(block))
    }

    /// Pages of a block that have been handed out.
    #[inline]
    pub(super) fn filled(&self, block: Block) -> u32 {
        self.filled[block.0 as usize]
    }

    /// Pages that a block has.
    pub(super) fn pages(&self, block: Block) -> u32 {
        self.shape_of(self.table.geometry.die_of(block)).frame.pages_per_block
    }

    /// Bytes of the tables of blocks and sets in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        // Live units, rounds and state of a set; pages and cycles of a block.
        8 * self.all.len() as u64 + 8 * self.filled.len() as u64
    }
}
