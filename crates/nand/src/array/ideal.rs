//! `ideal`: flash that never errs, for studies of everything else.

use super::{Array, Build, PageState};
use base::family::{Member, NoParams, check, schema};
use std::sync::Arc;

pub const MEMBER: Member<Build> = Member {
    name: "ideal",
    summary: "no bit errors",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |_, _| Ok(Arc::new(Ideal)),
};

struct Ideal;

impl Array for Ideal {
    fn rber(&self, _: &PageState) -> f64 {
        0.0
    }

    fn is_ideal(&self) -> bool {
        true
    }
}
