//! A life of a drive for Python, step by step: every long call releases the GIL.

use crate::drive::Drive;
use crate::simulation::{planned, workload_of};
use crate::{json, refuse};
use base::Error;
use host::lifetime::course::{Course, Runs, Step};
use host::lifetime::demand::{Demand, End, Limit};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bounds of a step between two checks for signals.
const STEP: Step = Step { requests: 1 << 12, units: 1 << 17 };

/// Life of a drive under a workload.
#[pyclass(frozen)]
pub struct Life(Mutex<Course>);

impl Life {
    fn lock(&self) -> MutexGuard<'_, Course> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// End that a limit of cycles means, by its name.
fn end_of(name: &str) -> PyResult<End> {
    let ends = End::OF_LIMITS;
    let end = ends
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| refuse(Error::unknown("life", "limit", name, ends.map(|(name, _)| name))))?;
    Ok(end.1)
}

#[pymethods]
impl Life {
    /// Begins the life of a drive, which is in it from now on. The workload is given as for a
    /// simulation, `skip` and `until` as for its plan. `limit` has the most cycles of a block, and
    /// the name of the end where a block has them.
    #[new]
    #[pyo3(signature = (drive, kind, workload, options, depth, skip, until, years, windows,
        bytes_per_hour, limit, acceleration, exact_units))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        drive: &Drive,
        kind: &str,
        workload: String,
        options: &str,
        depth: Option<u32>,
        skip: Option<&str>,
        until: Option<&str>,
        years: f64,
        windows: u32,
        bytes_per_hour: Option<f64>,
        limit: Option<(u32, String)>,
        acceleration: Option<f64>,
        exact_units: f64,
    ) -> PyResult<Self> {
        let (skip, until) = planned(skip, until)?;
        let runs = Runs { workload: workload_of(kind, workload, options, depth)?, skip, until };
        let limit = match limit {
            Some((most_cycles, name)) => Some(Limit { most_cycles, end: end_of(&name)? }),
            None => None,
        };
        let demand = Demand { years, windows, bytes_per_hour, limit, acceleration, exact_units };
        let course = Course::new(drive.take()?, runs, demand).map_err(refuse)?;
        Ok(Self(Mutex::new(course)))
    }

    /// Advances by a step. Returns the state of the life as JSON.
    fn advance(&self, py: Python<'_>) -> PyResult<String> {
        let progress = py.detach(|| self.lock().advance(STEP)).map_err(refuse)?;
        json(&progress)
    }

    /// Windows from number `since` on, as JSON.
    fn windows(&self, since: usize) -> PyResult<String> {
        let course = self.lock();
        let windows = course.windows();
        json(&&windows[since.min(windows.len())..])
    }

    /// Share of the blocks that were not in use at the last leap, where static wear levelling may
    /// mix their data with others.
    fn still(&self) -> f64 {
        self.lock().still()
    }
}
