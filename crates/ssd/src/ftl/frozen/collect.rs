//! Collection of a fast die: which block sets are copied, spared, or frozen.
//!
//! Hachiya 2013, Fig. 8. Two sets are looked at in turn (more, if dense sets are larger than those
//! of the paper). If their valid units would not fill a block set of a dense die, they are copied
//! (A1 to A4). If they would, the sets are spared until they have had their rounds (B1, B2); then
//! as many units as fill a dense set move there, and the rest is copied (C1 to C5).

use super::{DENSE_RESERVE, Frozen, Policy};
use crate::ftl::block_sets::{BlockSets, SetId};
use crate::ftl::contract::{Lpn, Move, Place, Step, Stream, Urgency, Work};
use crate::space::frontier::Frontier;
use nand::geometry::{Die, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Sets whose data are being moved; the first of them is moved up to some unit.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Drain {
    pub sets: VecDeque<SetId>,
    at: u32,
}

impl Drain {
    /// Starts with one set, from its first unit on.
    pub(super) fn of(set: SetId) -> Self {
        Self { sets: VecDeque::from([set]), at: 0 }
    }
}

/// Work of the job of a die.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Collector {
    pub drain: Drain,
    /// Sets whose data have been moved, or are moved in the present step.
    pub drained: Vec<SetId>,
    /// Lane that copies go to.
    pub lane: u32,
    /// Dense set that the present step fills, with its lane.
    pub target: Option<(u32, Frontier)>,
    /// Some set has been rewritten since the job began.
    pub has_rewritten: bool,
    is_freezing: bool,
    /// Dense lane, a set of which the next step is to fill.
    freeze_to: Option<u32>,
}

impl Collector {
    /// Whether the present step moves frozen data.
    pub(super) fn freezes(&self) -> bool {
        self.is_freezing
    }
}

/// Next thing to do with the victims that collection has taken.
enum Pick {
    Copy,
    /// Fill a set of this dense lane.
    Freeze(u32),
    Nothing,
}

impl Frozen {
    fn collector(&mut self, die: Die) -> &mut Collector {
        &mut self.collectors[die.0 as usize]
    }

    /// Ends the moves of the last step.
    pub(super) fn settle_moves(&mut self, die: Die) {
        let collector = &mut self.collectors[die.0 as usize];
        collector.is_freezing = false;
        // A set that was filled in part takes nothing more.
        if let Some((_, frontier)) = collector.target.take()
            && frontier.open
        {
            self.sets.close(&mut self.page, self.sets.table.of(frontier.blocks[0]));
        }
    }

    /// Lists the blocks of sets whose data have been moved. True if there are any.
    pub(super) fn list_drained(&mut self, die: Die, work: &mut Work) -> bool {
        let collector = &mut self.collectors[die.0 as usize];
        for set in collector.drained.drain(..) {
            work.blocks.extend_from_slice(self.sets.table.blocks(set));
        }
        !work.blocks.is_empty()
    }

    /// Lists valid units of the sets that are being moved, up to `most`.
    pub(super) fn gather(&mut self, die: Die, most: usize, moves: &mut Vec<Move>) {
        let Collector { drain, drained, .. } = &mut self.collectors[die.0 as usize];
        let BlockSets { geometry, joined, .. } = &self.sets.table;
        let upp = geometry.units_per_page;
        while let Some(&set) = drain.sets.front() {
            let units = self.sets.shape(self.sets.table.lane_of(set)).set_units;
            let blocks = self.sets.table.blocks(set);
            while drain.at < units {
                if moves.len() == most {
                    return;
                }
                let (row, slot) = (drain.at / upp, drain.at % upp);
                let (page, plane) = (row / joined, row % joined);
                drain.at += 1;
                let ppn = geometry.ppn(blocks[plane as usize], page, slot);
                if page >= self.sets.filled(blocks[plane as usize]) {
                    continue;
                }
                if self.page.is_valid(ppn.0) {
                    let lpn = Lpn(self.page.owner[ppn.0 as usize]);
                    moves.push(Move { lpn, from: Ppn(ppn.0) });
                }
            }
            drain.at = 0;
            drain.sets.pop_front();
            drained.push(set);
        }
    }

    /// Whether a lane has fewer free sets than it should.
    fn is_short(&self, lane: u32, urgency: Urgency) -> bool {
        let least = self.kept(lane) + 1;
        let least = match urgency {
            Urgency::Blocked => least,
            Urgency::Due => least.max(self.page.gc.start_free_blocks),
            Urgency::Idle => {
                least.max(self.page.gc.start_free_blocks).max(self.page.gc.background_free_blocks)
            }
        };
        self.free(lane) < least
    }

