//! `shares`: a fixed share of codewords fails at each level, independent of their bit error rate.
//!
//! For studies that know how often decoding fails but not the bit error rates, such as measured
//! percentages of uncorrectable pages (Zuolo 2016, Fig. 9).

use super::{Constructor, Decode, EccConfig, LEAST_RBER, Model, Word, as_given};
use crate::model::sample::ErrorCounts;
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Constructor> = Member {
    name: "shares",
    summary: "a fixed share of codewords fails at each level",
    citation: "zuolo2016",
    schema: schema::<Params>,
    check: checked,
    build: Constructor {
        needs_code: false,
        complete: as_given,
        build: |common: &EccConfig, table| {
            let Params { failures } = params::read(table, "ecc")?;
            Ok(Box::new(Shares {
                failures,
                times: [common.decode_time(0, 0), common.decode_time(1, 0)],
                counts: ErrorCounts::new(common.codeword_bits()),
            }))
        },
    },
};

/// Parameters of the model `shares`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Share of all codewords that fail after 0 (hard decision), 1, 2, ... soft reads; the last
    /// value holds for further ones. Codewords without errors never fail.
    failures: Vec<f64>,
}

impl Default for Params {
    fn default() -> Self {
        // No number of anybody's: an even chance, and one soft read always enough.
        Self { failures: vec![0.5, 0.0] }
    }
}

fn checked(table: &Table, place: &str) -> Result<Table> {
    let given: Params = params::read(table, place)?;
    let shares = &given.failures;
    let falls = shares.windows(2).all(|pair| pair[0] >= pair[1]);
    if shares.is_empty() || !falls || !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err(Error::new(format!("{place}.failures"), format!("{shares:?}"))
            .expected("falling shares from 0 to 1"));
    }
    params::write(&given)
}

struct Shares {
    failures: Vec<f64>,
    /// Times of a hard and of a soft decode.
    times: [Time; 2],
    counts: ErrorCounts,
}

impl Model for Shares {
    fn decode(&mut self, word: &Word) -> Decode {
        let level = usize::from(word.level);
        let share = self.failures[level.min(self.failures.len() - 1)];
        // The unluckiest are those that fail.
        let failed = word.rber >= LEAST_RBER && word.luck >= 1.0 - share;
        Decode {
            errors: self.counts.of(word.rber, word.luck),
            corrected: !failed,
            iterations: 0,
            time: self.times[level.min(1)],
        }
    }

    fn goes_by_errors(&self) -> bool {
        false
    }
}
