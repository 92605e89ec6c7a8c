//! When a block reports a failure: blocks bad from the factory, and those that have been through
//! as many cycles as they stand. The erase that completes them is the first to fail, and programs
//! fail from then on.
//!
//! Not the way to notice wear: chips report success long after they cease to keep data
//! (Desnoyers, HotStorage'13, section 2), and the blocks of Wang (ICS'14) were cycled 125 times as
//! often as they are rated for. So a failure comes, by default, long after the data have gone.

use base::rng::Rng;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Standard deviations beyond which no block is drawn.
const FARTHEST: f64 = 8.0;

/// When operations fail, as a parameter file gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultConfig {
    /// Cycles after which half of the blocks report failures, in rated cycles.
    pub median_ratings: f64,
    /// Standard deviation of the logarithm of that over blocks.
    pub spread: f64,
}

impl Default for FaultConfig {
    fn default() -> Self {
        // Above the 125 ratings that Wang's blocks went through.
        Self { median_ratings: 150.0, spread: 0.1 }
    }
}

impl FaultConfig {
    /// Whether nobody said otherwise.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what cannot be.
    pub fn check(&self) -> Result<()> {
        let keys = [("median_ratings", self.median_ratings, 1e9), ("spread", self.spread, 5.0)];
        for (key, value, most) in keys {
            if !(0.0..=most).contains(&value) {
                return Err(Error::new(
                    format!("chip.fault.{key}"),
                    format!("{value} is out of range"),
                )
                .allow(format!("0 to {most}")));
            }
        }
        Ok(())
    }

    /// Cycles from which on block `block` reports failures.
    pub fn fails_after(&self, seed: u64, block: u32, rated_pe_cycles: u32) -> u32 {
        let deviate = Rng::stream(seed, &format!("fault/{block}")).normal();
        self.cycles(deviate.clamp(-FARTHEST, FARTHEST), rated_pe_cycles)
    }

    /// Cycles that every block goes through without a failure.
    pub fn none_before(&self, rated_pe_cycles: u32) -> u32 {
        self.cycles(-FARTHEST, rated_pe_cycles)
    }

    fn cycles(&self, deviate: f64, rated_pe_cycles: u32) -> u32 {
        let median = f64::from(rated_pe_cycles) * self.median_ratings;
        // A block bad from its first cycle is one of the factory's.
        ((median * libm::exp(self.spread * deviate)) as u32).max(1)
    }
}

/// Whether a block is bad from the factory; the first one never is, as data sheets promise.
pub fn is_factory_bad(seed: u64, block: u32, fraction: f64) -> bool {
    block > 0 && Rng::stream(seed, &format!("bad/{block}")).chance(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_blocks_outlive_the_median() {
        let fault = FaultConfig::default();
        let late = (0..2000).filter(|&b| fault.fails_after(1, b, 100) > 15_000).count();
        assert!((900..1100).contains(&late), "{late}");
        let soon = (0..2000).map(|b| fault.fails_after(1, b, 100)).min().unwrap();
        assert!((1..soon).contains(&fault.none_before(100)), "{soon}");
        let bad = (0..2000).filter(|&b| is_factory_bad(1, b, 0.02)).count();
        assert!((15..70).contains(&bad), "{bad}");
        assert!(!is_factory_bad(1, 0, 1.0));
        let wrong = FaultConfig { spread: -1.0, ..fault };
        assert!(wrong.check().unwrap_err().to_string().contains("chip.fault.spread"));
    }
}
