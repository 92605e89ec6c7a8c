//! `zoned_abs`: as `zoned`, with the zones given in bytes, as in fio.
//!
//! `zoned_abs:60/20G:30/100G:10/500G`: 60 % of the requests to the first 20 GiB, 30 % to the next
//! 100 GiB, 10 % to the next 500 GiB.

use super::zoned::{Zones, zones};
use super::{Constructor, Distribution, Space};
use base::family::{Member, check, schema};
use base::params::{self, Table};
use base::rng::Rng;
use base::units::{format_size, parse_size};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "zoned_abs",
    summary: "a share of the requests for each zone; zones in bytes",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: Constructor { example: "70/64k:30/128k", read, build },
};

/// Parameters of the `zoned_abs` distribution.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Zones in order of address.
    zones: Vec<ZoneBytes>,
}

/// One zone of `zoned_abs`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ZoneBytes {
    /// Percentage of the requests that go to the zone.
    access_percent: f64,
    /// Size of the zone in bytes.
    bytes: u64,
}

const EXPECTED: &str = "zoned_abs:ACCESS/BYTES[:ACCESS/BYTES...], such as zoned_abs:60/1g:40/9g";

fn read(text: &str) -> Result<Table> {
    let zone = |(access_percent, size): (f64, &str)| match parse_size(size) {
        // Integers of TOML are signed.
        Ok(bytes) if bytes <= i64::MAX as u64 => Ok(ZoneBytes { access_percent, bytes }),
        _ => Err(Error::new("", format!("`{size}` is not the size of a zone")).expected(EXPECTED)),
    };
    let zones = zones(text, EXPECTED)?.into_iter().map(zone).collect::<Result<_>>()?;
    params::write(&Params { zones })
}

fn build(table: &Table, space: &Space, rng: Rng) -> Result<Box<dyn Distribution>> {
    let Params { zones } = params::read(table, "zoned_abs")?;
    let mut ends = Vec::with_capacity(zones.len());
    let mut bytes = 0u64;
    for zone in &zones {
        bytes = bytes.saturating_add(zone.bytes);
        if bytes / space.block_bytes > space.blocks {
            let all = format_size(space.blocks.saturating_mul(space.block_bytes));
            let problem = format!("zones of {} do not fit", format_size(bytes));
            return Err(
                Error::new("", problem).expected(format!("{all} in all, the size of the job"))
            );
        }
        ends.push(bytes / space.block_bytes);
    }
    Zones::build(zones.iter().map(|zone| zone.access_percent).collect(), ends, space.blocks, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_where_their_bytes_say() {
        let space = Space { blocks: 100, block_bytes: 4096, once: false };
        let make = |text| build(&read(text)?, &space, Rng::stream(1, "zoned"));
        let shares = make("80/40k:20/160k").unwrap().probabilities();
        assert!((shares[..10].iter().sum::<f64>() - 0.8).abs() < 1e-12);
        assert!((shares[10..50].iter().sum::<f64>() - 0.2).abs() < 1e-12);
        for text in ["100/401m", "100/", "100/1k", "50/4k", "100/0"] {
            assert!(make(text).is_err(), "{text}");
        }
    }
}
