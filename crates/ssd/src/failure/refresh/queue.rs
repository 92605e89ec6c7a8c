//! The queue of refresh: blocks that wait to be rewritten, each once.
//!
//! A block is kept with its cycles. One that has been erased meanwhile has other cycles, and is
//! dropped when its turn comes.

use base::Result;
use base::archive::{Archive, State};
use nand::geometry::Block;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Reason to rewrite a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reason {
    /// The data of the block are old.
    Age,
    /// A page of the block was read with many errors.
    Rber,
    /// A patrol read of the block needed many retries.
    Retries,
}

/// Blocks that wait, and their cycles when they were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<(Block, u32, Reason)>,
    members: BTreeSet<u32>,
}

impl State for Queue {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { waiting, members } = self;
        archive.value(waiting)?;
        *members = waiting.iter().map(|(block, ..)| block.0).collect();
        Ok(())
    }
}

impl Queue {
    /// Whether no block waits to be rewritten.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of blocks that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a block waits.
    pub(crate) fn has(&self, block: Block) -> bool {
        self.members.contains(&block.0)
    }

    /// Blocks that wait, in the order of the queue.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.waiting.iter().map(|&(block, ..)| block)
    }

    /// A block waits behind the others.
    pub(crate) fn push(&mut self, block: Block, cycle: u32, reason: Reason) {
        if self.members.insert(block.0) {
            self.waiting.push_back((block, cycle, reason));
        }
    }

    /// A block waits before the others.
    pub(crate) fn push_first(&mut self, block: Block, cycle: u32, reason: Reason) {
        if self.members.insert(block.0) {
            self.waiting.push_front((block, cycle, reason));
        }
    }

    /// A block waits no longer.
    pub(crate) fn forget(&mut self, block: Block) {
        if self.members.remove(&block.0) {
            self.waiting.retain(|&(other, ..)| other != block);
        }
    }

    /// Takes the block at this place out of the queue.
    pub(crate) fn take(&mut self, at: usize) -> Option<(Block, u32, Reason)> {
        let taken = self.waiting.remove(at)?;
        self.members.remove(&taken.0.0);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_waits_once_and_the_poor_go_first() {
        let mut queue = Queue::default();
        queue.push(Block(4), 1, Reason::Age);
        queue.push(Block(5), 1, Reason::Age);
        queue.push(Block(4), 1, Reason::Rber);
        queue.push_first(Block(9), 7, Reason::Rber);
        let order: Vec<_> = queue.blocks().map(|block| block.0).collect();
        assert_eq!((order, queue.len()), (vec![9, 4, 5], 3));
        assert_eq!(queue.take(1), Some((Block(4), 1, Reason::Age)));
        assert!(!queue.has(Block(4)) && queue.has(Block(9)) && queue.take(7).is_none());
    }
}
