//! `wear`: cycling widens the levels, moves them up, and makes programming faster.
//!
//! Widths and shifts follow powers of the cycles, the form Y = A x^B + C of Luo (JSAC'16). Trapped
//! charge lets programming start higher, so that it needs fewer pulses: Wang (ICS'14), 4.1.
//!
//! Between cycles trapped charge leaves the oxide, the more the longer the rest: its share grows
//! with the logarithm of the rest (Mohan, HotStorage'10). What has recovered wears no further: a
//! cycle counts as `1 - recovery ln(1 + rest / recovery_hours)` cycles. The law of temperature is
//! that of charge loss, which is the same detrapping.

use super::contract::{Mechanism, Stress, growth};
use super::{Build, check_range};
use crate::level::State;
use crate::level::distribution::Law;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "wear",
    summary: "cycling widens and raises levels, and makes programming faster",
    citation: "wang2014",
    schema: schema::<Wear>,
    check: check::<Wear>,
    build: |table, _| {
        let wear: Wear = params::read(table, "cell.wear")?;
        for (key, value) in [
            ("erased_shift_v", wear.erased_shift_v),
            ("erased_widen_v", wear.erased_widen_v),
            ("shift_v", wear.shift_v),
            ("widen_v", wear.widen_v),
            ("start_shift_v", wear.start_shift_v),
            ("speedup", wear.speedup),
        ] {
            check_range("wear", key, value, 0.0, 5.0)?;
        }
        check_range("wear", "recovery", wear.recovery, 0.0, 1.0)?;
        check_range("wear", "recovery_hours", wear.recovery_hours, 1e-6, 1e6)?;
        check_range("wear", "most_recovery", wear.most_recovery, 0.0, 0.99)?;
        for (key, value) in [
            ("power", wear.power),
            ("start_power", wear.start_power),
            ("speedup_power", wear.speedup_power),
        ] {
            check_range("wear", key, value, 0.01, 4.0)?;
        }
        for &factor in &wear.by_level {
            check_range("wear", "by_level", factor, 0.0, 10.0)?;
        }
        Ok(Box::new(wear))
    },
};

/// Parameters of the mechanism `wear`. Each change is that at 1000 cycles.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Wear {
    /// Rise of the erased level's mean.
    erased_shift_v: f64,
    /// Width that the erased level gains, a Gaussian part.
    erased_widen_v: f64,
    /// Rise of the programmed levels' means.
    shift_v: f64,
    /// Width that programmed levels gain, a Gaussian part.
    widen_v: f64,
    /// Power of the cycles in these rises and widths.
    power: f64,
    /// Rise of the start voltage of programming.
    start_shift_v: f64,
    /// Power of the cycles in the rise of the start voltage.
    start_power: f64,
    /// Relative decrease of the time of a whole program.
    speedup: f64,
    /// Power of the cycles in the decrease of program time.
    speedup_power: f64,
    /// Wear of a cycle by the level that a cell holds in it, the erased level first, relative to
    /// random data; missing levels wear like random data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_level: Vec<f64>,
    /// Share of the wear of a cycle that recovers each time the rest after it grows by a factor e;
    /// 0: none does.
    recovery: f64,
    /// Rest at which the logarithm starts, at the cell's reference temperature.
    recovery_hours: f64,
    /// Largest share of the wear of a cycle that recovers.
    most_recovery: f64,
}

impl Default for Wear {
    fn default() -> Self {
        Self {
            erased_shift_v: 0.0,
            erased_widen_v: 0.0,
            shift_v: 0.0,
            widen_v: 0.0,
            power: 0.5,
            start_shift_v: 0.0,
            start_power: 0.2,
            speedup: 0.0,
            speedup_power: 0.2,
            by_level: Vec::new(),
            recovery: 0.0,
            recovery_hours: 0.01,
            most_recovery: 0.9,
        }
    }
}

impl Mechanism for Wear {
    fn shape(&self, level: usize, stress: &Stress, law: &mut Law) {
        let grown = growth(stress.pe_cycles, self.power);
        let (shift, widen) = if level == 0 {
            (self.erased_shift_v, self.erased_widen_v)
        } else {
            (self.shift_v, self.widen_v)
        };
        law.mean_v += shift * grown;
        law.widen(widen * grown);
    }

    fn shape_between(&self, _: usize, _: usize, state: &State, stress: &Stress, law: &mut Law) {
        // Levels that are not final are placed coarsely, worn or not.
        if state.level == 0 {
            self.shape(0, stress, law);
        }
    }

    fn start_shift_v(&self, pe_cycles: u32) -> f64 {
        self.start_shift_v * growth(pe_cycles, self.start_power)
    }

    fn wear_of_level(&self, level: usize) -> f64 {
        self.by_level.get(level).copied().unwrap_or(1.0)
    }

    fn wear_of_rest(&self, hours: f64) -> f64 {
        let recovered = self.recovery * libm::log1p(hours.max(0.0) / self.recovery_hours);
        1.0 - recovered.min(self.most_recovery)
    }

    fn program_time_factor(&self, pe_cycles: u32) -> f64 {
        (1.0 - self.speedup * growth(pe_cycles, self.speedup_power)).max(0.5)
    }
}
