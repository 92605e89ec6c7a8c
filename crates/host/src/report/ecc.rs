//! Keys `ecc` and `buffer`: codewords and their decoders, and the write buffer.

use super::ratio;
use crate::session::Session;
use base::Time;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::Activity;

/// Codewords of a run and their decoders, the report's `ecc`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ecc {
    /// Codewords read and decoded; further attempts do not count here.
    pub codewords: u64,
    /// Codewords among these that failed at the first attempt.
    pub hard_failures: u64,
    /// Pages read again by hard decision, with their references moved.
    pub retries: u64,
    /// Soft reads of pages: first ones (2 extra references), second ones (4), and so on; empty
    /// where there were none.
    pub soft_reads: Vec<u64>,
    /// Codewords decoded again after a retry or a soft read: those of the page that had failed.
    pub further_decodes: u64,
    /// Uncorrectable page reads, including those of garbage collection.
    pub uncorrectable: u64,
    /// Units whose data are lost at the end of the run: garbage collection or a partial write could
    /// not read them, and they were not completely rewritten or trimmed since. Reads of them fail.
    pub lost_units: u64,
    /// Wrong bits of first reads; 0 with `chip.array.name = "ideal"` or `ecc.model = "ideal"`,
    /// which count none.
    pub raw_bit_errors: u64,
    /// Iterations of all decodes; 0 for models without iterations.
    pub iterations: u64,
    /// Energy of the iterations: `ecc.iteration_pj_per_bit` for each bit of a codeword.
    pub energy_uj: f64,
    /// Codewords encoded, padding included.
    pub encoded: u64,
    /// Time of all decoders together, up to the end of the run.
    pub decoders_busy_s: f64,
    /// Time of all encoders together, up to the end of the run.
    pub encoders_busy_s: f64,
    /// Busy share of the run, in the mean of the decoders.
    pub decoders_busy_fraction: f64,
    /// Busy share of the run, in the mean of the encoders.
    pub encoders_busy_fraction: f64,
}

/// Write buffer of a run, the report's `buffer`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Buffer {
    /// Units read from the buffer.
    pub read_hits: u64,
    /// Units rewritten in the buffer before they were programmed; with `buffer.coalesces = false`
    /// the older data are padding in `ftl`.
    pub coalesced: u64,
    /// Writes that waited for room in the buffer.
    pub stalls: u64,
    /// Units read to complete a partly written one.
    pub fills: u64,
}

impl Session {
    pub(super) fn ecc(&self, activity: &Activity) -> Ecc {
        let (ssd, counts) = (&self.run.ssd, &activity.controller);
        let share =
            |busy: Time, servers: usize| ratio(busy.s(), activity.time.s() * servers as f64);
        let (decoders, encoders) = (ssd.decoders_busy().1, ssd.encoders_busy().1);
        let used = counts.soft_reads.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
        Ecc {
            codewords: counts.codewords,
            hard_failures: counts.hard_failures,
            retries: counts.retries,
            soft_reads: counts.soft_reads[..used].to_vec(),
            further_decodes: counts.further_decodes,
            uncorrectable: counts.uncorrectable,
            lost_units: ssd.lost_units(),
            raw_bit_errors: counts.raw_bit_errors,
            iterations: counts.iterations,
            energy_uj: activity.ecc_energy_uj,
            encoded: counts.encoded,
            decoders_busy_s: activity.decoders_busy.s(),
            encoders_busy_s: activity.encoders_busy.s(),
            decoders_busy_fraction: share(activity.decoders_busy, decoders),
            encoders_busy_fraction: share(activity.encoders_busy, encoders),
        }
    }
}

impl Buffer {
    pub(super) fn of(activity: &Activity) -> Self {
        let counts = &activity.controller;
        Self {
            read_hits: counts.buffer_hits,
            coalesced: counts.coalesced,
            stalls: counts.stalls,
            fills: counts.fills,
        }
    }
}
