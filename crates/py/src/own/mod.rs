//! FTLs written in Python: objects of `nandlab.ftl.Ftl` and `nandlab.ftl.PageHooks`.
//!
//! An object comes in with the names of the methods that it has. A user's own FTL (`ssd`) goes out,
//! whose decisions are calls of these methods. `decide` calls those of a whole FTL, `hooks` those
//! over `page`, `flash` is the flash that `self.flash` shows.

mod decide;
mod flash;
mod hooks;

pub use flash::Flash;

use crate::refuse;
use base::params::Table;
use base::{Error, Result};
use decide::Deciding;
use hooks::Hooking;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ssd::ftl::own::{self, Decide, Hooks};
use std::sync::Arc;

/// Object whose copies decide, and the facts of its class.
struct Given {
    object: Py<PyAny>,
    /// Names of the methods that its class defines itself.
    methods: Vec<String>,
    streams: u32,
    open_blocks: u32,
    move_streams: u32,
}

impl Given {
    fn has(&self, method: &str) -> bool {
        self.methods.iter().any(|known| known == method)
    }

    /// Bound method of a copy, if the class defines it.
    fn method(&self, object: &Bound<'_, PyAny>, name: &str) -> Result<Option<Py<PyAny>>> {
        if !self.has(name) {
            return Ok(None);
        }
        object.getattr(name).map(|method| Some(method.unbind())).map_err(raised)
    }
}

/// An FTL in Python: copies of an object decide.
#[pyclass(frozen)]
pub struct OwnFtl(pub own::OwnFtl);

#[pymethods]
impl OwnFtl {
    /// Wraps an FTL. `methods` are those that the class of `object` defines itself, `facts` is JSON
    /// that tells it from other FTLs.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        object: Py<PyAny>,
        name: &str,
        is_whole: bool,
        methods: Vec<String>,
        streams: u32,
        open_blocks: u32,
        move_streams: u32,
        facts: &str,
    ) -> PyResult<Self> {
        let given = Given { object, methods, streams, open_blocks, move_streams };
        of(given, name, is_whole, facts).map(Self)
    }
}

/// Tests an FTL against its promises, in `storms` of each kind on small drives with `sets`. Returns
/// the counts of the tests as JSON.
#[pyfunction]
pub fn check_ftl(py: Python<'_>, ftl: &OwnFtl, sets: Vec<String>, storms: u64) -> PyResult<String> {
    let mut check = ssd::conformance::Check::new(ftl.0.clone(), &sets, storms).map_err(refuse)?;
    while !py.detach(|| check.advance()).map_err(refuse)? {
        py.check_signals()?;
    }
    serde_json::to_string(check.passed())
        .map_err(|error| refuse(Error::new("ftl", error.to_string())))
}

fn of(given: Given, name: &str, is_whole: bool, facts: &str) -> PyResult<own::OwnFtl> {
    let facts: Table = serde_json::from_str(facts)
        .map_err(|error| refuse(Error::new("ftl", error.to_string())))?;
    let given = Arc::new(given);
    Ok(if is_whole {
        own::OwnFtl::whole(name, facts, move || {
            let decide = Python::attach(|py| Deciding::of(given.clone(), given.object.bind(py)))?;
            Ok(Box::new(decide) as Box<dyn Decide>)
        })
    } else {
        own::OwnFtl::hooks(name, facts, move || {
            let hooks = Python::attach(|py| Hooking::of(given.clone(), given.object.bind(py)))?;
            Ok(Box::new(hooks) as Box<dyn Hooks>)
        })
    })
}

/// Error that keeps the exception of a method.
#[cold]
fn raised(error: PyErr) -> Error {
    let problem = Python::attach(|py| {
        let kind = error.get_type(py).name().map_or_else(|_| "?".into(), |name| name.to_string());
        let said = error.value(py).to_string();
        if said.is_empty() { kind } else { format!("{kind}: {said}") }
    });
    Error::new("", problem).caused_by(error)
}

/// Error for an answer of the wrong kind.
#[cold]
fn unfit(answer: &Bound<'_, PyAny>, expected: &str) -> Error {
    let shown = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
    Error::new("", format!("returned {shown}")).expected(expected)
}

/// Tuple of units for Python.
fn units<'py>(
    py: Python<'py>,
    units: impl ExactSizeIterator<Item = u32>,
) -> Result<Bound<'py, PyTuple>> {
    PyTuple::new(py, units).map_err(raised)
}

/// Deep copy of an object.
fn copy<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let copied = || object.py().import("copy")?.call_method1("deepcopy", (object,));
    copied().map_err(|error| {
        raised(error).hint("every drive has a copy of the object: give its class a `__deepcopy__`")
    })
}

/// Saves the state of an object as the text that its `saved` returns, or restores it from there.
fn exchange(
    given: &Given,
    object: &Py<PyAny>,
    archive: &mut base::archive::Archive<'_>,
) -> Result<()> {
    if !(given.has("saved") && given.has("restore")) {
        return Err(Error::unsupported("drive", "saving a drive whose FTL is a Python object")
            .hint("clone the drive, or give the class methods `saved` and `restore`"));
    }
    let mut text = String::new();
    if !archive.is_loading() {
        text = Python::attach(|py| -> Result<String> {
            let state = object.bind(py).call_method0("saved").map_err(raised)?;
            state.extract().map_err(|_| unfit(&state, "text").at("saved()"))
        })?;
    }
    archive.value(&mut text)?;
    if archive.is_loading() {
        Python::attach(|py| object.bind(py).call_method1("restore", (text,)).map(drop))
            .map_err(raised)?;
    }
    Ok(())
}

/// Exception for an error with a cause: the cause itself where it ends programs (Ctrl-C), otherwise
/// the error with the cause attached, whose traceback Python shows.
pub fn with_cause(error: &Error, refused: PyErr) -> PyErr {
    let Some(cause) = error.cause.as_ref().and_then(|cause| cause.0.downcast_ref::<PyErr>()) else {
        return refused;
    };
    Python::attach(|py| {
        let cause = cause.clone_ref(py);
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        refused.set_cause(py, Some(cause));
        refused
    })
}
