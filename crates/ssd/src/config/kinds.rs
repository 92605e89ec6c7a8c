//! Kinds of chips in one drive: the dies of each kind, and the price of the flash.

use super::SsdConfig;
use base::params::Table;
use base::{Error, Result};
use ecc::named_code::NamedCode;
use nand::chip::{ChipConfig, MOST_KINDS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A further kind of chips, and its share of the dies: `channels` or `dies_per_channel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChipKind {
    /// Channels, from the last one on, whose dies are all of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Dies of each channel, from the last one on, that are of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies_per_channel: Option<u32>,
    /// Flash chips of this kind: geometry, timing and cells.
    pub chip: ChipConfig,
    /// Error correction of its own, with the keys of `[ecc]`; default: that of `[ecc]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub ecc: Option<Table>,
    /// The code of `ecc.code`, once its file has been read.
    #[serde(skip)]
    #[schemars(skip)]
    pub code: Option<NamedCode>,
}

/// An error about a chip, moved to the section that holds this chip.
pub fn within(section: &str, mut error: Error) -> Error {
    if let Some(rest) = error.place.strip_prefix("chip") {
        error.place = format!("{section}{rest}");
    }
    error
}

impl SsdConfig {
    /// Section and chips of each kind; `chip` comes first.
    pub fn kinds(&self) -> Vec<(String, &ChipConfig)> {
        let others = self.chips.iter();
        let others = others.map(|(name, kind)| (format!("chips.{name}.chip"), &kind.chip));
        std::iter::once(("chip".to_owned(), &self.chip)).chain(others).collect()
    }

    /// Number of the kind of each die, in the order of [`SsdConfig::kinds`]. Dies count through the
    /// channels first.
    pub fn kind_of_dies(&self) -> Result<Vec<u8>> {
        let (channels, per_channel) = (self.drive.channels, self.drive.dies_per_channel);
        if self.chips.len() >= MOST_KINDS {
            return Err(Error::new("chips", format!("{} kinds beside `chip`", self.chips.len()))
                .expected(format!("at most {}", MOST_KINDS - 1)));
        }
        let (mut left_channels, mut left_dies) = (channels, per_channel);
        let mut of_die = vec![0; (channels * per_channel) as usize];
        for (number, (name, kind)) in (1..).zip(&self.chips) {
            let (key, count, left) = match (kind.channels, kind.dies_per_channel) {
                (Some(count), None) => ("channels", count, &mut left_channels),
                (None, Some(count)) => ("dies_per_channel", count, &mut left_dies),
                (given, _) => {
                    let problem = if given.is_some() { "two shares" } else { "no share" };
                    return Err(Error::new(format!("chips.{name}"), problem)
                        .expected("either `channels` or `dies_per_channel`"));
                }
            };
            if count == 0 || count >= *left {
                let rest = left.saturating_sub(1);
                return Err(Error::new(format!("chips.{name}.{key}"), format!("{count}"))
                    .expected(format!("1 to {rest}, so that a die is left for `chip`")));
            }
            let (first, end) = (*left - count, *left);
            *left = first;
            let is_its = |die: usize| {
                let (channel, row) = (die as u32 % channels, die as u32 / channels);
                let at = if kind.channels.is_some() { channel } else { row };
                (first..end).contains(&at)
            };
            for (_, kind) in of_die.iter_mut().enumerate().filter(|&(die, _)| is_its(die)) {
                *kind = number;
            }
        }
        Ok(of_die)
    }

    /// Bytes of flash of each kind as sold: the data pages of all blocks, bad ones included.
    pub fn flash_bytes_of_kinds(&self) -> Vec<u64> {
        let of_die = |chip: &ChipConfig| {
            let geometry = &chip.geometry;
            let of = [geometry.planes_per_die, geometry.blocks_per_plane, geometry.pages_per_block];
            of.into_iter().map(u64::from).product::<u64>() * u64::from(geometry.page_bytes)
        };
        let kinds = self.kind_of_dies().unwrap_or_default();
        let dies = |number: usize| kinds.iter().filter(|&&of| usize::from(of) == number).count();
        let all = self.kinds();
        (0..).zip(all).map(|(number, (_, chip))| dies(number) as u64 * of_die(chip)).collect()
    }

    /// Bytes of flash as sold.
    pub fn flash_bytes(&self) -> u64 {
        self.flash_bytes_of_kinds().iter().sum()
    }

    /// Price of the flash in dollars; `None` if the price of a kind is not known.
    pub fn flash_usd(&self) -> Option<f64> {
        let bytes = self.flash_bytes_of_kinds();
        let of_kind = |(bytes, (_, chip)): (u64, (String, &ChipConfig))| {
            let per_gb = chip.cost_per_gb.filter(|&dollars| dollars > 0.0)?;
            Some(per_gb * bytes as f64 / 1e9)
        };
        bytes.into_iter().zip(self.kinds()).map(of_kind).sum()
    }
}
