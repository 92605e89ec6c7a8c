//! Rosters: names, meanings and parameters of the members of every family.

use crate::refuse;
use base::Error;
use base::family::Member;
use pyo3::prelude::*;
use ssd::conflicts::CONFLICTS;

/// A member as (name, summary, citation, JSON Schema of its parameters).
type Facts = (&'static str, &'static str, &'static str, String);

/// A family by its name, with its roster.
type Family = (&'static str, fn() -> Vec<Facts>);

/// Every family of the engine, with its roster.
const FAMILIES: &[Family] = &[
    ("ftl", || facts(ssd::ftl::ROSTER)),
    ("gc", || facts(ssd::gc::ROSTER)),
    ("scheduler", || facts(ssd::scheduler::ROSTER)),
    ("retry", || facts(ssd::retry::ROSTER)),
    ("recovery", || facts(ssd::recovery::ROSTER)),
    ("array", || facts(nand::array::ROSTER)),
    ("mechanism", || facts(nand::cell::ROSTER)),
    ("procedure", || facts(nand::procedure::ROSTER)),
    ("model", || facts(ecc::model::ROSTER)),
    ("code", || facts(ecc::code::ROSTER)),
    ("decoder", || facts(ecc::decoder::ROSTER)),
    ("channel", || facts(ecc::channel::ROSTER)),
    ("trace", || facts(host::trace::ROSTER)),
    ("workload", || facts(host::workload::ROSTER)),
];

fn facts<F>(roster: &[Member<F>]) -> Vec<Facts> {
    roster.iter().map(|m| (m.name, m.summary, m.citation, (m.schema)().to_string())).collect()
}

/// Names of all families.
#[pyfunction]
pub fn families() -> Vec<&'static str> {
    FAMILIES.iter().map(|(name, _)| *name).collect()
}

/// The members of a family, in the order of its roster.
#[pyfunction]
pub fn roster(family: &str) -> PyResult<Vec<Facts>> {
    match FAMILIES.iter().find(|(name, _)| *name == family) {
        Some((_, members)) => Ok(members()),
        None => Err(refuse(Error::unknown("roster", "family", family, families()))),
    }
}

/// A conflict as (feature, key, other feature, key, reason, advice).
type Row = [&'static str; 6];

/// The table of features that exclude each other.
#[pyfunction]
pub fn conflicts() -> Vec<Row> {
    let rows = CONFLICTS.iter();
    rows.map(|row| {
        let (one, other) = (row.one, row.other);
        [one.name(), one.key(), other.name(), other.key(), row.why, row.instead]
    })
    .collect()
}
