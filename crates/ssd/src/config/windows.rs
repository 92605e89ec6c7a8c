//! Windows of predictable latency: their lengths.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Windows of predictable latency, as in the predictable latency mode of NVM Express:
/// deterministic windows, in which internal work rests, in turn with others, in which it runs
/// ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowsConfig {
    /// Length of a deterministic window. Collection, wear levelling, read reclaim, refresh and
    /// patrol rest in it. It ends early where a write of the host needs space that only collection
    /// can make.
    pub deterministic_ms: f64,
    /// Time before each deterministic window in which internal work may run. Collection then goes
    /// on up to `gc.background_free_blocks`, whether dies are idle or not, so that the next window
    /// lasts.
    pub non_deterministic_ms: f64,
}

impl WindowsConfig {
    /// Longest of either window: a million seconds.
    const MOST_MS: f64 = 1e9;

    /// Refuses lengths out of range.
    pub(super) fn check(&self) -> Result<()> {
        for (key, value) in [
            ("windows.deterministic_ms", self.deterministic_ms),
            ("windows.non_deterministic_ms", self.non_deterministic_ms),
        ] {
            if !(0.001..=Self::MOST_MS).contains(&value) {
                return Err(Error::new(key, format!("{value} is out of range"))
                    .expected(format!("0.001 to {}", Self::MOST_MS)));
            }
        }
        Ok(())
    }
}
