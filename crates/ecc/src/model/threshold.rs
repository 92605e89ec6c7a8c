//! `threshold`: bounded-distance decoding: up to t errors a codeword are corrected, no more.
//!
//! This is exactly what a t-error-correcting BCH code does, short of its rare miscorrections.

use super::{Build, Decode, EccConfig, Model};
use crate::sample::ErrorCounts;
use base::family::{Member, check, schema};
use base::rng::Rng;
use base::{Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "threshold",
    summary: "corrects up to t errors a codeword",
    citation: "zuolo2016",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |common: &EccConfig, table| {
        let Params { t } = params::read(table, "ecc")?;
        Ok(Box::new(Threshold {
            t,
            time: Time::from_us(common.t_decode_us),
            counts: ErrorCounts::new(common.codeword_bits()),
        }))
    },
};

/// Parameters of `threshold`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Errors that a codeword may hold.
    t: u32,
}

impl Default for Params {
    fn default() -> Self {
        // Zuolo 2016: 100 errors in a 4320-byte codeword.
        Self { t: 100 }
    }
}

struct Threshold {
    t: u32,
    time: Time,
    counts: ErrorCounts,
}

impl Model for Threshold {
    fn decode(&mut self, rber: f64, rng: &mut Rng) -> Decode {
        let errors = self.counts.draw(rber, rng);
        Decode { errors, corrected: errors <= self.t, time: self.time }
    }
}
