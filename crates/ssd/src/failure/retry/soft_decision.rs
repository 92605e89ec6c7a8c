//! `soft_decision`: soft levels one after the other, every read of them transferred (Zuolo 2016,
//! Fig. 2 and 5a).
//!
//! A level is two page reads with the references moved to either side of the hard one, and two
//! transfers. Each read is a command of its own: others may take die and bus between the two.

use super::{Build, Reread, Retry};
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "soft_decision",
    summary: "soft levels, each of two reads and two transfers",
    citation: "zuolo2016",
    schema: schema::<SoftParams>,
    check: checked,
    build: |table| Ok(Box::new(SoftDecision(params::read(table, "retry")?))),
};

/// Parameters of the policies that go up soft levels.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SoftParams {
    /// Soft levels before a page is given up.
    pub max_levels: u8,
    /// Each read of a level waits its turn behind the reads of its die and is asked for when the
    /// one before it has arrived; otherwise all of them go ahead of the others at once.
    pub in_turn: bool,
    /// Pages of a block that were given up before the block is retired; 0 never retires one.
    pub retire_after: u32,
}

impl Default for SoftParams {
    fn default() -> Self {
        // Zuolo 2016: two levels were enough for every memory at twice its rated endurance. The
        // limit is assumed: one lost page is no verdict on its block.
        Self { max_levels: 2, in_turn: false, retire_after: 4 }
    }
}

/// More levels than any decoder has regions for.
const MOST_LEVELS: u8 = 7;

/// Refuses levels that nothing could decode.
pub(super) fn check_levels(levels: u8, place: &str) -> Result<()> {
    if levels <= MOST_LEVELS {
        return Ok(());
    }
    Err(Error::new(format!("{place}.max_levels"), format!("{levels} levels"))
        .allow(format!("0 to {MOST_LEVELS}")))
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
