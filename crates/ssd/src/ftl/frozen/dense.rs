//! Work on dense dies: rewriting of sets that the host has overwritten data in, and compaction.
//!
//! A dense set is written as a whole, by one step of a job. If the host overwrites data in it, the
//! new data are on the fast dies, and what is still valid in the set is written to another
//! (block-modify-write). The host waits while more sets are to be rewritten than there are dense
//! dies.

use super::collect::Drain;
use super::sets::{Is, Sets};
use super::{DENSE_RESERVE, Frozen};
use crate::ftl::block_sets::SetId;
use crate::ftl::contract::{Step, Work};
use crate::ftl::page::PageFtl;
use nand::geometry::{Block, Die};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Sets to be rewritten on dense dies, and dies whose jobs may have work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Dense {
    lanes: Vec<u32>,
    /// Number of dense dies, those of the lanes.
    dies: u32,
    /// Sets in which the host has overwritten data, and which are to be rewritten.
    modified: BTreeSet<SetId>,
    /// Sets to be rewritten by die, in the order in which they were modified.
    queues: Vec<VecDeque<SetId>>,
    /// Dies whose jobs may have work, in the order in which that was found.
    told: VecDeque<u32>,
    is_told: Vec<bool>,
}

impl Dense {
    pub(super) fn new(sets: &Sets) -> Self {
        let lanes: Vec<u32> = (0..sets.table.lanes())
            .filter(|&lane| sets.is_dense(sets.table.die_of(lane)))
            .collect();
        let dies = sets.table.geometry.dies as usize;
        Self {
            dies: lanes.len() as u32 / sets.table.lanes_per_die,
            lanes,
            modified: BTreeSet::new(),
            queues: vec![VecDeque::new(); dies],
            told: VecDeque::new(),
            is_told: vec![false; dies],
        }
    }

    /// Notes that the job of a die may have work.
    pub(super) fn tell(&mut self, die: Die) {
        if !std::mem::replace(&mut self.is_told[die.0 as usize], true) {
            self.told.push_back(die.0);
        }
    }

    /// The next die whose job may have work.
    #[inline]
    pub(super) fn told(&mut self) -> Option<Die> {
        let die = self.told.pop_front()?;
        self.is_told[die as usize] = false;
        Some(Die(die))
    }

    /// Notes that a unit in a block is dead. If that `modifies` a dense set, valid data of the set
    /// are to be rewritten.
    #[inline]
    pub(super) fn died(&mut self, sets: &Sets, page: &PageFtl, block: Block, modifies: bool) {
        let die = page.geometry.die_of(block);
        if !sets.is_dense(die) {
            return;
        }
        let set = sets.table.of(block);
        if sets.is_to_compact(page, sets.table.lane_of(set)) {
            self.tell(die);
        }
        // What is being moved is rewritten already.
        let can_be_rewritten = modifies && matches!(sets.get(set).is, Is::Full | Is::Open);
        if can_be_rewritten && self.modified.insert(set) {
            self.queues[die.0 as usize].push_back(set);
            self.tell(die);
        }
    }

    /// Whether the host has to wait for sets to be rewritten.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.modified.len() > self.dies as usize
    }
}

impl Frozen {
    /// Units of the largest set of a dense die; 0 without dense dies.
    pub(super) fn dense_units(&self) -> u32 {
        let units = self.dense.lanes.iter().map(|&lane| self.sets.shape(lane).set_units);
        units.max().unwrap_or(0)
    }

    /// The dense lane with the most free sets, if it has one for data of fast dies.
    pub(super) fn room(&self) -> Option<u32> {
        let free = |lane: &u32| self.free(*lane);
        let lanes = self.dense.lanes.iter().copied();
        lanes.max_by_key(free).filter(|lane| free(lane) > DENSE_RESERVE)
    }

    /// Whether there is room to move the data of a set, or some can be made.
    pub(super) fn can_force(&self, set: SetId) -> bool {
        let lane = self.sets.table.lane_of(set);
        let free = self.free(lane);
        if self.sets.is_dense(self.sets.table.die_of(lane)) {
            free > 0
        } else {
            free > self.page.reserve || self.gains(lane)
        }
    }

