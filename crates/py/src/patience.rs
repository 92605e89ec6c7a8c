//! Long computations for Python, which Ctrl-C can interrupt.

use crate::refuse;
use base::{Error, Result};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest delay of a signal, about.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Runs `work` on a thread of its own, without the GIL, and checks for signals meanwhile. When a
/// signal raises, the work is left behind: its thread holds no Python objects and ends by itself.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new().spawn(move || sender.send(work()));
    thread.map_err(|error| {
        refuse(Error::new("nandlab", format!("no thread could be started: {error}")))
    })?;
    let receiver = Mutex::new(receiver);
    let wait = || {
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(BETWEEN_LOOKS)
    };
    loop {
        match py.detach(wait) {
            Ok(result) => return result.map_err(refuse),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let problem = "the engine panicked; its message stands above";
                return Err(refuse(Error::new("nandlab", problem)));
            }
        }
    }
}

/// Runs `work` like `patiently`, or on this thread where it calls Python (`is_python`): a thread
/// that is left behind must hold no Python objects.
pub fn begun<T: Send + 'static>(
    py: Python<'_>,
    is_python: bool,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    if is_python { py.detach(work).map_err(refuse) } else { patiently(py, work) }
}

/// Runs `count` steps of `work` on this thread without the GIL, for callers that measure its CPU
/// time. Signals are checked between pieces, which are long enough for the checks to cost nothing.
pub fn in_pieces(
    py: Python<'_>,
    count: usize,
    mut work: impl FnMut(Range<usize>) + Send,
) -> PyResult<()> {
    let (mut done, mut size) = (0, 1);
    while done < count {
        let (start, end) = (Instant::now(), count.min(done + size));
        py.detach(|| work(done..end));
        py.check_signals()?;
        size = if start.elapsed() < BETWEEN_LOOKS { 2 * size } else { size.div_ceil(2) };
        done = end;
    }
    Ok(())
}
