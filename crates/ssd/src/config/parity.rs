//! Parameters of parity over dies (RAIN).

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parity over the dies of superblocks (RAIN): its pages in a stripe, and the reads that it serves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParityConfig {
    /// Pages of parity in a stripe, which has a page on each die of a superblock
    /// (`ftl.superblock_dies`): 1 gives back any page that cannot be read, and a die that fails. 0
    /// is no parity. It needs two `ftl.gc_reserve_blocks`.
    pub pages: u32,
    /// Reads of the host that are served from the other pages of their stripe, as their die is at
    /// work for the drive itself.
    #[serde(skip_serializing_if = "ReadAround::is_off")]
    pub read_around: ReadAround,
}

/// Reads of the host that go around a busy die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadAround {
    /// All reads wait for their die.
    #[default]
    Off,
    /// A read goes around a die that is collected, as long as no other die of the stripe is.
    Collection,
}

impl ReadAround {
    fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

impl ParityConfig {
    /// Whether nothing is asked for.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what no stripe has.
    pub(super) fn check(&self) -> Result<()> {
        if self.pages > 1 {
            let problem = format!("{} pages", self.pages);
            return Err(Error::new("parity.pages", problem)
                .expected("0 or 1: stripes have a single page of parity"));
        }
        if self.pages == 0 && !self.read_around.is_off() {
            return Err(Error::new("parity.read_around", "no stripes to read from")
                .hint("use parity.pages = 1, or parity.read_around = \"off\""));
        }
        Ok(())
    }
}
