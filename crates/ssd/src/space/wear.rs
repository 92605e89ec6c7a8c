//! Erase cycles of each block, which blocks are bad, and static wear levelling.
//!
//! Blocks with cold data are not erased, so the other blocks wear faster. Now and then a group of
//! planes is checked. If the cycles of a plane differ by too much, its least worn blocks are
//! collected and used again, and their cold data go to the most worn free blocks (swapping cold and
//! hot, as in Chang's Dual-Pool, SAC'07).

use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Geometry, Plane};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// Collections of a group between two looks at its wear; fewer where cycles must lie closer
/// together. A block that has taken its turn wears by about the distance before it rests, so that
/// one in so many collections has to level.
const LOOK_EVERY: u32 = 64;

/// Program/erase cycles of the blocks in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Wear {
    /// Fewest program/erase cycles of a good block.
    pub min: u32,
    /// Mean program/erase cycles of the good blocks.
    pub mean: f64,
    /// Most program/erase cycles of a good block.
    pub max: u32,
}

impl Wear {
    /// Wear of blocks that have seen these numbers of cycles; all 0 without blocks.
    pub fn of(cycles: impl Iterator<Item = u32> + Clone) -> Self {
        let count = cycles.clone().count().max(1) as f64;
        Self {
            min: cycles.clone().min().unwrap_or(0),
            mean: cycles.clone().map(f64::from).sum::<f64>() / count,
            max: cycles.max().unwrap_or(0),
        }
    }
}

/// Wear of all blocks of a drive.
#[derive(Clone)]
pub struct BlockWear {
    pe_cycles: Vec<u32>,
    bad: Vec<bool>,
    /// Largest P/E spread in a plane that levelling tolerates; 0 = no limit.
    static_delta: u32,
    /// By first plane of a group: its collections since the last look.
    collected: Vec<u32>,
}

impl State for BlockWear {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { pe_cycles, bad, static_delta: _, collected } = self;
        archive.table(pe_cycles)?;
        archive.value(bad)?;
        archive.table(collected)
    }
}

impl BlockWear {
    /// Creates the wear of blocks with `pe_cycles` cycles each, all good but the `bad` ones.
    pub fn new(geometry: &Geometry, pe_cycles: u32, bad: Vec<bool>, static_delta: u32) -> Self {
        let pe_cycles = vec![pe_cycles; bad.len()];
        Self { pe_cycles, bad, static_delta, collected: vec![0; geometry.planes() as usize] }
    }

    /// Counts an erase of a block, and returns the cycles that it has now.
    pub fn erased(&mut self, block: Block) -> u32 {
        let cycles = &mut self.pe_cycles[block.0 as usize];
        *cycles += 1;
        *cycles
    }

    /// Sets the cycles of a block.
    pub fn set_cycles(&mut self, block: Block, pe_cycles: u32) {
        self.pe_cycles[block.0 as usize] = pe_cycles;
    }

    /// Adds cycles to every block, listed by block.
    pub fn add(&mut self, more: &[u32]) {
        for (cycles, more) in self.pe_cycles.iter_mut().zip(more) {
            *cycles = cycles.saturating_add(*more);
        }
    }

    /// Largest P/E spread in a plane that levelling tolerates; 0 = no limit.
    pub fn static_delta(&self) -> u32 {
        self.static_delta
    }

    /// The cycles that a block has.
    pub fn cycles(&self, block: Block) -> u32 {
        self.pe_cycles[block.0 as usize]
    }

    /// Whether a block is out of use.
    pub fn is_bad(&self, block: Block) -> bool {
        self.bad[block.0 as usize]
    }

    /// Blocks that are out of use.
    pub fn bad_blocks(&self) -> u64 {
        self.bad.iter().filter(|&&bad| bad).count() as u64
    }

    /// A block goes out of use.
    pub fn retire(&mut self, block: Block) {
        self.bad[block.0 as usize] = true;
    }

    /// Takes over the state of another block that is now in the place of `block`.
    pub fn replace(&mut self, block: Block, is_bad: bool, pe_cycles: u32) {
        self.bad[block.0 as usize] = is_bad;
        self.set_cycles(block, pe_cycles);
    }

    /// A run begins with `pe_cycles` on every block.
    pub fn start_run(&mut self, pe_cycles: u32) {
        self.pe_cycles.fill(pe_cycles);
    }

    /// The group that begins with `plane` is collected once more.
    #[inline]
    pub fn collected(&mut self, plane: Plane) {
        self.collected[plane.0 as usize] += 1;
    }

    /// Whether there have been enough collections of the group that begins with `plane` since its
    /// wear was looked at. If so, they are counted anew.
    pub fn is_due(&mut self, plane: Plane) -> bool {
        let collected = &mut self.collected[plane.0 as usize];
        let is_due = self.static_delta > 0 && *collected >= LOOK_EVERY.min(self.static_delta);
        if is_due {
            *collected = 0;
        }
        is_due
    }

    /// The least worn candidates of a group of planes, if there have been enough collections since
    /// the last look, and the wear of a plane is too far apart.
    pub fn level(
        &mut self,
        geometry: &Geometry,
        planes: Range<u32>,
        is_candidate: impl Fn(Block) -> bool,
        into: &mut Vec<Block>,
    ) {
        if !self.is_due(Plane(planes.start)) {
            return;
        }
        let joined = planes.len();
        let mut is_apart = false;
        for plane in planes.map(Plane) {
            let first = geometry.first_block(plane).0;
            let good =
                (first..first + geometry.blocks_per_plane).map(Block).filter(|b| !self.is_bad(*b));
            let cycles = |block: Block| self.pe_cycles[block.0 as usize];
            let candidates = good.clone().filter(|b| is_candidate(*b));
            let least = candidates.map(|block| (cycles(block), block.0)).min();
            let most = good.map(cycles).max().unwrap_or(0);
            into.extend(least.map(|(_, block)| Block(block)));
            is_apart |= least.is_some_and(|(least, _)| most - least > self.static_delta);
        }
        if !is_apart || into.len() < joined {
            into.clear();
        }
    }

    /// Memory that the wear takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.pe_cycles) + size_of_val(&*self.bad)
    }

    /// Least, mean and most cycles of the blocks in use.
    pub fn spread(&self) -> Wear {
        let good = self.pe_cycles.iter().zip(&self.bad).filter(|(_, bad)| !**bad);
        Wear::of(good.map(|(&cycles, _)| cycles))
    }
}
