//! Block sets: a block in each of the planes that one program joins, opened, collected and erased
//! together.
//!
//! A lane is a group of joined planes of a die. Its sets are taken in turn, for writing and for
//! collection, each in the order of their numbers (round robin). Valid units, free blocks, wear and
//! marks are in the table of blocks of the page map.

use super::DENSE_RESERVE;
use crate::ftl::contract::{Context, Program, Stream};
use crate::ftl::page::PageFtl;
use crate::space::frontier::Frontier;
use base::Result;
use base::archive::{Archive, State};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};

/// Number of a block set.
pub(super) type SetId = u32;

/// Number that stands for no set.
pub(super) const NONE: SetId = u32::MAX;

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
    first: SetId,
    end: SetId,
    /// Set from which on the next free one is looked for.
    write_at: SetId,
    /// Set from which on the next victim is looked for.
    collect_at: SetId,
    /// Sets that could still be given up.
    pub spare: u32,
}

/// Sizes that the lanes of a kind of chips have in common.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Layout of the flash, with the pages that a block of this kind has.
    frame: Geometry,
    pub pages_per_program: u32,
    /// Units that a program writes to one plane.
    pub plane_units: u32,
    pub row_units: u32,
    pub set_units: u32,
}

/// All sets of a drive.
#[derive(Clone)]
pub(super) struct Sets {
    pub geometry: Geometry,
    pub joined: u32,
    pub lanes_per_die: u32,
    /// By kind of chips: sizes of its lanes.
    shapes: Vec<Shape>,
    kind_of_die: Vec<u8>,
    pub lanes: Vec<Lane>,
    all: Vec<Set>,
    /// Blocks of each set, by plane.
    blocks: Vec<Block>,
    /// By block: its set, or `NONE`.
    home: Vec<SetId>,
    /// Pages handed out, by block.
    filled: Vec<u32>,
}

impl State for Sets {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            geometry: _,
            joined: _,
            lanes_per_die: _,
            shapes: _,
            kind_of_die: _,
            lanes,
            all,
            blocks: _,
            home: _,
            filled,
        } = self;
        archive.value(lanes)?;
        archive.value(all)?;
        archive.table(filled)
    }
}

impl Sets {
    /// Makes sets of the good blocks of a drive, all of them free: the first good block of each
    /// plane of a lane makes a set, the second one the next, and so on. A set of which a block has
    /// failed in use is gone.
    pub(super) fn new(context: &Context) -> Self {
        let Context { geometry, planes_per_program: joined, bad, .. } = context;
        let upp = geometry.units_per_page;
        let shape = |kind: &crate::ftl::contract::DieKind| {
            let plane_units = kind.pages_per_program * upp;
            Shape {
                frame: geometry.with_pages(kind.pages_per_block),
                pages_per_program: kind.pages_per_program,
                plane_units,
                row_units: plane_units * joined,
                set_units: kind.pages_per_block * upp * joined,
            }
        };
        let mut sets = Self {
            joined: *joined,
            lanes_per_die: geometry.planes_per_die / joined,
            shapes: context.kinds.iter().map(shape).collect(),
            kind_of_die: context.kind_of_die.clone(),
            lanes: Vec::new(),
            all: Vec::new(),
            blocks: Vec::new(),
            home: vec![NONE; geometry.blocks() as usize],
            filled: vec![0; geometry.blocks() as usize],
            geometry: geometry.clone(),
        };
        let unusable = context.unusable();
        for lane in 0..geometry.planes() / joined {
            sets.add_lane(lane, bad, &unusable);
        }
        sets
    }

