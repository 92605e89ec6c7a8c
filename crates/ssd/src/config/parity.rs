//! Parameters of parity over dies (RAIN).

use super::ReadAround;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parity over the dies of superblocks (RAIN): its pages in a stripe.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ParityConfig {
    /// Pages of parity in a stripe, which has a page on each die of a superblock
    /// (`ftl.superblock_dies`): 1 gives back any page that cannot be read, and a die that fails. 0
    /// is no parity. It needs two `ftl.gc_reserve_blocks`.
    pub pages: u32,
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

    /// Refuses what no stripe has.
    pub(super) fn check(&self) -> Result<()> {
        if self.pages > 1 {
            let problem = format!("{} pages", self.pages);
            return Err(Error::new("parity.pages", problem)
                .expected("0 or 1: stripes have a single page of parity"));
        }
        Ok(())
    }
}
