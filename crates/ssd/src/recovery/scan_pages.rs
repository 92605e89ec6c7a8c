//! `scan_pages`: the spare areas of all pages are read, as early page-mapped FTLs do (Gupta et al.,
//! ASPLOS'09).
//!
//! It costs nothing while the drive runs. A page read takes its time however little of the page is
//! wanted, so the start-up of a large drive takes minutes (Desnoyers, HotStorage'13).

use super::contract::{Build, Look, Recovery, Seen};
use base::family::{Member, check, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "scan_pages",
    summary: "a scan of the spare areas of all pages",
    citation: "gupta2009",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |_| Ok(Box::new(ScanPages)),
};

/// Empty: `scan_pages` has no parameters of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {}

struct ScanPages;

impl Recovery for ScanPages {
    fn look(&self, _: &Seen) -> Look {
        Look::Pages
    }
}
