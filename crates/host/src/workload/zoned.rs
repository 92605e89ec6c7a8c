//! `zoned`: given shares of the requests go to given percentages of the space, as in fio.
//!
//! `zoned:60/10:30/20:8/30:2/40`: 60 % of the requests to the first 10 % of the space, 30 % to the
//! next 20 %, and so on; uniform within a zone. A number left out after a slash is an even part of
//! the rest.

use super::{Constructor, Distribution, Space};
use crate::workload::shares::{self, Shares};
use base::family::{Member, check, schema};
use base::params::{self, Table};
use base::rng::Rng;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "zoned",
    summary: "a share of the requests for each zone; zones in percent of the space",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: Constructor { example: "60/10:30/20:8/30:2/40", read, build },
};

/// Most zones of one distribution, as in fio.
pub const ZONES: usize = 256;

/// Parameters of the `zoned` distribution.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Zones in order of address.
    zones: Vec<ZonePercent>,
}

/// One zone of `zoned`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ZonePercent {
    /// Percentage of the requests that go to the zone.
    access_percent: f64,
    /// Size of the zone as a percentage of the space.
    size_percent: f64,
}

const EXPECTED: &str = "zoned:ACCESS/SIZE[:ACCESS/SIZE...] in percent, such as zoned:60/10:40/90";

fn read(text: &str) -> Result<Table> {
    let pairs = zones(text, EXPECTED)?;
    let sizes: Vec<_> =
        pairs.iter().map(|&(_, size)| shares::percent(size)).collect::<Result<_>>()?;
    let sizes = shares::complete(&sizes, false)?;
    let zones = pairs
        .iter()
        .zip(sizes)
        .map(|(&(access_percent, _), size_percent)| ZonePercent { access_percent, size_percent });
    params::write(&Params { zones: zones.collect() })
}

fn build(table: &Table, space: &Space, rng: Rng) -> Result<Box<dyn Distribution>> {
    let Params { zones } = params::read(table, "zoned")?;
    let mut ends = Vec::with_capacity(zones.len());
    let mut percent = 0.0;
    for zone in &zones {
        percent += zone.size_percent;
        let end = (space.blocks as f64 * percent / 100.0 + 1e-6) as u64;
        ends.push(end.min(space.blocks));
    }
    Zones::build(zones.iter().map(|zone| zone.access_percent).collect(), ends, space.blocks, rng)
}

/// Splits zones into their share of the requests, which must add up to a hundred, and the text of
/// their size.
pub fn zones<'a>(text: &'a str, expected: &str) -> Result<Vec<(f64, &'a str)>> {
    let pairs = shares::pairs(text);
    if text.is_empty() || pairs.len() > ZONES {
        let problem = format!("{} zones", if text.is_empty() { 0 } else { pairs.len() });
        return Err(Error::new("", problem).expected(format!("1 to {ZONES} zones, {expected}")));
    }
    let given: Vec<_> =
        pairs.iter().map(|(access, _)| shares::percent(access)).collect::<Result<_>>()?;
    let shares = shares::complete(&given, true)?;
    Ok(shares.into_iter().zip(pairs).map(|(share, (_, size))| (share, size)).collect())
}

/// Zones of whole blocks, with the share of the requests that each takes.
pub struct Zones {
    access: Vec<f64>,
    shares: Shares,
    /// First block and number of blocks of each zone.
    places: Vec<(u64, u64)>,
    blocks: u64,
    rng: Rng,
}

impl Zones {
    /// Zones that end before the blocks `ends`, each of which must hold a block.
    pub fn build(
        access: Vec<f64>,
        ends: Vec<u64>,
        blocks: u64,
        rng: Rng,
    ) -> Result<Box<dyn Distribution>> {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let places: Vec<(u64, u64)> =
            starts.zip(&ends).map(|(start, &end)| (start, end.saturating_sub(start))).collect();
        if let Some(zone) = places.iter().position(|&(_, length)| length == 0) {
            let problem = format!("zone {} holds no block of the {blocks}", zone + 1);
            return Err(Error::new("", problem).expected("at least one block in each zone"));
        }
        if places.is_empty() {
            return Err(Error::new("", "no zones").expected(format!("1 to {ZONES} zones")));
        }
        Ok(Box::new(Self { shares: Shares::new(&access), access, places, blocks, rng }))
    }
}

impl Distribution for Zones {
    fn draw(&mut self) -> u64 {
        let (start, length) = self.places[self.shares.draw(&mut self.rng)];
        start + self.rng.below(length)
    }

    fn probabilities(&self) -> Vec<f64> {
        let sum: f64 = self.access.iter().sum();
        let mut shares = vec![0.0; self.blocks as usize];
        for (&(start, length), access) in self.places.iter().zip(&self.access) {
            shares[start as usize..(start + length) as usize].fill(access / sum / length as f64);
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_asked_for() {
        let space = Space { blocks: 1000, block_bytes: 4096, once: true };
        let params = read("60/10:30/20:8/30:2/").unwrap();
        let mut zones = build(&params, &space, Rng::stream(1, "zoned")).unwrap();
        let draws = 100_000;
        let mut counts = [0u32; 4];
        for _ in 0..draws {
            let zone = match zones.draw() {
                0..100 => 0,
                100..300 => 1,
                300..600 => 2,
                _ => 3,
            };
            counts[zone] += 1;
        }
        for (count, share) in counts.iter().zip([0.6, 0.3, 0.08, 0.02]) {
            let error = f64::from(*count) / f64::from(draws) - share;
            let sigma = (share * (1.0 - share) / f64::from(draws)).sqrt();
            assert!(error.abs() < 4.0 * sigma, "{counts:?}");
        }
    }

    #[test]
    fn space_behind_the_zones_stays_untouched() {
        let space = Space { blocks: 100, block_bytes: 4096, once: true };
        let params = read("100/30").unwrap();
        let shares = build(&params, &space, Rng::stream(1, "zoned")).unwrap().probabilities();
        assert!(shares[..30].iter().all(|&share| share > 0.0));
        assert!(shares[30..].iter().all(|&share| share == 0.0));
    }
}
