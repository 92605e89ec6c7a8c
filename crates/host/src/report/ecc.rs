//! Key `ecc`: codewords and their decoders.

use super::ratio;
use crate::session::Session;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::CodeCounts;
use ssd::drive::activity::{Activity, FurtherReads};

/// Codewords of a run and their decoders, the report's `ecc`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ecc {
    /// Counts of codewords and their decodes.
    #[serde(flatten)]
    pub codes: CodeCounts,
    /// Counts of further reads.
    #[serde(flatten)]
    pub further_reads: FurtherReads,
    /// Units whose data are lost at the end of the run: garbage collection or a partial write could
    /// not read them, and they were not completely rewritten or trimmed since. Reads of them fail.
    pub lost_units: u64,
    /// Energy of the iterations: `ecc.iteration_pj_per_bit` for each bit of a codeword.
    pub energy_uj: f64,
    /// Time of all decoders together, up to the end of the run.
    pub decoders_busy_s: f64,
    /// Time of all encoders together, up to the end of the run.
    pub encoders_busy_s: f64,
    /// Busy share of the run, in the mean of the decoders.
    pub decoders_busy_fraction: f64,
    /// Busy share of the run, in the mean of the encoders.
    pub encoders_busy_fraction: f64,
}

impl Session {
    pub(super) fn ecc(&self, activity: &Activity) -> Ecc {
        let (ssd, counts) = (&self.run.ssd, &activity.counted.controller);
        let share =
            |busy: Time, servers: usize| ratio(busy.s(), activity.time.s() * servers as f64);
        let (decoders, encoders) = (ssd.decoders_busy().1, ssd.encoders_busy().1);
        Ecc {
            codes: counts.codes,
            further_reads: counts.further_reads,
            lost_units: ssd.lost_units(),
            energy_uj: activity.ecc_energy_uj,
            decoders_busy_s: activity.decoders_busy.s(),
            encoders_busy_s: activity.encoders_busy.s(),
            decoders_busy_fraction: share(activity.decoders_busy, decoders),
            encoders_busy_fraction: share(activity.encoders_busy, encoders),
        }
    }
}
