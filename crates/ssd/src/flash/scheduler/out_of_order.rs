//! `out_of_order`: reads before writes before garbage collection before patrol reads, until a
//! command has waited too long; then the oldest goes first.

use super::in_order::oldest;
use super::{Build, CLASSES, Head, Scheduler};
use base::family::{Member, check, schema};
use base::{Error, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "out_of_order",
    summary: "reads first, then writes, then garbage collection, with a starvation limit",
    citation: "tavakkol2018",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |table| {
        let params: Params = params::read(table, "scheduler")?;
        if !(0.0..=1e9).contains(&params.starvation_us) {
            let problem = format!("{} us", params.starvation_us);
            return Err(Error::new("scheduler.starvation_us", problem).expected("0 to 1e9"));
        }
        Ok(Box::new(OutOfOrder {
            limit: Time::from_us(params.starvation_us),
            suspend: params.suspend,
        }))
    },
};

/// Parameters of `out_of_order`: the starvation limit, and suspends for reads.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// A command that has waited longer than this goes first, the oldest before the others.
    starvation_us: f64,
    /// Host reads suspend programs and erases (on chips that can; see `chip.timing`).
    suspend: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { starvation_us: 10_000.0, suspend: true }
    }
}

struct OutOfOrder {
    limit: Time,
    suspend: bool,
}

impl Scheduler for OutOfOrder {
    #[inline]
    fn pick(&self, now: Time, heads: &[Option<Head>; CLASSES]) -> usize {
        let first = heads.iter().position(Option::is_some).unwrap_or(0);
        let starved = |head: &Head| now.since(head.since) > self.limit;
        if heads[first + 1..].iter().flatten().any(starved) {
            return oldest(heads);
        }
        first
    }

    fn reads_suspend(&self) -> bool {
        self.suspend
    }

    fn reads_first(&self) -> bool {
        true
    }
}
