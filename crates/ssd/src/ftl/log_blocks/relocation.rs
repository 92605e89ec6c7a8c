//! Relocation of blocks that are retired or were read too often, by a merge of their logical block,
//! or of all that have data in their log block.

use super::logs::State;
use super::merge::Kind;
use super::{LogBlocks, least_logs};
use crate::ftl::blocks::pool::Use;
use nand::geometry::Block;

impl LogBlocks {
    /// Has a logical block moved to a new virtual block.
    fn force(&mut self, block: u32) {
        if !std::mem::replace(&mut self.forced[block as usize], true) {
            self.forced_queue.push_back(block);
        }
    }

    /// Notes that a logical block is being moved.
    pub(super) fn unforce(&mut self, block: u32) {
        if std::mem::replace(&mut self.forced[block as usize], false) {
            self.forced_queue.retain(|&other| other != block);
        }
    }

    /// Dooms a block, if the drive has it to spare.
    pub(super) fn doom(&mut self, block: Block) -> bool {
        if self.pool.is_doomed(block) {
            return true;
        }
        let held = self.logical_blocks + self.reserve + self.rules.sequential_logs;
        let sound = self.pool.sound_without(block);
        if sound < held + least_logs(self.log_blocks) {
            return false;
        }
        self.pool.doom(block);
        self.log_limit = self.log_blocks.min(self.pool.sound.total - held);
        let Some((of, _)) = self.pool.home(block) else { return true };
        match self.pool.use_of(of) {
            Use::Data(owner) if !self.is_emptied(owner) => self.force(owner),
            Use::Copies(owner) => self.force(owner),
            Use::Log(log) if self.logs.log(log).state == State::Open => self.queue(log),
            Use::Data(_) | Use::Log(_) | Use::Nothing => {}
        }
        true
    }

    /// Whether a merge that is under way empties the data block of a logical block.
    fn is_emptied(&self, block: u32) -> bool {
        let mut merges = self.merges.iter();
        self.is_merging[block as usize]
            && merges.any(|merge| merge.block == block && merge.kind != Kind::Gap)
    }

    /// Has the data of a full block moved. True if that is new, and there is room.
    pub(super) fn move_off(&mut self, block: Block) -> bool {
        if self.pool.filled(block) != self.pool.layout.geometry.pages_per_block {
            return false;
        }
        let Some((of, _)) = self.pool.home(block) else { return false };
        match self.pool.use_of(of) {
            Use::Data(owner) => {
                if self.forced[owner as usize] || self.is_merging[owner as usize] {
                    return false;
                }
                self.force(owner);
            }
            Use::Log(number) => {
                let log = self.logs.log(number);
                if log.state != State::Open || log.flying > 0 {
                    return false;
                }
                if log.is_aligned {
                    // It must not become the data block.
                    self.force(log.block);
                }
                self.queue(number);
            }
            Use::Copies(_) | Use::Nothing => return false,
        }
        self.counts.read_reclaims += 1;
        true
    }
}
