//! How much of the flash the host sees: over-provisioning, and what can be run at all.

use base::{Error, Result};
use nand::geometry::{Geometry, Plane};

/// Logical units of a drive with this over-provisioning; refuses what cannot be run.
///
/// `held` are the blocks of each plane that never hold settled data: the free ones that garbage
/// collection keeps and one open block for each stream.
pub fn logical_units(
    geometry: &Geometry,
    bad: &[bool],
    overprovisioning: f64,
    held: u32,
) -> Result<u32> {
    let per_block = u64::from(geometry.units_per_block());
    let good = bad.iter().filter(|&&bad| !bad).count() as u64 * per_block;
    let least_good = (0..geometry.planes())
        .map(|plane| {
            let first = geometry.first_block(Plane(plane)).0 as usize;
            let blocks = &bad[first..first + geometry.blocks_per_plane as usize];
            blocks.iter().filter(|&&bad| !bad).count() as u32
        })
        .min()
        .unwrap_or(0);
    let place = "ftl.overprovisioning";
    if !(0.0..=100.0).contains(&overprovisioning) {
        let problem = format!("{overprovisioning} makes the logical drive larger than its flash");
        return Err(Error::new(place, problem).allow("0 to 100 (physical / logical - 1)"));
    }
    if least_good <= held {
        return Err(Error::new(
            "chip.geometry.blocks_per_plane",
            format!("{least_good} good blocks in a plane"),
        )
        .allow(format!(
            "more than {held}: gc.start_free_blocks and one open block for each stream"
        )));
    }
    let logical = (good as f64 / (1.0 + overprovisioning)) as u64;
    // One block more than the held ones must be dead, or there is nothing to gain anywhere.
    let most =
        u64::from(geometry.planes()) * u64::from(least_good - held).saturating_sub(1) * per_block;
    if logical > most {
        let least = if most == 0 { f64::INFINITY } else { good as f64 / most as f64 - 1.0 };
        return Err(Error::new(
            place,
            format!("{overprovisioning} leaves {logical} logical of {good} physical units"),
        )
        .allow(format!(
            "at least {least:.4} with this geometry: {held} blocks of each plane are kept free \
             (gc.start_free_blocks) or open"
        )));
    }
    Ok(logical as u32)
}
