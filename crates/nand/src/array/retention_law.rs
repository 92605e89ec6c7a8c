//! `retention_law`: RBER of 3D NAND by cycles and the logarithm of retention (Luo, SIGMETRICS'18).
//!
//! ln RBER = (a_slope N + b_slope) ln t + c_level N + d_level, with N program/erase cycles and t
//! the retention in seconds, from one second on. A temperature other than the reference stretches
//! the time by Arrhenius: t at the reference = t exp(E/k (1/T_reference - 1/T)). Defaults: the
//! paper's chip, as public code has it (devices.md 5.3); the paper's table was not read again.

use super::{Array, Build, PageState, check_celsius};
use crate::cell;
use base::family::{Member, schema};
use base::params::{self, Table};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "retention_law",
    summary: "RBER: cycles and the logarithm of retention time, with temperature",
    citation: "luo2018",
    schema: schema::<RetentionLaw>,
    check: |table, place| params::write(&read(table, place)?),
    build: |table, _| Ok(Arc::new(read(table, "chip.array")?)),
};

/// Coefficients of the law.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RetentionLaw {
    /// Change of the slope over ln t with each cycle.
    a_slope: f64,
    /// Slope over ln t of a fresh block.
    b_slope: f64,
    /// Change of the level with each cycle.
    c_level: f64,
    /// ln RBER of a fresh block after one second.
    d_level: f64,
    /// Temperature of the flash in degrees Celsius.
    temperature_c: f64,
    /// Temperature at which the coefficients hold.
    reference_c: f64,
    /// Activation energy of charge loss in electron volts; 0: no effect of temperature.
    activation_ev: f64,
}

impl Default for RetentionLaw {
    fn default() -> Self {
        // activation_ev is assumed: that of detrapping, as JESD218 has it (devices.md 5.5).
        Self {
            a_slope: 7.92e-6,
            b_slope: 0.25,
            c_level: 3.28e-5,
            d_level: -12.72,
            temperature_c: 25.0,
            reference_c: 25.0,
            activation_ev: 1.1,
        }
    }
}

/// Reads the coefficients and checks that the rate never falls with cycles or time.
fn read(table: &Table, place: &str) -> Result<RetentionLaw> {
    let law: RetentionLaw = params::read(table, place)?;
    let refuse = |key: &str, value: f64, expected: &str| {
        Err(Error::new(format!("{place}.{key}"), format!("{value} is out of range"))
            .expected(expected))
    };
    let rising = [
        ("a_slope", law.a_slope),
        ("b_slope", law.b_slope),
        ("c_level", law.c_level),
        ("activation_ev", law.activation_ev),
    ];
    for (key, value) in rising {
        if !(value >= 0.0 && value.is_finite()) {
            return refuse(key, value, "a finite number, 0 or more");
        }
    }
    if !law.d_level.is_finite() {
        return refuse("d_level", law.d_level, "a finite number");
    }
    for (key, value) in [("temperature_c", law.temperature_c), ("reference_c", law.reference_c)] {
        check_celsius(place, key, value)?;
    }
    Ok(law)
}

impl RetentionLaw {
    /// Pace of ageing at the flash's temperature, against the reference temperature.
    fn acceleration(&self) -> f64 {
        cell::acceleration(self.activation_ev, self.reference_c, self.temperature_c)
    }
}

impl Array for RetentionLaw {
    fn rber(&self, page: &PageState) -> f64 {
        let cycles = f64::from(page.pe_cycles);
        let ln_t = libm::log((page.retention.0 * 3600.0 * self.acceleration()).max(1.0));
        let slope = self.a_slope * cycles + self.b_slope;
        libm::exp(slope * ln_t + self.c_level * cycles + self.d_level).clamp(0.0, 0.5)
    }

    /// Hours at `temperature_c`, which the law itself converts to the reference.
    fn equivalent_hours(&self, hours: f64, celsius: f64) -> Option<f64> {
        Some(hours * cell::acceleration(self.activation_ev, self.temperature_c, celsius))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Hours;

    fn at(law: &RetentionLaw, pe_cycles: u32, hours: f64) -> f64 {
        law.rber(&PageState { pe_cycles, retention: Hours(hours), ..PageState::default() })
    }

    /// Agreement with devices.md 5.3: the rate after 10,000 cycles and a day is 1.75e-4.
    #[test]
    fn a_day_after_ten_thousand_cycles() {
        let rber = at(&RetentionLaw::default(), 10_000, 24.0);
        assert!((rber / 1.75e-4 - 1.0).abs() < 0.01, "{rber}");
    }

    /// A year at 30 C is 506 h at 52 C and 100 h at 66 C, for 1.1 eV (JESD218, devices.md 0).
    #[test]
    fn bakes_stand_for_years() {
        let year = at(&RetentionLaw { reference_c: 30.0, ..law_at(30.0) }, 3000, 8760.0);
        for (celsius, hours) in [(52.0, 506.0), (66.0, 100.0)] {
            let bake = at(&RetentionLaw { reference_c: 30.0, ..law_at(celsius) }, 3000, hours);
            assert!((bake / year - 1.0).abs() < 0.005, "{celsius} C: {bake}, a year: {year}");
        }
    }

    fn law_at(temperature_c: f64) -> RetentionLaw {
        RetentionLaw { temperature_c, ..RetentionLaw::default() }
    }

    #[test]
    fn the_first_second_is_flat() {
        let law = RetentionLaw::default();
        assert_eq!(at(&law, 0, 0.0), at(&law, 0, 1.0 / 3600.0));
        assert!((at(&law, 0, 0.0) - libm::exp(-12.72)).abs() < 1e-12);
    }

    #[test]
    fn refuses_what_would_heal() {
        for text in ["a_slope = -1.0", "d_level = inf", "temperature_c = 1000.0", "b = 1.0"] {
            let table: Table = text.parse().unwrap();
            let error = read(&table, "chip.array").unwrap_err();
            assert!(!error.expected.is_empty(), "{error}");
        }
    }
}
