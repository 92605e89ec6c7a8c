//! The test board for Python: procedures on a chip, step by step.

use crate::configuration::Config;
use crate::patience::patiently;
use crate::refuse;
use base::family::Choice;
use base::params::{self, Table};
use base::units::Hours;
use base::{Error, Result};
use nand::board::Rest;
use nand::board::bench::{Row, Value};
use nand::procedure::Session;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Mutex, PoisonError};

/// A test procedure on a virtual board.
#[pyclass]
pub struct Board {
    /// Session of the procedure. The lock is never contended: Python calls one method at a time.
    session: Mutex<Session>,
}

impl Board {
    fn session(&mut self) -> &mut Session {
        self.session.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| refuse(Error::new("procedure", error.to_string())))
}

/// Table of the parameters that assignments set.
fn assigned(sets: &[String]) -> Result<Table> {
    let mut table = Table::new();
    for set in sets {
        params::merge(&mut table, params::assignment(set)?);
    }
    Ok(table)
}

#[pymethods]
impl Board {
    /// Prepares a procedure on the chip of the drive `config`; `params` are assignments to the
    /// procedure's own parameters. Blocks rest for `rest_hours` at `rest_c` after each cycle.
    #[new]
    fn new(
        py: Python<'_>,
        config: &Config,
        procedure: String,
        params: Vec<String>,
        seed: u64,
        rest_hours: f64,
        rest_c: f64,
    ) -> PyResult<Self> {
        let chip = config.loaded().config.chip.clone();
        let session = patiently(py, move || {
            let choice = Choice { name: procedure, params: assigned(&params)? };
            let rest = Rest { hours: Hours(rest_hours), celsius: rest_c };
            Session::new(&chip, choice, seed, (rest_hours != 0.0).then_some(rest))
        })?;
        Ok(Self { session: Mutex::new(session) })
    }

    /// Number of the procedure's steps.
    fn steps(&mut self) -> u64 {
        self.session().steps()
    }

    /// Parameters of the procedure, complete, as JSON.
    fn params(&mut self) -> PyResult<String> {
        json(&self.session().params().clone())
    }

    /// Axes and columns for a picture of the rows, as JSON.
    fn picture(&mut self) -> PyResult<String> {
        json(&self.session().picture())
    }

    /// Jumps to `step`: earlier steps that it builds on are performed again, and their rows do not
    /// count.
    fn begin_at(&mut self, step: u64) {
        self.session().begin_at(step);
    }

    /// Performs a step. Returns its number and its rows, None after the last step.
    fn advance<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(u64, Bound<'py, PyList>)>> {
        let session = self.session();
        let Some((step, rows)) = py.detach(|| session.advance()).map_err(refuse)? else {
            return Ok(None);
        };
        let rows: Vec<_> = rows.iter().map(|row| dict(py, row)).collect::<PyResult<_>>()?;
        Ok(Some((step, PyList::new(py, rows)?)))
    }
}

fn dict<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in &row.0 {
        match value {
            Value::Whole(value) => dict.set_item(name, value)?,
            Value::Real(value) => dict.set_item(name, value)?,
            Value::Word(value) => dict.set_item(name, value)?,
        }
    }
    Ok(dict)
}
