//! `scan_blocks`: a summary behind the data of each full block is read in place of its pages
//! (Birrell et al., Operating Systems Review 2007; Desnoyers, HotStorage'13).
//!
//! The summary takes the last pages of each block, and one program more. A block that is not full
//! has none yet: its pages are read.

use super::contract::{Build, Look, Recovery, Seen};
use base::family::{Member, check, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "scan_blocks",
    summary: "a scan of a summary page of each block",
    citation: "birrell2007",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |_| Ok(Box::new(ScanBlocks)),
};

/// Empty: `scan_blocks` has no parameters of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {}

struct ScanBlocks;

impl Recovery for ScanBlocks {
    fn has_summaries(&self) -> bool {
        true
    }

    fn look(&self, seen: &Seen) -> Look {
        match seen.pages {
            // Its first page is empty, and so are all.
            0 => Look::Once,
            pages if pages == seen.most && !seen.is_torn => Look::Summary,
            _ => Look::SummaryAndPages,
        }
    }
}
