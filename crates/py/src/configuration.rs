//! Configuration of a drive: loaded and checked once, then used for runs and boards.

use crate::own::OwnFtl;
use crate::patience::{begun, patiently};
use crate::refuse;
use base::params::Table;
use host::config::{self, Loaded};
use host::report;
use pyo3::prelude::*;
use ssd::build::FtlNeeds;
use std::path::PathBuf;

/// A drive's configuration, complete and checked.
#[pyclass(frozen)]
pub struct Config {
    loaded: Loaded,
}

impl Config {
    /// Wraps a drive that is loaded already.
    pub fn of(loaded: Loaded) -> Self {
        Self { loaded }
    }

    /// The loaded drive of the configuration.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

#[pymethods]
impl Config {
    /// Loads `drive`, a preset or a file, with the assignments `sets`.
    #[new]
    fn new(py: Python<'_>, drive: String, sets: Vec<String>) -> PyResult<Self> {
        let loaded = patiently(py, move || config::load(&drive, &sets))?;
        Ok(Self { loaded })
    }

    /// Loads a drive from its tables, as JSON; `place` names them in errors.
    #[staticmethod]
    fn of_tables(py: Python<'_>, tables: &str, place: String, sets: Vec<String>) -> PyResult<Self> {
        let tables: Table = serde_json::from_str(tables)
            .map_err(|error| refuse(base::Error::new(&place, error.to_string())))?;
        let loaded = patiently(py, move || config::load_tables(&tables, &place, &sets))?;
        Ok(Self { loaded })
    }

    /// Copy of the configuration with an FTL in Python.
    fn with_ftl(&self, ftl: &OwnFtl) -> PyResult<Self> {
        let mut loaded = self.loaded.clone();
        let config = loaded.config.clone().with_own_ftl(ftl.0.clone());
        loaded.config = config.map_err(|error| refuse(loaded.explain(error)))?;
        Ok(Self { loaded })
    }

    /// Origin of a key's value: file and line, or the assignment.
    fn origin(&self, path: &str) -> Option<String> {
        self.loaded.origin(path)
    }

    /// Files that the drive was read from, without the presets that come with nandlab.
    fn files(&self) -> Vec<PathBuf> {
        self.loaded.files.clone()
    }

    /// Needs of the FTL: bytes that the host sees, memory of the controller by use, and bytes
    /// beside the data of a page. The drive is built for the answer within a memory limit in bytes.
    #[allow(clippy::type_complexity)]
    fn ftl_needs(
        &self,
        py: Python<'_>,
        memory_limit: u64,
    ) -> PyResult<(u64, Vec<(&'static str, u64)>, u32)> {
        let loaded = self.loaded.clone();
        let is_python = loaded.config.own_ftl.is_some();
        let FtlNeeds { capacity_bytes, ram, spare_bytes } = begun(py, is_python, move || {
            FtlNeeds::of(&loaded.config, memory_limit).map_err(|error| loaded.explain(error))
        })?;
        let ram = ram.into_iter().map(|part| (part.name, part.bytes)).collect();
        Ok((capacity_bytes, ram, spare_bytes))
    }

    /// JSON with `config`, `config_hash`, `summary`, `cite`, `run`, `notices`,
    /// `fitted`.
    fn json(&self) -> PyResult<String> {
        let loaded = &self.loaded;
        let json = serde_json::json!({
            "config": loaded.config,
            "config_hash": report::config_hash(&loaded.config).map_err(refuse)?,
            "summary": loaded.summary,
            "cite": loaded.cite,
            "run": loaded.run,
            "notices": loaded.notices(),
            "fitted": loaded.fitted,
        });
        Ok(json.to_string())
    }
}
