//! A drive for Python, between runs: preconditioned, aged, cloned.

use crate::configuration::Config;
use crate::patience::patiently;
use crate::refuse;
use base::Error;
use pyo3::prelude::*;
use ssd::precondition::Precondition;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A drive that no run has at the moment; nothing while one does.
#[pyclass(frozen)]
pub struct Drive {
    drive: Mutex<Option<host::drive::Drive>>,
}

/// The state of a drive by its name.
pub fn state(name: &str) -> PyResult<Precondition> {
    let goals = Precondition::ALL;
    let goal = goals.iter().find(|(known, _)| *known == name).ok_or_else(|| {
        refuse(Error::unknown("precondition", "state", name, goals.map(|(name, _)| name)))
    })?;
    Ok(goal.1)
}

impl Drive {
    fn lock(&self) -> MutexGuard<'_, Option<host::drive::Drive>> {
        self.drive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the drive.
    pub fn with<T>(
        &self,
        act: impl FnOnce(&mut host::drive::Drive) -> base::Result<T>,
    ) -> PyResult<T> {
        act(self.lock().as_mut().ok_or_else(in_use)?).map_err(refuse)
    }

    /// Lends it to a run.
    pub fn take(&self) -> PyResult<host::drive::Drive> {
        self.lock().take().ok_or_else(in_use)
    }

    /// Takes it back from a run.
    pub fn put(&self, drive: host::drive::Drive) {
        *self.lock() = Some(drive);
    }
}

fn in_use() -> PyErr {
    let error = Error::new("drive", "this drive is in a run, or a run of it was ended early");
    refuse(error.allow("a drive whose last run has come to its end, or its clone from before"))
}

#[pymethods]
impl Drive {
    /// Builds the drive of a configuration, within so many bytes of memory.
    #[new]
    fn new(py: Python<'_>, config: &Config, memory_limit: u64) -> PyResult<Self> {
        let loaded = config.loaded().clone();
        let drive = patiently(py, move || host::drive::Drive::new(loaded, memory_limit))?;
        Ok(Self { drive: Mutex::new(Some(drive)) })
    }

    /// Begins to bring the drive into this state.
    fn precondition(&self, goal: &str) -> PyResult<()> {
        let goal = state(goal)?;
        self.with(|drive| drive.precondition(goal))
    }

    /// Does a part of that: True when it is finished.
    fn advance(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.with(host::drive::Drive::advance_precondition))
    }

    /// Units written by preconditioning, and the least that will be.
    fn progress(&self) -> PyResult<(u64, u64)> {
        self.with(|drive| Ok(drive.precondition_progress()))
    }

    /// The same drive once more.
    fn clone(&self, py: Python<'_>) -> PyResult<Self> {
        let twin = py.detach(|| self.with(|drive| drive.twin()))?;
        Ok(Self { drive: Mutex::new(Some(twin)) })
    }

    /// Lets so many hours pass at once.
    fn age(&self, hours: f64) -> PyResult<()> {
        self.with(|drive| drive.age(hours))
    }

    /// Bytes that a host sees.
    fn capacity_bytes(&self) -> PyResult<u64> {
        self.with(|drive| Ok(drive.capacity_bytes()))
    }
}
