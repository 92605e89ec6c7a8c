//! Relocation of blocks that are retired or were read too often, by a pass over their superblock.

use super::Superblocks;
use super::build::least_updates;
use super::group::State;
use crate::ftl::blocks::pool::Use;
use nand::geometry::Block;

impl Superblocks {
    /// Marks a superblock, whose blocks hold data that are to be moved.
    fn force(&mut self, group: u32) {
        if !std::mem::replace(&mut self.groups[group as usize].is_forced, true) {
            self.forced.push_back(group);
        }
    }

    /// Unmarks a superblock, whose data are being moved, or need not be.
    pub(super) fn unforce(&mut self, group: u32) {
        if std::mem::replace(&mut self.groups[group as usize].is_forced, false) {
            self.forced.retain(|&other| other != group);
        }
    }

    /// Marks a superblock if its blocks hold data that are to be moved, and otherwise unmarks it.
    pub(super) fn check_forced(&mut self, group: u32) {
        let mut blocks = self.groups[group as usize].blocks.iter();
        if blocks.any(|&block| self.must_go[block as usize]) {
            self.force(group);
        } else {
            self.unforce(group);
        }
    }

    /// First marked superblock whose data can be moved now.
    pub(super) fn forced_group(&self) -> Option<u32> {
        // Nothing leaves before there are as few update blocks as there is room for then.
        if self.forced.is_empty() || self.used > self.log_limit || !self.can_begin() {
            return None;
        }
        let can_move = |&&group: &&u32| {
            let superblock = &self.groups[group as usize];
            superblock.state == State::Open
                && superblock.blocks.iter().any(|&block| self.is_to_go(block))
        };
        self.forced.iter().find(can_move).copied()
    }

    /// Dooms a block, if the drive has it to spare.
    pub(super) fn doom(&mut self, block: Block) -> bool {
        if self.pool.is_doomed(block) {
            return true;
        }
        let held = self.logical_blocks + self.reserve;
        if self.pool.sound_without(block) < held + least_updates(self.log_blocks) {
            return false;
        }
        self.pool.doom(block);
        self.log_limit = self.log_blocks.min(self.pool.sound.total - held);
        let Some((of, _)) = self.pool.home(block) else { return true };
        if let Use::Data(group) | Use::Copies(group) = self.pool.use_of(of) {
            self.must_go[of as usize] = true;
            if self.groups[group as usize].open == of {
                self.groups[group as usize].close();
            }
            self.force(group);
        }
        true
    }

    /// Has the data of a full block moved. True if that is new, and there is room.
    pub(super) fn move_off(&mut self, block: Block) -> bool {
        if self.pool.filled(block) != self.pool.layout.geometry.pages_per_block {
            return false;
        }
        let Some((of, _)) = self.pool.home(block) else { return false };
        let Use::Data(group) = self.pool.use_of(of) else { return false };
        let superblock = &self.groups[group as usize];
        let is_open = superblock.state != State::Open || superblock.open == of;
        if is_open || self.must_go[of as usize] || self.is_flying(of) {
            return false;
        }
        self.must_go[of as usize] = true;
        self.force(group);
        self.counts.read_reclaims += 1;
        true
    }
}
