//! Evacuation of a withdrawn die: its data move to the other dies, until its chip can be replaced
//! (Hachiya et al., SSDM'13, section 4).
//!
//! A withdrawn die has no free blocks that anybody may open, and no open ones, so nothing is placed
//! there. Its job, which otherwise collects it, moves rows of valid units to the blocks of other
//! dies in which their own collection writes. It takes only the room that host data would be given
//! there, so that collection of these dies keeps its reserve and its pace. The fullest blocks go
//! first: their data are the coldest, and what the host rewrites meanwhile needs no move.

use super::{Draining, PageFtl, Pick, Stream, Use};
use crate::ftl::contract::{Job, Move, Place, Step, Until, Withdrawal, Work};
use crate::ftl::paged::Layout;
use crate::space::capacity::good_blocks;
use crate::space::retirement::least_blocks;
use base::{Error, Result};
use nand::geometry::{Block, Die, Geometry, Plane};
use std::ops::Range;

/// Evacuation of one die, if any is withdrawn.
#[derive(Clone)]
pub(super) struct Evacuation {
    die: u32,
    /// Blocks that are to be emptied, the fullest last.
    rest: Vec<Block>,
    /// Die that the next row goes to first.
    next: u32,
    /// Jobs of other dies that must make room.
    calls: Vec<Job>,
}

impl Evacuation {
    /// State without a withdrawn die.
    pub(super) const NONE: Self =
        Self { die: u32::MAX, rest: Vec::new(), next: 0, calls: Vec::new() };

    /// Whether this die is withdrawn.
    #[inline]
    pub(super) fn is_of(&self, die: Die) -> bool {
        self.die == die.0
    }

    /// Next job that must make room on its die, so that data can go there.
    #[inline]
    pub(super) fn call(&mut self) -> Option<Job> {
        self.calls.pop()
    }
}

impl PageFtl {
    fn blocks_of(&self, die: Die) -> Range<u32> {
        let first = self.geometry.first_block(self.geometry.plane(die, 0)).0;
        first..first + self.geometry.planes_per_die * self.geometry.blocks_per_plane
    }

    fn all_planes_of(&self, die: Die) -> impl Iterator<Item = Plane> + use<> {
        let first = self.geometry.plane(die, 0).0;
        (first..first + self.geometry.planes_per_die).map(Plane)
    }

    /// Blocks of each plane that never hold settled data.
    fn held(&self) -> u32 {
        self.gc.start_free_blocks.max(self.reserve) + self.streams
    }

    /// Blocks that each plane needs if `fewer` dies are missing.
    fn least_blocks(&self, fewer: u32) -> u32 {
        let Geometry { dies, planes_per_die, .. } = self.geometry;
        let planes = u64::from((dies - fewer) * planes_per_die).max(1);
        let per_block = u64::from(self.geometry.units_per_block());
        least_blocks(u64::from(self.logical_units).div_ceil(planes * per_block) as u32, self.held())
    }

    /// Whether the job of a withdrawn die has work.
    #[cold]
    pub(super) fn wants_evacuation(&self, die: Die) -> bool {
        !self.collections[die.0 as usize].victims.is_empty()
            || !self.evacuation.rest.is_empty()
            || self.has_data(die)
    }

    fn has_data(&self, die: Die) -> bool {
        self.blocks_of(die).any(|block| self.candidates.word(Block(block)).valid() > 0)
    }

    /// Next step of the job of a withdrawn die.
    #[cold]
    pub(super) fn evacuate(&mut self, die: Die, work: &mut Work) -> Step {
        work.clear();
        let row = self.row_units as usize;
        let mut collection = std::mem::take(&mut self.collections[die.0 as usize]);
        loop {
            if collection.victims.is_empty() {
                self.next_blocks(die, work.moves.is_empty(), &mut collection);
                if collection.victims.is_empty() {
                    break;
                }
            }
            collection.gather(&self.geometry, &self.map, &self.owner, row, &mut work.moves);
            if work.moves.len() == row {
                break;
            }
        }
        // They leave with the chip, and are not erased.
        collection.drained.clear();
        self.collections[die.0 as usize] = collection;
        if work.moves.is_empty() { Step::Done } else { Step::Move }
    }

    /// Next blocks to be emptied, of different planes. With nothing at hand all blocks are looked
    /// at again: programs that were under way have ended meanwhile.
    fn next_blocks(&mut self, die: Die, is_new: bool, into: &mut Draining) {
        into.begin();
        let candidates = &self.candidates;
        let valid = |block: &Block| candidates.word(*block).valid();
        let rest = &mut self.evacuation.rest;
        rest.retain(|block| valid(block) > 0);
        if rest.is_empty() && is_new {
            let first = self.geometry.first_block(self.geometry.plane(die, 0)).0;
            let blocks = self.geometry.planes_per_die * self.geometry.blocks_per_plane;
            rest.extend((first..first + blocks).map(Block).filter(|block| valid(block) > 0));
            rest.sort_by_key(valid);
        }
        let plane = |block: Block| self.geometry.plane_of(block);
        while into.victims.len() < self.joined as usize {
            let is_other = |&block: &Block| into.victims.iter().all(|&b| plane(b) != plane(block));
            let Some(at) = rest.iter().rposition(is_other) else { break };
            into.victims.push(rest.remove(at));
        }
    }

