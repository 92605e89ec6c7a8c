//! Layout of `page`: each die has its own open blocks and its own collection.
//!
//! Host data are striped over the dies that can take them, round robin, channels first; inside a
//! die one program fills all planes that the chip joins. Collection stays inside a die.

use super::{PageFtl, Pick};
use crate::ftl::contract::{
    Carried, DieSet, Facts, Job, Key, Lead, Lpn, Move, Place, Program, Step, Stream, Urgency,
    Withdrawal, Work,
};
use crate::ftl::paged::Layout;
use crate::space::frontier::Frontier;
use nand::geometry::{Block, Die};

impl Layout for PageFtl {
    const COPIES_BACK: bool = true;

    #[inline]
    fn page(&self) -> &PageFtl {
        self
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        self
    }

    fn facts(&self) -> Facts {
        Facts { stationary: self.stationary(), ..PageFtl::facts(self) }
    }

    #[inline]
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        if !self.by_speed.is_empty() {
            return self.place_by_speed(key, lpns, dies);
        }
        let (group, stream) = self.home_of(key);
        let Some(first) = dies.next_from(self.next_die_of(group)) else { return Place::NoRoom };
        let (mut die, its) = (first, self.placing.dies(group));
        let index = loop {
            let kept = self.reserve + u32::from(self.needs_room(die));
            if its.contains(&die.0)
                && let Some(index) = self.frontier_for(die, stream, kept)
            {
                break index;
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => return self.none_of(group, dies),
            }
        };
        let program = self.append(index, die, stream, lpns);
        self.placing.placed(self.placing.parts(key).0, die, program.units);
        Place::At(program)
    }

    #[inline]
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.place_evacuated(die, moves);
        }
        let Some((index, label)) = self.frontier_of_moves(die) else { return Place::NoRoom };
        let is_cold = label == Stream::COLD;
        if !self.frontiers[index].open {
            self.open(index, die, if is_cold { Pick::MostWorn } else { Pick::Next });
        }
        let (program, is_row) = self.take(index, die, label, moves.iter().map(|unit| unit.lpn));
        if is_row && !is_cold {
            self.turn(die, self.stream_at(index));
        }
        self.count_moved(job, u64::from(program.units));
        Place::At(program)
    }

    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        let die = Die(job.0);
        if self.evacuation.is_of(die) { None } else { self.next_moved(die, units) }
    }

    #[inline]
    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.map_program(program, self.pages_per_program, carried, |_, _| ());
        self.close_full(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.take_back(program, self.pages_per_program, carried);
        self.close_full(program);
    }

    #[inline]
    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.wants_evacuation(die);
        }
        let collection = &self.collections[die.0 as usize];
        collection.drained.len() > self.kept_blocks(die)
            || (collection.is_due
                && !(collection.victims.is_empty() && collection.drained.is_empty()))
            || (self.waits(die) && self.is_roomy(die))
            || self.is_short(die, urgency, !collection.victims.is_empty())
    }

    fn wanted(&mut self) -> Option<Job> {
        self.evacuation.call()
    }

    fn withdrawal(&self) -> Option<&dyn Withdrawal> {
        Some(self)
    }

    fn withdrawal_mut(&mut self) -> Option<&mut dyn Withdrawal> {
        Some(self)
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.evacuate(die, work);
        }
        if self.sorting.is_on() {
            return self.sorted_step(job, urgency, work, stream_of);
        }
        work.clear();
        let moves = &mut work.moves;
        let row = self.row_units as usize;
        let mut collection = std::mem::take(&mut self.collections[die.0 as usize]);
        while collection.drained.is_empty() || !moves.is_empty() {
            if collection.victims.is_empty() {
                self.pick_victims(die, urgency, !moves.is_empty(), &mut collection);
                if collection.victims.is_empty() {
                    break;
                }
            }
            collection.gather(&self.geometry, &self.map, &self.owner, row, moves);
            if moves.len() == row {
                break;
            }
        }
        let answer = collection.step(&self.geometry, self.joined as usize, work);
        self.collections[die.0 as usize] = collection;
        answer
    }

    fn lead(&self) -> Option<Lead> {
        self.lead_by_die()
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let free: u32 = (0..self.groups).map(|group| self.free_blocks(die, group)).sum();
        let of_data = ((self.streams + 1) * self.groups) as usize;
        let pages: u32 = self.frontiers_of(die)[..of_data].iter().map(Frontier::left_pages).sum();
        let passed = self.collections[die.0 as usize].passed_units(&self.geometry);
        let erased = free * self.joined * self.geometry.pages_per_block + pages;
        self.pace.is_kept(erased * self.geometry.units_per_page, passed)
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        self.candidates.release(block, self.code_stages.parity_units(block));
        self.candidates.erased(block);
        if !self.short.is_empty() {
            self.short.retain(|&(short, _)| short != block);
        }
        let pe_cycles = self.wear.erased(block);
        self.handles.erased(block, pe_cycles - 1);
        let plane = self.geometry.plane_of(block);
        let die = self.geometry.die_of(block);
        // The reserve is there without it, also for a block that is being moved off.
        let kept = self.reserve + u32::from(self.retirement.is_moving(die));
        let can_go = self.free.of(plane) >= kept as usize;
        if self.retirement.has_left(die, block, can_go) {
            self.wear.retire(block);
            self.refund(block, plane);
            self.counts.retired_blocks += 1;
            return Some(block.0);
        }
        self.free.push(plane, block, pe_cycles);
        self.counts.reclaimed_blocks += 1;
        Some(block.0)
    }

    fn retire(&mut self, block: Block) -> bool {
        if self.evacuation.is_of(self.geometry.die_of(block)) {
            // It leaves with its chip.
            return true;
        }
        let is_doomed = self.retirement.doom(&self.geometry, block);
        // An open block or a free one is moved off once it is full; a victim goes with its erase.
        if is_doomed && self.candidates.word(block).is_closed() {
            self.candidates.withdraw(self.geometry.plane_of(block), block);
            self.retirement.wait(self.geometry.die_of(block), block);
        }
        is_doomed
    }

    fn close(&mut self, block: Block) -> bool {
        self.close_early(block)
    }

    fn renew(&mut self, handle: u32, is_busy: &dyn Fn(Block) -> bool) -> Vec<Block> {
        self.renew_by_die(handle, is_busy)
    }

    fn reclaim(&mut self, block: Block) -> bool {
        let die = self.geometry.die_of(block);
        if !self.can_be_roomy(die) {
            return false;
        }
        // A victim may rest half drained, where the room that it was taken for is there by now.
        let collection = &mut self.collections[die.0 as usize];
        let is_new = if collection.victims.contains(&block) {
            !std::mem::replace(&mut collection.is_due, true)
        } else {
            self.candidates.mark(self.geometry.plane_of(block), block)
        };
        self.counts.read_reclaims += u64::from(is_new);
        is_new
    }
}
