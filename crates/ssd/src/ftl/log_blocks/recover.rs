//! Rebuilding of block map and log blocks from what a start-up has found on flash.
//!
//! For each logical block, the virtual block that holds most of its newest data at their own
//! positions becomes the data block; the others are log blocks. These take nothing more: some of
//! their rows may be missing. They are emptied when their room is needed.

use super::LogBlocks;
use super::logs::State;
use crate::ftl::blocks::found::{Needed, take_over};
use crate::ftl::blocks::layout::Cursor;
use crate::ftl::blocks::pool::{NONE, Use};
use crate::recovery::Found;

impl LogBlocks {
    pub(super) fn rebuild(&mut self, found: &Found) {
        let needed = take_over(&mut self.pool, found, self.logical_units);
        // By logical block: the block with most of it at its own positions, and how much.
        let mut best = vec![(0, NONE); self.logical_blocks as usize];
        for (number, block) in (0..).zip(&needed) {
            if let Some(of) = self.aligned_to(block) {
                let best = &mut best[of as usize];
                *best = (*best).max((block.units.len() as u32, number));
            }
        }
        let mut is_placed = vec![false; self.logical_units as usize];
        for (block, &(_, number)) in (0..).zip(&best) {
            let Some(Needed { of, units }) = needed.get(number as usize) else { continue };
            self.data.replace(block, *of);
            self.pool.change_use(*of, Use::Data(block));
            for &(_, unit, _) in units {
                self.data.add(&self.pool.layout, unit);
                is_placed[unit as usize] = true;
            }
        }
        for (number, block) in (0..).zip(&needed) {
            let is_data = self.aligned_to(block).is_some_and(|of| best[of as usize].1 == number);
            if is_data {
                continue;
            }
            let first = self.pool.layout.split(block.units[0].1).0;
            let log = self.closed_log(first, block.of);
            for &(position, unit, ppn) in &block.units {
                self.logs.own(log, position, unit);
                if !std::mem::replace(&mut is_placed[unit as usize], true) {
                    self.places.set(&self.pool, unit, ppn);
                }
            }
            if self.logs.log(log).is_sequential {
                self.queue(log);
            }
        }
    }

    /// The logical block whose units all stand at their own positions in a virtual block.
    fn aligned_to(&self, block: &Needed) -> Option<u32> {
        let layout = &self.pool.layout;
        let (of, _) = layout.split(block.units.first()?.1);
        let is_own = |&(position, unit, _): &(u32, u32, _)| layout.split(unit) == (of, position);
        block.units.iter().all(is_own).then_some(of)
    }

    /// Opens a log for a virtual block that was found, which takes nothing more. Beyond the logs
    /// that its set may have, it counts as the log of a stream.
    fn closed_log(&mut self, block: u32, of: u32) -> u32 {
        let set = self.set_of(block);
        self.order += 1;
        let number = self.logs.take(set, block, of, self.order);
        self.pool.change_use(of, Use::Log(number));
        let rows = self.pool.layout.rows;
        let has_room = self.opened < self.log_blocks;
        let slot = self.slots(set).iter_mut().find(|slot| **slot == NONE).filter(|_| has_room);
        let is_sequential = slot.is_none();
        if let Some(slot) = slot {
            *slot = number;
        }
        self.opened += u32::from(!is_sequential);
        let log = self.logs.log_mut(number);
        (log.cursor, log.is_aligned) = (Cursor { row: rows, plane: 0 }, false);
        (log.is_sequential, log.state) = (is_sequential, State::Open);
        number
    }
}
