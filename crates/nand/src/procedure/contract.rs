//! The contract of a procedure: steps on a test bench, each of which gives rows of results.
//!
//! Promises, held by the conformance tests in `procedure.rs`: every row of a procedure has the same
//! columns, the first of them `step`; numbers are finite; the same chip, parameters and seed give
//! the same rows, also when a run is taken up again at any step after [`Procedure::replay_from`];
//! a rate never stands without its trials and its interval; error counts do not fall as stress
//! grows, but for chance.

use crate::board::bench::{Bench, Row};
use base::{Error, Result};
use serde::Serialize;

/// A column on an axis of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Its name; what is a rate has the same name with `_low` and `_high` beside it.
    pub column: &'static str,
    /// What to write there, with the unit.
    pub label: &'static str,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// How the rows of a procedure are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// Horizontal.
    pub x: Axis,
    /// One panel for each, one above the other.
    pub panels: &'static [Axis],
    /// Columns that tell the curves apart.
    pub series: &'static [&'static str],
    /// Draws steps or dots where lines between points would mean nothing.
    pub style: Style,
}

/// How points are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// By lines.
    Lines,
    /// Not at all.
    Dots,
    /// As bars at names.
    Bars,
}

/// Something that is done to a chip.
pub trait Procedure: Send {
    /// How many steps it has.
    fn steps(&self) -> u64;

    /// Does step `step` (they come in order) and gives its rows.
    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>>;

    /// The first step that must be done again, its rows thrown away, to get to the start of
    /// `step` on a new board: the state of a board that carries over between steps begins there.
    fn replay_from(&self, _step: u64) -> u64 {
        0
    }

    /// How its rows are drawn.
    fn picture(&self) -> Picture;
}

/// A row of a step.
pub(super) fn row(step: u64) -> Row {
    Row::default().whole("step", step)
}

/// Refuses a parameter out of range.
pub(super) fn check_range<T>(key: &str, value: T, low: T, high: T) -> Result<()>
where
    T: PartialOrd + std::fmt::Display,
{
    if low <= value && value <= high {
        Ok(())
    } else {
        Err(Error::new(format!("procedure.{key}"), format!("{value} is out of range"))
            .expected(format!("{low} to {high}")))
    }
}