    fn add_lane(&mut self, lane: u32, bad: &[bool], unusable: &[bool]) {
        let good = |plane: Plane| {
            let first = self.geometry.first_block(plane).0;
            let blocks = first..first + self.geometry.blocks_per_plane;
            blocks.filter(|&block| !bad[block as usize]).map(Block).collect::<Vec<Block>>()
        };
        let planes: Vec<Vec<Block>> = (lane * self.joined..(lane + 1) * self.joined)
            .map(|plane| good(Plane(plane)))
            .collect();
        let first = self.all.len() as SetId;
        for index in 0..planes.iter().map(Vec::len).min().unwrap_or(0) {
            let number = self.all.len() as SetId;
            let blocks = planes.iter().map(|plane| plane[index]);
            let is_good = blocks.clone().all(|block| !unusable[block.0 as usize]);
            for block in blocks {
                self.home[block.0 as usize] = number;
                self.blocks.push(block);
            }
            let is = if is_good { Is::Free } else { Is::Gone };
            self.all.push(Set { is, rounds: 0, flying: 0 });
        }
        let end = self.all.len() as SetId;
        self.lanes.push(Lane { first, end, write_at: first, collect_at: first, spare: 0 });
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

    /// Set of a block; `NONE` of a block that has none.
    #[inline]
    pub(super) fn of(&self, block: Block) -> SetId {
        self.home[block.0 as usize]
    }

    /// The blocks of a set.
    #[inline]
    pub(super) fn blocks(&self, set: SetId) -> &[Block] {
        &self.blocks[(set * self.joined) as usize..][..self.joined as usize]
    }

    /// The lane of a set.
    #[inline]
    pub(super) fn lane_of(&self, set: SetId) -> u32 {
        let plane = self.geometry.plane_of(self.blocks(set)[0]);
        plane.0 / self.joined
    }

    /// The die of a lane.
    #[inline]
    pub(super) fn die_of(&self, lane: u32) -> Die {
        Die(lane / self.lanes_per_die)
    }

    /// The lanes of a die.
    #[inline]
    pub(super) fn lanes_of(&self, die: Die) -> std::ops::Range<u32> {
        die.0 * self.lanes_per_die..(die.0 + 1) * self.lanes_per_die
    }

    /// Whether a lane is of a kind other than the first.
    #[inline]
    pub(super) fn is_dense(&self, lane: u32) -> bool {
        self.kind_of_die[self.die_of(lane).0 as usize] > 0
    }

    /// Sizes of a lane, as of all lanes of its kind.
    #[inline]
    pub(super) fn shape(&self, lane: u32) -> &Shape {
        self.shape_of(self.die_of(lane))
    }

    /// Sizes of the lanes of a die.
    #[inline]
    pub(super) fn shape_of(&self, die: Die) -> &Shape {
        &self.shapes[usize::from(self.kind_of_die[die.0 as usize])]
    }

    /// Sets of a lane that are or can be used.
    pub(super) fn sound(&self, lane: u32) -> u32 {
        let Lane { first, end, .. } = self.lanes[lane as usize];
        let sets = (first..end).map(|set| self.get(set));
        sets.filter(|set| set.is != Is::Gone).count() as u32
    }

    /// Units of a set that hold newest data.
    pub(super) fn live(&self, page: &PageFtl, set: SetId) -> u32 {
        self.blocks(set).iter().map(|&block| page.candidates.word(block).valid()).sum()
    }

    /// Units of full sets of a lane that hold no newest data.
    #[inline]
    pub(super) fn dead(&self, page: &PageFtl, lane: u32) -> u64 {
        // The table of blocks takes the pages of the longest blocks for those of all.
        let frame = &self.shape(lane).frame;
        let beyond = u64::from(self.geometry.units_per_block() - frame.units_per_block());
        let of_plane = |plane| {
            let dead = page.candidates.dead_units(Plane(plane));
            dead - u64::from(page.candidates.blocks(Plane(plane))) * beyond
        };
        (lane * self.joined..(lane + 1) * self.joined).map(of_plane).sum()
    }

    /// Whether a dense lane has no free set for data of fast dies, and could gain one.
    #[inline]
    pub(super) fn is_to_compact(&self, page: &PageFtl, lane: u32) -> bool {
        let units = u64::from(self.shape(lane).set_units);
        page.free.fewest(lane) <= DENSE_RESERVE && self.dead(page, lane) >= units
    }

    /// The full set of a lane whose data are to be moved next, whatever that gains.
    #[inline]
    pub(super) fn forced(&self, page: &PageFtl, lane: u32) -> Option<SetId> {
        let marked = page.candidates.marked(self.die_of(lane)).iter();
        marked.map(|&block| self.of(block)).find(|&set| self.lane_of(set) == lane)
    }

    /// Opens the next free set of a lane.
    pub(super) fn open(&mut self, page: &mut PageFtl, lane: u32) -> Option<SetId> {
        if page.free.fewest(lane) == 0 {
            return None;
        }
        let Lane { first, end, write_at, .. } = self.lanes[lane as usize];
        let set = (write_at..end).chain(first..write_at);
        let set = set.into_iter().find(|&set| self.get(set).is == Is::Free)?;
        self.lanes[lane as usize].write_at = if set + 1 == end { first } else { set + 1 };
        for &block in self.blocks(set) {
            page.free.take(self.geometry.plane_of(block), block);
            page.candidates.opened(block);
        }
        let open = self.get_mut(set);
        (open.is, open.rounds) = (Is::Open, 0);
        Some(set)
    }

    /// The frontier of a set that has just been opened.
    pub(super) fn frontier(&self, set: SetId) -> Frontier {
        let mut frontier = Frontier::CLOSED;
        frontier.blocks[..self.joined as usize].copy_from_slice(self.blocks(set));
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
        let die = self.die_of(lane);
        let shape = self.shape_of(die);
        let (pages, joined) = (shape.pages_per_program, self.joined);
        let place = (die, stream, BlockMode::Native);
        let program = frontier.program(place, units, shape.plane_units, joined);
        frontier.advance(program.planes.into(), pages, joined, &shape.frame);
        for block in program.blocks() {
            self.filled[block.0 as usize] += pages;
        }
        let set = self.home[program.blocks[0].0 as usize];
        self.all[set as usize].flying += 1;
        program
    }

    /// Notes that a program was reported. A set whose last program this was is full.
    #[inline]
    pub(super) fn reported(&mut self, page: &mut PageFtl, program: &Program) {
        let set = self.of(program.blocks[0]);
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
        for &block in self.blocks(set) {
            page.candidates.closed(self.geometry.plane_of(block), block, page.clock);
        }
        if self.blocks(set).iter().any(|&block| page.retirement.is_doomed(block)) {
            self.force(page, set);
        }
    }

    /// Marks a full set, whose data are to be moved. True if it was not marked before.
    pub(super) fn force(&self, page: &mut PageFtl, set: SetId) -> bool {
        let first = self.blocks(set)[0];
        page.candidates.mark(self.geometry.plane_of(first), first)
    }

    /// Takes a full set for a job, which moves its data.
    pub(super) fn take(&mut self, page: &mut PageFtl, set: SetId) {
        let state = self.get_mut(set);
        debug_assert!(state.is == Is::Full, "{state:?}");
        state.is = Is::Draining;
        for &block in self.blocks(set) {
            page.candidates.withdraw(self.geometry.plane_of(block), block);
        }
    }

    /// Full sets of a lane in turn, from the place of collection on.
    pub(super) fn in_turn(&self, lane: u32) -> impl Iterator<Item = SetId> {
        let Lane { first, end, collect_at, .. } = self.lanes[lane as usize];
        let can_go = |&set: &SetId| self.get(set).is == Is::Full;
        (collect_at..end).chain(first..collect_at).filter(can_go)
    }

    /// Has the next victim looked for behind this set.
    pub(super) fn passed(&mut self, lane: u32, set: SetId) {
        let lane = &mut self.lanes[lane as usize];
        lane.collect_at = if set + 1 == lane.end { lane.first } else { set + 1 };
    }

    /// Takes back an erased block. A doomed block is retired, unless its lane would have fewer free
    /// sets than the reserve: then it is used once more.
    pub(super) fn erased(&mut self, page: &mut PageFtl, block: Block) {
        page.candidates.erased(block);
        page.wear.erased(block);
        self.filled[block.0 as usize] = 0;
        let set = self.of(block);
        let is_roomy = page.free.fewest(self.lane_of(set)) >= page.reserve;
        if page.retirement.is_doomed(block) && is_roomy {
            page.wear.retire(block);
            page.counts.retired_blocks += 1;
        } else {
            page.counts.reclaimed_blocks += 1;
        }
        let blocks = self.blocks(set);
        if !blocks.iter().all(|&block| page.candidates.word(block).is_free()) {
            return;
        }
        let is_gone = blocks.iter().any(|&block| page.is_bad(block));
        if !is_gone {
            for &block in blocks {
                page.free.push(self.geometry.plane_of(block), block, page.wear.cycles(block));
            }
        }
        let state = self.get_mut(set);
        (state.is, state.rounds) = (if is_gone { Is::Gone } else { Is::Free }, 0);
    }

    /// Dooms a block, and with it its set, if the lane has one to spare.
    pub(super) fn doom(&mut self, page: &mut PageFtl, block: Block) -> bool {
        let set = self.of(block);
        let is_doomed = page.retirement.is_doomed(block);
        if is_doomed || set == NONE || self.get(set).is == Is::Gone {
            // What has no set, or lost it, is not used: nothing is to be moved.
            return is_doomed;
        }
        let is_lost = self.blocks(set).iter().any(|&other| page.retirement.is_doomed(other));
        let lane = self.lane_of(set);
        let spare = &mut self.lanes[lane as usize].spare;
        if !is_lost && *spare == 0 {
            return false;
        }
        *spare -= u32::from(!is_lost);
        page.retirement.doom(&self.geometry, block);
        self.force(page, set);
        true
    }

    /// Whether all pages of the blocks of a set have been handed out.
    pub(super) fn is_filled(&self, set: SetId) -> bool {
        self.blocks(set).iter().all(|&block| self.filled(block) == self.pages(block))
    }

    /// Pages of a block that have been handed out.
    #[inline]
    pub(super) fn filled(&self, block: Block) -> u32 {
        self.filled[block.0 as usize]
    }

    /// All sets of a lane, by number.
    pub(super) fn numbers(&self, lane: u32) -> std::ops::Range<SetId> {
        let Lane { first, end, .. } = self.lanes[lane as usize];
        first..end
    }

    /// Pages that a block has.
    pub(super) fn pages(&self, block: Block) -> u32 {
        self.shape_of(self.geometry.die_of(block)).frame.pages_per_block
    }

    /// Bytes of the tables of blocks and sets in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        // Live units, rounds and state of a set; pages and cycles of a block.
        8 * self.all.len() as u64 + 8 * self.filled.len() as u64
    }
}
