//! `erase`: erase pulses and time, longer with wear, shorter for blocks that hold higher levels.
//!
//! Wang (ICS'14), 4.2: 3.1 ms for a young block full of '01', 3.3 ms for one of '11', 9 ms for all
//! blocks at the end of life, which '01' approaches sooner. The curve between is ours: a stretched
//! exponential.
//! exponential.

use super::contract::{Effort, Mechanism};
use super::{Build, check_range};
use base::family::{Member, check, schema};
use base::{Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "erase",
    summary: "erase time against wear and the data of the block",
    citation: "wang2014",
    schema: schema::<Erase>,
    check: check::<Erase>,
    build: |table, _| {
        let erase: Erase = params::read(table, "cell.erase")?;
        for (key, value, low, high) in [
            ("young_empty_us", erase.young_empty_us, 0.0, 1e6),
            ("young_full_us", erase.young_full_us, 0.0, 1e6),
            ("old_us", erase.old_us, 0.0, 1e6),
            ("pulse_us", erase.pulse_us, 1.0, 1e6),
            ("cycles_empty", erase.cycles_empty, 1.0, 1e9),
            ("cycles_full", erase.cycles_full, 1.0, 1e9),
            ("power", erase.power, 0.01, 10.0),
        ] {
            check_range("erase", key, value, low, high)?;
        }
        Ok(Box::new(erase))
    },
};

/// Parameters of the mechanism `erase`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Erase {
    /// Time of a fresh block that holds the erased level only.
    young_empty_us: f64,
    /// Time of a fresh block that holds the highest level only.
    young_full_us: f64,
    /// Erase time that all blocks approach with wear.
    old_us: f64,
    /// Time of one erase pulse with its verify.
    pulse_us: f64,
    /// Cycles after which the erase time of a block of erased cells has made 63 % of its change.
    cycles_empty: f64,
    /// Cycles after which the erase time of a block of cells at the highest level has made 63 % of
    /// its change.
    cycles_full: f64,
    /// Power of the cycles in the exponential.
    power: f64,
}

impl Default for Erase {
    fn default() -> Self {
        Self {
            young_empty_us: 0.0,
            young_full_us: 0.0,
            old_us: 0.0,
            pulse_us: 500.0,
            cycles_empty: 1e6,
            cycles_full: 1e6,
            power: 1.0,
        }
    }
}

impl Mechanism for Erase {
    fn erase_effort(&self, pe_cycles: u32, filled: f64) -> Option<Effort> {
        let filled = filled.clamp(0.0, 1.0);
        let young = self.young_empty_us + filled * (self.young_full_us - self.young_empty_us);
        let cycles = self.cycles_empty * libm::pow(self.cycles_full / self.cycles_empty, filled);
        let left = libm::exp(-libm::pow(f64::from(pe_cycles) / cycles, self.power));
        let us = self.old_us + (young - self.old_us) * left;
        let pulses = (us / self.pulse_us).ceil().clamp(1.0, 1e6) as u32;
        Some(Effort { pulses, verifies: pulses, time: Time::from_us(us) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slows_with_wear_and_less_when_empty() {
        let erase = Erase {
            young_empty_us: 3300.0,
            young_full_us: 3100.0,
            old_us: 9000.0,
            cycles_empty: 8e5,
            cycles_full: 4e5,
            power: 2.0,
            ..Erase::default()
        };
        let us = |pe, filled| erase.erase_effort(pe, filled).unwrap().time.us();
        assert_eq!((us(0, 0.0), us(0, 1.0)), (3300.0, 3100.0));
        assert!(us(500_000, 1.0) > us(500_000, 0.0));
        assert!((us(10_000_000, 0.0) - 9000.0).abs() < 1.0);
    }
}
