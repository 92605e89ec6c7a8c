//! Faults: factory bad blocks, and erases and programs that fail.
//!
//! Each block has a limit of P/E cycles. The last erase fails, and programs of a raw chip fail from
//! then on. A program may also fail by chance.
//!
//! Failures are a poor sign of wear: chips report success long after they cease to keep data
//! (Desnoyers, HotStorage'13, section 2), and the blocks of Wang (ICS'14) were cycled 125 times as
//! often as they are rated for. So by default blocks fail long after their data can no longer be
//! read.

use base::rng::{Rng, mix, unit};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest deviate that is drawn for a block, in standard deviations.
const FARTHEST: f64 = 8.0;

/// Failures of erases and programs, as a parameter file gives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultConfig {
    /// Cycles after which half of the blocks report failures, as a multiple of the rated cycles.
    pub median_ratings: f64,
    /// Standard deviation over blocks of the logarithm of these cycles.
    pub spread: f64,
    /// Chance that a program of a page (of a wordline with one-shot programming) fails before the
    /// block is worn out, for each plane. Example: 80 of 4096 blocks lost in 3000 cycles of 256
    /// programs, as a data sheet may allow, are 2.6e-8.
    pub program_failure_chance: f64,
    /// Chance that a program cut off by a power cut also spoils the earlier pages of its cells: the
    /// lower page under an upper one. The default is assumed: with multi-pass programming the cells
    /// stand between two levels.
    pub paired_page_loss: f64,
}

/// Largest chance of program failures: a drive must be able to complete its writes.
const MOST_PROGRAM_FAILURES: f64 = 0.1;

impl Default for FaultConfig {
    fn default() -> Self {
        // Above the 125 ratings that Wang's blocks went through.
        Self {
            median_ratings: 150.0,
            spread: 0.1,
            program_failure_chance: 0.0,
            paired_page_loss: 1.0,
        }
    }
}

impl FaultConfig {
    /// Whether all values are the defaults.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that all values are in range.
    pub fn check(&self) -> Result<()> {
        let keys = [
            ("median_ratings", self.median_ratings, 1e9),
            ("spread", self.spread, 5.0),
            ("program_failure_chance", self.program_failure_chance, MOST_PROGRAM_FAILURES),
            ("paired_page_loss", self.paired_page_loss, 1.0),
        ];
        for (key, value, most) in keys {
            if !(0.0..=most).contains(&value) {
                return Err(Error::new(
                    format!("chip.fault.{key}"),
                    format!("{value} is out of range"),
                )
                .expected(format!("0 to {most}")));
            }
        }
        Ok(())
    }

    /// P/E cycles after which block `block` reports failures.
    pub fn fails_after(&self, seed: u64, block: u32, rated_pe_cycles: u32) -> u32 {
        let deviate = Rng::stream(seed, &format!("fault/{block}")).normal();
        self.cycles(deviate.clamp(-FARTHEST, FARTHEST), rated_pe_cycles)
    }

    /// P/E cycles that every block lasts without a failure.
    pub fn none_before(&self, rated_pe_cycles: u32) -> u32 {
        self.cycles(-FARTHEST, rated_pe_cycles)
    }

    /// Key of a chip for [`program_fails`](Self::program_fails), from its seed.
    pub fn program_key(seed: u64) -> u64 {
        Rng::stream(seed, "chip/programs").bits()
    }

    /// Whether the program of page `page` of a block fails by chance in this cycle. The answer
    /// depends on the arguments alone, not on other operations. `key` is the `program_key` of the
    /// chip.
    #[inline]
    pub fn program_fails(&self, key: u64, block: u32, pe_cycles: u32, page: u32) -> bool {
        self.program_failure_chance > 0.0
            && unit(mix(
                mix(key ^ (u64::from(block) << 32 | u64::from(page))) ^ u64::from(pe_cycles)
            )) < self.program_failure_chance
    }

    /// Whether one of the first `programs` programs of block `block` has failed by chance.
    pub fn program_has_failed(&self, seed: u64, block: u32, programs: u64) -> bool {
        if self.program_failure_chance == 0.0 {
            return false;
        }
        let sound = programs as f64 * libm::log1p(-self.program_failure_chance);
        Rng::stream(seed, &format!("fault/programs/{block}")).unit() < -libm::expm1(sound)
    }

    fn cycles(&self, deviate: f64, rated_pe_cycles: u32) -> u32 {
        let median = f64::from(rated_pe_cycles) * self.median_ratings;
        // A block bad from its first cycle is one of the factory's.
        ((median * libm::exp(self.spread * deviate)) as u32).max(1)
    }
}

/// Faults of one chip, or of all chips of a drive.
#[derive(Debug, Clone)]
pub struct Faults {
    config: FaultConfig,
    rated_pe_cycles: u32,
    seed: u64,
    /// Key from which the failures of this chip's programs are drawn.
    program_key: u64,
    /// P/E cycles that every block lasts without a failure.
    sound_until: u32,
}

