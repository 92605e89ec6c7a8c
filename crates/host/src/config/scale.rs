//! Drives that were scaled: the whole drive behind one, its refusal, and what did not follow.

use super::keys::check_chip;
use base::units::format_size;
use base::{Error, Result};
use ssd::build::{scaled, sized, too_small};
use ssd::config::{Scale, Scaled, SsdConfig};

/// Whole drive that a smaller one was made from.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    config: SsdConfig,
    scale: Scale,
    kept: Vec<(String, i64)>,
}

impl Whole {
    /// Scales a complete drive that asks for it. The drive that comes back is complete, and has no
    /// scale.
    pub(super) fn scaled(mut config: SsdConfig) -> Result<(SsdConfig, Option<Self>)> {
        let Some(scale) = config.drive.scale.take().filter(|scale| scale.share() < 1.0) else {
            return Ok((config, None));
        };
        let whole = config;
        let Scaled { config, kept } = scaled(&whole, scale)?;
        let checked = check_chip(&config).and_then(|()| sized(config, None));
        let config = checked.map_err(|error| too_small(&whole, scale).unwrap_or(error))?;
        Ok((config, Some(Self { config: whole, scale, kept })))
    }

    /// Refusal of the scale, where an error of building the smaller drive comes from it.
    pub(super) fn explain(&self, error: Error) -> Error {
        too_small(&self.config, self.scale).unwrap_or(error)
    }

    /// Notice of the smaller drive `now`: its size, and the keys that did not follow.
    pub(super) fn notice(&self, now: &SsdConfig) -> String {
        let blocks = |config: &SsdConfig| config.chip.geometry.blocks_per_plane;
        let spare = |config: &SsdConfig| config.ftl.common.overprovisioning;
        let mut text = format!(
            "drive.scale = {}: {} of {} blocks of a plane, ftl.overprovisioning = {:.4} for {:.4}",
            self.scale,
            blocks(now),
            blocks(&self.config),
            spare(now),
            spare(&self.config)
        );
        let pages = |config: &SsdConfig| config.chip.geometry.pages_per_block;
        if pages(now) < pages(&self.config) {
            text += &format!(", {} of {} pages of a block", pages(now), pages(&self.config));
        }
        let value = |(key, value): &(String, i64)| match key.ends_with("bytes") {
            true => format!("{key} = {}", format_size(*value as u64)),
            false => format!("{key} = {value}"),
        };
        let kept: Vec<String> = self.kept.iter().map(value).collect();
        if !kept.is_empty() {
            text += &format!("; larger than their share: {}", kept.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests;
