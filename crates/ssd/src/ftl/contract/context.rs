//! Context from which an FTL is built, and the parameters that all FTLs share.

use super::Ftl;
use crate::space::gc::{GcConfig, Policy, Victims};
use base::Result;
use base::params::Table;
use nand::geometry::{Block, Geometry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters that all FTLs share: mapping unit, over-provisioning, reserve, and memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Bytes of a mapping unit; 0 is the smaller of 4096 and the page size.
    pub unit_bytes: u32,
    /// Over-provisioning (OP): physical / logical capacity - 1, all good blocks counted.
    pub overprovisioning: f64,
    /// Free blocks of each plane that only garbage collection may open.
    pub gc_reserve_blocks: u32,
    /// Controller memory for the tables of the FTL, in bytes: an FTL that needs more is refused. 0
    /// is no limit.
    pub ram_bytes: u64,
    /// Capacity that the host was promised, in units, where the drive was given one.
    #[serde(skip)]
    #[schemars(skip)]
    pub sold_units: Option<u64>,
}

impl FtlConfig {
    /// Over-provisioning of an FTL that has `physical` units in its good blocks. It is
    /// `overprovisioning` unless the drive was given a capacity: blocks of another size, such as
    /// coded ones, must leave the same capacity.
    pub fn overprovisioning_of(&self, physical: u64) -> f64 {
        match self.sold_units {
            Some(sold) => overprovisioning_for(sold, physical),
            None => self.overprovisioning,
        }
    }
}

/// Over-provisioning that leaves exactly `logical` of `physical` units, however it is rounded.
pub fn overprovisioning_for(logical: u64, physical: u64) -> f64 {
    physical as f64 / (logical as f64 + 0.5) - 1.0
}

impl Default for FtlConfig {
    fn default() -> Self {
        Self {
            unit_bytes: 0,
            overprovisioning: 0.07,
            gc_reserve_blocks: 1,
            ram_bytes: 0,
            sold_units: None,
        }
    }
}

/// Sizes of a kind of chips, as an FTL writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieKind {
    /// Pages of a native block: at most those of the layout.
    pub pages_per_block: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
}

/// Stronger code that blocks change to as they wear, as an FTL sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeStage {
    /// Cycles of a block from which on it has this code.
    pub from_cycles: u32,
    /// Share of the data of a block that its parity takes.
    pub share: f64,
}

/// Everything that an FTL is built from: flash, wear, bad blocks, and parameters.
pub struct Context {
    /// Layout of the flash.
    pub geometry: Geometry,
    /// Planes that one program command joins.
    pub planes_per_program: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
    /// Pages of a block in single-level mode; each is programmed by a command of its own.
    pub single_level_pages: u32,
    /// Fast pages of a block, by page number: the first page of each cell. All are fast where a
    /// program takes all pages of a wordline.
    pub fast_pages: Vec<bool>,
    /// Stronger codes of worn blocks, in order of cycles.
    pub code_stages: Vec<CodeStage>,
    /// Pages of parity in a stripe over the dies of a superblock; 0 is no parity.
    pub parity_pages: u32,
    /// Stripes are made whole before they are full of data (`parity.partial`).
    pub writes_partial_stripes: bool,
    /// Kinds of chips; the sizes above are those of the first kind.
    pub kinds: Vec<DieKind>,
    /// The kind of each die, by its place in `kinds`.
    pub kind_of_die: Vec<u8>,
    /// Parameters that all FTLs share.
    pub config: FtlConfig,
    /// Parameters of garbage collection: when it runs.
    pub gc: GcConfig,
    /// Victim policy: chooses the blocks to collect.
    pub victims: Box<dyn Victims>,
    /// Policy behind `victims`, for an FTL that collects other things than single blocks.
    pub policy: Policy,
    /// Blocks that cannot be used, by block number: bad from the factory.
    pub bad: Vec<bool>,
    /// Blocks that have failed in use, beside the `bad` ones. They cannot be used either, but the
    /// capacity that the host was sold counts them.
    pub failed: Vec<Block>,
    /// Program/erase cycles of every block at the start.
    pub pe_cycles: u32,
    /// Whether the FTL is to take over what a start-up finds: space that failed blocks have used up
    /// before is no reason to refuse it.
    pub is_start_up: bool,
}

impl Context {
    /// Blocks that cannot be used, by block number: bad from the factory, or failed in use.
    pub fn unusable(&self) -> Vec<bool> {
        let mut unusable = self.bad.clone();
        self.failed.iter().for_each(|block| unusable[block.0 as usize] = true);
        unusable
    }
}

/// Builds an FTL from its context and its own checked parameters.
pub type Build = fn(Context, &Table) -> Result<Box<dyn Ftl>>;
