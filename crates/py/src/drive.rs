//! A drive for Python, between runs: preconditioned, aged, cloned, saved.

use crate::configuration::Config;
use crate::own::OwnFtl;
use crate::patience::begun;
use crate::{json, refuse};
use base::Error;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use ssd::ageing::{Reclaimed, Refreshed};
use ssd::conflicts::Feature;
use ssd::precondition::Precondition;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

/// Time between two checks whether another thread has released the drive.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// A drive between runs; empty while a run has it.
#[pyclass(frozen)]
pub struct Drive {
    drive: Mutex<Option<host::drive::Drive>>,
    /// Thread that uses the drive now: an FTL in Python may ask for its own drive.
    holder: Mutex<Option<ThreadId>>,
}

/// Finds the state of preconditioning by its name.
pub fn state(name: &str) -> PyResult<Precondition> {
    let goals = Precondition::ALL;
    let goal = goals.iter().find(|(known, _)| *known == name).ok_or_else(|| {
        refuse(Error::unknown("precondition", "state", name, goals.map(|(name, _)| name)))
    })?;
    Ok(goal.1)
}

impl Drive {
    fn of(drive: host::drive::Drive) -> Self {
        Self { drive: Mutex::new(Some(drive)), holder: Mutex::new(None) }
    }

    fn holder(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other thread uses the drive, and locks it. The GIL is released meanwhile, as
    /// the other thread may be in an FTL in Python. A method of such an FTL that asks for its own
    /// drive is refused.
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<host::drive::Drive>>> {
        loop {
            match self.drive.try_lock() {
                Ok(drive) => return Ok(drive),
                Err(TryLockError::Poisoned(error)) => return Ok(error.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if *self.holder() == Some(current().id()) {
                return Err(in_use());
            }
            Python::attach(|py| py.detach(|| sleep(BETWEEN_LOOKS)));
        }
    }

    /// Calls `act` on the drive.
    pub fn with<T>(
        &self,
        act: impl FnOnce(&mut host::drive::Drive) -> base::Result<T>,
    ) -> PyResult<T> {
        let mut drive = self.lock()?;
        *self.holder() = Some(current().id());
        let done = drive.as_mut().ok_or_else(in_use).and_then(|drive| act(drive).map_err(refuse));
        *self.holder() = None;
        done
    }

    /// Lends the drive to a run.
    pub fn take(&self) -> PyResult<host::drive::Drive> {
        self.lock()?.take().ok_or_else(in_use)
    }

    /// Takes the drive back from a run.
    pub fn put(&self, drive: host::drive::Drive) -> PyResult<()> {
        *self.lock()? = Some(drive);
        Ok(())
    }
}

fn in_use() -> PyErr {
    let error = Error::new("drive", "this drive is in a run, or a run of it was ended early");
    refuse(error.hint("use a drive whose last run has ended, or a clone made before the run"))
}

#[pymethods]
impl Drive {
    /// Builds the drive of a configuration within a memory limit in bytes.
    #[new]
    fn new(py: Python<'_>, config: &Config, memory_limit: u64) -> PyResult<Self> {
        let loaded = config.loaded().clone();
        let is_python = loaded.config.own_ftl.is_some();
        let drive = begun(py, is_python, move || host::drive::Drive::new(loaded, memory_limit))?;
        Ok(Self::of(drive))
    }

    /// Begins to precondition the drive to the state `goal`.
    fn precondition(&self, goal: &str) -> PyResult<()> {
        let goal = state(goal)?;
        self.with(|drive| drive.precondition(goal))
    }

    /// Names of the features that the drive has.
    fn features(&self) -> PyResult<Vec<&'static str>> {
        self.with(|drive| Ok(drive.features().all().map(Feature::name).collect()))
    }

    /// Refuses an action, by its key, which a feature of the drive excludes.
    fn check_asked(&self, key: &str) -> PyResult<()> {
        // Keys of drive files have a dot; those of actions have none.
        let actions = Feature::ALL.iter().filter(|feature| !feature.key().contains('.'));
        let asked = actions.clone().find(|feature| feature.key() == key).ok_or_else(|| {
            Error::unknown("action", "action", key, actions.map(|action| action.key()))
        });
        self.with(|drive| drive.features().check(*asked?))
    }

    /// Performs a part of the preconditioning; True when it is finished.
    fn advance(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.with(host::drive::Drive::advance_precondition))
    }

    /// Units written by preconditioning, and the least that will be written.
    fn progress(&self) -> PyResult<(u64, u64)> {
        self.with(|drive| Ok(drive.precondition_progress()))
    }

    /// Clones the drive in its present state.
    fn clone(&self, py: Python<'_>) -> PyResult<Self> {
        let twin = py.detach(|| self.with(|drive| drive.twin()))?;
        Ok(Self::of(twin))
    }

    /// Prepares the drive for its last run, as replicate `number` of it; 0 is the run itself.
    fn become_replicate(&self, number: u64) -> PyResult<()> {
        self.with(|drive| {
            if number > 0 {
                drive.become_replicate(number);
            }
            Ok(())
        })
    }

    /// Lets a number of hours pass at once, with or without power. Returns blocks refreshed, units
    /// moved, blocks erased, and pages read by patrols.
    fn age(&self, py: Python<'_>, hours: f64, has_power: bool) -> PyResult<(u64, u64, u64, u64)> {
        let Refreshed { blocks, units, erases, patrol_reads } =
            py.detach(|| self.with(|drive| drive.age(hours, has_power)))?;
        Ok((blocks, units, erases, patrol_reads))
    }

    /// Has a host read all data a number of times at once. Returns blocks reclaimed, units moved,
    /// blocks erased, and pages read by the host.
    fn age_by_reads(
        &self,
        py: Python<'_>,
        passes: u32,
        request_bytes: u64,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let Reclaimed { blocks, units, erases, page_reads } =
            py.detach(|| self.with(|drive| drive.age_by_reads(passes, request_bytes)))?;
        Ok((blocks, units, erases, page_reads))
    }

    /// Begins to overwrite the data of the drive until its blocks have `cycles` more P/E cycles on
    /// average.
    fn age_by_writes(&self, cycles: u32) -> PyResult<Ageing> {
        let ageing = self.with(|drive| drive.age_by_writes(cycles))?;
        Ok(Ageing(Mutex::new(ageing)))
    }

    /// Cuts the power. Returns the losses as JSON.
    fn cut(&self) -> PyResult<String> {
        let cut = self.with(|drive| drive.cut())?;
        json(&cut)
    }

    /// Advances the start-up after a cut by `events` events. Returns its time and reads as JSON
    /// once it is over.
    fn recover(&self, py: Python<'_>, events: u64) -> PyResult<Option<String>> {
        let started = py.detach(|| self.with(|drive| drive.recover(events)))?;
        started.map(|started| json(&started)).transpose()
    }

    /// Whether the drive takes no more writes.
    fn is_read_only(&self) -> PyResult<bool> {
        self.with(|drive| Ok(drive.is_read_only()))
    }

    /// Least, mean and most P/E cycles of the blocks in use.
    fn pe_cycles(&self) -> PyResult<(u32, f64, u32)> {
        let wear = self.with(|drive| Ok(drive.wear()))?;
        Ok((wear.min, wear.mean, wear.max))
    }

    /// Most P/E cycles without a rest that wear as those of a block in use have.
    fn most_worn_cycles(&self) -> PyResult<u32> {
        self.with(|drive| Ok(drive.most_worn_cycles()))
    }

    /// P/E cycles of each block, by number.
    fn block_cycles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let cycles = self.with(|drive| drive.block_cycles())?;
        Ok(cycles.into_pyarray(py))
    }

