//! Block sets: a block in each of the planes that one program joins. Zones take them, and resets
//! give them back.
//!
//! A lane is a group of joined planes of a die. A zone takes sets of several lanes, each when the
//! first row of the zone goes to it, the least worn free one. A set that was given back is erased
//! by the job of its die once no program of it is under way.

use crate::ftl::contract::{Context, Occupancy, Program};
use crate::space::wear::BlockWear;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Number of a block set.
pub(super) type SetId = u32;

/// Number that stands for no set, or no zone.
pub(super) const NONE: u32 = u32::MAX;

/// Present state of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Is {
    /// The set is erased, and can be taken.
    Free,
    /// A zone has the set.
    Taken,
    /// A zone has given the set back: it is to be erased.
    Dead,
    /// A job erases the set.
    Erasing,
    /// One of the blocks has been taken out of use.
    Gone,
}

/// State of a block set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Set {
    pub is: Is,
    /// Zone that has the set, or `NONE`.
    pub zone: u32,
    /// Programs of the set that are under way.
    pub flying: u32,
    /// Blocks of the set that are not yet erased.
    unerased: u32,
}

/// The sets of a lane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Lane {
    first: SetId,
    end: SetId,
    pub free: u32,
    /// Sets that are given back, and not free yet.
    dying: u32,
    /// Sets beyond those that all zones take.
    pub spare: u32,
    /// Spare sets that only zones that become read only may use up.
    pub reserve: u32,
}

impl Lane {
    /// Sets that the lane was made with.
    pub(super) fn sets(&self) -> u32 {
        self.end - self.first
    }
}

/// All sets of a drive.
#[derive(Clone)]
pub(super) struct Sets {
    pub geometry: Geometry,
    pub joined: u32,
    pub lanes_per_die: u32,
    pub lanes: Vec<Lane>,
    all: Vec<Set>,
    blocks: Vec<Block>,
    home: Vec<SetId>,
    /// By block: pages handed out.
    filled: Vec<u32>,
    pub wear: BlockWear,
    doomed: Vec<bool>,
    /// By die: sets to be erased.
    waiting: Vec<VecDeque<SetId>>,
}

impl State for Sets {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            geometry: _,
            joined: _,
            lanes_per_die: _,
            lanes,
            all,
            blocks: _,
            home: _,
            filled,
            wear,
            doomed,
            waiting,
        } = self;
        archive.value(lanes)?;
        archive.value(all)?;
        archive.table(filled)?;
        wear.exchange(archive)?;
        archive.value(doomed)?;
        archive.value(waiting)
    }
}

impl Sets {
    /// Makes sets of the good blocks of a drive, all of them free: the first good block of each
    /// plane of a lane makes a set, the second one the next, and so on.
    pub(super) fn new(context: &Context) -> Self {
        let Context { geometry, planes_per_program: joined, bad, failed, pe_cycles, .. } = context;
        let mut sets = Self {
            joined: *joined,
            lanes_per_die: geometry.planes_per_die / joined,
            lanes: Vec::new(),
            all: Vec::new(),
            blocks: Vec::new(),
            home: vec![NONE; geometry.blocks() as usize],
            filled: vec![0; geometry.blocks() as usize],
            wear: BlockWear::new(geometry, *pe_cycles, bad.clone(), 0),
            doomed: bad.clone(),
            waiting: vec![VecDeque::new(); geometry.dies as usize],
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
        let good = |plane: u32| {
            let first = self.geometry.first_block(Plane(plane)).0;
            let blocks = first..first + self.geometry.blocks_per_plane;
            blocks.filter(|&block| !bad[block as usize]).map(Block).collect::<Vec<Block>>()
        };
        let planes: Vec<Vec<Block>> =
            (lane * self.joined..(lane + 1) * self.joined).map(good).collect();
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
            let is = if is_good { Is::Free } else { Is::Gone };
            self.all.push(Set { is, zone: NONE, flying: 0, unerased: 0 });
        }
        let end = self.all.len() as SetId;
        self.lanes.push(Lane { first, end, free, dying: 0, spare: 0, reserve: 0 });
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
        self.geometry.plane_of(self.blocks(set)[0]).0 / self.joined
    }

    /// The die of a lane.
    #[inline]
    pub(super) fn die_of(&self, lane: u32) -> Die {
        Die(lane / self.lanes_per_die)
    }

    /// Whether the host may take a set of a lane. The last free one is left to finishes while
    /// others are on their way back.
    pub(super) fn has_free(&self, lane: u32) -> bool {
        let Lane { free, dying, .. } = self.lanes[lane as usize];
        free > 1 || (free == 1 && dying == 0)
    }

