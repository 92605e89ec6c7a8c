//! `exponential`: errors that grow exponentially with cycles, by threshold voltage (Wang, ICS'14).
//!
//! Equations 8 and 9: errors of a page = a(V) exp(b(V) N) - 1, never below zero, with a(V) =
//! alpha_1 ln V + beta_1, b(V) = alpha_2 ln V + beta_2 and V the mean threshold voltage of the
//! programmed states. The lifetimes that the paper prints imply three things: N counts 1e5 cycles,
//! the 1 stands outside the exponential, and a page has 16,384 bits. The data were read back at
//! once, so retention and reads change nothing. With alpha_1 = alpha_2 = 0 it is the plain
//! exponential law with a = beta_1 and b = beta_2.

use super::{Array, Build, PageState};
use base::family::{Member, schema};
use base::params::{self, Table};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "exponential",
    summary: "errors that grow exponentially with cycles, by threshold voltage; no retention",
    citation: "wang2014",
    schema: schema::<Exponential>,
    check: |table, place| params::write(&read(table, place)?),
    build: |table, _| Ok(Arc::new(read(table, "chip.array")?)),
};

/// Coefficients of the law.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Exponential {
    /// Mean threshold voltage of the programmed states in volts.
    vth_v: f64,
    /// Change of a with ln V.
    alpha_1: f64,
    /// Value of a at 1 V.
    beta_1: f64,
    /// Change of b with ln V.
    alpha_2: f64,
    /// Value of b at 1 V, for each 100,000 cycles.
    beta_2: f64,
    /// Bits of a page, among which the errors are counted.
    page_bits: u32,
}

impl Default for Exponential {
    fn default() -> Self {
        // Printed in equations 6 and 7; vth_v and page_bits are derived (devices.md 2.3).
        Self {
            vth_v: 2.658,
            alpha_1: -5e-4,
            beta_1: 0.0019,
            alpha_2: 0.036,
            beta_2: 0.6616,
            page_bits: 16384,
        }
    }
}

/// Reads the coefficients and checks that the rate never falls with cycles.
fn read(table: &Table, place: &str) -> Result<Exponential> {
    let law: Exponential = params::read(table, place)?;
    let refuse = |key: &str, value: f64, expected: &str| {
        Err(Error::new(format!("{place}.{key}"), format!("{value} is out of range"))
            .expected(expected))
    };
    if !(law.vth_v > 0.0 && law.vth_v.is_finite()) {
        return refuse("vth_v", law.vth_v, "a finite number above 0");
    }
    let coefficients = [
        ("alpha_1", law.alpha_1),
        ("beta_1", law.beta_1),
        ("alpha_2", law.alpha_2),
        ("beta_2", law.beta_2),
    ];
    for (key, value) in coefficients {
        if !value.is_finite() {
            return refuse(key, value, "a finite number");
        }
    }
    if law.page_bits == 0 {
        return refuse("page_bits", 0.0, "1 or more");
    }
    let (a, b) = law.at_voltage();
    if a < 0.0 {
        return refuse("beta_1", law.beta_1, "values with alpha_1 ln(vth_v) + beta_1 >= 0");
    }
    if b < 0.0 {
        return refuse("beta_2", law.beta_2, "values with alpha_2 ln(vth_v) + beta_2 >= 0");
    }
    Ok(law)
}

impl Exponential {
    /// Values of a and b in the exponential law (equations 6 and 7).
    fn at_voltage(&self) -> (f64, f64) {
        let ln_v = libm::log(self.vth_v);
        (self.alpha_1 * ln_v + self.beta_1, self.alpha_2 * ln_v + self.beta_2)
    }
}

impl Array for Exponential {
    fn rber(&self, page: &PageState) -> f64 {
        let (a, b) = self.at_voltage();
        let errors = a * libm::exp(b * f64::from(page.pe_cycles) / 1e5) - 1.0;
        (errors / f64::from(self.page_bits)).clamp(0.0, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(law: &Exponential, pe_cycles: u32) -> f64 {
        law.rber(&PageState { pe_cycles, ..PageState::default() })
    }

    /// Agreement with section 5.4: 4.5e-4 after 12.469e5 cycles; after 13.35e5 with reduced
    /// voltages.
    #[test]
    fn reaches_the_limit_where_the_paper_says() {
        let before = at(&Exponential::default(), 1_246_900);
        assert!((before / 4.5e-4 - 1.0).abs() < 1e-3, "{before}");
        let after = at(&Exponential { vth_v: 0.186, ..Exponential::default() }, 1_335_000);
        assert!((after / 4.5e-4 - 1.0).abs() < 1e-3, "{after}");
    }

    #[test]
    fn is_never_below_zero_nor_above_half() {
        assert_eq!(at(&Exponential::default(), 0), 0.0);
        assert_eq!(at(&Exponential::default(), u32::MAX), 0.5);
    }

    #[test]
    fn refuses_what_would_heal() {
        for text in ["vth_v = 0.0", "beta_2 = -1.0", "beta_1 = -1.0", "page_bits = 0", "b = 1.0"] {
            let table: Table = text.parse().unwrap();
            let error = read(&table, "chip.array").unwrap_err();
            assert!(!error.expected.is_empty(), "{error}");
        }
        let table: Table = "alpha_1 = nan".parse().unwrap();
        assert!(read(&table, "chip.array").is_err());
    }
}
