//! `in_order`: strictly in the order of arrival at the die.
//!
//! The die of a row of host data is chosen when one can take it, which is once its program before
//! has ended: reads that came meanwhile go first, and wait for less than in a queue of both.

use super::{Build, CLASSES, Head, Scheduler};
use base::Time;
use base::family::{Member, NoParams, check, schema};

pub const MEMBER: Member<Build> = Member {
    name: "in_order",
    summary: "in order of arrival at the die, where writes come one row at a time",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |_| Ok(Box::new(InOrder)),
};

struct InOrder;

impl Scheduler for InOrder {
    fn pick(&self, _: Time, heads: &[Option<Head>; CLASSES]) -> usize {
        oldest(heads)
    }

    fn reads_suspend(&self) -> bool {
        false
    }

    fn reads_first(&self) -> bool {
        false
    }
}

/// The class whose head arrived first.
pub(super) fn oldest(heads: &[Option<Head>; CLASSES]) -> usize {
    let order = |class: &usize| heads[*class].map_or(u64::MAX, |head| head.order);
    (0..CLASSES).min_by_key(order).unwrap_or(0)
}
