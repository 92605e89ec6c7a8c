//! State of block sets: zones take them, and resets give them back.
//!
//! A zone takes sets of several lanes, each when the first row of the zone goes to it, the least
//! worn free one. A set that was given back is erased by the job of its die once no program of it
//! is under way.

use crate::ftl::block_sets::{BlockSets, NONE, SetId};
use crate::ftl::contract::{Context, Occupancy, Program};
use crate::space::wear::BlockWear;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die, Geometry};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

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
    pub free: u32,
    /// Sets that are given back, and not free yet.
    dying: u32,
    /// Sets beyond those that all zones take.
    pub spare: u32,
    /// Spare sets that only zones that become read only may use up.
    pub reserve: u32,
}

/// All sets of a drive.
#[derive(Clone)]
pub(super) struct Sets {
    pub table: BlockSets,
    pub lanes: Vec<Lane>,
    all: Vec<Set>,
    /// By block: pages handed out.
    filled: Vec<u32>,
    /// By set: rows of its zone that the flash has there, those of padding left out.
    rows: Vec<u32>,
    pub wear: BlockWear,
    doomed: Vec<bool>,
    /// By die: sets to be erased.
    waiting: Vec<VecDeque<SetId>>,
}

impl State for Sets {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { table: _, lanes, all, filled, rows, wear, doomed, waiting } = self;
        archive.value(lanes)?;
        archive.value(all)?;
        archive.table(filled)?;
        archive.table(rows)?;
        wear.exchange(archive)?;
        archive.value(doomed)?;
        archive.value(waiting)
    }
}

impl Sets {
    /// Makes the sets of a drive, all of them free but those of which a block has failed in use.
    pub(super) fn new(context: &Context) -> Self {
        let (table, unusable) = (BlockSets::new(context), context.unusable());
        let is_good =
            |&set: &SetId| !table.blocks(set).iter().any(|block| unusable[block.0 as usize]);
        let state = |set| {
            let is = if is_good(&set) { Is::Free } else { Is::Gone };
            Set { is, zone: NONE, flying: 0, unerased: 0 }
        };
        let lane = |lane| {
            let free = table.numbers(lane).filter(is_good).count() as u32;
            Lane { free, dying: 0, spare: 0, reserve: 0 }
        };
        let Geometry { dies, .. } = context.geometry;
        Self {
            lanes: (0..table.lanes()).map(lane).collect(),
            all: (0..table.count()).map(state).collect(),
            filled: vec![0; unusable.len()],
            rows: vec![0; table.count() as usize],
            wear: BlockWear::new(&context.geometry, context.pe_cycles, unusable.clone(), 0),
            doomed: unusable,
            waiting: vec![VecDeque::new(); dies as usize],
            table,
        }
    }

    /// State of a set.
    #[inline]
    pub(super) fn get(&self, set: SetId) -> &Set {
        &self.all[set as usize]
    }

    /// Zone that has the set of a block, if any.
    pub(super) fn zone_of(&self, block: Block) -> Option<u32> {
        let set = self.table.of(block);
        if set == NONE {
            return None;
        }
        let zone = self.get(set).zone;
        (zone != NONE).then_some(zone)
    }

    /// State of a set, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, set: SetId) -> &mut Set {
        &mut self.all[set as usize]
    }

    /// Whether the host may take a set of a lane. The last free one is left to finishes while
    /// others are on their way back.
    pub(super) fn has_free(&self, lane: u32) -> bool {
        let Lane { free, dying, .. } = self.lanes[lane as usize];
        free > 1 || (free == 1 && dying == 0)
    }

    /// Takes the least worn free set of a lane for a zone.
    pub(super) fn take(&mut self, lane: u32, zone: u32) -> Option<SetId> {
        let cycles = |set: SetId| {
            self.table.blocks(set).iter().map(|&block| self.wear.cycles(block)).max().unwrap_or(0)
        };
        let free = self.table.numbers(lane).filter(|&set| self.get(set).is == Is::Free);
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

    /// Counts a row of the host that the flash has in a set.
    #[inline]
    pub(super) fn has_row(&mut self, set: SetId) {
        self.rows[set as usize] += 1;
    }

    /// Rows of the host that the flash has in a set.
    pub(super) fn rows(&self, set: SetId) -> u32 {
        self.rows[set as usize]
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
        let lane = self.table.lane_of(set);
        self.lanes[lane as usize].dying += 1;
        self.rows[set as usize] = 0;
        let state = self.get_mut(set);
        (state.is, state.zone) = (Is::Dead, NONE);
        if state.flying == 0 {
            self.queue(set);
        }
    }

    /// Takes over the state of a block that was found.
    pub(super) fn found(&mut self, block: Block, pages: u32, pe_cycles: u32) {
        self.filled[block.0 as usize] = pages;
        if !self.wear.is_bad(block) {
            self.wear.set_cycles(block, pe_cycles);
        }
    }

    /// Gives a zone a set that was found, which is its own.
    pub(super) fn adopt(&mut self, set: SetId, zone: u32) {
        let lane = self.table.lane_of(set);
        self.lanes[lane as usize].free -= 1;
        let state = self.get_mut(set);
        (state.is, state.zone) = (Is::Taken, zone);
    }

    /// Has a set that was found erased: no zone needs it.
    pub(super) fn bury(&mut self, set: SetId) {
        let lane = self.table.lane_of(set);
        self.lanes[lane as usize].free -= 1;
        self.give_back(set);
    }

    fn queue(&mut self, set: SetId) {
        let die = self.table.die_of(self.table.lane_of(set));
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
            let lane = self.table.lane_of(set);
            if lanes.contains(&lane) {
                break;
            }
            lanes.push(lane);
            self.waiting[die.0 as usize].pop_front();
            let unerased = self.table.joined;
            let state = self.get_mut(set);
            (state.is, state.unerased) = (Is::Erasing, unerased);
            blocks.extend_from_slice(self.table.blocks(set));
        }
    }

    /// Takes back an erased block, which is retired if it is doomed. True if it was retired.
    pub(super) fn erased(&mut self, block: Block) -> bool {
        self.wear.erased(block);
        self.filled[block.0 as usize] = 0;
        let set = self.table.of(block);
        let lane = self.table.lane_of(set);
        let has_left = self.is_doomed(block);
        if has_left {
            self.wear.retire(block);
        }
        let state = &mut self.all[set as usize];
        state.unerased -= 1;
        if state.unerased > 0 {
            return has_left;
        }
        let is_gone = self.table.blocks(set).iter().any(|&block| self.wear.is_bad(block));
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
        self.table.blocks(set).iter().any(|&block| self.is_doomed(block))
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
        let upp = u64::from(self.table.geometry.units_per_page);
        let whole = u64::from(self.table.geometry.units_per_block());
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        for block in (0..self.table.geometry.blocks()).map(Block) {
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
