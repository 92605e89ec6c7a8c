//! `power_law`: RBER as sums of powers of cycles, retention and reads (Kim, Choi, Min, FAST'19).
//!
//! RBER = epsilon + alpha N^k + beta N^m t^n + gamma N^p R^q, with N program/erase cycles, t the
//! retention in days and R the reads since the erase. Defaults: the paper's 72-layer TLC.

use super::{Array, Build, PageState};
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "power_law",
    summary: "RBER by power laws of cycles, retention and reads",
    citation: "kim2019",
    schema: schema::<PowerLaw>,
    check: check::<PowerLaw>,
    build: |table, _| Ok(Box::new(params::read::<PowerLaw>(table, "chip.array")?)),
};

/// Coefficients of the law.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PowerLaw {
    /// Floor.
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
}

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
            gamma: 3.73e-9,
            p: 0.33,
            q: 1.71,
        }
    }
}

impl Array for PowerLaw {
    fn rber(&self, page: &PageState) -> f64 {
        let cycles = f64::from(page.pe_cycles);
        let days = page.retention.0 / 24.0;
        let reads = f64::from(page.reads);
        let rber = self.epsilon
            + self.alpha * libm::pow(cycles, self.k)
            + self.beta * libm::pow(cycles, self.m) * libm::pow(days, self.n)
            + self.gamma * libm::pow(cycles, self.p) * libm::pow(reads, self.q);
        rber.clamp(0.0, 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Hours;

    #[test]
    fn adds_its_terms() {
        let law = PowerLaw::default();
        let page = PageState { page_type: 0, pe_cycles: 3000, retention: Hours(24.0), reads: 0 };
        let expected = 1.48e-3 + 3.90e-10 * 3000f64.powf(2.05) + 6.28e-5 * 3000f64.powf(0.14);
        assert!((law.rber(&page) - expected).abs() < 1e-12);
    }
}
