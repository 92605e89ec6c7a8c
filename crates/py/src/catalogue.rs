//! The catalogue for Python: presets, configurations, schema, citations, traces.

use crate::patience::patiently;
use crate::refuse;
use base::params::{self, Table};
use host::{config, report, trace};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Files of the window's page: path below the folder `web/`, content.
const PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Lists the files of the window's page, which the module carries.
#[pyfunction]
pub fn web(py: Python<'_>) -> Vec<(&'static str, Bound<'_, PyBytes>)> {
    PAGE.iter().map(|(path, content)| (*path, PyBytes::new(py, content))).collect()
}

/// Version of the engine.
#[pyfunction]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Widest vector instructions that this machine computes with.
#[pyfunction]
pub fn vectors() -> &'static str {
    base::vectors::Vectors::widest().name()
}

/// All presets as (kind, name, summary).
#[pyfunction]
pub fn presets() -> Vec<(&'static str, String, String)> {
    config::presets().into_iter().map(|p| (p.kind, p.name, p.summary)).collect()
}

/// Text of a preset, comments included.
#[pyfunction]
pub fn show(name: &str) -> PyResult<String> {
    config::show(name).map_err(refuse)
}

/// JSON Schema of a drive file, as text; `of_files` adds forms that only files hold.
#[pyfunction]
pub fn schema(of_files: bool) -> String {
    config::schema(of_files).to_string()
}

/// JSON Schema of a report, as text.
#[pyfunction]
pub fn report_schema() -> String {
    report::schema().to_string()
}

/// Refuses the `[fit]` table of a chip, as JSON, if its facts do not belong together.
#[pyfunction]
pub fn check_fit_facts(facts: &str, place: &str) -> PyResult<()> {
    let facts = serde_json::from_str(facts)
        .map_err(|error| refuse(base::Error::new(place, error.to_string())))?;
    config::check_fit_facts(Some(facts), place).map_err(refuse)
}

/// BibTeX entries of `keys`.
#[pyfunction]
pub fn bibliography(keys: Vec<String>) -> PyResult<String> {
    config::bibliography(&keys).map_err(refuse)
}

/// Summary of a trace as JSON, in one pass. `options` are the reader's options as JSON.
#[pyfunction]
pub fn trace_info(py: Python<'_>, path: PathBuf, options: &str) -> PyResult<String> {
    let options = trace_options(options)?;
    let summary = patiently(py, move || trace::scan(&path, &options))?;
    serde_json::to_string(&summary)
        .map_err(|error| refuse(base::Error::new("trace", error.to_string())))
}

/// Reads the options for traces from JSON.
pub fn trace_options(json: &str) -> PyResult<trace::Options> {
    let table: Table = serde_json::from_str(json)
        .map_err(|error| refuse(base::Error::new("trace", error.to_string())))?;
    params::read(&table, "trace").map_err(refuse)
}

/// A TOML document as JSON; `place` names it in errors, which carry the line.
#[pyfunction]
pub fn toml_to_json(text: &str, place: &str) -> PyResult<String> {
    let table = params::parse(text, place).map_err(refuse)?;
    serde_json::to_string(&table)
        .map_err(|error| refuse(base::Error::new(place, error.to_string())))
}
