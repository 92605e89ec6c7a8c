//! Block sets: a block in each of the planes that one program joins, opened, collected and erased
//! together.
//!
//! A lane is a group of joined planes of a die. Its sets are taken in turn, for writing and for
//! collection, each in the order of their numbers (round robin).

use crate::ftl::contract::{Context, Occupancy, Program, Stream};
use crate::space::frontier::Frontier;
use crate::space::wear::BlockWear;
use base::Result;
use base::archive::{Archive, State};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

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
    /// A job moves the data of the set.
    Draining,
    /// A job erases the set.
    Erasing,
    /// One of the blocks has been taken out of use.
    Gone,
}

/// State of a block set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Set {
    pub is: Is,
    /// Units in the set that hold newest data.
    pub live: u32,
    /// Times that collection has spared the set, or moved its data.
    pub rounds: u8,
    /// The data are to be moved, whatever that gains.
    pub is_forced: bool,
    /// Programs of the set that are under way.
    flying: u32,
    /// Blocks of the set that are not yet erased.
    unerased: u32,
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
    /// Free sets of the lane.
    pub free: u32,
    /// Units of full sets that hold no newest data.
    pub dead: u64,
    /// Full sets whose data are to be moved.
    pub forced: VecDeque<SetId>,
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
    pub wear: BlockWear,
    doomed: Vec<bool>,
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
            wear,
            doomed,
        } = self;
        archive.value(lanes)?;
        archive.value(all)?;
        archive.table(filled)?;
        wear.exchange(archive)?;
        archive.value(doomed)
    }
}

