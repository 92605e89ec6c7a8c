//! The window for Python: a drive that is advanced and looked at, in JSON and frames.

use crate::refuse;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A drive with its job, in a window. Threads may share it: one waits for the other.
#[pyclass(frozen)]
pub struct Window(Mutex<host::window::Window>);

impl Window {
    fn held(&self) -> MutexGuard<'_, host::window::Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Window {
    /// Makes a window without a drive; those to come may take so many bytes.
    #[new]
    fn new(memory_limit: u64) -> Self {
        Self(Mutex::new(host::window::Window::new(memory_limit)))
    }

    /// Answers a call in JSON.
    fn call(&self, py: Python<'_>, request: &str) -> String {
        py.detach(|| self.held().call(request))
    }

    /// One frame with the layers whose bits are set.
    fn frame<'py>(&self, py: Python<'py>, layers: u32) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            self.held().frame(layers, &mut bytes);
            bytes
        });
        PyBytes::new(py, &bytes)
    }

    /// Bytes of the drive, as `nandlab save` writes them; its job ends.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.held().save()).map_err(refuse)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Takes a saved drive in place of the present one.
    fn load(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| self.held().load(bytes)).map_err(refuse)
    }
}
