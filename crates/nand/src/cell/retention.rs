//! `retention`: loss of charge, faster with heat, early, at high levels and with wear.
//!
//! A cell above its neutral voltage loses a share of the distance to it: a quick part at first and
//! a part that grows with the logarithm of time (Pan, Dong and Zhang; Cai). Arrhenius' law converts
//! hours at a temperature to hours at the reference temperature. With 1.1 eV, as in JESD218, a bake
//! of 500 h at 52 C stands for a year at 30 C. Each cell leaks at its own rate.

use super::contract::{Mechanism, Stress, growth};
use super::{Build, check_range};
use crate::block::draw;
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "retention",
    summary: "charge leaks with time, temperature and wear",
    citation: "",
    schema: schema::<Retention>,
    check: check::<Retention>,
    build: |table, levels| {
        let retention: Retention = params::read(table, "cell.retention")?;
        let highest_v = levels.highest_v();
        for (key, value, low, high) in [
            // Above all levels nothing would ever leak.
            ("neutral_v", retention.neutral_v, -20.0, highest_v),
            ("share", retention.share, 0.0, 1.0),
            ("time_hours", retention.time_hours, 1e-6, 1e6),
            ("early_share", retention.early_share, 0.0, 1.0),
            ("early_hours", retention.early_hours, 1e-6, 1e6),
            ("worn", retention.worn, 0.0, 1e3),
            ("power", retention.power, 0.01, 4.0),
            ("spread", retention.spread, 0.0, 1.0),
            ("activation_ev", retention.activation_ev, 0.0, 3.0),
            ("reference_c", retention.reference_c, -50.0, 200.0),
        ] {
            check_range("retention", key, value, low, high)?;
        }
        Ok(Box::new(retention))
    },
};

/// Parameters of the mechanism `retention`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Retention {
    /// Voltage of a cell without charge; cells below it do not move.
    neutral_v: f64,
    /// Share of the distance to the neutral voltage lost each time the retention time grows by a
    /// factor e.
    share: f64,
    /// Time at which the logarithm starts.
    time_hours: f64,
    /// Additional share of charge lost early.
    early_share: f64,
    /// Time constant of the early loss.
    early_hours: f64,
    /// Relative increase of both shares by 1000 cycles.
    worn: f64,
    /// Power of the cycles in the increase of both shares.
    power: f64,
    /// Standard deviation of the loss rate over cells, relative to its mean.
    spread: f64,
    /// Activation energy of charge loss in electron volts.
    activation_ev: f64,
    /// Temperature at which the times hold, in degrees Celsius.
    reference_c: f64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            neutral_v: 0.0,
            share: 0.0,
            time_hours: 1.0,
            early_share: 0.0,
            early_hours: 1.0,
            worn: 0.0,
            power: 0.5,
            spread: 0.0,
            activation_ev: 1.1,
            reference_c: 30.0,
        }
    }
}

/// Boltzmann's constant in eV/K (CODATA 2018, exact).
const BOLTZMANN_EV_K: f64 = 8.617_333_262e-5;

/// Acceleration of a process with this activation energy at `celsius`, against `reference_c`
/// (Arrhenius).
pub fn acceleration(activation_ev: f64, reference_c: f64, celsius: f64) -> f64 {
    let inverse = |celsius: f64| 1.0 / (celsius + 273.15).max(1.0);
    libm::exp(activation_ev / BOLTZMANN_EV_K * (inverse(reference_c) - inverse(celsius)))
}

/// Storage requirement or bake: hours without power at a temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// Name of the profile in a parameter file.
    pub name: &'static str,
    /// Hours of storage without power.
    pub hours: f64,
    /// Temperature in degrees Celsius.
    pub celsius: f64,
    /// Largest uncorrectable bit error rate; none for a bake, which stands for a year of `client`.
    pub uber: Option<f64>,
}

/// Storage requirements and bakes of JESD218, by name. The client's was read in a source that
/// quotes it; the others are from memory.
pub const PROFILES: &[Profile] = &[
    Profile { name: "client", hours: 8760.0, celsius: 30.0, uber: Some(1e-15) },
    Profile { name: "enterprise", hours: 2190.0, celsius: 40.0, uber: Some(1e-16) },
    Profile { name: "bake_52c", hours: 500.0, celsius: 52.0, uber: None },
    Profile { name: "bake_66c", hours: 96.0, celsius: 66.0, uber: None },
];

