//! `ideal`: flash without bit errors, for studies of other parts.

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
