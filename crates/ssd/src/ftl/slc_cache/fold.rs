//! Folding die by die: valid data of full blocks of the cache move to native blocks, the oldest
//! first.

use super::{SlcCache, WhenFull};
use crate::ftl::contract::{Step, Urgency, Work};
use crate::ftl::page::PageFtl;
use crate::space::draining::Draining;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Full blocks of the cache, and sets that are being folded.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Folds {
    planes_per_die: u32,
    joined: u32,
    dies: Vec<OfDie>,
}

#[derive(Clone, Serialize, Deserialize)]
struct OfDie {
    /// By plane: full blocks, in the order in which they were filled.
    full: Vec<VecDeque<Block>>,
    /// By plane: how many of the first full blocks are to be folded whatever room there is.
    hurried: Vec<u32>,
    /// Number of full blocks of the dynamic part.
    dynamic: u32,
    draining: Draining,
}

impl Folds {
    /// Creates an empty fold queue for each die.
    pub(super) fn new(dies: u32, planes_per_die: u32, joined: u32) -> Self {
        let planes = planes_per_die as usize;
        let of_die = OfDie {
            full: vec![VecDeque::new(); planes],
            hurried: vec![0; planes],
            dynamic: 0,
            draining: Draining::default(),
        };
        Self { planes_per_die, joined, dies: vec![of_die; dies as usize] }
    }

    fn of(&self, die: Die) -> &OfDie {
        &self.dies[die.0 as usize]
    }

    /// Full blocks of the joined planes of a die, group by group.
    fn groups(&self, die: Die) -> impl Iterator<Item = &[VecDeque<Block>]> {
        self.of(die).full.chunks(self.joined as usize)
    }

    /// Group of a die that has the most whole sets, if any has one; a group with a block that is to
    /// be folded at once goes first.
    fn next_group(&self, die: Die) -> Option<usize> {
        let hurried = self.of(die).hurried.chunks(self.joined as usize);
        let hurried = hurried.map(|of_group| of_group.iter().any(|&count| count > 0));
        let sets = self.groups(die).map(|planes| planes.iter().map(VecDeque::len).min());
        let whole = sets.zip(hurried).enumerate().filter(|(_, (sets, _))| *sets > Some(0));
        Some(whole.max_by_key(|&(_, (sets, is_hurried))| (is_hurried, sets))?.0)
    }

    /// Queues a block that is full.
    pub(super) fn closed(&mut self, die: Die, plane: u32, block: Block, is_dynamic: bool) {
        let of_die = &mut self.dies[die.0 as usize];
        of_die.full[(plane % self.planes_per_die) as usize].push_back(block);
        of_die.dynamic += u32::from(is_dynamic);
    }

    /// Has a full block folded with the next set. True if that is new.
    pub(super) fn hurry(&mut self, die: Die, plane: u32, block: Block) -> bool {
        let plane = (plane % self.planes_per_die) as usize;
        let OfDie { full, hurried, .. } = &mut self.dies[die.0 as usize];
        let (full, hurried) = (&mut full[plane], &mut hurried[plane]);
        let Some(at) = full.iter().position(|&other| other == block) else { return false };
        if (at as u32) < *hurried {
            return false;
        }
        full.remove(at);
        full.insert(*hurried as usize, block);
        *hurried += 1;
        true
    }

    /// Whether sets of a die are being folded.
    pub(super) fn is_under_way(&self, die: Die) -> bool {
        let Draining { victims, drained, .. } = &self.of(die).draining;
        !victims.is_empty() || !drained.is_empty()
    }
}

impl State for Folds {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.value(self)
    }
}

impl SlcCache<PageFtl> {
    /// Whether folding could give room to a die.
    pub(super) fn can_fold(&self, die: Die) -> bool {
        self.folds.is_under_way(die) || self.folds.next_group(die).is_some()
    }

