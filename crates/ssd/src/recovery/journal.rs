//! `journal`: checkpoints as in `checkpoint`, and between them a journal of the map. A start-up
//! reads it in place of the pages whose owners it tells.

use super::contract::{Build, Look, Recovery, Seen};
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
        if checkpoint_units == 0 {
            return Err(Error::new("recovery.checkpoint_units", "0 units").expected("at least 1"));
        }
        if !(1..=MOST_ENTRY_BYTES).contains(&entry_bytes) {
            return Err(Error::new("recovery.entry_bytes", format!("{entry_bytes} bytes"))
                .expected(format!("1 to {MOST_ENTRY_BYTES} bytes for each unit")));
        }
        Ok(Box::new(Journal { units: checkpoint_units, entry_bytes }))
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
        Self { checkpoint_units: 1 << 20, entry_bytes: 8 }
    }
}

struct Journal {
    units: u64,
    entry_bytes: u32,
}

impl Recovery for Journal {
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
