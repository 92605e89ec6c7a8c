//! Free blocks of each plane, in the order of their use, and the fewest of any plane of a group.
//!
//! A group is the planes that are programmed together: a row needs a block in each of them. The
//! number of free blocks is asked for at every step, so it is counted as it changes.

use base::Result;
use base::archive::{Archive, State};
use base::units::Divisor;
use nand::geometry::{Block, Plane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Order in which the free blocks of a plane are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Reuse {
    /// The block with the fewest cycles first, which is dynamic wear levelling.
    #[default]
    LeastWorn,
    /// The block that was erased first, as from a queue.
    Fifo,
    /// The block that was erased last, as from a stack: the others rest.
    Lifo,
}

/// Uses that free blocks are kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Pages of a map on flash.
    Map,
    /// A cache of blocks in single-level mode.
    Cache,
}

/// Free blocks of all planes.
#[derive(Clone)]
pub struct FreeBlocks {
    reuse: Reuse,
    /// By plane: rank and number of each free block. The least rank is used first.
    planes: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    /// Blocks that have been added so far.
    added: u32,
    /// By use and plane: free blocks that are kept for this use alone.
    claimed: [Vec<u32>; 2],
    /// By group, counted over all dies: free blocks of its poorest plane, without those that are
    /// kept.
    fewest: Vec<u32>,
    joined: Divisor,
    /// Planes whose poorest one counts for all groups among them: those of a group, or of several.
    together: Divisor,
}

impl State for FreeBlocks {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { reuse: _, planes, added, claimed, fewest, joined: _, together: _ } = self;
        archive.value(planes)?;
        archive.value(added)?;
        for claimed in claimed {
            archive.table(claimed)?;
        }
        archive.table(fewest)
    }
}

impl FreeBlocks {
    /// Creates empty lists for `planes` planes, `joined` of which make a group.
    pub fn new(planes: u32, joined: u32, reuse: Reuse) -> Self {
        Self {
            reuse,
            added: 0,
            planes: vec![BinaryHeap::new(); planes as usize],
            claimed: [vec![0; planes as usize], vec![0; planes as usize]],
            fewest: vec![0; (planes / joined) as usize],
            joined: Divisor::new(joined),
            together: Divisor::new(joined),
        }
    }

    /// The groups of so many planes count as one from now on: a set takes a block of each.
    pub fn count_together(&mut self, planes: u32) {
        self.together = Divisor::new(planes);
        (0..self.planes.len() as u32).for_each(|plane| self.count(Plane(plane)));
    }

    /// Adds an erased block to a plane.
    pub fn push(&mut self, plane: Plane, block: Block, pe_cycles: u32) {
        let rank = match self.reuse {
            Reuse::LeastWorn => pe_cycles,
            Reuse::Fifo => self.added,
            Reuse::Lifo => u32::MAX - self.added,
        };
        self.added = self.added.saturating_add(1);
        self.planes[plane.0 as usize].push(Reverse((rank, block.0)));
        self.count(plane);
    }

    /// Takes the next block of a plane, of equals the one with the lowest number.
    pub fn pop(&mut self, plane: Plane) -> Option<Block> {
        let Reverse((_, block)) = self.planes[plane.0 as usize].pop()?;
        self.count(plane);
        Some(Block(block))
    }

    /// Takes the most worn block of a plane, of equals the one with the lowest number.
    pub fn pop_most_worn(&mut self, plane: Plane, cycles: impl Fn(Block) -> u32) -> Option<Block> {
        let blocks = self.planes[plane.0 as usize].iter().map(|Reverse((_, block))| *block);
        let most = Block(blocks.max_by_key(|&block| (cycles(Block(block)), Reverse(block)))?);
        self.take(plane, most);
        Some(most)
    }

    /// Takes a block of a plane out, and returns whether it was free.
    pub fn take(&mut self, plane: Plane, block: Block) -> bool {
        let heap = &mut self.planes[plane.0 as usize];
        let before = heap.len();
        heap.retain(|Reverse((_, other))| *other != block.0);
        let was_free = heap.len() < before;
        self.count(plane);
        was_free
    }

    /// Keeps `more` blocks of a plane for one use: they do not count as free for others.
    pub fn claim(&mut self, plane: Plane, of: Use, more: u32) {
        self.set_claimed(plane, of, self.claimed(plane, of) + more);
    }

    /// Blocks of a plane that are still kept for one use.
    #[inline]
    pub fn claimed(&self, plane: Plane, of: Use) -> u32 {
        self.claimed[of as usize][plane.0 as usize]
    }

    /// Sets the number of blocks of a plane that are kept for one use.
    pub fn set_claimed(&mut self, plane: Plane, of: Use, blocks: u32) {
        self.claimed[of as usize][plane.0 as usize] = blocks;
        self.count(plane);
    }

