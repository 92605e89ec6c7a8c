//! `block`: a block map alone, for controllers with a few KiB of memory, as in USB sticks and SD
//! cards (after the replacement units of Ban, US patent 5,937,425, 1999).
//!
//! The rules: a logical block that is written gets an open block, which takes its data in order and
//! each at its own position. A write further on has the units between copied first. A write further
//! back ends the open block: the rest of the logical block is copied behind, and a new open block
//! begins. When all are in use, the one that has rested longest is ended.

use super::contract::Build;
use super::log_blocks::{Emptied, LogBlocks, Rules};
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "block",
    summary: "block-level mapping with a few open blocks, written in order",
    citation: "ban1999",
    schema: schema::<BlockParams>,
    check: check::<BlockParams>,
    build: |context, given| {
        let BlockParams { stripe, open_blocks } = params::read(given, "ftl")?;
        let rules = Rules {
            stripe,
            set_blocks: 1,
            set_logs: 1,
            log_blocks: open_blocks,
            log_key: "ftl.open_blocks",
            default_logs: |_, most| most.min(OPEN_BLOCKS),
            sequential_logs: 0,
            is_in_order: true,
            emptied: Emptied::Set,
            merges_ahead: false,
            least_reserve: 3,
        };
        Ok(Box::new(LogBlocks::new(context, rules)?))
    },
};

/// Default number of open blocks (assumed).
const OPEN_BLOCKS: u32 = 4;

/// Parameters of `block`: width of a logical block, and number of open blocks.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BlockParams {
    /// Planes over which a logical block is striped, one block in each; these blocks are mapped,
    /// written and copied as one. 0 is the planes of one program.
    stripe: u32,
    /// Logical blocks that can be written to at a time, each with an open block. 0 is 4, limited
    /// by the spare space of the drive.
    open_blocks: u32,
}
