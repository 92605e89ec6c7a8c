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
    pub cut: Option<Cut>,
    /// Start-up after the cut; `null` without one. The caller of the engine fills it in once the
    /// drive has started up.
    pub start_up: Option<Started>,
}

impl Session {
    /// Recovery of the drive; `None` for a drive without.
    pub(super) fn power(&self, activity: &Activity) -> Option<Power> {
        let counts = activity.counted.power?;
        let units = counts.pages() * u64::from(self.run.ssd.units_per_page());
        let programmed = activity.counted.ftl.programmed_units() + units;
        Some(Power {
            counts,
            write_amplification: ratio(programmed as f64, self.written_units()),
            cut: self.run.cut().copied(),
            start_up: None,
        })
    }
}
