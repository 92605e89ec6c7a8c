//! Counts of the controller's own doings, by the section of the report that shows them.
//!
//! Each count is a key of the report and a column of the time series, under the name that serde
//! gives it, with its comment as the meaning.

use crate::drive::CodeCounts;
use crate::failure::refresh::RefreshCounts;
use base::counts;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Levels of soft reads that are counted separately.
pub const MOST_LEVELS: usize = 8;

/// Counts of the controller's own doings.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControllerCounts {
    /// Counts of what the host asked for.
    pub host: HostCounts,
    /// Counts of the write buffer.
    pub buffer: BufferCounts,
    /// Counts of the host's trims.
    pub trims: TrimCounts,
    /// Counts of codewords and their decodes.
    pub codes: CodeCounts,
    /// Counts of further reads of pages with errors.
    pub further_reads: FurtherReads,
    /// Counts of refresh and patrol.
    pub refresh: RefreshCounts,
    /// Counts of reads that were rebuilt.
    pub parity: ParityCounts,
}

counts!(ControllerCounts { host, buffer, trims, codes, further_reads, refresh, parity });

/// Counts of reads that were rebuilt from the other pages of their stripe (`parity.pages`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParityCounts {
    /// Reads of pages that were rebuilt from the other pages of their stripe.
    pub rebuilt_reads: u64,
    /// Reads of pages that could not be rebuilt either: more pages of the stripe are missing than
    /// are parity.
    pub lost_reads: u64,
    /// Reads of the host that were rebuilt because their die was busy (`parity.read_around`); they
    /// are not among `rebuilt_reads`.
    pub around_reads: u64,
    /// Pages that were read to rebuild others.
    pub page_reads: u64,
}

counts!(ParityCounts { rebuilt_reads, lost_reads, around_reads, page_reads });

/// Counts of what the host asked for.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct HostCounts {
    /// Mapping units that were read.
    pub read_units: u64,
    /// Units among those read that were never written or were trimmed: they need no flash read.
    /// Above 1 % there is a notice.
    pub read_units_unwritten: u64,
    /// Writes that somebody waits for (`prio` of a job, `urgent` of a trace), those of ramp times
    /// included. With `ftl.fast_pages` and none there is a notice.
    pub urgent_writes: u64,
}

counts!(HostCounts { read_units, read_units_unwritten, urgent_writes });

/// Write buffer of a run, the report's `buffer`.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct BufferCounts {
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

counts!(BufferCounts { read_hits, coalesced, stalls, fills });

/// Counts of the host's trims.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct TrimCounts {
    /// Units trimmed that held data, on the flash or in the buffer.
    pub trimmed_units: u64,
}

counts!(TrimCounts { trimmed_units });

/// Counts of further reads of pages with errors.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct FurtherReads {
    /// Pages read again by hard decision, with their references moved.
    pub retries: u64,
    /// Soft reads of pages: first ones (2 extra references), second ones (4), and so on; empty
    /// where there were none.
    #[serde(serialize_with = "used")]
    #[schemars(with = "Vec<u64>")]
    pub soft_reads: [u64; MOST_LEVELS],
}

counts!(FurtherReads { retries, soft_reads });

/// Writes counts by level up to the last level that was used.
fn used<S: Serializer>(levels: &[u64; MOST_LEVELS], serializer: S) -> Result<S::Ok, S::Error> {
    let used = levels.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
    levels[..used].serialize(serializer)
}