    /// Whether copying sets of a lane gives a set back.
    pub(super) fn gains(&self, lane: u32) -> bool {
        self.sets.dead(&self.page, lane) >= u64::from(self.sets.shape(lane).set_units)
    }

    /// Whether a set of this lane waits to be moved off, and can be.
    fn is_forced(&self, lane: u32) -> bool {
        self.free(lane) > self.page.reserve && self.sets.forced(&self.page, lane).is_some()
    }

    /// Whether the job of a fast die has work.
    pub(super) fn wants_fast(&self, die: Die, urgency: Urgency) -> bool {
        let collector = &self.collectors[die.0 as usize];
        !collector.drained.is_empty()
            || self.lane_to_collect(die, urgency).is_some()
            || collector.target.is_some()
    }

    /// The lane of a die to collect next.
    fn lane_to_collect(&self, die: Die, urgency: Urgency) -> Option<u32> {
        let drain = self.collectors[die.0 as usize].drain.sets.front();
        let drain = drain.map(|&set| self.sets.table.lane_of(set));
        let has_work = |&lane: &u32| {
            if !self.is_short(lane, urgency) {
                return self.is_forced(lane);
            }
            drain == Some(lane) || self.gains(lane) || self.is_forced(lane) || self.room().is_some()
        };
        let lanes = self.sets.table.lanes_of(die).filter(has_work);
        let shortest = lanes.min_by_key(|&lane| self.free(lane))?;
        // What was begun comes first.
        Some(drain.unwrap_or(shortest))
    }

    /// The next step of the job of a fast die.
    pub(super) fn fast_step(&mut self, die: Die, urgency: Urgency, work: &mut Work) -> Step {
        let Some(lane) = self.lane_to_collect(die, urgency) else { return Step::Done };
        self.collector(die).lane = lane;
        if let Some(dense) = self.collector(die).freeze_to.take()
            && self.free(dense) > DENSE_RESERVE
        {
            return self.fill(die, dense, work);
        }
        let row = self.sets.shape(lane).rows.units() as usize;
        loop {
            self.gather(die, row, &mut work.moves);
            if work.moves.len() == row {
                return Step::Move;
            }
            // The row is filled with data of further victims: with padding it could gain nothing.
            if !work.moves.is_empty() && self.take_to_finish(die, lane) {
                continue;
            }
            match self.pick(die, lane) {
                Pick::Copy => {}
                Pick::Freeze(dense) if work.moves.is_empty() => return self.fill(die, dense, work),
                Pick::Freeze(dense) => {
                    // First what was begun.
                    self.collector(die).freeze_to = Some(dense);
                    return Step::Move;
                }
                Pick::Nothing if !work.moves.is_empty() => return Step::Move,
                Pick::Nothing => {
                    return if self.list_drained(die, work) { Step::Erase } else { Step::Done };
                }
            }
            if work.moves.is_empty() && self.list_drained(die, work) {
                return Step::Erase;
            }
        }
    }

    /// Moves units of the victims to a set of a dense lane.
    fn fill(&mut self, die: Die, dense: u32, work: &mut Work) -> Step {
        let units = self.sets.shape(dense).set_units as usize;
        self.gather(die, units, &mut work.moves);
        if work.moves.is_empty() {
            return if self.list_drained(die, work) { Step::Erase } else { Step::Done };
        }
        let set = self.sets.open(&mut self.page, dense).expect("checked when it was picked");
        let frontier = self.sets.frontier(set);
        let collector = self.collector(die);
        collector.target = Some((dense, frontier));
        collector.is_freezing = true;
        if self.sets.is_to_compact(&self.page, dense) {
            self.dense.tell(self.sets.table.die_of(dense));
        }
        Step::Move
    }

