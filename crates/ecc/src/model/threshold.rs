//! `threshold`: bounded-distance decoding, which corrects up to t errors in a codeword.
//!
//! With a hard read this is exactly the outcome of a t-error-correcting BCH code, except for its
//! rare miscorrections. Where a drive names such a code, t is the code's, and soft reads do not
//! help. Otherwise each soft read raises the bound, and the word keeps its errors. For a code
//! without a fixed t, such as an LDPC code, t must be given.

use super::{Constructor, Decode, EccConfig, Model, Word};
use crate::model::sample::ErrorCounts;
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

pub const MEMBER: Member<Constructor> = Member {
    name: "threshold",
    summary: "corrects up to t errors in a codeword, and more after soft reads",
    citation: "zuolo2016",
    schema: schema::<Params>,
    check: complete,
    build: Constructor {
        needs_code: false,
        complete: take_code,
        build: |common: &EccConfig, table| {
            let Params { t, t_soft } = params::read(table, "ecc")?;
            let bits = common.codeword_bits();
            if t > bits {
                let problem = format!("{t} errors in a codeword of {bits} bits");
                return Err(Error::new("ecc.t", problem).expected(format!("0 to {bits}")));
            }
            Ok(Box::new(Threshold {
                t,
                t_soft,
                times: [common.decode_time(0, 0), common.decode_time(1, 0)],
                counts: ErrorCounts::new(bits),
                hard: common.certain_errors().is_some(),
            }))
        },
    },
};

/// Parameters of the model `threshold`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Bit errors that the code corrects in a codeword. Codes with a fixed t, such as BCH, define
    /// it; other codes need it.
    t: u32,
    /// Bit errors that the code corrects after 1, 2, ... soft reads; the last value holds for
    /// further ones. Default: 2.7 and 3.0 times t, or t for a code with a fixed t, whose decoder
    /// takes hard decisions only.
    t_soft: Vec<u32>,
}

impl Default for Params {
    fn default() -> Self {
        // Zuolo 2016: 100 errors in a 4320-byte codeword.
        Self { t: 100, t_soft: Vec::new() }
    }
}

/// Default factors on t after one and two soft reads. They are ratios of our own measurement of an
/// LDPC code of rate 0.948: one word in a hundred fails at raw bit error rates of 0.0027 by hard
/// decision, and of 0.0072 and 0.0082 with one and two soft reads.
const SOFT_GAINS: [f64; 2] = [2.7, 3.0];

fn complete(table: &Table, place: &str) -> Result<Table> {
    let mut given: Params = params::read(table, place)?;
    if given.t_soft.is_empty() {
        given.t_soft = SOFT_GAINS.map(|gain| (f64::from(given.t) * gain) as u32).to_vec();
    }
    let rises = given.t_soft.windows(2).all(|pair| pair[0] <= pair[1]);
    if !rises || given.t_soft[0] < given.t {
        let problem = format!("{:?} with t = {} of the hard decision", given.t_soft, given.t);
        return Err(Error::new(format!("{place}.t_soft"), problem)
            .expected("values that do not fall, from t on"));
    }
    params::write(&given)
}

/// Takes `t` and `t_soft` from a code with a fixed t; given values must agree. Other codes need
/// `t`: a default would be a guess.
fn take_code(common: &EccConfig, params: &mut Table) -> Result<()> {
    let Some(t) = common.certain_errors() else {
        if common.named.is_none() || params.contains_key("t") {
            return Ok(());
        }
        let problem = format!("missing: the code `{}` has no fixed t", common.code);
        return Err(Error::new("ecc.t", problem).hint(
            "give the errors that a codeword corrects, or use ecc.model = \"profile\" or \"exact\"",
        ));
    };
    for (key, own) in [("t", Value::from(t)), ("t_soft", Value::from(vec![t]))] {
        let given = params.insert(key.to_owned(), own.clone());
        if let Some(given) = given.filter(|given| *given != own) {
            let problem = format!("{given} with the code `{}`", common.code);
            return Err(Error::new(format!("ecc.{key}"), problem)
                .expected(own.to_string())
                .hint("leave it out: the code gives it"));
        }
    }
    Ok(())
}

struct Threshold {
    t: u32,
    t_soft: Vec<u32>,
    /// Times of a hard and of a soft decode.
    times: [Time; 2],
    counts: ErrorCounts,
    /// Whether the code takes hard decisions only, so that soft reads do not help.
    hard: bool,
}

impl Model for Threshold {
    fn decode(&mut self, word: &Word) -> Decode {
        let errors = self.counts.of(word.rber, word.luck);
        let (most, time) = match usize::from(word.level).checked_sub(1) {
            None => (self.t, self.times[0]),
            Some(level) => (self.t_soft[level.min(self.t_soft.len() - 1)], self.times[1]),
        };
        Decode { errors, corrected: errors <= most, iterations: 0, time }
    }

    fn soft_levels(&self) -> Option<u8> {
        self.hard.then_some(0)
    }
}
