//! `normal`: a bell over the addresses, its standard deviation in percent of the space.
//!
//! As fio documents it: `normal:stddev[:center]`, the most probable address at `center`, the middle
//! by default; addresses beyond one end come in at the other. (fio 3.33's code draws the bell,
//! largely disregards the deviation and then scatters the blocks by a hash, so that its addresses
//! have no bell; this follows the documentation.)

use super::{Constructor, Distribution, Scatter, Space};
use base::family::{Member, check, schema};
use base::params::{self, Table};
use base::rng::Rng;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "normal",
    summary: "Gaussian around the center; standard deviation in percent of the space",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: Constructor { example: "10:0.3", read, build },
};

/// Parameters of the `normal` distribution.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Standard deviation in percent of the space.
    stddev_percent: f64,
    /// The most probable address, from 0 (first) to 1 (last).
    center: f64,
}

impl Default for Params {
    fn default() -> Self {
        // A sixth of the space: three deviations either way reach its ends.
        Self { stddev_percent: 100.0 / 6.0, center: 0.5 }
    }
}

const EXPECTED: &str =
    "normal:stddev[:center] with stddev above 0 and below 100 percent, center from 0 to 1";

impl Params {
    fn checked(self) -> Result<Self> {
        if !(self.stddev_percent > 0.0 && self.stddev_percent < 100.0) {
            let problem = format!("standard deviation `{}` is out of range", self.stddev_percent);
            return Err(Error::new("", problem).expected(EXPECTED));
        }
        Scatter::check(Some(self.center), EXPECTED)?;
        Ok(self)
    }
}

fn read(text: &str) -> Result<Table> {
    let mut params = Params::default();
    let (stddev, center) = super::floats(text, EXPECTED)?;
    params.stddev_percent = stddev.unwrap_or(params.stddev_percent);
    params.center = center.unwrap_or(params.center);
    params::write(&params.checked()?)
}

fn build(table: &Table, space: &Space, rng: Rng) -> Result<Box<dyn Distribution>> {
    let params = params::read::<Params>(table, "normal")?.checked()?;
    let n = space.blocks as f64;
    let (center, stddev) = (params.center * n, params.stddev_percent / 100.0 * n);
    Ok(Box::new(Normal { blocks: space.blocks, center, stddev, rng }))
}

/// Bell curve over blocks: center and deviation in blocks.
struct Normal {
    blocks: u64,
    center: f64,
    stddev: f64,
    rng: Rng,
}

impl Distribution for Normal {
    fn draw(&mut self) -> u64 {
        let block = libm::floor(self.center + self.stddev * self.rng.normal()) as i64;
        let blocks = self.blocks as i64;
        if (0..blocks).contains(&block) { block as u64 } else { block.rem_euclid(blocks) as u64 }
    }

    fn probabilities(&self) -> Vec<f64> {
        let n = self.blocks as f64;
        let below = |x: f64| libm::erfc((self.center - x) / self.stddev / 2f64.sqrt()) / 2.0;
        let lap = |lap: f64, block: f64| below(block + 1.0 + lap * n) - below(block + lap * n);
        let share = |block: u64| (-10..=10).map(|i| lap(f64::from(i), block as f64)).sum();
        (0..self.blocks).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deviation_holds_68_percent() {
        let space = Space { blocks: 1000, block_bytes: 4096, once: false };
        let params = read("5:0.25").unwrap();
        let mut bell = build(&params, &space, Rng::stream(1, "normal")).unwrap();
        let draws = 100_000;
        let near = (0..draws).filter(|_| (200..300).contains(&bell.draw())).count();
        let share = near as f64 / f64::from(draws);
        assert!((share - 0.682_69).abs() < 4.0 * (0.68 * 0.32 / f64::from(draws)).sqrt());
    }
}
