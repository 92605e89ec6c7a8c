//! `pareto`: a fraction `h` of the blocks takes `1 - h` of the requests, at every scale, as in fio.
//!
//! The rank is n u^p with p = log h / log (1 - h), so `pareto:0.2` is the 80/20 rule: the fraction
//! of requests to the x n hottest blocks is x^(1/p). The formula is that of fio's `lib/zipf.c`
//! (self-similar distribution, Gray et al., "Quickly generating billion-record synthetic
//! databases", SIGMOD 1994). [`Scatter`] decides where popular blocks lie.

use super::{Constructor, Distribution, Scatter, Space};
use base::family::{Member, check, schema};
use base::params::{self, Table};
use base::rng::Rng;
use base::{Error, Result};
use libm::{exp, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "pareto",
    summary: "a fraction h of the blocks gets 1 - h of the requests (0.2: 80/20), scattered",
    citation: "gray1994",
    schema: schema::<Params>,
    check: check::<Params>,
    build: Constructor { example: "0.2", read, build },
};

/// Parameters of the `pareto` distribution.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Fraction of the blocks that takes the rest of the requests.
    h: f64,
    /// Place of the hottest block, from 0 (first) to 1 (first again, as in fio); anywhere where
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    center: Option<f64>,
}

impl Default for Params {
    fn default() -> Self {
        // Default of fio (FIO_DEF_PARETO).
        Self { h: 0.2, center: None }
    }
}

const EXPECTED: &str = "pareto:h[:center] with h between 0 and 1, center from 0 to 1";

impl Params {
    fn checked(self) -> Result<Self> {
        if !(self.h > 0.0 && self.h < 1.0) {
            return Err(
                Error::new("", format!("h `{}` is out of range", self.h)).expected(EXPECTED)
            );
        }
        Scatter::check(self.center, EXPECTED)?;
        Ok(self)
    }
}

fn read(text: &str) -> Result<Table> {
    let mut params = Params::default();
    let (h, center) = super::floats(text, EXPECTED)?;
    params.h = h.unwrap_or(params.h);
    params.center = center;
    params::write(&params.checked()?)
}

fn build(table: &Table, space: &Space, mut rng: Rng) -> Result<Box<dyn Distribution>> {
    let params = params::read::<Params>(table, "pareto")?.checked()?;
    let scatter = Scatter::new(space.blocks, params.center, &mut rng);
    let power = log(params.h) / log(1.0 - params.h);
    Ok(Box::new(Pareto { blocks: space.blocks, power, scatter, rng }))
}

struct Pareto {
    blocks: u64,
    power: f64,
    scatter: Scatter,
    rng: Rng,
}

impl Distribution for Pareto {
    fn draw(&mut self) -> u64 {
        // u = 0 gives log 0 = -inf and rank 0.
        let rank = self.blocks as f64 * exp(self.power * log(self.rng.unit()));
        self.scatter.block((rank as u64).min(self.blocks - 1))
    }

    fn probabilities(&self) -> Vec<f64> {
        let below = |rank: u64| match rank {
            0 => 0.0,
            _ => exp(log(rank as f64 / self.blocks as f64) / self.power),
        };
        self.scatter.spread(|rank| below(rank + 1) - below(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_takes_four_fifths() {
        let space = Space { blocks: 10_000, block_bytes: 4096, once: false };
        for (h, rest) in [("0.2", 0.8), ("0.1", 0.9), ("0.5", 0.5)] {
            let params = read(h).unwrap();
            let mut shares =
                build(&params, &space, Rng::stream(1, "pareto")).unwrap().probabilities();
            shares.sort_by(|a, b| b.total_cmp(a));
            let hot = (h.parse::<f64>().unwrap() * 10_000.0).round() as usize;
            let share: f64 = shares[..hot].iter().sum();
            assert!((share - rest).abs() < 1e-9, "{h}: {share}");
        }
    }
}
