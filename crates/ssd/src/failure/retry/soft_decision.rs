//! `soft_decision`: soft reads one after the other, every read of them transferred (Zuolo 2016,
//! Fig. 2 and 5a).
//!
//! A level is two page reads with the references moved to either side of the hard one, and two
//! transfers. Each read is a separate command: others may use die and bus between the two.

use super::{Build, Reread, Retry};
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "soft_decision",
    summary: "soft reads of two sensings and two transfers each",
    citation: "zuolo2016",
    schema: schema::<SoftParams>,
    check: checked,
    build: |table| Ok(Box::new(SoftDecision(params::read(table, "retry")?))),
};

/// Parameters of the policies that go up soft reads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SoftParams {
    /// Soft reads before a read fails for good.
    pub max_levels: u8,
    /// Soft reads of one level are issued one after the other, each behind the waiting reads of its
    /// die; if off, all of them are issued at once, ahead of other reads.
    pub in_turn: bool,
    /// Uncorrectable pages of a block after which the block is retired; 0 retires none.
    pub retire_after: u32,
}

impl Default for SoftParams {
    fn default() -> Self {
        // Zuolo 2016: two levels were enough for every memory at twice its rated endurance. The
        // limit is assumed: one lost page is no verdict on its block.
        Self { max_levels: 2, in_turn: false, retire_after: 4 }
    }
}

/// Most soft reads that a policy may ask for: more than any decoder has regions for.
const MOST_LEVELS: u8 = 7;

/// Refuses more soft reads than a policy may ask for.
pub(super) fn check_levels(levels: u8, place: &str) -> Result<()> {
    if levels <= MOST_LEVELS {
        return Ok(());
    }
    Err(Error::new(format!("{place}.max_levels"), format!("{levels} levels"))
        .expected(format!("0 to {MOST_LEVELS}")))
}

pub(super) fn checked(table: &Table, place: &str) -> Result<Table> {
    let given: SoftParams = params::read(table, place)?;
    check_levels(given.max_levels, place)?;
    params::write(&given)
}

struct SoftDecision(SoftParams);

impl Retry for SoftDecision {
    fn after_failure(&self, attempt: u8) -> Option<Reread> {
        (attempt < self.0.max_levels).then(|| Reread::soft(attempt + 1))
    }

    fn soft_levels(&self) -> u8 {
        self.0.max_levels
    }

    fn in_turn(&self) -> bool {
        self.0.in_turn
    }

    fn retire_after(&self) -> u32 {
        self.0.retire_after
    }
}
