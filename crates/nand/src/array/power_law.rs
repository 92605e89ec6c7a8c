//! `power_law`: RBER as sums of powers of cycles, retention and reads (Kim, Choi, Min, FAST'19).
//!
//! RBER = epsilon + alpha N^k + beta N^m t^n + gamma N^p R^q, with N program/erase cycles, t the
//! retention in days and R the reads of the block since its erase. Defaults: the paper's 72-layer
//! TLC, whose gamma is taken for reads of a page: with reads of a block 1e5 of them would leave
//! nothing readable at 2000 cycles, where Cai et al. (DSN'15) found 1e-4 in MLC. So the default is
//! the printed 3.73e-9 over 768^1.71, for 768 pages a block; the unit was not checked in the paper.
//!
//! Page types differ by a factor of the whole sum: the law is that of the lower page, and each
//! other type of a chip that was fitted has its rate over it. Layers of a 3D block differ by a
//! factor too: the law is that of their geometric mean.

use super::{
    Array, Build, PageState, REFERENCE_C, check_activation, check_celsius, hours_at_reference,
};
use crate::block::wordline::Height;
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "power_law",
    summary: "RBER: power laws of cycles, retention and reads",
    citation: "kim2019",
    schema: schema::<PowerLaw>,
    check: |table, place| {
        params::read::<PowerLaw>(table, place)?.check(place)?;
        check::<PowerLaw>(table, place)
    },
    build: |table, _| Ok(Arc::new(Law::new(params::read::<PowerLaw>(table, "chip.array")?))),
};

/// Coefficients of the law.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PowerLaw {
    /// Floor of the error rate.
    epsilon: f64,
    /// Scale of the wear term.
    alpha: f64,
    /// Power of cycles in the wear term.
    k: f64,
    /// Scale of the retention term.
    beta: f64,
    /// Power of cycles in the retention term.
    m: f64,
    /// Power of days in the retention term.
    n: f64,
    /// Scale of the read-disturb term.
    gamma: f64,
    /// Power of cycles in the read-disturb term.
    p: f64,
    /// Power of reads in the read-disturb term.
    q: f64,
    /// Temperature at which its retention times hold; other temperatures are converted from it.
    reference_c: f64,
    /// Activation energy of the retention term in electron volts; unknown if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_ev: Option<f64>,
    /// Rate of the second page type over that of the lower page; 1 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_factor_1: Option<f64>,
    /// Rate of the third page type over that of the lower page; 1 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_factor_2: Option<f64>,
    /// Rate of the fourth page type over that of the lower page; 1 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_factor_3: Option<f64>,
    /// Rate of each layer of a block over their geometric mean, from the wordline that is
    /// programmed first. Layers have one thickness: a wordline is in the layer of its middle. All
    /// layers are alike if omitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layer_factors: Vec<f64>,
}

/// Most layers of a block with a factor each.
pub const MOST_LAYERS: usize = 4096;

/// Distance of the mean logarithm of all factors from 0, for rounding.
const ROUNDING: f64 = 1e-3;

impl Default for PowerLaw {
    fn default() -> Self {
        // 72-layer TLC; devices.md 5.2 says where the numbers were read and how far to trust t.
        Self {
            epsilon: 1.48e-3,
            alpha: 3.90e-10,
            k: 2.05,
            beta: 6.28e-5,
            m: 0.14,
            n: 0.54,
            gamma: 4.34e-14,
            p: 0.33,
            q: 1.71,
            reference_c: REFERENCE_C,
            activation_ev: None,
            page_factor_1: None,
            page_factor_2: None,
            page_factor_3: None,
            layer_factors: Vec::new(),
        }
    }
}

