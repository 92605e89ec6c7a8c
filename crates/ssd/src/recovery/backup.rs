//! Backup: copies of pages that the program of a later page of the same cells could spoil.
//!
//! Where cells hold several pages that are programmed one after the other, a power cut during the
//! later program may take the earlier page with it. So that page is programmed once more before, in
//! single-level mode, to blocks that are kept for this: two of each plane, written in turn. The
//! controller still has its data. A copy is of no use once the later program is done.

use crate::terms::{Program, Stream};
use base::Result;
use base::archive::{Archive, State};
use nand::chip::{BlockMode, Chips, Owned};
use nand::geometry::{Block, Die, MAX_PLANES, Plane};
use serde::{Deserialize, Serialize};

/// A unit of a copied page, and its version where tests keep versions.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Copied {
    pub owner: u32,
    pub sequence: u64,
    pub is_lost: bool,
    pub version: u64,
}

impl Copied {
    pub(crate) fn of(unit: Owned, version: u64) -> Self {
        Self { owner: unit.owner, sequence: unit.sequence, is_lost: unit.is_lost, version }
    }
}

/// Backup blocks of the planes that a program joins, and the copies that they hold.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ring {
    die: u32,
    /// Two sets, each with one block of each plane.
    sets: [Vec<Block>; 2],
    at: usize,
    page: u32,
    /// The set is to be erased before its next program; `is_erasing` says that its erase is under
    /// way.
    is_stale: bool,
    is_erasing: bool,
    /// Copies on flash, by set.
    copies: [Vec<Copied>; 2],
}

/// Backup blocks of a drive, in rings that are written in turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backup {
    rings: Vec<Ring>,
    /// Rings of a die.
    groups: u32,
    joined: u32,
    pages: u32,
}

impl State for Backup {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { rings, groups: _, joined: _, pages: _ } = self;
        archive.value(rings)
    }
}

/// Where a copy goes, and whether its blocks are to be erased before.
pub(crate) struct BackupPlace {
    pub program: Program,
    pub erase: bool,
    pub set: usize,
}

impl Backup {
    /// Blocks of each plane that a backup needs.
    pub(crate) const BLOCKS_PER_PLANE: u32 = 2;

    /// The last good blocks of each plane, but those of the `log`.
    pub(crate) fn choose(chips: &Chips, bad: &[bool], log: &[Block]) -> Vec<Block> {
        let geometry = &chips.geometry;
        let of_plane = |plane: u32| {
            let first = geometry.first_block(Plane(plane)).0;
            let all = (first..first + geometry.blocks_per_plane).rev().map(Block);
            let good = all.filter(|block| !bad[block.0 as usize] && !log.contains(block));
            good.take(Self::BLOCKS_PER_PLANE as usize).collect::<Vec<Block>>()
        };
        (0..geometry.planes()).flat_map(of_plane).collect()
    }

    /// Creates a backup on these blocks, which are erased, for programs that join `joined` planes.
    pub(crate) fn new(chips: &Chips, blocks: &[Block], joined: u32) -> Self {
        let geometry = &chips.geometry;
        let groups = geometry.planes_per_die / joined;
        let ring = |number: u32| {
            let (die, group) = (number / groups, number % groups);
            let first = geometry.plane(Die(die), group * joined).0;
            let set = |number: usize| {
                let of_plane = |plane| {
                    let is_here = |block: &&Block| geometry.plane_of(**block).0 == plane;
                    blocks.iter().filter(is_here).nth(number).copied()
                };
                (first..first + joined).filter_map(of_plane).collect::<Vec<Block>>()
            };
            let sets = [set(0), set(1)];
            let copies = [Vec::new(), Vec::new()];
            Ring { die, sets, at: 0, page: 0, is_stale: false, is_erasing: false, copies }
        };
        let rings = if blocks.is_empty() { 0 } else { geometry.dies * groups };
        let pages = chips.first().pages(BlockMode::SingleLevel);
        Self { rings: (0..rings).map(ring).collect(), groups, joined, pages }
    }

    /// Whether pages are copied.
    pub(crate) fn is_on(&self) -> bool {
        !self.rings.is_empty()
    }

    /// Whether a block is kept for copies.
    pub(crate) fn has(&self, block: Block) -> bool {
        self.rings.iter().any(|ring| ring.sets.iter().any(|set| set.contains(&block)))
    }

    /// All blocks of the backup.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.rings.iter().flat_map(|ring| ring.sets.iter().flatten().copied())
    }

    /// The ring of a block of a die.
    pub(crate) fn ring_of(&self, chips: &Chips, block: Block) -> usize {
        let geometry = &chips.geometry;
        let (die, plane) = (geometry.die_of(block).0, geometry.plane_of(block).0);
        let group = (plane - die * geometry.planes_per_die) / self.joined;
        (die * self.groups + group) as usize
    }

    /// The place of the next copy in a ring. Copies in the blocks that are erased for it are gone.
    pub(crate) fn place(&mut self, ring: usize) -> BackupPlace {
        let pages = self.pages;
        let ring = &mut self.rings[ring];
        if ring.page >= pages {
            ring.at = 1 - ring.at;
            (ring.page, ring.is_stale) = (0, true);
            ring.copies[ring.at].clear();
        }
        let erase = std::mem::take(&mut ring.is_stale);
        ring.is_erasing |= erase;
        let set = &ring.sets[ring.at];
        let mut blocks = [Block(0); MAX_PLANES];
        blocks[..set.len()].copy_from_slice(set);
        let (die, page, mode) = (Die(ring.die), ring.page, BlockMode::SingleLevel);
        ring.page += 1;
        let planes = set.len() as u8;
        let program = Program { die, units: 0, page, planes, stream: Stream::LOG, mode, blocks };
        BackupPlace { program, erase, set: ring.at }
    }

    /// A copy is on flash.
    pub(crate) fn copied(&mut self, ring: usize, set: usize, units: Vec<Copied>) {
        self.rings[ring].copies[set].extend(units);
    }

    /// Blocks of a ring are erased.
    pub(crate) fn erased(&mut self, block: Block) {
        let is_its = |ring: &&mut Ring| ring.sets.iter().any(|set| set.contains(&block));
        if let Some(ring) = self.rings.iter_mut().find(is_its) {
            ring.is_erasing = false;
        }
    }

    /// The power is gone: the next copy goes behind what has been begun.
    pub(crate) fn cut(&mut self, chips: &Chips) {
        for ring in &mut self.rings {
            if std::mem::take(&mut ring.is_erasing) {
                (ring.page, ring.is_stale) = (0, true);
            } else if !ring.is_stale
                && let Some(&block) = ring.sets[ring.at].first()
            {
                ring.page = chips.programmed_pages(block);
            }
        }
    }

    /// Pages of copies on a die that a start-up reads.
    pub(crate) fn reads(&self, die: Die) -> Vec<(Block, u32)> {
        let rings = self.rings.iter().filter(|ring| ring.die == die.0);
        let read = |ring: &Ring| {
            let set = &ring.sets[ring.at];
            let pages = 0..ring.page.min(self.pages);
            pages.flat_map(|page| set.iter().map(move |&block| (block, page))).collect::<Vec<_>>()
        };
        rings.flat_map(read).collect()
    }

    /// All copies on flash, but those on dies that have failed.
    pub(crate) fn copies(&self, has_failed: impl Fn(Die) -> bool) -> impl Iterator<Item = &Copied> {
        let rings = self.rings.iter().filter(move |ring| !has_failed(Die(ring.die)));
        rings.flat_map(|ring| ring.copies.iter().flatten())
    }
}
