//! The window for Python: a drive that is advanced and looked at, in JSON and frames.

use crate::refuse;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    /// Memory of the last frame, for the next one: fresh memory takes longer than what is written
    /// to it.
    static FRAME: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of a frame that a function writes.
pub(crate) fn framed<'py>(
    py: Python<'py>,
    write: impl FnOnce(&mut Vec<u8>) -> PyResult<()>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut frame = FRAME.take();
    let bytes = write(&mut frame).map(|()| PyBytes::new(py, &frame));
    FRAME.set(frame);
    bytes
}

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
    fn frame<'py>(&self, py: Python<'py>, layers: u32) -> PyResult<Bound<'py, PyBytes>> {
        framed(py, |frame| {
            py.detach(|| self.held().frame(layers, frame));
            Ok(())
        })
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