impl PowerLaw {
    /// Refuses negative values and NaN: no error rate falls with cycles, time or reads.
    fn check(&self, place: &str) -> Result<()> {
        for (key, value) in [
            ("epsilon", self.epsilon),
            ("alpha", self.alpha),
            ("k", self.k),
            ("beta", self.beta),
            ("m", self.m),
            ("n", self.n),
            ("gamma", self.gamma),
            ("p", self.p),
            ("q", self.q),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                let problem = format!("{value} is out of range");
                return Err(Error::new(format!("{place}.{key}"), problem).expected("0 or more"));
            }
        }
        for (i, factor) in (1..).zip(self.page_factors()) {
            let Some(factor) = factor else { continue };
            if !(factor > 0.0 && factor.is_finite()) {
                let (key, problem) = (format!("{place}.page_factor_{i}"), "is out of range");
                return Err(Error::new(key, format!("{factor} {problem}")).expected("above 0"));
            }
        }
        self.check_layers(&format!("{place}.layer_factors"))?;
        check_activation(place, self.activation_ev)?;
        check_celsius(place, "reference_c", self.reference_c)
    }

    /// Refuses factors of layers whose geometric mean is not 1.
    fn check_layers(&self, place: &str) -> Result<()> {
        let factors = &self.layer_factors;
        if factors.len() > MOST_LAYERS {
            return Err(Error::new(place, format!("{} layers", factors.len()))
                .expected(format!("at most {MOST_LAYERS}")));
        }
        if let Some(factor) = factors.iter().find(|&&f| !(f > 0.0 && f.is_finite())) {
            return Err(Error::new(place, format!("{factor} is out of range")).expected("above 0"));
        }
        let sum: f64 = factors.iter().map(|&factor| libm::log(factor)).sum();
        let mean = sum / factors.len().max(1) as f64;
        if mean.abs() > ROUNDING {
            let problem = format!("a geometric mean of {:.4}", libm::exp(mean));
            let hint = "divide the factors by it, and multiply epsilon, alpha, beta and gamma";
            return Err(Error::new(place, problem).expected("1").hint(hint));
        }
        Ok(())
    }

    /// Factors of the page types after the lower page.
    fn page_factors(&self) -> [Option<f64>; 3] {
        [self.page_factor_1, self.page_factor_2, self.page_factor_3]
    }

    /// Factor of a page type.
    fn page_factor(&self, page_type: u8) -> f64 {
        let after_the_first = usize::from(page_type).checked_sub(1);
        let factor = after_the_first.and_then(|i| self.page_factors().get(i).copied().flatten());
        factor.unwrap_or(1.0)
    }
}

/// The law, ready for use.
struct Law {
    of: PowerLaw,
    /// Arithmetic mean of the factors of all layers.
    mean_layer_factor: f64,
}

impl Law {
    fn new(of: PowerLaw) -> Self {
        let factors = &of.layer_factors;
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        let mean_layer_factor = if factors.is_empty() { 1.0 } else { mean };
        Self { of, mean_layer_factor }
    }

    /// Factor of a layer; where the height is not known, the arithmetic mean of all.
    fn layer_factor(&self, height: Height) -> f64 {
        let factors = &self.of.layer_factors;
        height.layer(factors.len()).map_or(self.mean_layer_factor, |layer| factors[layer])
    }
}

impl Array for Law {
    fn rber(&self, page: &PageState) -> f64 {
        let cycles = f64::from(page.pe_cycles);
        let days = page.retention.0 / 24.0;
        let reads = f64::from(page.reads);
        let of = &self.of;
        let rber = of.epsilon
            + of.alpha * libm::pow(cycles, of.k)
            + of.beta * libm::pow(cycles, of.m) * libm::pow(days, of.n)
            + of.gamma * libm::pow(cycles, of.p) * libm::pow(reads, of.q);
        let rber = rber * of.page_factor(page.page_type) * self.layer_factor(page.height);
        // Terms that overflow give 0 x infinity, which is not a number: then every bit is random.
        if rber.is_nan() { 0.5 } else { rber.clamp(0.0, 0.5) }
    }

    fn reaches(&self, last: &PageState) -> Result<()> {
        let page_types = usize::from(last.page_type) + 1;
        let given = self.of.page_factors().iter().rposition(Option::is_some).map_or(0, |i| i + 2);
        if given <= page_types {
            return Ok(());
        }
        let key = format!("chip.array.page_factor_{}", given - 1);
        let problem = format!("a factor of page type {given} of {page_types}");
        Err(Error::new(key, problem)
            .expected("factors of the page types after the first, up to chip.cell_bits - 1"))
    }

