//! Blocks that have to go, or whose data have been read too often: their logical block is merged.

use super::log::State;
use super::pool::{NONE, Virtual};
use super::{Bast, least_logs};
use nand::geometry::Block;

impl Bast {
    /// A logical block is to be moved to a new virtual block.
    fn force(&mut self, block: u32) {
        if !std::mem::replace(&mut self.forced[block as usize], true) {
            self.forced_queue.push_back(block);
        }
    }

    /// A logical block is being moved, or has nothing to be moved.
    pub(super) fn unforce(&mut self, block: u32) {
        if std::mem::replace(&mut self.forced[block as usize], false) {
            self.forced_queue.retain(|&other| other != block);
        }
    }

    /// Whether there is enough without a block.
    pub(super) fn can_go(&self, block: Block) -> bool {
        let held = self.pool.in_use() - self.pool.dying - self.lent;
        self.pool.good_without(block) >= held + self.reserve
    }

    /// Dooms a block, if the drive has it to spare.
    pub(super) fn doom(&mut self, block: Block) -> bool {
        if self.pool.is_doomed(block) {
            return true;
        }
        let held = self.logical_blocks + self.reserve;
        let sound = self.pool.sound_without(block);
        if sound < held + least_logs(self.log_blocks) {
            return false;
        }
        self.pool.doom(block);
        self.log_limit = self.log_blocks.min(self.pool.sound.total - held);
        if let Some((of, _)) = self.pool.home(block)
            && let Some(owner) = self.pool.owner(of)
            && !self.is_emptied(of, owner)
        {
            self.force(owner);
        }
        true
    }

    /// Whether a merge that is under way empties a virtual block.
    fn is_emptied(&self, of: Virtual, owner: u32) -> bool {
        let log = self.log_of[owner as usize];
        if log == NONE {
            return false;
        }
        let log = self.logs.log(log);
        log.state == State::Merging && (of == self.data.of(owner) || log.old.contains(&of))
    }

    /// Has the data of a full block moved: whether that is new, and there is room.
    pub(super) fn move_off(&mut self, block: Block) -> bool {
        let Some((of, _)) = self.pool.home(block) else { return false };
        let Some(owner) = self.pool.owner(of) else { return false };
        let is_full = self.pool.filled(block) == self.pool.layout.geometry.pages_per_block;
        if !is_full || self.forced[owner as usize] {
            return false;
        }
        let log = self.log_of[owner as usize];
        if log != NONE {
            let log = self.logs.log(log);
            if log.state == State::Merging || (of == log.target && log.flying > 0) {
                return false;
            }
        }
        self.force(owner);
        self.counts.read_reclaims += 1;
        true
    }
}
