//! Capacity of a drive: its good blocks, and the over-provisioning that leaves a given size.

use crate::config::SsdConfig;
use crate::ftl::contract::overprovisioning_for;
use base::{Error, Result};
use nand::chip::ChipConfig;
use nand::fault::is_factory_bad;
use nand::geometry::{Block, Geometry, GeometryConfig};
use nand::wordline::page_sites;

/// Layout of the flash, by the largest blocks and planes of its kinds of chips.
pub(super) fn layout(config: &SsdConfig) -> Result<Geometry> {
    let dies = u64::from(config.drive.channels) * u64::from(config.drive.dies_per_channel);
    let mut largest = config.chip.geometry.clone();
    for (_, chip) in config.kinds() {
        let GeometryConfig { blocks_per_plane, pages_per_block, .. } = chip.geometry;
        largest.blocks_per_plane = largest.blocks_per_plane.max(blocks_per_plane);
        largest.pages_per_block = largest.pages_per_block.max(pages_per_block);
    }
    Geometry::new(&largest, dies, config.drive_unit_bytes())
}

/// Mapping units of the blocks that are not bad: what over-provisioning counts as physical.
/// `pages` are those of a block of each kind of chips.
pub(super) fn good_units(
    config: &SsdConfig,
    geometry: &Geometry,
    bad: &[bool],
    pages: &[u32],
) -> u64 {
    let of_die = config.kind_of_dies().unwrap_or_default();
    let of =
        |block: Block| u64::from(pages[usize::from(of_die[geometry.die_of(block).0 as usize])]);
    let good = (0..geometry.blocks()).map(Block).filter(|block| !bad[block.0 as usize]);
    good.map(of).sum::<u64>() * u64::from(geometry.units_per_page)
}

/// The configuration with the over-provisioning that leaves `drive.capacity`, if that is
/// given. `given` is the over-provisioning that was given beside it, which must be the same.
/// Refuses a capacity that the flash does not have.
pub fn sized(mut config: SsdConfig, given: Option<f64>) -> Result<SsdConfig> {
    let Some(capacity) = config.drive.capacity else { return Ok(config) };
    let geometry = layout(&config)?;
    let pages = |chip: &ChipConfig| -> Result<u32> {
        let pages = chip.geometry.pages_per_block;
        let sites = page_sites(chip.page_order, chip.cell_bits, pages)?;
        let fast = sites.iter().filter(|site| site.page_type == 0).count() as u32;
        Ok(if config.drive.single_level { fast } else { pages })
    };
    let pages: Vec<u32> =
        config.kinds().into_iter().map(|(_, chip)| pages(chip)).collect::<Result<_>>()?;
    let physical = good_units(&config, &geometry, &bad_blocks(&config, &geometry), &pages);
    let unit = u64::from(geometry.unit_bytes);
    let logical = capacity / unit;
    let place = "drive.capacity";
    if logical == 0 || logical >= physical {
        let problem = format!("{capacity} bytes of {} in good blocks", physical * unit);
        return Err(Error::new(place, problem)
            .expected(format!("{unit} to less than {}", physical * unit))
            .hint("a larger chip.geometry, or more drive.channels, give more"));
    }
    let overprovisioning = overprovisioning_for(logical, physical);
    if let Some(given) = given.filter(|given| (given - overprovisioning).abs() > 1e-6) {
        let problem = format!(
            "{capacity} bytes with ftl.overprovisioning = {given}: both say how much the host \
             sees, and this capacity leaves {overprovisioning:.6}"
        );
        return Err(Error::new(place, problem)
            .expected("one of the two")
            .hint("a report has both: leave ftl.overprovisioning out to change its drive"));
    }
    config.ftl.common.overprovisioning = overprovisioning;
    Ok(config)
}

/// An error about over-provisioning, moved to the capacity that it follows from.
pub(super) fn about_capacity(config: &SsdConfig, mut error: Error) -> Error {
    if let Some(capacity) = config.drive.capacity.filter(|_| error.place == OVERPROVISIONING) {
        error.place = "drive.capacity".to_owned();
        error.problem = format!("{capacity} bytes: over-provisioning {}", error.problem);
        if !error.expected.is_empty() {
            error.expected = format!("a capacity whose over-provisioning is {}", error.expected);
        }
    }
    error
}

const OVERPROVISIONING: &str = "ftl.overprovisioning";

/// By block: whether it is bad from the factory. The first die has the bad blocks of a single chip
/// of this seed. Blocks that the kind of a die does not have count as bad.
pub(super) fn bad_blocks(config: &SsdConfig, geometry: &Geometry) -> Vec<bool> {
    let per_die = geometry.blocks_per_plane * geometry.planes_per_die;
    let of_die = config.kind_of_dies().unwrap_or_default();
    let kinds = config.kinds();
    let is_bad = |block: Block| {
        let kind = usize::from(of_die[geometry.die_of(block).0 as usize]);
        let chip = &kinds[kind].1.geometry;
        let in_plane = block.0 % geometry.blocks_per_plane;
        in_plane >= chip.blocks_per_plane
            || is_factory_bad(config.seed, block.0, per_die, chip.bad_block_fraction)
    };
    (0..geometry.blocks()).map(Block).map(is_bad).collect()
}