    fn equivalent_hours(&self, hours: f64, celsius: f64) -> Option<f64> {
        hours_at_reference(hours, celsius, self.of.activation_ev, self.of.reference_c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Hours;

    #[test]
    fn refuses_what_is_no_coefficient() {
        let checked = |text: &str| (MEMBER.check)(&text.parse().unwrap(), "chip.array");
        assert!(checked("k = 2.5\ngamma = 0.0").is_ok());
        for text in ["epsilon = nan", "alpha = inf", "n = -0.5", "q = -inf"] {
            let error = checked(text).unwrap_err();
            assert!(error.place.starts_with("chip.array."), "{error}");
            assert_eq!(error.expected, "0 or more");
        }
        for text in ["page_factor_1 = 0.0", "page_factor_1 = inf"] {
            let error = checked(text).unwrap_err();
            assert_eq!(
                (error.place.as_str(), &*error.expected),
                ("chip.array.page_factor_1", "above 0")
            );
        }
        for text in ["activation_ev = nan", "activation_ev = -0.1", "activation_ev = 11"] {
            let error = checked(text).unwrap_err();
            assert_eq!(
                (error.place.as_str(), &*error.expected),
                ("chip.array.activation_ev", "0 to 10")
            );
        }
    }

    #[test]
    fn is_a_rate_whatever_the_powers() {
        let law = PowerLaw { k: 1e300, n: 1e300, ..PowerLaw::default() };
        let law = Law::new(PowerLaw { alpha: 0.0, ..law });
        let retention = Hours(1e6);
        let page = PageState { pe_cycles: 9, retention, reads: 9, ..PageState::default() };
        assert_eq!(law.rber(&page), 0.5);
    }

    #[test]
    fn page_types_differ_by_their_factors() {
        let law = Law::new(PowerLaw { page_factor_2: Some(3.0), ..PowerLaw::default() });
        let page = PageState { pe_cycles: 500, retention: Hours(9.0), ..PageState::default() };
        let rate = |page_type| law.rber(&PageState { page_type, ..page });
        assert_eq!([rate(1), rate(2), rate(3)], [rate(0), 3.0 * rate(0), rate(0)]);
        assert!(law.reaches(&PageState { page_type: 2, ..page }).is_ok());
        let error = law.reaches(&PageState { page_type: 1, ..page }).unwrap_err();
        assert_eq!(error.place, "chip.array.page_factor_2");
        assert!(error.problem.contains("3 of 2"), "{error}");
    }

    /// A wordline has the factor of the layer of its middle, whatever the number of wordlines; a
    /// page without a height the mean of all layers.
    #[test]
    fn layers_differ_by_their_factors() {
        let layer_factors = vec![2.0, 1.0, 0.5];
        let law = Law::new(PowerLaw { layer_factors, ..PowerLaw::default() });
        let page = PageState { pe_cycles: 500, ..PageState::default() };
        let plain = Law::new(PowerLaw::default()).rber(&page);
        let factors = |wordlines| -> Vec<f64> {
            let of = |wordline| PageState { height: Height { wordline, wordlines }, ..page };
            let factor = |wordline| law.rber(&of(wordline)) / plain;
            (0..wordlines).map(|w| (factor(w) * 1e9).round() / 1e9).collect()
        };
        assert_eq!(factors(6), [2.0, 2.0, 1.0, 1.0, 0.5, 0.5]);
        assert_eq!(factors(4), [2.0, 1.0, 1.0, 0.5]);
        assert_eq!(factors(1), [1.0]);
        assert!((law.rber(&page) / plain - 3.5 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn refuses_factors_of_layers_without_a_mean_of_one() {
        let checked = |text: &str| (MEMBER.check)(&text.parse().unwrap(), "chip.array");
        assert!(checked("layer_factors = [2.0, 1.0, 0.5]").is_ok());
        assert!(checked("layer_factors = []").is_ok());
        for (text, expected) in [
            ("layer_factors = [2.0, 1.0]", "1"),
            ("layer_factors = [-1.0, -1.0]", "above 0"),
            ("layer_factors = [nan]", "above 0"),
        ] {
            let error = checked(text).unwrap_err();
            assert_eq!(
                (error.place.as_str(), &*error.expected),
                ("chip.array.layer_factors", expected)
            );
        }
    }

    #[test]
    fn adds_its_terms() {
        let law = Law::new(PowerLaw::default());
        let page = PageState { pe_cycles: 3000, retention: Hours(24.0), ..PageState::default() };
        let expected = 1.48e-3 + 3.90e-10 * 3000f64.powf(2.05) + 6.28e-5 * 3000f64.powf(0.14);
        assert!((law.rber(&page) - expected).abs() < 1e-12);
        // A page's share of the reads, in the printed law.
        let read = PageState { reads: 768 * 100, ..page };
        let disturb = 3.73e-9 * 3000f64.powf(0.33) * 100f64.powf(1.71);
        assert!(((law.rber(&read) - expected) / disturb - 1.0).abs() < 1e-3);
    }
}
