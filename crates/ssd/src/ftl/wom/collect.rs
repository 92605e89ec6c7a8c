//! Collection of `wom`: victims of a die, one at a time, that are recycled or erased.
//!
//! Recycling a victim gives back the units that its groups take again, less the valid data of its
//! coded pages, which move. If that is too little, or the victim is in its last generation, all of
//! its data move and it is erased. Moves stay in the plane. Programs are filled across victims: one
//! that is padded could cost what its victim gives back.

use super::{Lpn, Move, Step, Urgency, Wom, Work};
use nand::geometry::{Block, Die, Plane, Ppn};
use serde::{Deserialize, Serialize};

/// Collection of a die.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Collection {
    plane: u32,
    victim: Option<Victim>,
    /// Blocks without data that are to be erased.
    erasable: Vec<Block>,
    /// Full blocks whose groups are to be programmed again.
    recyclable: Vec<Block>,
}

/// A block that is being emptied, and its next unit to look at.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Victim {
    block: Block,
    /// Only the coded pages of the block are emptied.
    is_recycled: bool,
    page: u32,
    slot: u32,
}

impl Collection {
    /// Plane that is being collected.
    pub(super) fn plane(&self) -> Plane {
        Plane(self.plane)
    }

    fn is_drained(&self) -> bool {
        !self.erasable.is_empty() || !self.recyclable.is_empty()
    }
}

impl Wom {
    fn planes_of(&self, die: Die) -> impl Iterator<Item = Plane> + use<> {
        let (first, planes) =
            (self.page.geometry.plane(die, 0).0, self.page.geometry.planes_per_die);
        (first..first + planes).map(Plane)
    }

    /// Whether a plane has less room than it should.
    fn is_short(&self, plane: Plane, urgency: Urgency) -> bool {
        let blocks = match urgency {
            Urgency::Blocked => 0,
            Urgency::Due => self.page.gc.start_free_blocks,
            Urgency::Idle => {
                self.page.gc.background_free_blocks.max(self.page.gc.start_free_blocks)
            }
        };
        self.page.free.of(plane) + self.waiting(plane).len() < blocks as usize
            || self.kind_for_host(plane).is_none()
    }

    /// Whether collecting a plane gives back a program or more.
    fn gains(&self, plane: Plane) -> bool {
        self.page.candidates.dead_units(plane) >= u64::from(self.page.row_units)
    }

    /// Whether a die has work of this urgency.
    pub(super) fn wants_collection(&self, die: Die, urgency: Urgency) -> bool {
        let collection = &self.collections[die.0 as usize];
        let has_victim = |plane: Plane| collection.victim.is_some() && collection.plane() == plane;
        collection.is_drained()
            || self.planes_of(die).any(|plane| {
                self.is_short(plane, urgency) && (has_victim(plane) || self.gains(plane))
            })
    }

    /// Next step of collecting a die.
    pub(super) fn collect(&mut self, die: Die, urgency: Urgency, work: &mut Work) -> Step {
        work.clear();
        let mut collection = std::mem::take(&mut self.collections[die.0 as usize]);
        let moves = &mut work.moves;
        while !collection.is_drained() || !moves.is_empty() {
            if collection.victim.is_none() {
                let finishes = !moves.is_empty();
                collection.victim = self.pick(die, urgency, finishes, &mut collection.plane);
            }
            let Some(victim) = &mut collection.victim else { break };
            let plane = Plane(collection.plane);
            let row = self.next_moves(plane);
            self.gather(victim, row, moves);
            if !moves.is_empty() {
                self.open_for_moves(plane);
            }
            if moves.len() == row {
                break;
            }
            let to = match victim.is_recycled {
                true => &mut collection.recyclable,
                false => &mut collection.erasable,
            };
            to.push(victim.block);
            collection.victim = None;
        }
        let step = if !work.moves.is_empty() {
            Step::Move
        } else if !collection.recyclable.is_empty() {
            work.blocks.append(&mut collection.recyclable);
            Step::Recycle
        } else if let Some(block) = collection.erasable.pop() {
            work.blocks.push(block);
            Step::Erase
        } else {
            Step::Done
        };
        self.collections[die.0 as usize] = collection;
        step
    }

    /// Picks the next victim: of the plane with the least room, or, to fill a program that was
    /// begun, of the same plane.
    fn pick(
        &mut self,
        die: Die,
        urgency: Urgency,
        finishes: bool,
        plane: &mut u32,
    ) -> Option<Victim> {
        let from = if finishes {
            Some(Plane(*plane)).filter(|&plane| self.page.candidates.dead_units(plane) > 0)
        } else {
            let short = |plane: &Plane| self.is_short(*plane, urgency) && self.gains(*plane);
            self.planes_of(die).filter(short).min_by_key(|&plane| self.room(plane))
        }?;
        *plane = from.0;
        let block = self.page.candidates.pick(from, self.page.clock)?;
        Some(Victim { block, is_recycled: self.can_recycle(block), page: 0, slot: 0 })
    }

    /// Whether a block is recycled: if that gives back the smallest program or more, and not less
    /// than half of what its erase would give for each unit moved. Erases count, so that recycling
    /// is preferred where both give about as much.
    fn can_recycle(&self, block: Block) -> bool {
        let last = self.coded.shape().generations - 1;
        if u32::from(self.generation[block.0 as usize]) == last {
            return false;
        }
        let coded =
            (0..self.page.geometry.pages_per_block).filter(|&page| self.coded.is_coded(page));
        let of_page = |page| {
            let first = self.page.geometry.ppn(block, page, 0).0;
            first..first + self.page.geometry.units_per_page
        };
        let valid = coded.flat_map(of_page).filter(|&ppn| self.page.is_valid(ppn)).count() as u64;
        let all = u64::from(self.page.candidates.word(block).valid());
        let (Some(gain), Some(of_erase)) =
            (self.again_units().checked_sub(valid), self.block_units().checked_sub(all))
        else {
            return false;
        };
        gain >= self.units(self.coded.shape().data) && of_erase * valid <= 2 * gain * all
    }

    /// Lists valid units of a victim until there are `row` of them or it has no more.
    fn gather(&self, victim: &mut Victim, row: usize, moves: &mut Vec<Move>) {
        while victim.page < self.page.geometry.pages_per_block {
            if !victim.is_recycled || self.coded.is_coded(victim.page) {
                let first = self.page.geometry.ppn(victim.block, victim.page, 0).0;
                while victim.slot < self.page.geometry.units_per_page {
                    if moves.len() == row {
                        return;
                    }
                    let ppn = first + victim.slot;
                    if self.page.is_valid(ppn) {
                        moves
                            .push(Move { lpn: Lpn(self.page.owner[ppn as usize]), from: Ppn(ppn) });
                    }
                    victim.slot += 1;
                }
            }
            (victim.page, victim.slot) = (victim.page + 1, 0);
        }
    }
}
