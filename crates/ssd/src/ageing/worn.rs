//! The chips of a drive under untimed work: they wear, and their programs and erases fail.

use crate::ftl::Program;
use crate::ftl::contract::Device;
use base::Result;
use nand::chip::Chips;
use nand::geometry::{Block, Plane};

/// Chips of a drive as the device of untimed work.
pub(crate) struct Worn<'a> {
    pub chips: &'a mut Chips,
    pub erases: u64,
    /// Blocks that must stay in use though they have failed, or need a code without room.
    pub kept: Vec<Block>,
}

impl Device for Worn<'_> {
    fn program(&mut self, program: &Program, failed: &mut Vec<Block>) -> Result<()> {
        for &block in program.blocks() {
            self.chips.program_in(program.mode, block, program.page)?;
            if self.chips.programs_fail() && self.chips.program_failed(block, program.page) {
                failed.push(block);
            }
        }
        Ok(())
    }

    fn erase(&mut self, block: Block) -> bool {
        self.chips.erase(block);
        self.erases += 1;
        !self.chips.has_failed(block)
    }

    fn cannot_spare(&mut self, block: Block) {
        self.kept.push(block);
    }
}

/// Cycles of a window, in which erases are counted apart from those of the next one: long enough
/// that a block erased late in one is no less likely to be erased in the next.
const WINDOW_CYCLES: u64 = 4;

/// Account of each block in a lifetime.
pub(super) struct Blocks {
    /// By block: value of `erases` at its last erase.
    pub erased_at: Vec<u64>,
    /// Erases carried out so far, of all blocks.
    pub erases: u64,
    /// By block: erases in windows of even number, and in those of odd number.
    counts: [Vec<u32>; 2],
    /// By plane: erases of late; each leap halves the weight of those before it.
    pub of_plane: Vec<f64>,
    /// By block: whether it has failed.
    pub has_failed: Vec<bool>,
    /// By block: whether it is to fail with its next erase.
    pub is_due: Vec<bool>,
    /// Blocks that are to fail, as long as a leap waits for them.
    pub due: Vec<Block>,
    /// Cycles of the most worn block that was erased.
    pub most_cycles: u32,
}

impl Blocks {
    /// Creates the account of a drive whose life begins.
    pub fn new(blocks: usize, planes: usize) -> Self {
        Self {
            erased_at: vec![0; blocks],
            erases: 0,
            counts: [vec![0; blocks], vec![0; blocks]],
            of_plane: vec![0.0; planes],
            has_failed: vec![false; blocks],
            is_due: vec![false; blocks],
            due: Vec::new(),
            most_cycles: 0,
        }
    }

    /// Whether a block is in use: erased within the last `erases` erases.
    pub fn is_used(&self, block: Block, erases: u64) -> bool {
        self.erased_at[block.0 as usize] > self.erases.saturating_sub(erases)
    }

    /// Notes an erase of a block of `plane`.
    fn erased(&mut self, block: Block, plane: Plane) {
        let window = self.erases / (WINDOW_CYCLES * self.erased_at.len() as u64);
        self.counts[window as usize % 2][block.0 as usize] += 1;
        self.erases += 1;
        self.of_plane[plane.0 as usize] += 1.0;
        self.erased_at[block.0 as usize] = self.erases;
    }

    /// Erase rates of the blocks of each group, relative to the mean of the group, as far as they
    /// last: a deviation that is not found again in the other windows is chance.
    pub fn rates(&self, groups: &[Vec<Block>]) -> Vec<Vec<f64>> {
        let count =
            |windows: usize, block: &Block| f64::from(self.counts[windows][block.0 as usize]);
        let deviations = |windows: usize, group: &[Block]| -> Vec<f64> {
            let counts: Vec<f64> = group.iter().map(|block| count(windows, block)).collect();
            let mean = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
            counts.iter().map(|count| if mean > 0.0 { count / mean - 1.0 } else { 0.0 }).collect()
        };
        let of_windows = [0, 1].map(|windows| {
            groups.iter().map(|group| deviations(windows, group)).collect::<Vec<_>>()
        });
        let [one, other] = &of_windows;
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            one.iter().flatten().zip(other.iter().flatten()).map(|(&a, &b)| of(a, b)).sum()
        };
        // Of the mean of both windows, the part that lasts is their covariance over its variance.
        let (common, variance) = (sum(|a, b| a * b), sum(|a, b| ((a + b) / 2.0).powi(2)));
        let lasting = if variance > 0.0 { (common / variance).clamp(0.0, 1.0) } else { 0.0 };
        let rate = |(a, b): (&f64, &f64)| 1.0 + lasting * (a + b) / 2.0;
        one.iter().zip(other).map(|(a, b)| a.iter().zip(b).map(rate).collect()).collect()
    }

    /// Part of `cycles` that the blocks of a plane get: planes that hold more data that stay are
    /// collected more often.
    pub fn share_of(&self, plane: u32, cycles: f64) -> f64 {
        cycles * self.of_plane[plane as usize] / self.of_plane.iter().sum::<f64>()
    }

    /// Halves the weight of the erases so far, once a leap is over.
    pub fn forget(&mut self) {
        self.of_plane.iter_mut().for_each(|erases| *erases /= 2.0);
    }

    /// Marks a block to fail with its next erase.
    pub fn will_fail(&mut self, block: Block) {
        self.is_due[block.0 as usize] = true;
        self.due.push(block);
    }
}

/// Chips of a drive with an account of their blocks.
pub(super) struct Noted<'a> {
    pub worn: Worn<'a>,
    pub blocks: &'a mut Blocks,
}

impl Device for Noted<'_> {
    fn program(&mut self, program: &Program, failed: &mut Vec<Block>) -> Result<()> {
        self.worn.program(program, failed)?;
        for block in failed {
            self.blocks.has_failed[block.0 as usize] = true;
        }
        Ok(())
    }

    fn erase(&mut self, block: Block) -> bool {
        let blocks = &mut *self.blocks;
        let is_sound = self.worn.erase(block) && !blocks.is_due[block.0 as usize];
        blocks.erased(block, self.worn.chips.geometry.plane_of(block));
        blocks.has_failed[block.0 as usize] |= !is_sound;
        blocks.most_cycles = blocks.most_cycles.max(self.worn.chips.worn_cycles(block));
        is_sound
    }

    fn cannot_spare(&mut self, block: Block) {
        self.worn.cannot_spare(block);
    }
}
