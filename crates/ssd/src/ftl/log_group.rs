//! `log_group`: a block map, and log blocks that the logical blocks of a group share
//! (set-associative sector translation, N:K; Park and others, ACM Trans. Embedded Computing Systems
//! 7(4), 2008).
//!
//! The rules: a set is a group of N logical blocks with at most K log blocks. When a group has
//! filled all of its log blocks, all of them are emptied. When the drive has no log block left, the
//! group with the oldest one gives up all of its own.

use super::contract::Build;
use super::log_blocks::{Emptied, LogBlocks, Rules};
use base::family::{Member, check, schema};
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "log_group",
    summary: "block-level mapping with log blocks shared by groups of logical blocks",
    citation: "park2008",
    schema: schema::<LogGroupParams>,
    check: check::<LogGroupParams>,
    build: |context, given| {
        let LogGroupParams { stripe, log_blocks, group_blocks, group_logs } =
            params::read(given, "ftl")?;
        for (key, value) in [("ftl.group_blocks", group_blocks), ("ftl.group_logs", group_logs)] {
            if value == 0 {
                return Err(Error::new(key, "0").expected("at least 1"));
            }
        }
        let rules = Rules {
            stripe,
            set_blocks: group_blocks,
            set_logs: group_logs,
            log_blocks,
            log_key: "ftl.log_blocks",
            default_logs: |_, most| most,
            sequential_logs: 0,
            is_in_order: false,
            emptied: Emptied::Set,
            merges_ahead: false,
            least_reserve: 3,
        };
        Ok(Box::new(LogBlocks::new(context, rules)?))
    },
};

/// Parameters of `log_group`: width of a logical block, groups, and numbers of log blocks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LogGroupParams {
    /// Planes over which a logical block is striped, one block in each; these blocks are mapped,
    /// written and merged as one. 0 is the planes of one program.
    stripe: u32,
    /// Largest number of log blocks, each as large as a logical block. 0 is as many as the groups
    /// can have, limited by the spare space of the drive.
    #[schemars(extend("x-scale" = 1))]
    log_blocks: u32,
    /// Logical blocks of a group (N), neighbours in the address space.
    group_blocks: u32,
    /// Log blocks of a group, at most (K).
    group_logs: u32,
}

impl Default for LogGroupParams {
    fn default() -> Self {
        Self { stripe: 0, log_blocks: 0, group_blocks: 4, group_logs: 2 }
    }
}
