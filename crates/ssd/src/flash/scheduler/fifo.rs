//! `fifo`: strictly in the order of arrival.

use super::{Build, CLASSES, Head, Scheduler};
use base::Time;
use base::family::{Member, NoParams, check, schema};

pub const MEMBER: Member<Build> = Member {
    name: "fifo",
    summary: "in order of arrival",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |_| Ok(Box::new(Fifo)),
};

struct Fifo;

impl Scheduler for Fifo {
    fn pick(&self, _: Time, heads: &[Option<Head>; CLASSES]) -> usize {
        oldest(heads)
    }

    fn reads_suspend(&self) -> bool {
        false
    }
}

/// The class whose head arrived first.
pub(super) fn oldest(heads: &[Option<Head>; CLASSES]) -> usize {
    let order = |class: &usize| heads[*class].map_or(u64::MAX, |head| head.order);
    (0..CLASSES).min_by_key(order).unwrap_or(0)
}
