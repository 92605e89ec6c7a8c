//! Contract of a procedure: steps on a test bench, each of which gives rows of results.
//!
//! Promises, held by the conformance tests in `tests.rs`. Every row of a procedure has the same
//! columns, and the first is `step`. Numbers are finite. The same chip, parameters and seed give
//! the same rows, also when a run is resumed at any step after [`Procedure::replay_from`]. A rate
//! always has its trials and its interval. Error counts do not fall as stress grows, except by
//! chance.

use crate::board::bench::{Bench, Row};
use base::{Error, Result};
use serde::Serialize;

/// Axis of a picture, with its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Name of the column; a rate has `_low` and `_high` columns beside it.
    pub column: &'static str,
    /// Label of the axis, with the unit.
    pub label: &'static str,
    /// Whether the axis is logarithmic.
    pub log: bool,
}

/// Picture of the rows of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Picture {
    /// Horizontal axis of all panels.
    pub x: Axis,
    /// Vertical axes: one panel for each, one above the other.
    pub panels: &'static [Axis],
    /// Columns whose values name the curves.
    pub series: &'static [&'static str],
    /// Marks of the points; lines only where values between points have a meaning.
    pub style: Style,
}

/// Marks of the points of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Points joined by lines.
    Lines,
    /// Single dots without lines.
    Dots,
    /// Bars, one for each name.
    Bars,
}

/// Characterization of a chip, step by step.
pub trait Procedure: Send {
    /// Number of steps of the procedure.
    fn steps(&self) -> u64;

    /// Does step `step` and returns its rows. Steps come in order.
    fn step(&mut self, bench: &mut Bench<'_>, step: u64) -> Result<Vec<Row>>;

    /// First step to do again, without its rows, before `step` can begin on a new board: the
    /// board's state that steps share begins there.
    fn replay_from(&self, _step: u64) -> u64 {
        0
    }

    /// Picture of the rows.
    fn picture(&self) -> Picture;
}

/// Begins a row of a step.
pub(super) fn row(step: u64) -> Row {
    Row::default().whole("step", step)
}

/// Refuses a parameter that is out of range.
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
