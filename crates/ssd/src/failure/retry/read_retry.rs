//! `read_retry`: hard reads with the references moved, step by step; then soft levels around the
//! best of them (Cai et al., Proc. IEEE 105, 2017).
//!
//! Cells lose charge while data are kept, and the valleys between levels sink: a hard read of the
//! moved references errs less, where the chip's model has references to move.

use super::soft_decision::check_levels;
use super::{Build, Reread, Retry};
use base::family::{Member, schema};
use base::params::Table;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "read_retry",
    summary: "hard reads with the references moved by a table, then soft levels",
    citation: "cai2017",
    schema: schema::<Params>,
    check: checked,
    build: |table| Ok(Box::new(ReadRetry(params::read(table, "retry")?))),
};

/// Parameters of `read_retry`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// The retry table: how far references are moved in each step, in volts; the lower ones by less
    /// where `chip.features.lowest_shift` says so.
    shifts_v: Vec<f64>,
    /// Soft levels after the table; 0 gives the page up.
    max_levels: u8,
    /// Soft levels combined in the chip, as with `nand_assisted`.
    combined: bool,
    /// Each read of a round waits its turn behind the reads of its die and is asked for when the
    /// one before it has arrived; otherwise all of them go ahead of the others at once.
    in_turn: bool,
    /// Pages of a block that were given up before the block is retired; 0 never retires one.
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

/// The longest table.
const MOST_STEPS: usize = 64;

fn checked(table: &Table, place: &str) -> Result<Table> {
    let given: Params = params::read(table, place)?;
    check_levels(given.max_levels, place)?;
    let steps = &given.shifts_v;
    if steps.len() > MOST_STEPS || !steps.iter().all(|shift| (-10.0..=10.0).contains(shift)) {
        return Err(Error::new(format!("{place}.shifts_v"), format!("{steps:?}"))
            .allow(format!("up to {MOST_STEPS} shifts from -10 to 10 V")));
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