impl Sets {
    /// Makes sets of the good blocks of a drive, all of them free: the first good block of each
    /// plane of a lane makes a set, the second one the next, and so on.
    pub(super) fn new(context: &Context) -> Self {
        let Context { geometry, planes_per_program: joined, bad, failed, pe_cycles, .. } = context;
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
            wear: BlockWear::new(geometry, *pe_cycles, bad.clone(), 0),
            doomed: bad.clone(),
            geometry: geometry.clone(),
        };
        for &block in failed {
            sets.wear.retire(block);
            sets.doomed[block.0 as usize] = true;
        }
        for lane in 0..geometry.planes() / joined {
            sets.add_lane(lane, bad);
        }
        sets
    }

    fn add_lane(&mut self, lane: u32, bad: &[bool]) {
        let good = |plane: Plane| {
            let first = self.geometry.first_block(plane).0;
            let blocks = first..first + self.geometry.blocks_per_plane;
            blocks.filter(|&block| !bad[block as usize]).map(Block).collect::<Vec<Block>>()
        };
        let planes: Vec<Vec<Block>> = (lane * self.joined..(lane + 1) * self.joined)
            .map(|plane| good(Plane(plane)))
            .collect();
        let first = self.all.len() as SetId;
        let mut free = 0;
        for index in 0..planes.iter().map(Vec::len).min().unwrap_or(0) {
            let number = self.all.len() as SetId;
            let blocks = planes.iter().map(|plane| plane[index]);
            let is_good = blocks.clone().all(|block| !self.wear.is_bad(block));
            for block in blocks {
                self.home[block.0 as usize] = number;
                self.blocks.push(block);
            }
            free += u32::from(is_good);
            self.all.push(Set {
                is: if is_good { Is::Free } else { Is::Gone },
                live: 0,
                rounds: 0,
                is_forced: false,
                flying: 0,
                unerased: 0,
            });
        }
        let end = self.all.len() as SetId;
        let forced = VecDeque::new();
        let (write_at, collect_at) = (first, first);
        self.lanes.push(Lane { first, end, write_at, collect_at, free, dead: 0, forced, spare: 0 });
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
        &self.shapes[usize::from(self.kind_of_die[self.die_of(lane).0 as usize])]
    }

    /// Sets of a lane that are or can be used.
    pub(super) fn sound(&self, lane: u32) -> u32 {
        let Lane { first, end, .. } = self.lanes[lane as usize];
        let sets = (first..end).map(|set| self.get(set));
        sets.filter(|set| set.is != Is::Gone).count() as u32
    }

    /// Opens the next free set of a lane.
    pub(super) fn open(&mut self, lane: u32) -> Option<SetId> {
        let Lane { first, end, write_at, free, .. } = self.lanes[lane as usize];
        if free == 0 {
            return None;
        }
        let set = (write_at..end).chain(first..write_at);
        let set = set.into_iter().find(|&set| self.get(set).is == Is::Free)?;
        let lane = &mut self.lanes[lane as usize];
        lane.free -= 1;
        lane.write_at = if set + 1 == end { first } else { set + 1 };
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
        let shape = &self.shapes[usize::from(self.kind_of_die[die.0 as usize])];
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
    pub(super) fn reported(&mut self, program: &Program) {
        let set = self.of(program.blocks[0]);
        let is_full = self.is_filled(set);
        let state = self.get_mut(set);
        state.flying -= 1;
        if is_full && state.flying == 0 {
            self.close(set);
        }
    }

    /// Closes a set with nothing under way: it takes nothing more.
    pub(super) fn close(&mut self, set: SetId) {
        let lane = self.lane_of(set);
        let units = self.shape(lane).set_units;
        let is_doomed = self.blocks(set).iter().any(|block| self.doomed[block.0 as usize]);
        let state = self.get_mut(set);
        state.is = Is::Full;
        let dead = units - state.live;
        self.lanes[lane as usize].dead += u64::from(dead);
        if is_doomed {
            self.force(set);
        }
    }

    /// Counts a unit in a block as dead. Returns the block's set.
    #[inline]
    pub(super) fn died(&mut self, block: Block) -> SetId {
        let set = self.of(block);
        let state = self.get_mut(set);
        state.live -= 1;
        if state.is == Is::Full {
            let lane = self.lane_of(set);
            self.lanes[lane as usize].dead += 1;
        }
        set
    }

    /// Marks a full set, whose data are to be moved. True if it was not marked before.
    pub(super) fn force(&mut self, set: SetId) -> bool {
        let state = self.get_mut(set);
        if state.is != Is::Full || std::mem::replace(&mut state.is_forced, true) {
            return false;
        }
        let lane = self.lane_of(set);
        self.lanes[lane as usize].forced.push_back(set);
        true
    }

    /// Takes a full set for a job, which moves its data.
    pub(super) fn take(&mut self, set: SetId) {
        let lane = self.lane_of(set);
        let units = self.shape(lane).set_units;
        let state = self.get_mut(set);
        debug_assert!(state.is == Is::Full, "{state:?}");
        state.is = Is::Draining;
        let (dead, was_forced) = (units - state.live, std::mem::take(&mut state.is_forced));
        let lane = &mut self.lanes[lane as usize];
        lane.dead -= u64::from(dead);
        if was_forced {
            lane.forced.retain(|&other| other != set);
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

    /// Ends the moves of a set: its blocks are to be erased.
    pub(super) fn bury(&mut self, set: SetId) {
        let unerased = self.joined;
        let state = self.get_mut(set);
        (state.is, state.unerased) = (Is::Erasing, unerased);
    }

    /// Takes back an erased block. A doomed block is retired, unless its lane would have fewer than
    /// `reserve` free sets: then it is used once more. True if it was retired.
    pub(super) fn erased(&mut self, block: Block, reserve: u32) -> bool {
        self.wear.erased(block);
        self.filled[block.0 as usize] = 0;
        let set = self.of(block);
        let lane = self.lane_of(set);
        let has_left = self.is_doomed(block) && self.lanes[lane as usize].free >= reserve;
        if has_left {
            self.wear.retire(block);
        }
        let state = &mut self.all[set as usize];
        state.unerased -= 1;
        if state.unerased > 0 {
            return has_left;
        }
        let blocks = &self.blocks[(set * self.joined) as usize..][..self.joined as usize];
        let is_gone = blocks.iter().any(|&block| self.wear.is_bad(block));
        (state.is, state.rounds) = (if is_gone { Is::Gone } else { Is::Free }, 0);
        self.lanes[lane as usize].free += u32::from(!is_gone);
        has_left
    }

    /// Whether a block is to be retired, or is.
    pub(super) fn is_doomed(&self, block: Block) -> bool {
        self.doomed[block.0 as usize]
    }

    /// Dooms a block, and with it its set, if the lane has one to spare.
    pub(super) fn doom(&mut self, block: Block) -> bool {
        let set = self.of(block);
        if self.is_doomed(block) || set == NONE || self.get(set).is == Is::Gone {
            // What has no set, or lost it, is not used: nothing is to be moved.
            return self.is_doomed(block);
        }
        let others = self.blocks(set).iter();
        let is_lost = others.into_iter().any(|other| self.is_doomed(*other));
        let lane = self.lane_of(set);
        let spare = &mut self.lanes[lane as usize].spare;
        if !is_lost && *spare == 0 {
            return false;
        }
        *spare -= u32::from(!is_lost);
        self.doomed[block.0 as usize] = true;
        self.force(set);
        true
    }

    /// Whether all pages of the blocks of a set have been handed out.
    pub(super) fn is_filled(&self, set: SetId) -> bool {
        let last = self.shape(self.lane_of(set)).frame.pages_per_block;
        self.blocks(set).iter().all(|&block| self.filled(block) == last)
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

    /// State of every physical unit, where `mapped` units are mapped.
    pub(super) fn occupancy(&self, mapped: u64) -> Occupancy {
        let upp = u64::from(self.geometry.units_per_page);
        let whole = u64::from(self.geometry.units_per_block());
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        for block in (0..self.geometry.blocks()).map(Block) {
            if self.wear.is_bad(block) {
                occupancy.bad += whole;
                continue;
            }
            let kind = self.kind_of_die[self.geometry.die_of(block).0 as usize];
            let units = upp * u64::from(self.shapes[usize::from(kind)].frame.pages_per_block);
            let filled = upp * u64::from(self.filled(block));
            occupancy.free += units - filled;
            occupancy.invalid += filled;
            // Pages that blocks of this kind do not have.
            occupancy.bad += whole - units;
        }
        occupancy.invalid -= mapped;
        occupancy
    }

    /// Bytes of the tables of blocks and sets in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        // Live units, rounds and state of a set; pages and cycles of a block.
        8 * self.all.len() as u64 + 8 * self.filled.len() as u64
    }
}
