//! `checkpoint`: the tables of the FTL are written to flash now and then, and the blocks that it
//! has opened since are scanned.
//!
//! A block is noted in the drive's log before its first program: so the scan knows where to look.

use super::contract::{Build, Look, Recovery, Seen};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "checkpoint",
    summary: "checkpoints of the FTL's tables, and a scan of the blocks opened since",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| {
        let Params { checkpoint_units } = params::read(table, "recovery")?;
        Ok(Box::new(Checkpoint::new(checkpoint_units, 0)?))
    },
};

/// Parameters of `checkpoint`: how often one is written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Units that the host writes between two checkpoints. The default is assumed: 4 GiB of 4 KiB.
    #[schemars(extend("x-scale" = 1))]
    checkpoint_units: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { checkpoint_units: Checkpoint::UNITS }
    }
}

/// Checkpoints, and what a start-up reads of the blocks opened since: all pages, or, beside a
/// journal, those that it does not tell.
pub(super) struct Checkpoint {
    units: u64,
    entry_bytes: u32,
}

impl Checkpoint {
    /// Units between two checkpoints where nobody names them; assumed.
    pub(super) const UNITS: u64 = 1 << 20;

    /// Checkpoints once in so many units, with a journal of `entry_bytes` a unit, or 0 without one.
    pub(super) fn new(units: u64, entry_bytes: u32) -> Result<Self> {
        if units == 0 {
            return Err(Error::new("recovery.checkpoint_units", "0 units").expected("at least 1"));
        }
        Ok(Self { units, entry_bytes })
    }
}

impl Recovery for Checkpoint {
    fn checkpoint_units(&self) -> u64 {
        self.units
    }

    fn entry_bytes(&self) -> u32 {
        self.entry_bytes
    }

    fn look(&self, seen: &Seen) -> Look {
        match seen {
            Seen { is_new: true, .. } => Look::Unnoted,
            // It holds nothing by the checkpoint and what was found since: perhaps it is erased.
            Seen { was_full: true, pages: 0, .. } => Look::Once,
            _ => Look::Nothing,
        }
    }
}
