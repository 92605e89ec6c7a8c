//! Configuration of a drive: loaded and checked once, then what runs and boards are made from.

use crate::patience::patiently;
use crate::refuse;
use host::config::{self, Loaded};
use host::report;
use pyo3::prelude::*;

/// A drive, completed and checked.
#[pyclass(frozen)]
pub struct Config {
    loaded: Loaded,
}

impl Config {
    /// What was loaded.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }
}

#[pymethods]
impl Config {
    /// `drive` is a preset or a file, `sets` are assignments.
    #[new]
    fn new(py: Python<'_>, drive: String, sets: Vec<String>) -> PyResult<Self> {
        let loaded = patiently(py, move || config::load(&drive, &sets))?;
        Ok(Self { loaded })
    }

    /// JSON with `config`, `config_hash`, `summary`, `cite`, `run`.
    fn json(&self) -> PyResult<String> {
        let loaded = &self.loaded;
        let json = serde_json::json!({
            "config": loaded.config,
            "config_hash": report::config_hash(&loaded.config).map_err(refuse)?,
            "summary": loaded.summary,
            "cite": loaded.cite,
            "run": loaded.run,
        });
        Ok(json.to_string())
    }
}