    /// Takes the least worn free set of a lane for a zone.
    pub(super) fn take(&mut self, lane: u32, zone: u32) -> Option<SetId> {
        let Lane { first, end, .. } = self.lanes[lane as usize];
        let cycles = |set: SetId| {
            self.blocks(set).iter().map(|&block| self.wear.cycles(block)).max().unwrap_or(0)
        };
        let free = (first..end).filter(|&set| self.get(set).is == Is::Free);
        let set = free.min_by_key(|&set| (cycles(set), set))?;
        self.lanes[lane as usize].free -= 1;
        let taken = self.get_mut(set);
        (taken.is, taken.zone) = (Is::Taken, zone);
        Some(set)
    }

    /// Counts a program of a set that is handed out.
    pub(super) fn handed_out(&mut self, set: SetId, program: &Program, pages: u32) {
        for block in program.blocks() {
            self.filled[block.0 as usize] += pages;
        }
        self.get_mut(set).flying += 1;
    }

    /// Takes in the report of a program of a set.
    pub(super) fn reported(&mut self, set: SetId) {
        let state = self.get_mut(set);
        state.flying -= 1;
        if state.flying == 0 && state.is == Is::Dead {
            self.queue(set);
        }
    }

    /// Gives back a set of a zone, which is to be erased.
    pub(super) fn give_back(&mut self, set: SetId) {
        let lane = self.lane_of(set);
        self.lanes[lane as usize].dying += 1;
        let state = self.get_mut(set);
        (state.is, state.zone) = (Is::Dead, NONE);
        if state.flying == 0 {
            self.queue(set);
        }
    }

    fn queue(&mut self, set: SetId) {
        let die = self.die_of(self.lane_of(set));
        self.waiting[die.0 as usize].push_back(set);
    }

    /// Whether a die has sets to erase.
    #[inline]
    pub(super) fn has_waiting(&self, die: Die) -> bool {
        !self.waiting[die.0 as usize].is_empty()
    }

    /// Lists the blocks that the job of a die erases next: those of a set, and of others in other
    /// planes.
    pub(super) fn list_waiting(&mut self, die: Die, blocks: &mut Vec<Block>) {
        let mut lanes = Vec::new();
        while let Some(&set) = self.waiting[die.0 as usize].front() {
            let lane = self.lane_of(set);
            if lanes.contains(&lane) {
                break;
            }
            lanes.push(lane);
            self.waiting[die.0 as usize].pop_front();
            let unerased = self.joined;
            let state = self.get_mut(set);
            (state.is, state.unerased) = (Is::Erasing, unerased);
            blocks.extend_from_slice(self.blocks(set));
        }
    }

    /// Takes back an erased block, which is retired if it is doomed. True if it was retired.
    pub(super) fn erased(&mut self, block: Block) -> bool {
        self.wear.erased(block);
        self.filled[block.0 as usize] = 0;
        let set = self.of(block);
        let lane = self.lane_of(set);
        let has_left = self.is_doomed(block);
        if has_left {
            self.wear.retire(block);
        }
        let state = &mut self.all[set as usize];
        state.unerased -= 1;
        if state.unerased > 0 {
            return has_left;
        }
        let is_gone = self.blocks(set).iter().any(|&block| self.wear.is_bad(block));
        self.get_mut(set).is = if is_gone { Is::Gone } else { Is::Free };
        let lane = &mut self.lanes[lane as usize];
        lane.dying -= 1;
        lane.free += u32::from(!is_gone);
        has_left
    }

    /// Whether a block is to be retired, or is.
    pub(super) fn is_doomed(&self, block: Block) -> bool {
        self.doomed[block.0 as usize]
    }

    /// Whether a set has a block that is to be retired.
    pub(super) fn is_lost(&self, set: SetId) -> bool {
        self.blocks(set).iter().any(|&block| self.is_doomed(block))
    }

    /// Dooms a block: it is retired with its next erase.
    pub(super) fn doom(&mut self, block: Block) {
        self.doomed[block.0 as usize] = true;
    }

    /// Pages of a block that have been handed out.
    #[inline]
    pub(super) fn filled(&self, block: Block) -> u32 {
        self.filled[block.0 as usize]
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
            let filled = upp * u64::from(self.filled(block));
            occupancy.free += whole - filled;
            occupancy.invalid += filled;
        }
        occupancy.invalid -= mapped;
        occupancy
    }

    /// Bytes of the tables of sets and blocks in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        // Zone and state of a set; pages and cycles of a block.
        8 * self.all.len() as u64 + 8 * self.filled.len() as u64
    }
}
