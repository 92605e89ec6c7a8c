//! Victim policies of superblocks, for candidates that are counted by blocks: one for all of them,
//! or one for each placement handle.
//!
//! The policy of `gc` sees each superblock as one large block of one large plane: its valid units
//! are those of all its blocks. Blocks of a superblock become candidates one directly after the
//! other, that of its first plane first; the superblock is one with its last block.

use crate::space::gc::{Among, BlockWord, Victims};
use base::archive::{Archive, State};
use base::memory::table;
use base::{Result, Time};
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

/// Victim policies of the handles of a drive, with counts of the candidates of each.
#[derive(Clone)]
pub(super) struct ByHandle {
    of: Vec<OfSuperblocks>,
    /// Planes of a superblock.
    planes: u32,
    units_per_block: u32,
    /// By block: the handle that it belongs to.
    handle_of: Vec<u8>,
    /// By span and handle: its candidates.
    among: Vec<Among>,
    /// Handle whose superblocks become full, or are picked.
    current: u8,
}

impl ByHandle {
    /// Asks a policy of `of` about the superblocks of each handle, with a block in each of `planes`
    /// planes.
    pub(super) fn new(of: Vec<OfSuperblocks>, geometry: &Geometry, planes: u32) -> Self {
        let spans = (geometry.planes() / planes) as usize;
        Self {
            planes,
            units_per_block: geometry.units_per_block(),
            handle_of: table(geometry.blocks() as usize, 0),
            among: vec![Among::default(); spans * of.len()],
            current: 0,
            of,
        }
    }

    fn tally(&mut self, plane: u32, handle: u8) -> &mut Among {
        let span = (plane / self.planes) as usize;
        &mut self.among[span * self.of.len() + usize::from(handle)]
    }

    /// Takes a block with `valid` valid units from the candidates of its handle.
    fn leaves(&mut self, plane: u32, block: u32, valid: u32) -> u8 {
        let handle = self.handle_of[block as usize];
        let dead = u64::from(self.units_per_block - valid);
        let tally = self.tally(plane, handle);
        tally.blocks -= 1;
        tally.dead_units -= dead;
        handle
    }
}

impl State for ByHandle {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { of, planes: _, units_per_block: _, handle_of, among, current: _ } = self;
        of.iter_mut().try_for_each(|of| of.exchange(archive))?;
        archive.table(handle_of)?;
        archive.value(among)
    }
}

impl Victims for ByHandle {
    fn turn_to(&mut self, group: u32) {
        self.current = group as u8;
    }

    fn among(&self, plane: u32, group: u32) -> Among {
        self.among[(plane / self.planes) as usize * self.of.len() + group as usize]
    }

    fn closed(&mut self, plane: u32, block: u32, valid: u32, clock: u64) {
        let (handle, dead) = (self.current, u64::from(self.units_per_block - valid));
        self.handle_of[block as usize] = handle;
        let tally = self.tally(plane, handle);
        tally.blocks += 1;
        tally.dead_units += dead;
        self.of[usize::from(handle)].closed(plane, block, valid, clock);
    }

    fn invalidated(&mut self, plane: u32, block: u32, valid: u32) {
        let handle = self.handle_of[block as usize];
        self.tally(plane, handle).dead_units += 1;
        self.of[usize::from(handle)].invalidated(plane, block, valid);
    }

    fn withdraw(&mut self, plane: u32, block: u32, valid: u32) {
        let handle = self.leaves(plane, block, valid);
        self.of[usize::from(handle)].withdraw(plane, block, valid);
    }

    /// A block that is erased may be of any handle next.
    fn measured(&mut self, plane: u32, block: u32, took: Time) {
        self.of.iter_mut().for_each(|of| of.measured(plane, block, took));
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], clock: u64) -> Option<u32> {
        let picked = self.of[usize::from(self.current)].pick(plane, blocks, clock)?;
        self.leaves(plane, picked, blocks[picked as usize].valid());
        Some(picked)
    }
}
