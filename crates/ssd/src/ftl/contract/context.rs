//! What an FTL is built from, and the parameters that all share.

use super::Ftl;
use crate::space::gc::{GcConfig, Policy, Victims};
use base::Result;
use base::params::Table;
use nand::geometry::{Block, Geometry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every FTL shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Bytes of a mapping unit; 0 is the smaller of 4096 and the page size.
    pub unit_bytes: u32,
    /// Over-provisioning (OP): physical / logical capacity - 1, all good blocks counted.
    pub overprovisioning: f64,
    /// Free blocks of each plane that only garbage collection may open.
    pub gc_reserve_blocks: u32,
    /// Controller memory for the tables of the FTL in bytes: one that needs more is refused. 0 is
    /// no limit.
    pub ram_bytes: u64,
    /// Units that the host was promised, where the drive was given a capacity.
    #[serde(skip)]
    #[schemars(skip)]
    pub sold_units: Option<u64>,
}

impl FtlConfig {
    /// Over-provisioning of an FTL that has `physical` units in its good blocks. It is
    /// `overprovisioning` unless the drive was given a capacity: blocks of another size, as those
    /// of a code, must leave the same.
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

/// What an FTL needs to know of a kind of chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieKind {
    /// Pages of a native block: at most those of the layout.
    pub pages_per_block: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
}

/// What an FTL is built from.
pub struct Context {
    /// Layout of the flash.
    pub geometry: Geometry,
    /// Planes that one program command joins.
    pub planes_per_program: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
    /// Pages of a block in single-level mode; each is programmed by a command of its own.
    pub single_level_pages: u32,
    /// Which pages of a block are fast: the first of their cells. All of them, where a program
    /// takes all pages of a wordline.
    pub fast_pages: Vec<bool>,
    /// Kinds of chips: what stands above is that of the first.
    pub kinds: Vec<DieKind>,
    /// The kind of each die, by its place in `kinds`.
    pub kind_of_die: Vec<u8>,
    /// The family's parameters.
    pub config: FtlConfig,
    /// When to collect.
    pub gc: GcConfig,
    /// Whom to collect.
    pub victims: Box<dyn Victims>,
    /// Its policy, for an FTL whose victims are no single blocks.
    pub policy: Policy,
    /// Blocks that cannot be used, by block number: bad from the factory.
    pub bad: Vec<bool>,
    /// Blocks that have failed since, of the others. They cannot be used either, but the capacity
    /// that the host was sold counts them.
    pub failed: Vec<Block>,
    /// Program/erase cycles of every block at the start.
    pub pe_cycles: u32,
}

/// Builds an FTL from its context and its own checked parameters.
pub type Build = fn(Context, &Table) -> Result<Box<dyn Ftl>>;
