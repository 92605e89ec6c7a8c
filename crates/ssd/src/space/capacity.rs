//! Logical capacity: the space that the host sees, and the least over-provisioning.

use base::{Error, Result};
use nand::geometry::Geometry;

/// The most over-provisioning there can be.
const MOST: f64 = 100.0;

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
    let least_good = good_blocks(geometry, bad).into_iter().min().unwrap_or(0);
    let place = "ftl.overprovisioning";
    if !(0.0..=MOST).contains(&overprovisioning) {
        let problem = format!("{overprovisioning} is out of range");
        return Err(Error::new(place, problem).expected("0 to 100 (physical / logical - 1)"));
    }
    if least_good <= held {
        return Err(Error::new(
            "chip.geometry.blocks_per_plane",
            format!("{least_good} good blocks in a plane"),
        )
        .expected(format!(
            "more than {held} (gc.start_free_blocks and one open block for each stream)"
        )));
    }
    let logical = (good as f64 / (1.0 + overprovisioning)) as u64;
    if logical == 0 {
        let problem = format!("{overprovisioning} leaves nothing of {good} physical units");
        return Err(Error::new(place, problem)
            .hint("use less over-provisioning, or a larger chip.geometry"));
    }
    // One block more than the held ones must be dead, or there is nothing to gain anywhere.
    let most =
        u64::from(geometry.planes()) * u64::from(least_good - held).saturating_sub(1) * per_block;
    if logical > most {
        let why =
            format!("{held} blocks of each plane are kept free (gc.start_free_blocks) or open");
        // Rounded up, so that following the advice is enough.
        let least = ((good as f64 / most as f64 - 1.0) * 1e4).ceil() / 1e4;
        let problem =
            format!("{overprovisioning} leaves {logical} logical of {good} physical units");
        return Err(Error::new(place, problem).expected(if least <= MOST {
            format!("at least {least:.4} with this geometry: {why}")
        } else {
            format!("a chip.geometry with more blocks in a plane: {why}")
        }));
    }
    Ok(logical as u32)
}

/// Blocks of each plane that are not bad.
pub fn good_blocks(geometry: &Geometry, bad: &[bool]) -> Vec<u32> {
    let good = |blocks: &[bool]| blocks.iter().filter(|&&bad| !bad).count() as u32;
    bad.chunks(geometry.blocks_per_plane as usize).map(good).collect()
}

/// Blocks of each plane that the logical drive takes, if it is spread evenly.
pub fn share_blocks(geometry: &Geometry, logical_units: u32) -> u32 {
    let per_block = u64::from(geometry.units_per_block());
    u64::from(logical_units).div_ceil(u64::from(geometry.planes()) * per_block) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;
    use nand::geometry::GeometryConfig;

    fn units(blocks: u32, pages: u32, overprovisioning: f64, held: u32) -> Result<u32> {
        let config = GeometryConfig {
            planes_per_die: 2,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_bytes: 4096,
            spare_bytes: 0,
            bad_block_fraction: 0.0,
        };
        let geometry = Geometry::new(&config, 1, 4096)?;
        logical_units(&geometry, &vec![false; 2 * blocks as usize], overprovisioning, held)
    }

    /// The least value that an error names is accepted.
    #[test]
    fn the_least_named_is_enough() {
        let mut named = 0;
        for (blocks, pages) in [(23, 18), (31, 7), (40, 10), (101, 258), (2048, 64)] {
            for held in 1..12 {
                let Err(error) = units(blocks, pages, 0.0, held) else { continue };
                let least = error.expected.split(' ').find_map(|word| word.parse().ok());
                let least: f64 = least.unwrap_or_else(|| panic!("{error}"));
                units(blocks, pages, least, held).unwrap();
                named += 1;
            }
        }
        assert!(named > 50, "{named}");
    }

    #[test]
    fn nothing_is_no_drive() {
        let error = units(4, 1, 100.0, 1).unwrap_err();
        assert_carries(error, &["ftl.overprovisioning", "nothing"]);
        // Here no over-provisioning helps: all blocks but one are held.
        let error = units(4, 64, 0.0, 3).unwrap_err();
        assert_carries(&error.expected, &["chip.geometry", "more blocks"]);
    }
}
