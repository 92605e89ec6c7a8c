//! Key `ftl.parity`: parity over dies, the reads that it has saved, and dies that have failed.

use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::{Activity, ParityCounts};
use ssd::ftl::contract::StripeCounts;

/// Parity over dies (`parity.pages`), the report's `ftl.parity`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Parity {
    /// Counts of pages of parity.
    #[serde(flatten)]
    pub stripes: StripeCounts,
    /// Counts of reads that were rebuilt.
    #[serde(flatten)]
    pub reads: ParityCounts,
    /// Dies that have failed, in the order of their failures.
    pub failed_dies: Vec<FailedDie>,
}

/// Die that has failed in a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailedDie {
    /// Number of the die.
    pub die: u32,
    /// Time of its failure.
    pub failed_s: f64,
    /// Time from which on the other dies had the newest data of all units; `null` where the run
    /// ended before.
    pub rebuilt_s: Option<f64>,
}

impl Session {
    /// Whether the drive has parity over dies.
    pub(in crate::report) fn has_parity(&self) -> bool {
        self.loaded.config.parity.pages > 0
    }

    /// Parity of a run; `None` for a drive without it.
    pub(super) fn parity(&self, activity: &Activity) -> Option<Parity> {
        let failed = self.run.ssd.failed_dies().iter().map(|failed| FailedDie {
            die: failed.die.0,
            failed_s: failed.failed_at.s(),
            rebuilt_s: failed.rebuilt_at.map(|at| at.s()),
        });
        self.has_parity().then(|| Parity {
            stripes: activity.counted.ftl.stripes,
            reads: activity.counted.controller.parity,
            failed_dies: failed.collect(),
        })
    }
}
