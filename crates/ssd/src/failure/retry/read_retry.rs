//! `read_retry`: hard reads with the references moved, step by step; then soft reads around the
//! best of them (Cai et al., Proc. IEEE 105, 2017).
//!
//! Cells lose charge while data are kept, and the valleys between levels sink: a hard read at
//! shifted references has fewer errors, if the model of the chip has references.

use super::soft_decision::check_levels;
use super::{Build, Reread, Retry};
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "read_retry",
    summary: "hard reads with references shifted by a table, then soft reads",
    citation: "cai2017",
    schema: schema::<Params>,
    check: checked,
    build: |table| Ok(Box::new(ReadRetry(params::read(table, "retry")?))),
};

/// Parameters of `read_retry`: shifts of the references, and the soft reads after them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Retry table: shift of the references in each step, in volts; `chip.features.lowest_shift`
    /// makes it smaller for lower references.
    shifts_v: Vec<f64>,
    /// Soft reads after the table of shifts; 0 is none.
    max_levels: u8,
    /// Soft reads combined in the chip, as with `nand_assisted`.
    combined: bool,
    /// Reads of one round are issued one after the other, each behind the waiting reads of its die;
    /// if off, all of them are issued at once, ahead of other reads.
    in_turn: bool,
    /// Uncorrectable pages of a block after which the block is retired; 0 retires none.
    retire_after: u32,
}

impl Default for Params {
    fn default() -> Self {
        // Assumed: three steps down, the way in which retention moves the valleys.
        Self {
            shifts_v: vec![-0.04, -0.08, -0.12],
            max_levels: 2,
            combined: false,
            in_turn: false,
            retire_after: 4,
        }
    }
}

/// Most steps of a retry table.
const MOST_STEPS: usize = 64;

fn checked(table: &Table, place: &str) -> Result<Table> {
    let given: Params = params::read(table, place)?;
    check_levels(given.max_levels, place)?;
    let steps = &given.shifts_v;
    if steps.len() > MOST_STEPS || !steps.iter().all(|shift| (-10.0..=10.0).contains(shift)) {
        return Err(Error::new(format!("{place}.shifts_v"), format!("{steps:?}"))
            .expected(format!("up to {MOST_STEPS} shifts from -10 to 10 V")));
    }
    params::write(&given)
}

struct ReadRetry(Params);

impl Retry for ReadRetry {
    fn after_failure(&self, attempt: u8) -> Option<Reread> {
        let Params { shifts_v, max_levels, combined, .. } = &self.0;
        if let Some(&shift_v) = shifts_v.get(usize::from(attempt)) {
            return Some(Reread::hard(shift_v));
        }
        let level = 1 + attempt - shifts_v.len() as u8;
        (level <= *max_levels)
            .then(|| if *combined { Reread::combined(level) } else { Reread::soft(level) })
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