/// Profile called `name`; `place` names its key in errors.
pub fn profile(place: &str, name: &str) -> Result<Profile> {
    PROFILES.iter().find(|profile| profile.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Error::unknown(place, "profile", name, names)
    })
}

impl Retention {
    /// Mean exponent x of the loss: a cell keeps e^-x of its distance to the neutral voltage.
    fn exponent(&self, stress: &Stress) -> f64 {
        let late = self.share * libm::log1p(stress.hours / self.time_hours);
        let early = -self.early_share * libm::expm1(-stress.hours / self.early_hours);
        (late + early) * (1.0 + self.worn * growth(stress.pe_cycles, self.power))
    }

    fn rate(&self, own: f64) -> f64 {
        (1.0 + self.spread * own).max(0.0)
    }
}

impl Mechanism for Retention {
    fn moved_v(&self, v: f64, own: f64, from: &Stress, to: &Stress) -> f64 {
        let loss = (self.exponent(to) - self.exponent(from)) * self.rate(own);
        let above = (v - self.neutral_v).max(0.0);
        v + above * libm::expm1(-loss)
    }

    fn origin_v(&self, v: f64, own: f64, stress: &Stress) -> f64 {
        let loss = self.exponent(stress) * self.rate(own);
        let above = (v - self.neutral_v).max(0.0);
        v + above * libm::expm1(loss)
    }

    fn move_cells(&self, voltages: &mut [f32], own: &[f32], from: &Stress, to: &Stress) {
        let loss = (self.exponent(to) - self.exponent(from)) as f32;
        let (neutral, spread) = (self.neutral_v as f32, self.spread as f32);
        for (v, own) in voltages.iter_mut().zip(own) {
            let kept = draw::exp(-loss * (1.0 + spread * own).max(0.0));
            *v += (*v - neutral).max(0.0) * (kept - 1.0);
        }
    }

    fn move_bound_v(&self, from: &Stress, to: &Stress) -> f64 {
        5.0 * (self.exponent(to) - self.exponent(from))
    }

    fn differs_by_cell(&self) -> bool {
        self.spread > 0.0
    }

    fn equivalent_hours(&self, hours: f64, celsius: f64) -> f64 {
        hours * acceleration(self.activation_ev, self.reference_c, celsius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JESD218: a year at 30 C is 500 h at 52 C and 96 h at 66 C; 1.1 eV gives 506 h and 100 h.
    #[test]
    fn bakes_stand_for_a_year() {
        let year = profile("t", "client").unwrap();
        for name in ["bake_52c", "bake_66c"] {
            let bake = profile("t", name).unwrap();
            let hours = year.hours / acceleration(1.1, year.celsius, bake.celsius);
            println!(
                "validation | hours at {} C for a year at 30 C, 1.1 eV | {hours} | {} | 0.06 | \
                 JESD218 bakes",
                bake.celsius, bake.hours
            );
            assert!((hours / bake.hours - 1.0).abs() < 0.06, "{name}: {hours}");
        }
        assert_eq!(profile("t", "cleint").unwrap_err().nearest.as_deref(), Some("client"));
    }

    #[test]
    fn loses_early_more_when_high_and_worn() {
        let retention = Retention {
            neutral_v: -1.0,
            share: 0.01,
            early_share: 0.02,
            worn: 0.5,
            ..Retention::default()
        };
        let after = |v, hours, pe_cycles| {
            let to = Stress { hours, pe_cycles, ..Stress::default() };
            v - retention.moved_v(v, 0.0, &Stress { hours: 0.0, ..to }, &to)
        };
        assert!(after(4.0, 24.0, 0) > after(2.0, 24.0, 0));
        assert!(after(4.0, 24.0, 3000) > after(4.0, 24.0, 0));
        // The first day loses more than the next one.
        assert!(after(4.0, 24.0, 0) > 2.0 * (after(4.0, 48.0, 0) - after(4.0, 24.0, 0)));
        assert_eq!(after(-2.0, 1e4, 3000), 0.0);
    }
}