    /// Place on another die for units that leave a withdrawn one: where host data could go too.
    #[cold]
    pub(super) fn place_evacuated(&mut self, from: Die, moves: &[Move]) -> Place {
        self.evacuation.calls.clear();
        for _ in 0..self.geometry.dies {
            let die = Die(self.evacuation.next);
            self.evacuation.next = (die.0 + 1) % self.geometry.dies;
            if die == from {
                continue;
            }
            // What the row takes may be what its collection has to give back.
            self.evacuation.calls.push(Job::of(die));
            if self.is_collecting(die) && !self.keeps_pace(die) {
                continue;
            }
            let kept = self.reserve + u32::from(self.needs_room(die));
            let Some(index) = self.frontier_for(die, self.gc_frontier, kept) else { continue };
            if !self.frontiers[index].open {
                self.open(index, die, Pick::Next);
            }
            let has_own = self.streams > u32::from(self.host_streams);
            let label = if has_own { Stream::GC } else { Stream::host(self.gc_frontier as u8) };
            let lpns = moves.iter().map(|unit| unit.lpn);
            let (program, is_row) = self.take(index, die, label, lpns);
            if is_row {
                self.turn(die, self.gc_frontier);
            }
            self.counts.moved_units += u64::from(program.units);
            return Place::At(program);
        }
        Place::Later(Until::Job)
    }
}

impl Withdrawal for PageFtl {
    fn can_withdraw(&mut self, die: Die, bad: &[bool]) -> Result<()> {
        let geometry = &self.geometry;
        let good = |plane: Plane| {
            let first = geometry.first_block(plane).0;
            let blocks = (first..first + geometry.blocks_per_plane).map(Block);
            blocks.filter(|&block| !self.retirement.is_doomed(block)).count() as u32
        };
        let first = geometry.plane(die, 0).0;
        let is_other = |&plane: &u32| !(first..first + geometry.planes_per_die).contains(&plane);
        // Rows take a block of each plane: the poorest one counts.
        let poorest = (0..geometry.planes()).filter(is_other).map(|plane| good(Plane(plane))).min();
        let least = self.least_blocks(1);
        if poorest.is_none_or(|poorest| poorest < least) {
            let planes = u64::from(geometry.planes() - geometry.planes_per_die);
            let of_plane = u64::from(poorest.unwrap_or(0).saturating_sub(self.held() + 1));
            let room = planes * of_plane * u64::from(geometry.units_per_block());
            let problem = format!(
                "die {}: the other dies hold {room} of the {} logical units",
                die.0, self.logical_units
            );
            return Err(Error::new("exchange", problem)
                .hint("use a larger ftl.overprovisioning, or a drive with more dies"));
        }
        let least = self.least_blocks(0);
        let left = good_blocks(geometry, bad).into_iter().min().unwrap_or(0);
        if left < least {
            let problem = format!("a new chip with {left} good blocks in a plane");
            return Err(Error::new("chip.geometry.bad_block_fraction", problem)
                .expected(format!("at least {least} for the capacity of this drive"))
                .hint("use a smaller fraction, or a larger ftl.overprovisioning"));
        }
        Ok(())
    }

    fn withdraw(&mut self, die: Die) {
        self.evacuation =
            Evacuation { die: die.0, next: (die.0 + 1) % self.geometry.dies, ..Evacuation::NONE };
        self.retirement.keep(&self.geometry, self.least_blocks(1));
        for plane in self.all_planes_of(die) {
            self.free.set_claimed(plane, Use::Map, u32::MAX);
        }
        for block in self.blocks_of(die).map(Block) {
            if self.candidates.word(block).is_closed() {
                self.candidates.withdraw(self.geometry.plane_of(block), block);
            }
        }
        for index in self.frontiers_at(die) {
            let filling: Vec<_> = self.frontiers[index].filling().collect();
            self.frontiers[index].open = false;
            for (block, pages) in filling {
                if pages > 0 {
                    self.short.push((block, pages));
                } else {
                    self.candidates.erased(block);
                    let cycles = self.wear.cycles(block);
                    self.free.push(self.geometry.plane_of(block), block, cycles);
                }
            }
        }
        self.handles.count_again(&self.candidates, &self.wear);
    }

    fn holds_data(&mut self, die: Die) -> bool {
        self.has_data(die)
    }

    fn replace(&mut self, die: Die, bad: &[bool], pe_cycles: u32) {
        self.evacuation = Evacuation::NONE;
        self.collections[die.0 as usize] = Draining::default();
        self.had_turn[die.0 as usize] = false;
        self.retirement.replace(&self.geometry, die, bad);
        self.retirement.keep(&self.geometry, self.least_blocks(0));
        for plane in self.all_planes_of(die) {
            self.free.clear(plane);
        }
        let blocks = self.blocks_of(die);
        self.short.retain(|(short, _)| !blocks.contains(&short.0));
        for (block, &is_bad) in blocks.map(Block).zip(bad) {
            self.candidates.erased(block);
            self.wear.replace(block, is_bad, pe_cycles);
            if !is_bad {
                self.free.push(self.geometry.plane_of(block), block, pe_cycles);
            }
        }
        self.handles.count_again(&self.candidates, &self.wear);
    }
}