    /// Whether the job of a dense die has work.
    pub(super) fn wants_dense(&self, die: Die) -> bool {
        let collector = &self.collectors[die.0 as usize];
        !collector.drained.is_empty()
            || collector.target.is_some()
            || !self.dense.queues[die.0 as usize].is_empty()
            || self.sets.table.lanes_of(die).any(|lane| {
                (self.free(lane) > 0 && self.sets.forced(&self.page, lane).is_some())
                    || self.sets.is_to_compact(&self.page, lane)
            })
    }

    /// The next step of the job of a dense die.
    pub(super) fn dense_step(&mut self, die: Die, work: &mut Work) -> Step {
        let collector = &mut self.collectors[die.0 as usize];
        if std::mem::take(&mut collector.has_rewritten) {
            // It begins anew: what the host makes it do is no endless work.
            self.dense.tell(die);
            return Step::Done;
        }
        for _ in 0..self.dense.queues[die.0 as usize].len() {
            let Some(set) = self.dense.queues[die.0 as usize].pop_front() else { break };
            if self.sets.get(set).is == Is::Open {
                self.dense.queues[die.0 as usize].push_back(set);
                continue;
            }
            self.dense.modified.remove(&set);
            if self.rewrite(die, set, work) {
                self.page.counts.dense.modified_sets += 1;
                return Step::Move;
            }
            if self.list_drained(die, work) {
                return Step::Erase;
            }
        }
        for lane in self.sets.table.lanes_of(die) {
            let forced = self.sets.forced(&self.page, lane);
            if let Some(set) = forced
                && self.rewrite(die, set, work)
            {
                return Step::Move;
            }
            if self.sets.is_to_compact(&self.page, lane) {
                let step = self.compact(die, lane, work);
                if step != Step::Done {
                    return step;
                }
            }
            if self.list_drained(die, work) {
                return Step::Erase;
            }
        }
        Step::Done
    }

    /// Has the valid units of a set moved to another of its lane. True if there are any; a set
    /// without valid units is drained.
    fn rewrite(&mut self, die: Die, set: SetId, work: &mut Work) -> bool {
        let lane = self.sets.table.lane_of(set);
        if self.sets.get(set).is != Is::Full || self.free(lane) == 0 {
            return false;
        }
        self.sets.take(&mut self.page, set);
        let drain = &mut self.collectors[die.0 as usize].drain;
        let begun = std::mem::replace(drain, Drain::of(set));
        self.gather(die, usize::MAX, &mut work.moves);
        let collector = &mut self.collectors[die.0 as usize];
        (collector.drain, collector.has_rewritten) = (begun, true);
        if work.moves.is_empty() {
            return false;
        }
        self.target(die, lane);
        true
    }

    /// Opens a set of a dense lane for the moves of a step.
    fn target(&mut self, die: Die, lane: u32) {
        if let Some(set) = self.sets.open(&mut self.page, lane) {
            let frontier = self.sets.frontier(set);
            self.collectors[die.0 as usize].target = Some((lane, frontier));
        }
    }

    /// Fills a set with valid units of the sets that have the fewest.
    fn compact(&mut self, die: Die, lane: u32, work: &mut Work) -> Step {
        let units = self.sets.shape(lane).set_units;
        let in_drain = |frozen: &Self| -> u32 {
            let drain = frozen.collectors[die.0 as usize].drain.sets.iter();
            drain.map(|&set| frozen.live(set)).sum()
        };
        while in_drain(self) < units {
            let is_victim =
                |&set: &SetId| self.sets.get(set).is == Is::Full && self.live(set) < units;
            let victims = self.sets.table.numbers(lane).filter(is_victim);
            let Some(victim) = victims.min_by_key(|&set| self.live(set)) else { break };
            self.sets.take(&mut self.page, victim);
            self.collectors[die.0 as usize].drain.sets.push_back(victim);
        }
        if self.free(lane) == 0 && in_drain(self) > 0 {
            return Step::Done;
        }
        self.gather(die, units as usize, &mut work.moves);
        if work.moves.is_empty() {
            return if self.list_drained(die, work) { Step::Erase } else { Step::Done };
        }
        self.target(die, lane);
        Step::Move
    }
}