    /// Writes the drive to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.with(|drive| drive.save(&path)))
    }

    /// Reads a drive from a file within a memory limit in bytes.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        memory_limit: u64,
        ftl: Option<&OwnFtl>,
    ) -> PyResult<Self> {
        let own = ftl.map(|ftl| ftl.0.clone());
        let is_python = own.is_some();
        let load = move || host::drive::Drive::load_with(&path, memory_limit, own);
        let drive = begun(py, is_python, load)?;
        Ok(Self::of(drive))
    }

    /// Configuration that the drive was built from.
    fn config(&self) -> PyResult<Config> {
        self.with(|drive| Ok(Config::of(drive.loaded.clone())))
    }

    /// State that preconditioning brought the drive into before its first run.
    fn preconditioned_to(&self) -> PyResult<&'static str> {
        self.with(|drive| Ok(drive.preconditioned_to().name()))
    }

    /// Zones of the drive, None without zones. Each has its state, units up to the write pointer,
    /// and units written. Then follow the first byte of the first zone, bytes from one zone to the
    /// next, bytes that a zone stores, and bytes of a unit.
    #[allow(clippy::type_complexity)]
    fn zones(&self) -> PyResult<Option<(Vec<(&'static str, u32, u32)>, u64, u64, u64, u64)>> {
        self.with(|drive| {
            let Some(zoning) = drive.zoning() else { return Ok(None) };
            let ssd = drive.ssd();
            let zones = (0..zoning.layout.zones).filter_map(|zone| ssd.zone(zone));
            let zones = zones.map(|zone| (zone.state.name(), zone.pointer, zone.written));
            let (first, stride) = (zoning.bytes().start, zoning.stride());
            Ok(Some((zones.collect(), first, stride, zoning.capacity(), zoning.unit)))
        })
    }

    /// Capacity that a host sees, in bytes.
    fn capacity_bytes(&self) -> PyResult<u64> {
        self.with(|drive| Ok(drive.capacity_bytes()))
    }
}

/// An ageing by writes, step by step.
#[pyclass(frozen)]
pub struct Ageing(Mutex<ssd::ageing::Ageing>);

#[pymethods]
impl Ageing {
    /// Performs a part of the ageing on its drive; True when it is over.
    fn advance(&self, py: Python<'_>, drive: &Drive) -> PyResult<bool> {
        py.detach(|| {
            let mut ageing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            drive.with(|drive| drive.advance_ageing(&mut ageing))
        })
    }

    /// Erases so far, and erases in all.
    fn progress(&self) -> (u64, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).progress()
    }
}
