//! Refusal of a scale that leaves a drive too few blocks, with the smallest scale that works.

use super::{build_ftl, chips, context, memory_bytes};
use crate::config::{Scale, SsdConfig};
use base::{Error, Result};

/// Memory of a drive that is built only to see whether it can be, at most.
const MOST_BYTES: u64 = 2 << 30;

/// Refusal of the drive `whole` at this scale, where it cannot be built. `None` where it can, or
/// where the scale is not the reason.
pub fn too_small(whole: &SsdConfig, scale: Scale) -> Option<Error> {
    if whole.own_ftl.is_some() || is_built(whole, scale) {
        return None;
    }
    let parts = (1.0 / scale.share()).ceil() as u32;
    let (mut works, mut fails) = (parts / 2, parts);
    while works > 1 && !is_built(whole, Scale::one_of(works)) {
        (works, fails) = (works / 2, works);
    }
    if works == 0 || !is_built(whole, Scale::one_of(works)) {
        return None;
    }
    while fails - works > 1 {
        let middle = works + (fails - works) / 2;
        if is_built(whole, Scale::one_of(middle)) { works = middle } else { fails = middle }
    }
    let least = Scale::one_of(works);
    let of = |config: &SsdConfig| config.chip.geometry.blocks_per_plane;
    let at = |scale| Some(of(&whole.scaled(scale).ok()?.config));
    let (left, all) = (at(scale)?, of(whole));
    Some(
        Error::new("drive.scale", format!("{scale} leaves {left} of {all} blocks of a plane"))
            .expected(format!("at least {least} ({} blocks)", at(least)?))
            .hint("shorter blocks make a drive smaller too: chip.geometry.pages_per_block"),
    )
}

/// Whether the drive can be built at a scale, within the memory that a try may take.
fn is_built(whole: &SsdConfig, scale: Scale) -> bool {
    let build = || -> Result<bool> {
        let config = whole.scaled(scale)?.config;
        config.check_fit()?;
        if memory_bytes(&config)? > MOST_BYTES {
            return Ok(false);
        }
        let chips = chips(&config)?;
        build_ftl(&config, context(&config, &chips)?).map(|_| true)
    };
    build().unwrap_or(false)
}
