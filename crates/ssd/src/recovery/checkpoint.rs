//! `checkpoint`: the tables of the FTL are written to flash now and then, and the blocks that it
//! has opened since are scanned.
//!
//! A block is noted in the drive's log before its first program: so the scan knows where to look.

use super::contract::{Build, Look, Recovery, Seen};
use base::family::{Member, check, schema};
use base::{Error, params};
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
        if checkpoint_units == 0 {
            return Err(Error::new("recovery.checkpoint_units", "0 units").expected("at least 1"));
        }
        Ok(Box::new(Checkpoint { units: checkpoint_units }))
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
        Self { checkpoint_units: 1 << 20 }
    }
}

struct Checkpoint {
    units: u64,
}

impl Recovery for Checkpoint {
    fn checkpoint_units(&self) -> u64 {
        self.units
    }

    fn look(&self, seen: &Seen) -> Look {
        match seen {
            Seen { is_new: true, .. } => Look::Pages,
            // It holds nothing by the checkpoint and what was found since: perhaps it is erased.
            Seen { was_full: true, pages: 0, .. } => Look::Once,
            _ => Look::Nothing,
        }
    }
}