    /// Takes the next victims of a lane.
    fn pick(&mut self, die: Die, lane: u32) -> Pick {
        let forced = self.sets.forced(&self.page, lane);
        if let Some(set) = forced.filter(|_| self.is_forced(lane)) {
            self.take(die, set);
            return Pick::Copy;
        }
        let gains = self.gains(lane);
        let (room, dense_units) = (self.room(), self.dense_units());
        let together = self.looked_at(lane);
        let groups = (self.sets.table.numbers(lane).len() as u32).div_ceil(together);
        for _ in 0..(groups + 1) * (self.params.rounds + 1) {
            let group: Vec<SetId> = self.sets.in_turn(lane).take(together as usize).collect();
            let Some(&last) = group.last() else { return Pick::Nothing };
            let live: u32 = group.iter().map(|&set| self.live(set)).sum();
            let is_cold = self.params.policy == Policy::Cold || live >= dense_units;
            let spared = group.iter().map(|&set| self.sets.get(set).rounds).min().unwrap_or(0);
            let is_screened =
                self.params.policy == Policy::Frozen && u32::from(spared) < self.params.rounds;
            self.sets.passed(lane, last);
            if dense_units > 0 && is_cold && is_screened {
                group.iter().for_each(|&set| self.sets.get_mut(set).rounds += 1);
                continue;
            }
            if let Some(dense) = room.filter(|_| is_cold && live > 0) {
                group.into_iter().for_each(|set| self.take(die, set));
                self.fill_up(die, lane, live);
                return Pick::Freeze(dense);
            }
            if gains || live == 0 {
                group.into_iter().for_each(|set| self.take(die, set));
                return Pick::Copy;
            }
        }
        // Copying gains nothing, and no group has enough: what there is makes room.
        let Some(dense) = room else { return Pick::Nothing };
        self.fill_up(die, lane, 0);
        Pick::Freeze(dense)
    }

    /// Takes the next set of a lane that has dead units, to finish a row. True if there is one.
    fn take_to_finish(&mut self, die: Die, lane: u32) -> bool {
        let units = self.sets.shape(lane).set_units;
        let has_dead = |set: &SetId| self.live(*set) < units;
        let Some(set) = self.sets.in_turn(lane).find(has_dead) else { return false };
        self.take(die, set);
        true
    }

    /// Number of sets that collection looks at together: two, or as many as fill a dense set when
    /// three quarters of their units are valid.
    fn looked_at(&self, lane: u32) -> u32 {
        (4 * self.dense_units()).div_ceil(3 * self.sets.shape(lane).set_units).max(2)
    }

    /// Takes further victims until there is enough for a dense set.
    fn fill_up(&mut self, die: Die, lane: u32, mut live: u32) {
        while live < self.dense_units() {
            let Some(next) = self.sets.in_turn(lane).next() else { return };
            live += self.live(next);
            self.sets.passed(lane, next);
            self.take(die, next);
        }
    }

    fn take(&mut self, die: Die, set: SetId) {
        self.sets.take(&mut self.page, set);
        self.collector(die).drain.sets.push_back(set);
    }

    /// Places units that a job moves: in the dense set that it fills, or among the copies of its
    /// lane.
    pub(super) fn place_copies(&mut self, die: Die, moves: &[Move]) -> Place {
        let Some((lane, mut frontier, is_dense)) = self.frontier_for_moves(die) else {
            return Place::NoRoom;
        };
        let units = moves.len() as u32;
        let program = self.sets.program(lane, &mut frontier, units, Stream::GC);
        let collector = &mut self.collectors[die.0 as usize];
        if is_dense {
            collector.target = Some((lane, frontier));
        } else {
            self.copies[lane as usize] = frontier;
        }
        if collector.is_freezing {
            self.page.counts.dense.frozen_units += u64::from(program.units);
        }
        self.page.own(&program, self.pages_of(&program), moves.iter().map(|unit| unit.lpn));
        self.page.counts.moved_units += u64::from(program.units);
        Place::At(program)
    }

    /// Frontier that the moves of a job go to, with its lane; whether it is that of a dense set.
    fn frontier_for_moves(&mut self, die: Die) -> Option<(u32, Frontier, bool)> {
        let Collector { target, lane, .. } = &self.collectors[die.0 as usize];
        let (target, lane) = (*target, *lane);
        if let Some((dense, frontier)) = target.filter(|(_, frontier)| frontier.open) {
            return Some((dense, frontier, true));
        }
        if self.sets.is_dense(die) {
            // Failed programs have filled the set.
            let (dense, _) = target?;
            let set = self.sets.open(&mut self.page, dense)?;
            return Some((dense, self.sets.frontier(set), true));
        }
        let frontier = self.copies[lane as usize];
        if frontier.open {
            return Some((lane, frontier, false));
        }
        let set = self.sets.open(&mut self.page, lane)?;
        self.sets.get_mut(set).rounds = 1;
        Some((lane, self.sets.frontier(set), false))
    }
}