    /// Removes all free blocks of a plane; as many are kept for each use as before.
    pub fn empty(&mut self, plane: Plane) {
        self.planes[plane.0 as usize].clear();
        self.count(plane);
    }

    /// Removes all free blocks of a plane; none is kept for any use.
    pub fn clear(&mut self, plane: Plane) {
        self.planes[plane.0 as usize].clear();
        for of in [Use::Map, Use::Cache] {
            self.set_claimed(plane, of, 0);
        }
    }

    /// Whether a plane has a free block that is kept for one use.
    pub fn has_claimed(&self, plane: Plane, of: Use) -> bool {
        self.claimed(plane, of) > 0 && !self.planes[plane.0 as usize].is_empty()
    }

    /// Takes the next block of a plane for a use that blocks are kept for.
    pub fn pop_claimed(&mut self, plane: Plane, of: Use) -> Option<Block> {
        let claimed = &mut self.claimed[of as usize][plane.0 as usize];
        *claimed = claimed.checked_sub(1)?;
        self.pop(plane)
    }

    fn count(&mut self, plane: Plane) {
        let together = self.together.get();
        let first = self.together.quotient(plane.0) * together;
        let planes = (first..first + together).map(|plane| self.of(Plane(plane)));
        let fewest = planes.min().unwrap_or(0) as u32;
        let joined = self.joined.get();
        let groups = first / joined..(first + together) / joined;
        self.fewest[groups.start as usize..groups.end as usize].fill(fewest);
    }

    /// Free blocks of a plane that are not kept for one use.
    #[inline]
    pub fn of(&self, plane: Plane) -> usize {
        let plane = plane.0 as usize;
        let claimed = self.claimed[0][plane].saturating_add(self.claimed[1][plane]);
        self.planes[plane].len().saturating_sub(claimed as usize)
    }

    /// Free blocks of the poorest plane of a group.
    #[inline]
    pub fn fewest(&self, group: u32) -> u32 {
        self.fewest[group as usize]
    }

    /// Free blocks of all planes.
    pub fn total(&self) -> u64 {
        self.planes.iter().map(|plane| plane.len() as u64).sum()
    }

    /// Sorts the free blocks anew by their present cycles, where cycles decide.
    pub fn sort(&mut self, cycles: impl Fn(Block) -> u32) {
        if self.reuse != Reuse::LeastWorn {
            return;
        }
        for plane in &mut self.planes {
            let worn =
                plane.drain().map(|Reverse((_, block))| Reverse((cycles(Block(block)), block)));
            *plane = worn.collect::<Vec<_>>().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_worn_goes_first_and_the_poorest_plane_counts() {
        let mut free = FreeBlocks::new(4, 2, Reuse::LeastWorn);
        for (plane, block, pe_cycles) in [(2, 20, 5), (2, 21, 3), (2, 22, 3), (3, 30, 9)] {
            free.push(Plane(plane), Block(block), pe_cycles);
        }
        assert_eq!((free.total(), free.fewest(0), free.fewest(1)), (4, 0, 1));
        assert_eq!(free.pop(Plane(2)), Some(Block(21)));
        assert_eq!(free.pop(Plane(3)), Some(Block(30)));
        assert_eq!((free.pop(Plane(3)), free.fewest(1)), (None, 0));
        assert_eq!(free.pop_most_worn(Plane(2), |block| block.0 % 20), Some(Block(22)));
        free.push(Plane(2), Block(22), 3);
        assert_eq!(free.pop_most_worn(Plane(2), |block| 22 - block.0), Some(Block(20)));
        free.push(Plane(2), Block(20), 5);
        free.push(Plane(3), Block(30), 10);
        assert_eq!(free.fewest(1), 1);
        free.sort(|_| 0);
        assert!(free.take(Plane(3), Block(30)) && !free.take(Plane(3), Block(31)));
        assert_eq!((free.of(Plane(3)), free.fewest(1)), (0, 0));
        assert_eq!(free.pop(Plane(2)), Some(Block(20)));
    }

    /// The order holds whatever the cycles are, also where they are set anew.
    #[test]
    fn queues_and_stacks_ask_for_no_wear() {
        for (reuse, expected) in [(Reuse::Fifo, [7, 3, 5]), (Reuse::Lifo, [5, 3, 7])] {
            let mut free = FreeBlocks::new(1, 1, reuse);
            for (block, pe_cycles) in [(7, 2), (3, 9), (5, 4)] {
                free.push(Plane(0), Block(block), pe_cycles);
            }
            free.sort(|block| block.0);
            let order = expected.map(|_| free.pop(Plane(0)).unwrap().0);
            assert_eq!(order, expected, "{reuse:?}");
        }
    }
}
