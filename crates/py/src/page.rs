//! Files of the window's page, which the module carries: there is no folder to look for.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

const PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Lists the files of the page: path below the folder `web/`, content.
#[pyfunction]
pub fn web(py: Python<'_>) -> Vec<(&'static str, Bound<'_, PyBytes>)> {
    PAGE.iter().map(|(path, content)| (*path, PyBytes::new(py, content))).collect()
}
