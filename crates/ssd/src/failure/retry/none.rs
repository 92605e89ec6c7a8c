//! `none`: no retry; a page that fails to decode once is lost.

use super::{Build, Reread, Retry};
use base::family::{Member, NoParams, check, schema};

pub const MEMBER: Member<Build> = Member {
    name: "none",
    summary: "no retry: the first failure is final",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |_| Ok(Box::new(None_)),
};

struct None_;

impl Retry for None_ {
    fn after_failure(&self, _: u8) -> Option<Reread> {
        None
    }
}
