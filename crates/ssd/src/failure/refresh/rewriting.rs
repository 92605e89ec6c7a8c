//! Rewriting of blocks: which of the queue the FTL is asked to move next, and on how many dies.

use super::{Reason, Refresh, RefreshCounts};
use crate::failure::read_only::ReadOnly;
use crate::flash::Flash;
use crate::flash::command::{Command, Task};
use crate::ftl::Ftl;
use crate::terms::{Lpn, PageRead};
use nand::geometry::{Block, Die};

/// Blocks of the queue among which one on an idle die is looked for.
const MOST_LOOKED_AT: usize = 64;

/// Blocks of the queue among which those of the other planes of a die are looked for.
const MOST_BESIDE: usize = 256;

/// Pass over the queue: blocks that it may still try, and those that the FTL has refused.
pub(crate) struct Pass {
    tries: usize,
    refused: Vec<(Block, Reason)>,
}

impl Refresh {
    /// Begins a pass over the queue; `None` if there is nothing to begin.
    pub(crate) fn begin_pass(&self) -> Option<Pass> {
        let tries = self.queue.len().min(MOST_LOOKED_AT);
        (self.is_on && tries > 0).then(|| Pass { tries, refused: Vec::new() })
    }

    /// Has the FTL take the next blocks of a pass. Returns the die whose collection moves them,
    /// which is to be started; `None` at the end of the pass.
    pub(crate) fn rewrite_next(
        &mut self,
        pass: &mut Pass,
        flash: &Flash,
        ftl: &mut dyn Ftl,
        read_only: &ReadOnly,
        counts: &mut RefreshCounts,
    ) -> Option<Die> {
        while pass.tries > 0 && self.dies_at_work() < self.at_once {
            let at = self.next_to_rewrite(flash)?;
            pass.tries -= 1;
            let Some((block, reason)) = self.take_waiting(at, flash) else { continue };
            let may_move = !read_only.has_block(block);
            if may_move && self.begin_rewrite(block, reason, flash, ftl, counts) {
                self.rewrite_beside(block, flash, ftl, counts);
                return Some(flash.chips.geometry.die_of(block));
            }
            pass.refused.push((block, reason));
        }
        None
    }

    /// Ends a pass: refused blocks go behind the others, and are asked about again later.
    pub(crate) fn end_pass(&mut self, pass: Pass, flash: &Flash) {
        for (block, reason) in pass.refused {
            self.queue.push(block, flash.chips.pe_cycles(block), reason);
        }
    }

    /// Place in the queue of the block that goes next: on an idle die, or else the first.
    fn next_to_rewrite(&self, flash: &Flash) -> Option<usize> {
        let free = |block: Block| {
            let die = flash.chips.geometry.die_of(block);
            (!self.is_at_work(die)).then_some(die)
        };
        let on_idle = |block| free(block).is_some_and(|die| flash.is_idle(die));
        let first =
            |of: &dyn Fn(Block) -> bool| self.queue.blocks().take(MOST_LOOKED_AT).position(of);
        first(&on_idle).or_else(|| first(&|block| free(block).is_some()))
    }

    /// Takes a block out of the queue, if it is still as it was found.
    fn take_waiting(&mut self, at: usize, flash: &Flash) -> Option<(Block, Reason)> {
        let (block, cycle, reason) = self.queue.take(at)?;
        (flash.chips.pe_cycles(block) == cycle).then_some((block, reason))
    }

    /// Asks the FTL to move the data of a block. Returns whether it does that now.
    fn begin_rewrite(
        &mut self,
        block: Block,
        reason: Reason,
        flash: &Flash,
        ftl: &mut dyn Ftl,
        counts: &mut RefreshCounts,
    ) -> bool {
        if !ftl.reclaim(block) && !closes_and_takes(block, reason, flash, ftl) {
            return false;
        }
        self.under_way.push((flash.chips.geometry.die_of(block), block));
        counts.blocks.count(reason);
        true
    }

    /// Takes a block of each other plane of a die together with one that is rewritten, as
    /// collection empties a block of each plane together.
    fn rewrite_beside(
        &mut self,
        block: Block,
        flash: &Flash,
        ftl: &mut dyn Ftl,
        counts: &mut RefreshCounts,
    ) {
        let geometry = &flash.chips.geometry;
        let (die, first) = (geometry.die_of(block), geometry.plane_of(block));
        for plane in (0..geometry.planes_per_die).map(|plane| geometry.plane(die, plane)) {
            let is_of = |other: Block| geometry.plane_of(other) == plane;
            let at = self.queue.blocks().take(MOST_BESIDE).position(is_of);
            if plane == first || at.is_none() {
                continue;
            }
            let Some((block, reason)) = at.and_then(|at| self.take_waiting(at, flash)) else {
                continue;
            };
            if !self.begin_rewrite(block, reason, flash, ftl, counts) {
                self.queue.push(block, flash.chips.pe_cycles(block), reason);
            }
        }
    }

    /// Puts the block of a page that a read has found poor first into the queue. Returns whether it
    /// has come into the queue.
    pub(crate) fn found_poor(
        &mut self,
        read: &PageRead,
        reason: Reason,
        flash: &Flash,
        ftl: &dyn Ftl,
    ) -> bool {
        let block = flash.chips.geometry.block_of(read.ppn);
        // The data may have moved on since they were read.
        let is_there = read.is_patrol() || ftl.lookup(Lpn(read.lpn)) == Some(read.ppn);
        let is_taken = self.is_on
            && is_there
            && !ftl.is_bad(block)
            && !self.queue.has(block)
            && !self.is_under_way(block);
        if is_taken {
            self.queue.push_first(block, flash.chips.pe_cycles(block), reason);
        }
        is_taken
    }
}

/// Closes an open block with old data, which nothing is being written to, and has it moved.
fn closes_and_takes(block: Block, reason: Reason, flash: &Flash, ftl: &mut dyn Ftl) -> bool {
    let is_written_to = |command: &Command| {
        matches!(command.task, Task::Program { place, .. }
            if flash.programs[place].blocks().contains(&block))
    };
    reason == Reason::Age
        && !flash.commands.taken().any(is_written_to)
        && ftl.close(block)
        && ftl.reclaim(block)
}
