//! Memory that the tables of a drive take, known before any of it is allocated.

use super::capacity::layout;
use crate::config::SsdConfig;
use crate::flash::copyback;
use base::units::format_size;
use base::{Error, Result};
use nand::geometry::Geometry;

/// Bytes that a drive's tables will take: 8 a physical unit, 64 a unit of the write buffer and of
/// the read cache, and the tables of its blocks; with a recovery 12 a unit for out-of-band areas,
/// and 8 while it starts up; with copies on the chip 5 a page.
pub fn memory_bytes(config: &SsdConfig) -> Result<u64> {
    let geometry = layout(config)?;
    let lists = u64::from(geometry.planes()) * u64::from(geometry.units_per_block() + 1) * 4;
    let buffer = buffer_slots(config, &geometry) * 64;
    let cached = config.read_cache.units(config.drive_unit_bytes()).saturating_mul(64);
    let copies = copyback::memory_bytes(config.gc.common.copyback, &geometry);
    let of_unit = if config.recovery_policy()?.can_recover() { 28 } else { 8 };
    Ok(of_unit * u64::from(geometry.units())
        + 64 * u64::from(geometry.blocks())
        + lists
        + buffer
        + cached
        + copies)
}

/// Units that the largest program carries, at most.
pub(crate) fn most_row_units(config: &SsdConfig, geometry: &Geometry) -> u64 {
    let planes = u64::from(geometry.planes_per_die * geometry.units_per_page);
    let bits = config.kinds().into_iter().map(|(_, chip)| chip.cell_bits).max();
    planes * u64::from(bits.unwrap_or(1))
}

/// Units that the write buffer holds, at most (see `Ssd::assemble`).
pub(crate) fn buffer_slots(config: &SsdConfig, geometry: &Geometry) -> u64 {
    match config.buffer.bytes / u64::from(geometry.unit_bytes) {
        0 => 2 * most_row_units(config, geometry) * u64::from(geometry.dies),
        units => units,
    }
}

/// Refuses a drive whose tables need more memory than there is.
pub(crate) fn check_memory(config: &SsdConfig, limit: u64) -> Result<()> {
    let needed = memory_bytes(config)?;
    if needed <= limit {
        return Ok(());
    }
    let problem = format!("this drive needs {} of memory", format_size(needed));
    Err(Error::new("drive", problem)
        .expected(format!("at most {}", format_size(limit)))
        .hint("a larger ftl.unit_bytes needs less"))
}
