//! Erase cycles of each block, which blocks are bad, and static wear levelling.
//!
//! Cold data keep their blocks from wearing while the others wear for them. So now and then a
//! plane is looked at, and when its wear is too far apart the least worn block is to be collected:
//! its data move on, and it takes its turn.

use crate::ftl::contract::Wear;
use nand::geometry::{Block, Geometry, Plane};

/// How often the wear of a plane is looked at: once in this many collections.
const LOOK_EVERY: u32 = 64;

/// Wear of all blocks of a drive.
pub struct BlockWear {
    pe_cycles: Vec<u32>,
    bad: Vec<bool>,
    /// How far apart the cycles of a plane may be; 0: as far as they go.
    static_delta: u32,
    /// Collections of each plane.
    looks: Vec<u32>,
}

impl BlockWear {
    /// Of blocks that have seen `pe_cycles` each, all good but the `bad` ones.
    pub fn new(geometry: &Geometry, pe_cycles: u32, bad: Vec<bool>, static_delta: u32) -> Self {
        let pe_cycles = vec![pe_cycles; bad.len()];
        Self { pe_cycles, bad, static_delta, looks: vec![0; geometry.planes() as usize] }
    }

    /// A block was erased: the cycles that it has now.
    pub fn erased(&mut self, block: Block) -> u32 {
        let cycles = &mut self.pe_cycles[block.0 as usize];
        *cycles += 1;
        *cycles
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

    /// A run begins with `pe_cycles` on every block.
    pub fn start_run(&mut self, pe_cycles: u32) {
        self.pe_cycles.fill(pe_cycles);
    }

    /// A plane is about to be collected: once in a while its least worn candidate, if its wear is
    /// too far apart.
    pub fn level(
        &mut self,
        geometry: &Geometry,
        plane: Plane,
        is_candidate: impl Fn(Block) -> bool,
    ) -> Option<Block> {
        if self.static_delta == 0 {
            return None;
        }
        let looks = &mut self.looks[plane.0 as usize];
        *looks += 1;
        if !looks.is_multiple_of(LOOK_EVERY) {
            return None;
        }
        let first = geometry.first_block(plane).0;
        let good =
            (first..first + geometry.blocks_per_plane).map(Block).filter(|b| !self.is_bad(*b));
        let cycles = |block: Block| self.pe_cycles[block.0 as usize];
        let most = good.clone().map(cycles).max()?;
        let (least, block) =
            good.filter(|b| is_candidate(*b)).map(|block| (cycles(block), block.0)).min()?;
        (most - least > self.static_delta).then_some(Block(block))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.pe_cycles) + size_of_val(&*self.bad)
    }

    /// Least, mean and most cycles of the blocks in use.
    pub fn spread(&self) -> Wear {
        let good =
            || self.pe_cycles.iter().zip(&self.bad).filter(|(_, bad)| !**bad).map(|(&pe, _)| pe);
        let count = good().count().max(1) as f64;
        Wear {
            min: good().min().unwrap_or(0),
            mean: good().map(f64::from).sum::<f64>() / count,
            max: good().max().unwrap_or(0),
        }
    }
}
