//! `none`: nothing is written for a start-up, and a drive that loses power is lost.

use super::contract::{Build, Look, Recovery, Seen};
use base::family::{Member, check, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "none",
    summary: "no recovery: the power of the drive is not cut",
    citation: "",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |_| Ok(Box::new(NoRecovery)),
};

/// Empty: `none` has no parameters of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {}

struct NoRecovery;

impl Recovery for NoRecovery {
    fn can_recover(&self) -> bool {
        false
    }

    fn look(&self, _: &Seen) -> Look {
        Look::Nothing
    }
}