    /// Whether a die is to fold now.
    pub(super) fn wants_fold(&self, die: Die, urgency: Urgency) -> bool {
        let of_die = self.folds.of(die);
        if !of_die.draining.drained.is_empty() {
            return true;
        }
        let has_time = || urgency == Urgency::Idle && self.keeps_too_much(die);
        let is_asked = has_time() || of_die.hurried.iter().any(|&count| count > 0);
        (is_asked || self.is_pressed(die)) && self.can_fold(die)
    }

    /// Whether a die has more full blocks of the cache than idle times leave it.
    fn keeps_too_much(&self, die: Die) -> bool {
        let full: usize = self.folds.of(die).full.iter().map(VecDeque::len).sum();
        let sets = self.area.static_sets() + self.dynamic_room();
        let room = sets * self.data.geometry.planes_per_die;
        full as f64 > self.keep_share * f64::from(room) || self.folds.is_under_way(die)
    }

    /// Whether the room of the cache of a die is needed, or its oldest set costs nothing to empty.
    fn is_pressed(&self, die: Die) -> bool {
        let is_dead = |planes: &[VecDeque<Block>]| {
            planes.iter().all(|full| {
                full.front().is_some_and(|&block| self.data.candidates.word(block).valid() == 0)
            })
        };
        let of_die = self.folds.of(die);
        let has_dynamic = of_die.dynamic > 0 || !of_die.draining.victims.is_empty();
        (has_dynamic && self.is_too_large(die))
            || (self.when_full == WhenFull::Fold && self.open_group(die).is_none())
            || self.folds.groups(die).any(is_dead)
    }

    /// Whether the dynamic part of a die has shrunk, or takes blocks that collection would have to
    /// make free.
    fn is_too_large(&self, die: Die) -> bool {
        let room = self.dynamic_room();
        (0..self.data.groups).any(|group| {
            let is_short = self.data.free_blocks(die, group) < self.data.gc.start_free_blocks;
            let most = if is_short { 0 } else { room };
            self.planes_of(die, group).any(|plane| self.area.dynamic_used(plane) > most)
        })
    }

    /// Next step of folding: units of a row to be moved, blocks to be erased, or nothing.
    pub(super) fn fold_step(&mut self, die: Die, urgency: Urgency, work: &mut Work) -> Step {
        work.clear();
        let row = self.data.row_units as usize;
        let at = die.0 as usize;
        let mut draining = std::mem::take(&mut self.folds.dies[at].draining);
        while draining.drained.is_empty() || !work.moves.is_empty() {
            if draining.victims.is_empty() {
                // A row that was begun is filled.
                if !work.moves.is_empty() || self.wants_fold(die, urgency) {
                    self.take_set(die, &mut draining);
                }
                if draining.victims.is_empty() {
                    break;
                }
            }
            let page = &self.data;
            draining.gather(&page.geometry, &page.map, &page.owner, row, &mut work.moves);
            if work.moves.len() == row {
                break;
            }
        }
        let joined = self.data.joined as usize;
        let step = draining.step(&self.data.geometry, joined, work);
        self.folds.dies[at].draining = draining;
        step
    }

    /// Takes a set of the oldest full blocks, one in each joined plane: of the dynamic part, if
    /// that is too large.
    fn take_set(&mut self, die: Die, into: &mut Draining) {
        into.begin();
        let Some(group) = self.folds.next_group(die) else { return };
        let is_too_large = self.is_too_large(die);
        let joined = self.folds.joined as usize;
        let OfDie { full, hurried, dynamic, .. } = &mut self.folds.dies[die.0 as usize];
        for plane in group * joined..(group + 1) * joined {
            let (full, hurried) = (&mut full[plane], &mut hurried[plane]);
            let is_dynamic = |&block: &Block| self.area.is_dynamic(block);
            let first = match *hurried {
                0 if is_too_large => full.iter().position(is_dynamic).unwrap_or(0),
                _ => 0,
            };
            let Some(block) = full.remove(first) else { continue };
            *hurried = hurried.saturating_sub(1);
            *dynamic -= u32::from(self.area.is_dynamic(block));
            into.victims.push(block);
        }
    }
}
