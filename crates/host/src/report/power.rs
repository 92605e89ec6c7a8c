//! Key `power`: pages written for the start-up after a power cut, and losses of a cut.

use super::ratio;
use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::PowerCounts;
use ssd::drive::activity::Activity;
use ssd::{Cut, Started};

/// Recovery of a drive, the report's `power`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Power {
    /// Counts of the pages and blocks for start-ups.
    #[serde(flatten)]
    pub counts: PowerCounts,
    /// Write amplification as `ftl.write_amplification`, with these pages.
    pub write_amplification: f64,
    /// Losses of the cut that `--cut-at` made; `null` without one.
    pub cut: Option<PowerCut>,
    /// Start-up after the cut; `null` without one. The caller of the engine fills it in once the
    /// drive has started up.
    pub start_up: Option<StartUp>,
}

/// Losses of a power cut.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PowerCut {
    /// Simulated time of the cut.
    pub at_s: f64,
    /// Requests that were taken and not answered.
    pub requests: u64,
    /// Units of acknowledged data that were in the buffer alone.
    pub buffered_units: u64,
    /// Programs that were broken off.
    pub torn_programs: u64,
    /// Erases that were broken off.
    pub torn_erases: u64,
    /// Time for which capacitors have kept the drive at work.
    pub held_up_s: f64,
}

/// Time and reads of a start-up.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartUp {
    /// Time from power to ready.
    pub time_s: f64,
    /// Pages read of the log and of copies.
    pub log_reads: u64,
    /// Pages read of other blocks, those that turned out to be empty too.
    pub page_reads: u64,
    /// Pages of summaries read.
    pub summary_reads: u64,
    /// Blocks erased because nothing in them could be read.
    pub erased_blocks: u64,
    /// Units that the cut had spoilt, restored from copies.
    pub restored_units: u64,
    /// Units found with data.
    pub mapped_units: u64,
}

impl From<&Cut> for PowerCut {
    fn from(cut: &Cut) -> Self {
        Self {
            at_s: cut.at.s(),
            requests: cut.requests,
            buffered_units: cut.buffered_units,
            torn_programs: cut.torn_programs,
            torn_erases: cut.torn_erases,
            held_up_s: cut.held_up.s(),
        }
    }
}

impl From<&Started> for StartUp {
    fn from(started: &Started) -> Self {
        Self {
            time_s: started.time.s(),
            log_reads: started.log_reads,
            page_reads: started.page_reads,
            summary_reads: started.summary_reads,
            erased_blocks: started.erased_blocks,
            restored_units: started.restored_units,
            mapped_units: started.mapped_units,
        }
    }
}

impl Session {
    /// Recovery of the drive; `None` for a drive without.
    pub(super) fn power(&self, activity: &Activity) -> Option<Power> {
        let counts = activity.power?;
        let units = counts.pages() * u64::from(self.run.ssd.units_per_page());
        let programmed = activity.ftl.programmed_units() + units;
        Some(Power {
            counts,
            write_amplification: ratio(programmed as f64, self.written_units()),
            cut: self.run.cut().map(PowerCut::from),
            start_up: None,
        })
    }
}
