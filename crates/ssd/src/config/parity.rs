//! Parameters of parity over dies (RAIN).

use super::{PartialStripes, ReadAround};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most pages of parity in a stripe.
const MOST_PAGES: u32 = 2;

/// Parity over the dies of superblocks (RAIN): its pages in a stripe, the engine that computes it,
/// and the pace at which a failed die is rebuilt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParityConfig {
    /// Pages of parity in a stripe, which has a page on each die of a superblock
    /// (`ftl.superblock_dies`): as many pages of a stripe as cannot be read, or dies that have
    /// failed, are given back. 0 is no parity, at most 2. It needs two `ftl.gc_reserve_blocks`.
    pub pages: u32,
    /// Parity of stripes that lack rows yet: in the controller's `memory`, or `written` with rows
    /// without data, before a flush is answered and before flash is erased.
    #[serde(skip_serializing_if = "PartialStripes::is_memory")]
    #[schemars(extend("default" = "memory"))]
    pub partial: PartialStripes,
    /// Bandwidth of the engine that computes parity and rebuilds pages, in 10^6 bytes a second of
    /// what it takes in; 0 takes no time.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub xor_mb_s: f64,
    /// Rate at which data are moved off superblocks with a failed die, in 10^6 bytes a second; 0
    /// is as fast as collection works. Collection that the host needs for space is not slowed.
    #[serde(skip_serializing_if = "super::is_zero")]
    #[schemars(extend("default" = 0.0))]
    pub rebuild_mb_s: f64,
    /// Busy dies that reads of the host go around, with `pages`: a read that would wait for its
    /// die for longer than a rebuild takes is rebuilt from the other dies. `never` waits,
    /// `collection` goes around erases and moves, `busy` around programs of the host and other
    /// reads too.
    pub read_around: ReadAround,
}

impl ParityConfig {
    /// Whether nothing is asked for.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what no stripe has, rates out of range, and rates without parity.
    pub(super) fn check(&self) -> Result<()> {
        if self.pages > MOST_PAGES {
            let problem = format!("{} pages", self.pages);
            return Err(Error::new("parity.pages", problem)
                .expected(format!("0 to {MOST_PAGES} pages of parity in a stripe")));
        }
        if self.partial.is_written() && self.pages == 0 {
            return Err(Error::new("parity.partial", "\"written\" without parity")
                .expected("\"memory\"")
                .hint("set parity.pages, or leave it out"));
        }
        for (key, rate) in [("xor_mb_s", self.xor_mb_s), ("rebuild_mb_s", self.rebuild_mb_s)] {
            let place = format!("parity.{key}");
            if rate != 0.0 && !(1e-3..=1e7).contains(&rate) {
                return Err(Error::new(place, format!("{rate} is out of range"))
                    .expected("0.001 to 10000000, or 0 for unlimited"));
            }
            if rate != 0.0 && self.pages == 0 {
                return Err(Error::new(place, format!("{rate} without parity"))
                    .expected("0")
                    .hint("set parity.pages, or leave it out"));
            }
        }
        Ok(())
    }
}
