//! Codes by age (Desnoyers, HotStorage'13, section 3): rows that the parity of stronger codes takes
//! from the data of worn blocks: `ecc.stages`.
//!
//! A block changes to the code of its cycles when it is opened after an erase. Parity that the
//! spare area has no room for takes whole rows of the block, evenly spread, so that the block holds
//! fewer units; the spare space of its plane pays for them, as for blocks that are retired. A plane
//! that has no space for a code that a block needs has outgrown the drive. If hardly a block is
//! free, a block keeps its code once more: collection counts on the space that it had.
//!
//! Parity counts as valid for as long as its block is in use: a victim policy that took it for dead
//! would move full blocks and gain nothing.

use super::{Block, PageFtl};
use crate::ftl::contract::CodeStage;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Die, Geometry, Plane};

/// Codes of blocks by their cycles.
#[derive(Clone)]
pub(super) struct CodeStages {
    /// By stage: cycles from which on it holds, and rows of a block that its parity takes. The
    /// first is that of new blocks.
    stages: Vec<(u32, u32)>,
    /// Rows of a block, and units of a row.
    rows: u32,
    row_units: u32,
    /// Stage of the code of each block; empty for a drive with one code.
    of_block: Vec<u8>,
    /// By block: last stage whose parity its plane has paid for. Blocks that are written together
    /// have the lowest of theirs.
    paid: Vec<u8>,
    /// By plane: rows that it has paid.
    parity_rows: Vec<u32>,
    has_outgrown: bool,
}

impl CodeStages {
    /// Creates the stages of new blocks of `rows` rows.
    pub(super) fn new(stages: &[CodeStage], geometry: &Geometry, rows: u32) -> Self {
        let taken = |share: f64| (share * f64::from(rows)).ceil() as u32;
        let later = stages.iter().map(|stage| (stage.from_cycles, taken(stage.share)));
        let blocks = if stages.is_empty() { 0 } else { geometry.blocks() as usize };
        Self {
            stages: std::iter::once((0, 0)).chain(later).collect(),
            rows,
            row_units: geometry.units_per_block() / rows,
            of_block: vec![0; blocks],
            paid: vec![0; blocks],
            parity_rows: vec![0; geometry.planes() as usize],
            has_outgrown: false,
        }
    }

    /// Whether all blocks keep their code.
    pub(super) fn is_off(&self) -> bool {
        self.of_block.is_empty()
    }

    #[inline]
    fn stage(&self, block: Block) -> u8 {
        self.of_block.get(block.0 as usize).copied().unwrap_or(0)
    }

    fn rows_of(&self, stage: u8) -> u32 {
        self.stages[usize::from(stage)].1
    }

    /// The last stage whose cycles a block has.
    fn by_cycles(&self, pe_cycles: u32) -> u8 {
        (self.stages.partition_point(|&(from, _)| from <= pe_cycles) - 1) as u8
    }

    /// Rows that parity takes in a plane once a block of it has a further stage, and whole blocks
    /// that the plane pays for that.
    fn price(&self, block: Block, plane: Plane, stage: u8) -> (u32, u32) {
        let before = self.parity_rows[plane.0 as usize];
        let after = before + self.rows_of(stage) - self.rows_of(self.paid[block.0 as usize]);
        (after, after.div_ceil(self.rows) - before.div_ceil(self.rows))
    }

    /// Whether a row of a block is parity.
    #[inline]
    pub(super) fn is_parity(&self, block: Block, row: u32) -> bool {
        let stage = self.stage(block);
        stage > 0 && {
            let taken = self.rows_of(stage);
            (row + 1) * taken / self.rows > row * taken / self.rows
        }
    }

    /// Units of the parity in a block.
    #[inline]
    pub(super) fn parity_units(&self, block: Block) -> u32 {
        let stage = self.stage(block);
        if stage == 0 { 0 } else { self.rows_of(stage) * self.row_units }
    }
}

impl State for CodeStages {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { stages: _, rows: _, row_units: _, of_block, paid, parity_rows, has_outgrown } =
            self;
        if of_block.is_empty() {
            return Ok(());
        }
        archive.table(of_block)?;
        archive.table(paid)?;
        archive.table(parity_rows)?;
        archive.value(has_outgrown)
    }
}

impl PageFtl {
    /// Stage of the code of a block: 0 for the code of new ones.
    pub(in crate::ftl) fn code_stage(&self, block: Block) -> u8 {
        self.code_stages.stage(block)
    }

    /// Whether a block needs a stronger code than its plane has room for.
    pub(in crate::ftl) fn has_outgrown(&self) -> bool {
        self.code_stages.has_outgrown
    }

    /// Gives blocks that are opened together the code of the most worn one of them, if their planes
    /// can pay for it.
    pub(super) fn change_code(&mut self, index: usize, die: Die) {
        if self.code_stages.is_off() {
            return;
        }
        let blocks = self.frontiers[index].blocks;
        let blocks = &blocks[..self.joined as usize];
        if self.free_blocks(die, index as u32 % self.groups) + 1 >= self.reserve {
            let cycles = blocks.iter().map(|&block| self.wear.cycles(block)).max().unwrap_or(0);
            self.pay(blocks, self.code_stages.by_cycles(cycles));
        }
        let stages = &mut self.code_stages;
        let paid = blocks.iter().map(|block| stages.paid[block.0 as usize]);
        let stage = paid.min().unwrap_or(0);
        for &block in blocks {
            let of_block = &mut stages.of_block[block.0 as usize];
            self.counts.code_stages.changed_blocks += u64::from(*of_block < stage);
            *of_block = stage;
            self.candidates.added(block, stages.rows_of(stage) * stages.row_units);
        }
    }

    /// Takes the payment for a block back that leaves: its plane has lost the block as a whole.
    pub(super) fn refund(&mut self, block: Block, plane: Plane) {
        let stages = &mut self.code_stages;
        let Some(&paid) = stages.paid.get(block.0 as usize) else { return };
        let taken = stages.rows_of(paid);
        let rows = &mut stages.parity_rows[plane.0 as usize];
        let spent = rows.div_ceil(stages.rows);
        *rows -= taken;
        self.retirement.give_back(plane, spent - rows.div_ceil(stages.rows));
        stages.paid[block.0 as usize] = 0;
    }

    /// Pays for the parity of a stage in blocks of different planes, if all have the space.
    fn pay(&mut self, blocks: &[Block], stage: u8) {
        let stages = &mut self.code_stages;
        let plane = |&block: &Block| self.geometry.plane_of(block);
        let is_unpaid = |block: &&Block| stages.paid[block.0 as usize] < stage;
        let unpaid: Vec<(Block, Plane)> =
            blocks.iter().filter(is_unpaid).map(|block| (*block, plane(block))).collect();
        let is_short = |&(block, plane): &(Block, Plane)| {
            self.retirement.spare(plane) < stages.price(block, plane, stage).1
        };
        if unpaid.iter().any(is_short) {
            stages.has_outgrown = true;
            return;
        }
        for (block, plane) in unpaid {
            let (rows, spent) = stages.price(block, plane, stage);
            self.retirement.spend(plane, spent);
            stages.parity_rows[plane.0 as usize] = rows;
            stages.paid[block.0 as usize] = stage;
        }
    }
}