impl Faults {
    /// Creates the faults of blocks rated for `rated_pe_cycles`. `seed` draws the limits of blocks.
    pub fn new(config: &FaultConfig, rated_pe_cycles: u32, seed: u64) -> Result<Self> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            rated_pe_cycles,
            seed,
            program_key: FaultConfig::program_key(seed),
            sound_until: config.none_before(rated_pe_cycles),
        })
    }

    /// P/E cycles after which a block reports failures.
    pub fn lasts(&self, block: u32) -> u32 {
        self.config.fails_after(self.seed, block, self.rated_pe_cycles)
    }

    /// Programs of a block until one fails by chance, at the quantile `drawn` (0 to 1) of their
    /// distribution. Infinite where programs do not fail.
    pub fn programs_until_failure(&self, drawn: f64) -> f64 {
        let chance = self.config.program_failure_chance;
        if chance == 0.0 { f64::INFINITY } else { libm::log1p(-drawn) / libm::log1p(-chance) }
    }

    /// Whether programs fail by chance.
    #[inline]
    pub fn programs_fail(&self) -> bool {
        self.config.program_failure_chance > 0.0
    }

    /// Whether the program of a page in this cycle fails by chance.
    #[inline]
    pub fn program_fails(&self, block: u32, pe_cycles: u32, page: u32) -> bool {
        self.config.program_fails(self.program_key, block, pe_cycles, page)
    }

    /// Whether a program cut off by a power cut may spoil earlier pages.
    pub fn may_lose_pairs(&self) -> bool {
        self.config.paired_page_loss > 0.0
    }

    /// Whether a program from `page` on that is cut off by a power cut spoils the earlier pages of
    /// its cells.
    pub fn pairs_are_lost(&self, block: u32, pe_cycles: u32, page: u32) -> bool {
        let place = u64::from(block) << 32 | u64::from(page);
        let drawn = unit(mix(mix(!self.program_key ^ place) ^ u64::from(pe_cycles)));
        drawn < self.config.paired_page_loss
    }

    /// Whether a block with this many cycles is worn out: its last erase failed.
    #[inline]
    pub fn has_worn_out(&self, block: u32, pe_cycles: u32) -> bool {
        pe_cycles >= self.sound_until
            && pe_cycles >= self.config.fails_after(self.seed, block, self.rated_pe_cycles)
    }

    /// Whether an erase or a program of a block failed, in cycles of `programs` programs each.
    pub fn has_failed_before(&self, block: u32, pe_cycles: u32, programs: u32) -> bool {
        let before = u64::from(pe_cycles) * u64::from(programs);
        self.has_worn_out(block, pe_cycles)
            || self.config.program_has_failed(self.seed, block, before)
    }
}

/// Whether a block, counted over all dies of `per_die` blocks, is bad from the factory. The first
/// block of a die never is, as data sheets promise.
pub fn is_factory_bad(seed: u64, block: u32, per_die: u32, fraction: f64) -> bool {
    fraction > 0.0
        && !block.is_multiple_of(per_die)
        && Rng::stream(seed, &format!("bad/{block}")).chance(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    #[test]
    fn half_of_the_blocks_outlive_the_median() {
        let fault = FaultConfig::default();
        let late = (0..2000).filter(|&b| fault.fails_after(1, b, 100) > 15_000).count();
        assert!((900..1100).contains(&late), "{late}");
        let soon = (0..2000).map(|b| fault.fails_after(1, b, 100)).min().unwrap();
        assert!((1..soon).contains(&fault.none_before(100)), "{soon}");
        let bad = (0..2000).filter(|&b| is_factory_bad(1, b, 500, 0.02)).count();
        assert!((15..70).contains(&bad), "{bad}");
        let never: Vec<u32> = (0..2000).filter(|&b| !is_factory_bad(1, b, 500, 1.0)).collect();
        assert_eq!(never, [0, 500, 1000, 1500]);
        let wrong = FaultConfig { spread: -1.0, ..fault };
        assert!(wrong.check().unwrap_err().to_string().contains("chip.fault.spread"));
    }

    #[test]
    fn programs_fail_as_often_as_they_should() {
        let fault = FaultConfig { program_failure_chance: 1e-3, ..FaultConfig::default() };
        let fails = |key, at: u32| fault.program_fails(key, at / 10_000, at / 100 % 100, at % 100);
        // A thousand of a million, give or take five standard deviations.
        let failed: Vec<u32> = (0..1_000_000).filter(|&at| fails(1, at)).collect();
        assert!((842..1158).contains(&failed.len()), "{}", failed.len());
        let both = failed.iter().filter(|&&at| fails(2, at)).count();
        assert!(both < 10, "{both}: chips are alike");
        let none = FaultConfig::default();
        assert!((0..10_000).all(|page| !none.program_fails(1, 0, 0, page)));
        // Half of the blocks after ln 2 / 1e-3 programs, none of them before the first.
        let after =
            |programs| (0..2000).filter(|&b| fault.program_has_failed(1, b, programs)).count();
        assert!((890..1110).contains(&after(693)), "{}", after(693));
        assert_eq!((after(0), after(1_000_000)), (0, 2000));
        assert!((0..100).all(|block| !none.program_has_failed(1, block, u64::MAX)));
        let wrong = FaultConfig { program_failure_chance: 0.2, ..fault };
        let error = wrong.check().unwrap_err();
        assert_carries(error, &["chip.fault.program_failure_chance", "0.2", "0 to 0.1"]);
    }
}
