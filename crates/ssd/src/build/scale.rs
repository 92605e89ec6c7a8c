//! Smaller drives that can be built: blocks become shorter where too few would be left. A scale at
//! which nothing helps is refused, with the smallest one that works.

use super::{build_ftl, chips, context, memory_bytes};
use crate::config::{Scale, Scaled, SsdConfig};
use base::{Error, Result};

/// Memory of a drive that is built only to see whether it can be, at most.
const MOST_BYTES: u64 = 2 << 30;

/// Spare blocks of a plane with which a drive can be built, so that it need not be tried. The FTLs
/// whose blocks can be shortened hold fewer than these.
const MANY_SPARE: f64 = 12.0;

/// Blocks of a plane that a drive of shorter blocks has, where its blocks can be short enough:
/// those of `modern_qlc` at 1/16, whose write amplification was measured to be 1 % below that of the
/// whole drive.
const ENOUGH_BLOCKS: u32 = 45;

/// The drive `whole` at this scale. Its blocks are shorter where it could not be built otherwise;
/// where that does not help they keep their pages.
pub fn scaled(whole: &SsdConfig, scale: Scale) -> Result<Scaled> {
    let drive = whole.scaled(scale, 1)?;
    let blocks = f64::from(drive.config.chip.geometry.blocks_per_plane);
    let spare = drive.config.ftl.common.overprovisioning;
    if whole.own_ftl.is_some() || blocks * spare / (1.0 + spare) >= MANY_SPARE {
        return Ok(drive);
    }
    // Never more blocks than on the whole drive.
    let most = 1.0 / scale.share();
    let parts: Vec<u32> =
        whole.block_parts()?.into_iter().filter(|&parts| f64::from(parts) <= most).collect();
    let with = |parts: u32| whole.scaled(scale, parts);
    let is_good = |parts: u32| with(parts).is_ok_and(|drive| is_built(&drive.config));
    let Some(&shortest) = parts.last() else { return Ok(drive) };
    if memory_bytes(&drive.config)? > MOST_BYTES || is_built(&drive.config) || !is_good(shortest) {
        return Ok(drive);
    }
    let is_enough = |parts: u32| {
        let blocks = with(parts).map_or(0, |drive| drive.config.chip.geometry.blocks_per_plane);
        blocks >= ENOUGH_BLOCKS && is_good(parts)
    };
    with(*parts.get(parts.partition_point(|&parts| !is_enough(parts))).unwrap_or(&shortest))
}

/// Refusal of the drive `whole` at this scale, where it cannot be built. `None` where it can, or
/// where the scale is not the reason.
pub fn too_small(whole: &SsdConfig, scale: Scale) -> Option<Error> {
    let works_at = |scale| scaled(whole, scale).is_ok_and(|drive| is_built(&drive.config));
    if whole.own_ftl.is_some() || works_at(scale) {
        return None;
    }
    let parts = (1.0 / scale.share()).ceil() as u32;
    let (mut works, mut fails) = (parts / 2, parts);
    while works > 1 && !works_at(Scale::one_of(works)) {
        (works, fails) = (works / 2, works);
    }
    if works == 0 || !works_at(Scale::one_of(works)) {
        return None;
    }
    while fails - works > 1 {
        let middle = works + (fails - works) / 2;
        if works_at(Scale::one_of(middle)) { works = middle } else { fails = middle }
    }
    let least = Scale::one_of(works);
    let at = |scale| Some(scaled(whole, scale).ok()?.config.chip.geometry);
    let (left, all, enough) = (at(scale)?, &whole.chip.geometry, at(least)?);
    let (left, all, blocks) =
        (left.blocks_per_plane, all.blocks_per_plane, enough.blocks_per_plane);
    let hint = match whole.block_parts() {
        Ok(parts) if !parts.is_empty() => "blocks are as short there as they can be".to_owned(),
        _ => format!(
            "blocks of `{}` keep their pages; shorter ones (chip.geometry.pages_per_block) make \
             another drive, and a smaller one",
            whole.ftl.name
        ),
    };
    Some(
        Error::new("drive.scale", format!("{scale} leaves {left} of {all} blocks of a plane"))
            .expected(format!(
                "at least {least} ({blocks} blocks of {} pages)",
                enough.pages_per_block
            ))
            .hint(hint),
    )
}

/// Whether the drive can be built, within the memory that a try may take.
fn is_built(config: &SsdConfig) -> bool {
    let build = || -> Result<bool> {
        config.check_fit()?;
        if memory_bytes(config)? > MOST_BYTES {
            return Ok(false);
        }
        let chips = chips(config)?;
        build_ftl(config, context(config, &chips)?).map(|_| true)
    };
    build().unwrap_or(false)
}
