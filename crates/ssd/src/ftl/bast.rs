//! `bast`: a block map, and log blocks with their own page map, each of one logical block
//! (block-associative sector translation; Kim and others, IEEE Trans. Consumer Electronics 48(2),
//! 2002).
//!
//! The rules: a set is one logical block with at most one log block. The oldest log block is merged
//! when one is needed.

use super::contract::Build;
use super::log_blocks::{Emptied, LogBlocks, Rules};
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "bast",
    summary: "block-level mapping with page-mapped log blocks, merged into data blocks",
    citation: "kim2002",
    schema: schema::<BastParams>,
    check: check::<BastParams>,
    build: |context, given| {
        let BastParams { stripe, log_blocks } = params::read(given, "ftl")?;
        let rules = Rules {
            stripe,
            set_blocks: 1,
            set_logs: 1,
            log_blocks,
            log_key: "ftl.log_blocks",
            default_logs: |logical_blocks, _| (logical_blocks / 16).max(8),
            sequential_logs: 0,
            is_in_order: false,
            emptied: Emptied::Set,
            merges_ahead: false,
            least_reserve: 2,
        };
        Ok(Box::new(LogBlocks::new(context, rules)?))
    },
};

/// Parameters of `bast`: width of a logical block, and number of log blocks.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BastParams {
    /// Planes over which a logical block is striped, one block in each; these blocks are mapped,
    /// written and merged as one. 0 is the planes of one program.
    stripe: u32,
    /// Largest number of log blocks, each as large as a logical block. 0 is one for 16 logical
    /// blocks, at least 8, limited by the spare space of the drive.
    #[schemars(extend("x-scale" = 1))]
    log_blocks: u32,
}
