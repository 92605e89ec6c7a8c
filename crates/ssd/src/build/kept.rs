//! Blocks that a drive with recovery keeps for itself: its log, and copies of pages.

use super::capacity::bad_blocks;
use super::{buffer_slots, most_row_units};
use crate::config::SsdConfig;
use crate::ftl::ZONED;
use crate::recovery::backup::Backup;
use crate::recovery::dump::Dump;
use crate::recovery::log::Log;
use base::Result;
use nand::chip::{BlockMode, Chips};
use nand::geometry::{Block, Geometry};

/// Bytes that the tables of an FTL may take in a checkpoint: for each unit, and for each block.
const CHECKPOINT_BYTES: (u64, u64) = (5, 64);

/// Blocks that a drive keeps for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// Blocks that hold the log.
    pub log: Vec<Block>,
    /// Blocks for copies of pages that a power cut could spoil.
    pub backup: Vec<Block>,
}

impl Kept {
    pub(super) fn all(&self) -> impl Iterator<Item = Block> {
        self.log.iter().chain(&self.backup).copied()
    }
}

/// Blocks that the drive keeps for itself: the FTL knows them as bad.
pub(crate) fn kept_blocks(config: &SsdConfig, chips: &Chips) -> Result<Kept> {
    let recovery = config.recovery_policy()?;
    if !recovery.can_recover() {
        return Ok(Kept::default());
    }
    let geometry = &chips.geometry;
    let units = u64::from(geometry.units());
    let (of_unit, of_block) = CHECKPOINT_BYTES;
    let of_ftl = of_unit * units + of_block * u64::from(geometry.blocks());
    let tables = units.div_ceil(8) + if recovery.checkpoint_units() > 0 { of_ftl } else { 0 };
    let bytes = tables + dump_bytes(config, geometry)?;
    let per_die = Log::blocks_per_die(bytes, chips, config.parity.pages);
    let bad = bad_blocks(config, geometry);
    let log = Log::choose(geometry, per_die, &bad);
    let can_spoil = (0..geometry.pages_per_block)
        .any(|page| !chips.pages_under(BlockMode::Native, page).is_empty());
    // A drive with zones is held up: no program is cut off.
    let has_backup = config.recovery.common.backup && can_spoil && zoned(config)?.is_none();
    let backup = if has_backup { Backup::choose(chips, &bad, &log) } else { Vec::new() };
    Ok(Kept { log, backup })
}

/// Most bytes that the dump of a protected buffer takes: a row of each zone that may be active, and
/// the words of the FTL for each block and zone.
fn dump_bytes(config: &SsdConfig, geometry: &Geometry) -> Result<u64> {
    let Some(zoned) = zoned(config)? else { return Ok(0) };
    let given = zoned.ftl.params.get("max_active_zones").and_then(|most| most.as_integer());
    let held = buffer_slots(config, geometry);
    let rows = given.filter(|&most| most > 0).map_or(held, |most| {
        (most as u64).saturating_mul(most_row_units(config, geometry)).min(held)
    });
    let of_block = 32 * u64::from(geometry.blocks());
    Ok(Dump::bytes(rows, geometry.unit_bytes, 0) + of_block)
}

/// Drive of the dies that have zones: the whole drive, or a set of it; `None` without.
fn zoned(config: &SsdConfig) -> Result<Option<SsdConfig>> {
    let sets = config.sets();
    if sets.is_empty() {
        return Ok((config.ftl.name == ZONED).then(|| config.clone()));
    }
    let zoned = sets.iter().find(|set| config.ftl_name_of_set(set) == ZONED);
    zoned.map(|set| config.of_set(set)).transpose()
}
