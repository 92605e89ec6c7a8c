//! `journal`: checkpoints as in `checkpoint`, and between them a journal of the map. A start-up
//! reads it in place of the pages whose owners it tells.

use super::checkpoint::Checkpoint;
use super::contract::Build;
use base::family::{Member, check, schema};
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "journal",
    summary: "checkpoints, a journal of the map, and a scan of the pages that it does not have yet",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| {
        let Params { checkpoint_units, entry_bytes } = params::read(table, "recovery")?;
        if !(1..=MOST_ENTRY_BYTES).contains(&entry_bytes) {
            return Err(Error::new("recovery.entry_bytes", format!("{entry_bytes} bytes"))
                .expected(format!("1 to {MOST_ENTRY_BYTES} bytes for each unit")));
        }
        Ok(Box::new(Checkpoint::new(checkpoint_units, entry_bytes)?))
    },
};

/// Most bytes of an entry, so that many fit a page.
const MOST_ENTRY_BYTES: u32 = 64;

/// Parameters of `journal`: how often a checkpoint is written, and the size of an entry.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Units that the host writes between two checkpoints; there are more of them where the
    /// journal fills the drive's log. The default is assumed: 4 GiB of 4 KiB.
    #[schemars(extend("x-scale" = 1))]
    checkpoint_units: u64,
    /// Bytes of the journal for each unit that is programmed, moved ones included. The default is
    /// assumed: a logical and a physical address of 4 bytes each.
    entry_bytes: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { checkpoint_units: Checkpoint::UNITS, entry_bytes: 8 }
    }
}
