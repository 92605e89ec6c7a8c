//! Collection of a whole FTL of one's own: a job for each die, whose victims the user picks.
//!
//! Victims are drained row by row. The last row of one is filled from the next, so that a victim
//! with a single dead unit gains it. A die whose full blocks have less than a row to gain begins
//! no victim.

use super::broken;
use super::placed::Placed;
use super::view::Status;
use crate::ftl::contract::{Step, Urgency, Work};
use crate::ftl::most_effort;
use std::sync::Arc;

impl Placed {
    /// Whether a die has a block to empty or to erase, and it is time to do so.
    pub(super) fn has_collection(&self, die: u32, urgency: Urgency) -> bool {
        let collection = &self.collections[die as usize];
        if self.is_broken() {
            return false;
        }
        if !collection.drained.is_empty() {
            return true;
        }
        let has_victim = !collection.victims.is_empty();
        (has_victim || self.has_gain(die))
            && self.is_due(die, urgency)
            && (has_victim || self.find_victim(die))
    }

    /// Whether the full blocks of a die have a row to gain.
    fn has_gain(&self, die: u32) -> bool {
        self.view.dead[die as usize] >= u64::from(self.view.row_units())
    }

    /// Whether it is time to collect a die: the host must wait, or the user wants it.
    fn is_due(&self, die: u32, urgency: Urgency) -> bool {
        let view = &self.view;
        if view.free_blocks(die) <= view.reserve() || self.refused[die as usize] {
            return true;
        }
        let is_idle = match urgency {
            Urgency::Blocked => return false,
            Urgency::Due => false,
            Urgency::Idle => true,
        };
        if !self.facts.collects {
            return view.is_short(die, is_idle);
        }
        let call = || format!("{}.collect({die}, {is_idle})", self.name);
        self.ask(call, |decide, view| decide.collect(view, die, is_idle)).unwrap_or(false)
    }

    /// Whether some job has work, or a program is under way.
    pub(super) fn has_work(&self) -> bool {
        self.flying > 0
            || (0..self.view.dies()).any(|die| {
                self.at_work[die as usize].get() || self.has_collection(die, Urgency::Blocked)
            })
    }

    /// Finds the next victim of a die, if it has none yet. True if there is one. The policy of `gc`
    /// is not asked before it is needed.
    fn find_victim(&self, die: u32) -> bool {
        let next = &self.next[die as usize];
        if next.get().is_some() || self.view.has_policy() {
            return true;
        }
        let call = || format!("{}.victim({die})", self.name);
        let Some(found) = self.ask(call, |decide, view| decide.victim(view, die)).flatten() else {
            return false;
        };
        let status = self.view.status(found);
        let did = if found >= self.view.blocks() {
            format!("there is no block {found}")
        } else if self.view.die_of(found) != die {
            format!("block {found} belongs to die {}", self.view.die_of(found))
        } else if status != Status::Full {
            format!("block {found} is {}", status.name())
        } else {
            next.set(Some(found));
            return true;
        };
        let rule = format!("a full block of die {die} (`full_blocks`), or None");
        self.fail(broken(call(), did, &rule));
        false
    }

    /// The next step of collecting a die.
    pub(super) fn collect(&mut self, die: u32, work: &mut Work) -> Step {
        work.clear();
        let index = die as usize;
        self.at_work[index].set(false);
        let row = self.view.row_units() as usize;
        let mut collection = std::mem::take(&mut self.collections[index]);
        while collection.drained.is_empty() || !work.moves.is_empty() {
            if collection.victims.is_empty() {
                if self.is_broken() || !self.find_victim(die) {
                    break;
                }
                let chosen = self.next[index].take();
                let view = Arc::make_mut(&mut self.view);
                let Some(victim) = chosen.or_else(|| view.pick(die)) else { break };
                view.begin_victim(victim);
                collection.begin();
                collection.victims.extend(view.members(victim));
            }
            let view = &*self.view;
            collection.gather(&view.geometry, &view.map, &view.owner, row, &mut work.moves);
            if work.moves.len() == row {
                break;
            }
        }
        let joined = self.view.joined;
        let step = if self.is_broken() {
            work.clear();
            Step::Done
        } else if !work.moves.is_empty() {
            Step::Move
        } else if !collection.drained.is_empty() {
            let view = Arc::make_mut(&mut self.view);
            collection.erase(&view.geometry, joined as usize, &mut work.blocks);
            if let Some(set) = view.set_of(work.blocks[0]) {
                view.sets[set as usize].erasing = joined;
            }
            Step::Erase
        } else {
            Step::Done
        };
        self.collections[index] = collection;
        self.at_work[index].set(matches!(step, Step::Move | Step::Erase));
        self.is_endless(die, 1 + work.moves.len() as u64);
        step
    }

    /// Ends collection that moves data without end, before the controller does.
    fn is_endless(&mut self, die: u32, effort: u64) {
        let units = self.view.blocks_per_die() * self.view.block_units();
        let spent = &mut self.effort[die as usize];
        *spent += effort;
        if *spent > most_effort(units.into()) / 2 {
            let did = format!("{spent} units were moved, without new data of the host on the die");
            let rule = "victims that gain space: internal work ends while the host waits";
            self.fail(broken(format!("{}.victim({die})", self.name), did, rule));
        }
    }
}
