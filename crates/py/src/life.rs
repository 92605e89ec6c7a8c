//! A life of a drive for Python, step by step: every long call releases the GIL.

use crate::drive::Drive;
use crate::simulation::workload_of;
use host::lifetime::plan::{Asked, Plan};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssd::ageing::Goal;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Simulated units between two checks for signals.
const UNITS: u64 = 1 << 17;

/// Life of a drive under a workload.
#[pyclass(frozen)]
pub struct Life(Mutex<host::lifetime::Life>);

impl Life {
    fn lock(&self) -> MutexGuard<'_, host::lifetime::Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Life {
    /// Begins the life of a drive under a workload, which is given as for a simulation. `weights`
    /// are the shares of the jobs in the bytes written.
    #[new]
    #[pyo3(signature = (drive, kind, workload, options, depth, weights, acceleration))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        drive: &Drive,
        kind: &str,
        workload: String,
        options: &str,
        depth: Option<u32>,
        weights: Vec<f64>,
        acceleration: f64,
    ) -> PyResult<Self> {
        let workload = workload_of(kind, workload, options, depth)?;
        let new = |drive: &mut host::drive::Drive| {
            host::lifetime::Life::new(drive, &workload, &weights, acceleration)
        };
        Ok(Self(Mutex::new(py.detach(|| drive.with(new))?)))
    }

    /// Plan of a life: cycles until the end, acceleration, and the cycles that are carried out
    /// before each leap.
    #[staticmethod]
    #[pyo3(signature = (drive, years, windows, bytes_per_hour, write_amplification, most_cycles,
        acceleration, exact_units))]
    #[allow(clippy::too_many_arguments)]
    fn plan(
        drive: &Drive,
        years: f64,
        windows: u32,
        bytes_per_hour: f64,
        write_amplification: Option<f64>,
        most_cycles: Option<u32>,
        acceleration: Option<f64>,
        exact_units: f64,
    ) -> PyResult<(f64, f64, f64)> {
        let asked = Asked {
            years,
            windows,
            bytes_per_hour,
            write_amplification,
            most_cycles,
            acceleration,
            exact_units,
        };
        let plan = drive.with(|drive| Ok(Plan::new(&drive.loaded.config, &asked)))?;
        Ok((plan.cycles, plan.acceleration, plan.stretch_cycles))
    }

    /// Advances towards `cycles` mean P/E cycles of a block and `units` units of the host. True
    /// when one of them is reached, or the life is over.
    #[allow(clippy::too_many_arguments)]
    fn advance(
        &self,
        py: Python<'_>,
        drive: &Drive,
        cycles: f64,
        units: f64,
        most_cycles: Option<u32>,
        hours_per_unit: f64,
        learning_cycles: f64,
        stretch_cycles: f64,
    ) -> PyResult<bool> {
        let goal =
            Goal { cycles, units, most_cycles, hours_per_unit, learning_cycles, stretch_cycles };
        py.detach(|| {
            let mut life = self.lock();
            drive.with(|drive| life.advance(drive, &goal, UNITS))
        })
    }

    /// Totals since the beginning of the life, and the mean cycles of a block.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let life = self.lock();
        let totals = life.totals();
        let told = PyDict::new(py);
        for (name, value) in [
            ("host_units", totals.host_units),
            ("programmed_units", totals.programmed_units),
            ("moved_units", totals.moved_units),
            ("erases", totals.erases),
            ("trimmed_units", totals.trimmed_units),
            ("hours", totals.hours),
            ("exact_units", totals.exact_units),
            ("leaps", totals.leaps as f64),
            ("cycles", life.cycles()),
            ("bytes_per_unit", life.bytes_per_unit()),
            ("failed_blocks", life.failed_blocks() as f64),
        ] {
            told.set_item(name, value)?;
        }
        Ok(told)
    }

    /// Share of the blocks that were not in use at the last leap, where static wear levelling may
    /// mix their data with others.
    fn still(&self, drive: &Drive) -> PyResult<f64> {
        drive.with(|drive| Ok(self.lock().still(drive)))
    }

    /// Whether a block has reached its limit of cycles.
    fn is_worn(&self) -> bool {
        self.lock().is_worn()
    }
}
