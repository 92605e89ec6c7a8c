//! `zipf`: the k-th most popular block has a share proportional to k^-theta, as in fio.
//!
//! Ranks are drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): exact for
//! every theta above zero, 1 included, with a handful of constants instead of a sum over all
//! blocks. [`Scatter`] decides where popular blocks lie.

use super::{Constructor, Distribution, Scatter, Space};
use base::family::{Member, check, schema};
use base::params::{self, Table};
use base::rng::Rng;
use base::{Error, Result};
use libm::{exp, expm1, log, log1p};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "zipf",
    summary: "the k-th hottest block gets a share proportional to k^-theta; hot blocks scattered",
    citation: "hormann1996",
    schema: schema::<Params>,
    check: check::<Params>,
    build: Constructor { example: "1.2:0.25", read, build },
};

/// Parameters of the `zipf` distribution.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Skew: 0.5 is mild, 0.99 is YCSB's, 1.2 is steep.
    theta: f64,
    /// Place of the hottest block, from 0 (first) to 1 (first again, as in fio); anywhere where
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    center: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        // Default of fio (FIO_DEF_ZIPF).
        Self { theta: 1.1, center: None }
    }
}

const EXPECTED: &str = "zipf:theta[:center] with theta above 0 and at most 20, center from 0 to 1";

impl Params {
    fn checked(self) -> Result<Self> {
        if !(self.theta > 0.0 && self.theta <= 20.0) {
            return Err(Error::new("", format!("theta `{}` is out of range", self.theta))
                .expected(EXPECTED));
        }
        Scatter::check(self.center, EXPECTED)?;
        Ok(self)
    }
}

fn read(text: &str) -> Result<Table> {
    let mut params = Params::default();
    let (theta, center) = super::floats(text, EXPECTED)?;
    params.theta = theta.unwrap_or(params.theta);
    params.center = center;
    params::write(&params.checked()?)
}

fn build(table: &Table, space: &Space, mut rng: Rng) -> Result<Box<dyn Distribution>> {
    let params = params::read::<Params>(table, "zipf")?.checked()?;
    let scatter = Scatter::new(space.blocks, params.center, &mut rng);
    Ok(Box::new(Zipf { ranks: Ranks::new(space.blocks, params.theta), scatter, rng }))
}

struct Zipf {
    ranks: Ranks,
    scatter: Scatter,
    rng: Rng,
}

impl Distribution for Zipf {
    fn draw(&mut self) -> u64 {
        self.scatter.block(self.ranks.draw(&mut self.rng))
    }

    fn probabilities(&self) -> Vec<f64> {
        let weight = |rank: u64| exp(-self.ranks.theta * log((rank + 1) as f64));
        self.scatter.spread(weight)
    }
}

/// Generator of ranks from 0. The names are the paper's: `h` is the hat k^-theta, `H` its integral.
struct Ranks {
    n: f64,
    theta: f64,
    /// Exponent of the integral, 1 - theta.
    power: f64,
    /// Inverse of `power`, or zero where theta is one.
    inverse: f64,
    /// Range of the uniform variate: H(3/2) - 1 to H(n + 1/2).
    low: f64,
    high: f64,
    /// Distance below its variate within which a candidate is accepted without another test.
    near: f64,
}

impl Ranks {
    fn new(blocks: u64, theta: f64) -> Self {
        let power = 1.0 - theta;
        let inverse = if power == 0.0 { 0.0 } else { 1.0 / power };
        let n = blocks as f64;
        let mut ranks = Self { n, theta, power, inverse, low: 0.0, high: 0.0, near: 0.0 };
        ranks.low = ranks.integral(1.5) - 1.0;
        ranks.high = ranks.integral(n + 0.5);
        ranks.near = 2.0 - ranks.inverse_integral(ranks.integral(2.5) - ranks.hat(2.0));
        ranks
    }

    fn hat(&self, x: f64) -> f64 {
        exp(-self.theta * log(x))
    }

    /// Integral of the hat from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log_x = log(x);
        if self.power == 0.0 { log_x } else { expm1(self.power * log_x) * self.inverse }
    }

    #[inline]
    fn inverse_integral(&self, y: f64) -> f64 {
        if self.power == 0.0 { exp(y) } else { exp(log1p(self.power * y) * self.inverse) }
    }

    #[inline]
    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.high + rng.unit() * (self.low - self.high);
            let x = self.inverse_integral(u);
            let k = libm::floor(x + 0.5).clamp(1.0, self.n);
            if k - x <= self.near || u >= self.integral(k + 0.5) - self.hat(k) {
                return k as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head of the ranks over a drive of half a TiB, where no sum over blocks is affordable.
    #[test]
    fn head_of_a_large_space_is_right() {
        let blocks = 134_217_728u64;
        let draws = 400_000;
        for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
            let ranks = Ranks::new(blocks, theta);
            let mut rng = Rng::stream(5, "zipf");
            let mut head = [0u32; 4];
            for _ in 0..draws {
                let rank = ranks.draw(&mut rng);
                assert!(rank < blocks);
                if let Some(count) = head.get_mut(rank as usize) {
                    *count += 1;
                }
            }
            // The zeta sum: its first thousand terms, and the rest by Euler and Maclaurin.
            let term = |k: f64| k.powf(-theta);
            let sum: f64 = (1..1000).map(|k| term(f64::from(k))).sum();
            let (a, b) = (1000.0, blocks as f64);
            let tail = ranks.integral(b) - ranks.integral(a) + (term(a) + term(b)) / 2.0;
            let slope = theta / 12.0 * (term(a) / a - term(b) / b);
            let zeta = sum + tail + slope;
            for (rank, &count) in head.iter().enumerate() {
                let share = term(rank as f64 + 1.0) / zeta;
                let got = f64::from(count) / f64::from(draws);
                let sigma = (share * (1.0 - share) / f64::from(draws)).sqrt().max(1e-6);
                assert!((got - share).abs() < 4.5 * sigma, "{theta} {rank}: {got} for {share}");
            }
        }
    }

    /// Shares of the hottest block and of the ten hottest agree with fio 3.33 over 1024 blocks
    /// (102400 reads, `write_iolog`). Its generator approximates (Gray et al. 1994), hence the
    /// tolerance.
    #[test]
    fn agrees_with_fio() {
        let space = Space { blocks: 1024, block_bytes: 4096, once: true };
        for (theta, top, top_ten) in [("1.2", 0.2314, 0.5885), ("0.8", 0.0647, 0.2399)] {
            let params = read(theta).unwrap();
            let mut shares = build(&params, &space, Rng::stream(1, "fio")).unwrap().probabilities();
            shares.sort_by(|a, b| b.total_cmp(a));
            assert!((shares[0] - top).abs() < 0.01, "{theta}: {}", shares[0]);
            let ten: f64 = shares[..10].iter().sum();
            assert!((ten - top_ten).abs() < 0.03, "{theta}: {ten}");
        }
    }

    #[test]
    fn center_is_where_the_hottest_block_lies() {
        for (center, hottest) in [("0", 0), ("0.25", 256), ("0.5", 512), ("1", 0)] {
            let space = Space { blocks: 1024, block_bytes: 4096, once: false };
            let params = read(&format!("1.2:{center}")).unwrap();
            let shares = build(&params, &space, Rng::stream(1, "zipf")).unwrap().probabilities();
            let top = (0..1024).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
            assert_eq!(top, hottest, "{center}");
        }
    }
}
