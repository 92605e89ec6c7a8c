//! `fast`: a block map, and log blocks that all logical blocks share (fully associative sector
//! translation; Lee and others, ACM Trans. Embedded Computing Systems 6(3), 2007).
//!
//! The rules: one set of all logical blocks. The oldest log block is emptied when one is needed, by
//! a full merge of each logical block that has a valid unit in it; with `merges_ahead` while the
//! host fills the last one. Streams of writes in order have log blocks of their own, which become
//! data blocks.

use super::contract::{Build, MOST_STREAMS};
use super::log_blocks::{Emptied, LogBlocks, Rules};
use base::family::{Member, check, schema};
use base::{Error, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "fast",
    summary: "block-level mapping with log blocks shared by all logical blocks",
    citation: "lee2007",
    schema: schema::<FastParams>,
    check: check::<FastParams>,
    build: |context, given| {
        let FastParams { stripe, log_blocks, sequential_logs, merges_ahead } =
            params::read(given, "ftl")?;
        if sequential_logs >= MOST_STREAMS {
            let problem = format!("{sequential_logs} sequential log blocks");
            return Err(Error::new("ftl.sequential_logs", problem)
                .expected(format!("0 to {}", MOST_STREAMS - 1)));
        }
        let rules = Rules {
            stripe,
            set_blocks: u32::MAX,
            set_logs: u32::MAX,
            log_blocks,
            log_key: "ftl.log_blocks",
            default_logs: |_, most| most,
            sequential_logs,
            is_in_order: false,
            emptied: Emptied::Oldest,
            merges_ahead,
            least_reserve: 3,
        };
        Ok(Box::new(LogBlocks::new(context, rules)?))
    },
};

/// Parameters of `fast`: width of a logical block, and numbers of log blocks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct FastParams {
    /// Planes over which a logical block is striped, one block in each; these blocks are mapped,
    /// written and merged as one. 0 is the planes of one program.
    stripe: u32,
    /// Largest number of random log blocks, each as large as a logical block. 0 is as many as the
    /// spare space of the drive has room for.
    #[schemars(extend("x-scale" = 1))]
    log_blocks: u32,
    /// Sequential log blocks beside the random ones: one for each stream of writes in order, 0 to
    /// 15. A stream begins with the first unit of a logical block. With 0 all writes go to random
    /// log blocks.
    sequential_logs: u32,
    /// Empties the oldest log block while the host fills the last one, which it may do no faster
    /// than the merges go on. Otherwise the host waits until a log block has been emptied.
    merges_ahead: bool,
}

impl Default for FastParams {
    fn default() -> Self {
        Self { stripe: 0, log_blocks: 0, sequential_logs: 1, merges_ahead: false }
    }
}
