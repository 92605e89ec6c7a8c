//! A victim policy of superblocks, for candidates that are counted by blocks.
//!
//! The policy of `gc` sees each superblock as one large block of one large plane: its valid units
//! are those of all its blocks. Blocks of a superblock become candidates one directly after the
//! other, that of its first plane first; the superblock is one with its last block.

mod by_handle;

use crate::space::gc::{BlockWord, Victims};
use base::archive::{Archive, State};
use base::memory::table;
use base::{Result, Time};
pub(super) use by_handle::ByHandle;
use nand::geometry::Geometry;

/// Victim policy of superblocks: the policy of `gc` behind a count by blocks.
#[derive(Clone)]
pub(super) struct OfSuperblocks {
    /// Planes of a superblock.
    planes: u32,
    blocks_per_plane: u32,
    policy: Box<dyn Victims>,
    /// By superblock, numbered by its first block among those of first planes: its state for the
    /// policy.
    words: Vec<BlockWord>,
    /// By block: its superblock.
    superblock_of: Vec<u32>,
    /// Superblock whose blocks are becoming candidates.
    current: u32,
}

impl OfSuperblocks {
    /// Asks `policy` about superblocks with a block in each of `planes` planes.
    pub(super) fn new(policy: Box<dyn Victims>, geometry: &Geometry, planes: u32) -> Self {
        Self {
            planes,
            blocks_per_plane: geometry.blocks_per_plane,
            policy,
            words: table((geometry.blocks() / planes) as usize, BlockWord::default()),
            superblock_of: table(geometry.blocks() as usize, 0),
            current: 0,
        }
    }
}

impl State for OfSuperblocks {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { planes: _, blocks_per_plane: _, policy, words, superblock_of, current } = self;
        policy.exchange(archive)?;
        archive.table(words)?;
        archive.table(superblock_of)?;
        archive.value(current)
    }
}

impl Victims for OfSuperblocks {
    fn inner(&mut self) -> Option<&mut Box<dyn Victims>> {
        Some(&mut self.policy)
    }

    fn closed(&mut self, plane: u32, block: u32, valid: u32, clock: u64) {
        let (span, place) = (plane / self.planes, plane % self.planes);
        if place == 0 {
            self.current = span * self.blocks_per_plane + block % self.blocks_per_plane;
            self.words[self.current as usize] = BlockWord::default();
        }
        self.superblock_of[block as usize] = self.current;
        let word = &mut self.words[self.current as usize];
        word.add(valid);
        if place + 1 == self.planes {
            word.set_closed(true);
            self.policy.closed(span, self.current, word.valid(), clock);
        }
    }

    fn invalidated(&mut self, plane: u32, block: u32, _: u32) {
        let superblock = self.superblock_of[block as usize];
        let word = &mut self.words[superblock as usize];
        word.remove_one();
        self.policy.invalidated(plane / self.planes, superblock, word.valid());
    }

    /// Withdraws a whole superblock, with its first block.
    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        let superblock = self.superblock_of[block as usize];
        let word = &mut self.words[superblock as usize];
        if word.is_closed() {
            word.set_closed(false);
            self.policy.withdraw(plane / self.planes, superblock, word.valid());
        }
    }

    /// A superblock has the erase time of its first block, by which it is numbered.
    fn measured(&mut self, plane: u32, block: u32, took: Time) {
        let (span, place) = (plane / self.planes, plane % self.planes);
        if place == 0 {
            let superblock = span * self.blocks_per_plane + block % self.blocks_per_plane;
            self.policy.measured(span, superblock, took);
        }
    }

    /// First block of the superblock that is picked; the others are to be withdrawn.
    fn pick(&mut self, plane: u32, _: &[BlockWord], clock: u64) -> Option<u32> {
        let span = plane / self.planes;
        let superblock = self.policy.pick(span, &self.words, clock)?;
        self.words[superblock as usize].set_closed(false);
        let first = span * self.planes * self.blocks_per_plane;
        Some(first + superblock % self.blocks_per_plane)
    }
}
