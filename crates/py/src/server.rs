//! A server for Python: a drive that clients use as a block device.

use crate::simulation::Simulation;
use crate::window::framed;
use crate::{json, refuse};
use base::Error;
use host::device::clock::Pacing;
use host::device::disk::Integrity;
use host::device::image::Store;
use host::device::log::Log;
use host::device::server;
use host::device::socket::Address;
use host::device::{Device, Protocol};
use host::session::Session;
use host::window::Watch;
use nand::geometry::Die;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssd::drive::exchange::{Exchange, Way};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A served drive, until `stop`.
#[pyclass(frozen)]
pub struct Server {
    server: Mutex<Option<server::Server>>,
    uris: Vec<String>,
    log: Option<Arc<Log>>,
    /// Window on the served drive, if somebody looks.
    watch: Mutex<Option<Watch>>,
}

fn over() -> PyErr {
    refuse(Error::new("server", "it has ended"))
}

impl Server {
    fn lock(&self) -> MutexGuard<'_, Option<server::Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the session by its window, between two requests.
    fn looked<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut Watch, &mut Session) -> T + Send,
    ) -> PyResult<T> {
        let looked = py.detach(|| {
            let server = self.lock();
            let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
            server.as_ref()?.with(|session| Some(look(watch.as_mut()?, session))).flatten()
        });
        looked.ok_or_else(over)
    }

    fn command(
        &self,
        py: Python<'_>,
        command: impl FnOnce(&server::Server) -> base::Result<()> + Send,
    ) -> PyResult<()> {
        let done = py.detach(|| self.lock().as_ref().map(command)).ok_or_else(over)?;
        done.map_err(refuse)
    }
}

#[pymethods]
impl Server {
    /// Serves the preconditioned drive of a simulation of `clients` by the `protocol` `nbd` or
    /// `nvme`: at `socket`, a path, or at `port`, for other machines too where it `is_open`. Bytes
    /// are kept in the file `store`, or in memory. `clock` is `fast`, `real` or `scaled=K`,
    /// `integrity` `model` or `exact`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        simulation: &mut Simulation,
        protocol: &str,
        socket: Option<PathBuf>,
        port: Option<u16>,
        is_open: bool,
        store: Option<PathBuf>,
        clock: &str,
        integrity: &str,
        record: Option<PathBuf>,
        read_only: bool,
        memory_limit: u64,
    ) -> PyResult<Self> {
        let protocol = Protocol::parse(protocol).map_err(refuse)?;
        let at_port = port.map(|port| (protocol, Address::Port { port, is_open }));
        // NVMe hosts connect to a port: a socket beside it is for NBD clients.
        let at_path = socket.map(|path| (Protocol::Nbd, Address::Path(path)));
        let device = Device {
            addresses: at_port.into_iter().chain(at_path).collect(),
            store: store.map_or(Store::Memory, Store::File),
            pacing: Pacing::parse(clock).map_err(refuse)?,
            integrity: Integrity::parse(integrity).map_err(refuse)?,
            record,
            read_only,
            memory_limit,
        };
        // A refusal must not take the drive with it.
        let opened = device.open(simulation.session()?).map_err(refuse)?;
        let session = simulation.take()?;
        let server = py.detach(|| opened.serve(session)).map_err(refuse)?;
        let uris = server.uris().to_vec();
        let log = server.log();
        Ok(Self { server: Mutex::new(Some(server)), uris, log, watch: Mutex::new(None) })
    }

    /// Addresses of the server, as clients name them.
    #[getter]
    fn uris(&self) -> Vec<String> {
        self.uris.clone()
    }

    /// State of the server, by name.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = py.detach(|| self.lock().as_ref().and_then(server::Server::status));
        let status = status.ok_or_else(over)?;
        let facts = PyDict::new(py);
        facts.set_item("clients", status.clients)?;
        facts.set_item("under_way", status.under_way)?;
        facts.set_item("completed", status.completed)?;
        facts.set_item("now_ns", status.now.ns())?;
        facts.set_item("failed", status.failed)?;
        facts.set_item("write_amplification", status.write_amplification)?;
        facts.set_item("reclaimed_blocks", status.reclaimed_blocks)?;
        facts.set_item("late_answers", status.late_answers)?;
        facts.set_item("power", status.power.name())?;
        facts.set_item("exchange", json(&status.exchange)?)?;
        facts.set_item("has_failed", status.has_failed)?;
        Ok(facts)
    }

    /// Measures of the drive as JSON.
    fn measures(&self, py: Python<'_>) -> PyResult<String> {
        let measures = py.detach(|| self.lock().as_ref().and_then(server::Server::measures));
        json(&measures.ok_or_else(over)?.map_err(refuse)?)
    }

    /// Begins to keep what a window shows of the drive, which pages call `name`; `job` says who
    /// asks for its data.
    fn watch(&self, py: Python<'_>, name: String, job: String) -> PyResult<()> {
        let begin = |session: &mut Session| Watch::new(session, name, job);
        let begun = py.detach(|| self.lock().as_ref().and_then(|server| server.with(begin)));
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        *watch = Some(begun.ok_or_else(over)?);
        Ok(())
    }

    /// Answers a call of a window in JSON.
    fn window_call(&self, py: Python<'_>, request: &str) -> PyResult<String> {
        self.looked(py, |watch, session| watch.call(session, request))
    }

    /// One frame of a window with the layers whose bits are set. At most `most_blocks` blocks are
    /// looked at; the others are as they were at their last turn.
    #[pyo3(signature = (layers, most_blocks = None))]
    fn window_frame<'py>(
        &self,
        py: Python<'py>,
        layers: u32,
        most_blocks: Option<u32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        framed(py, |frame| {
            self.looked(py, |watch, session| watch.frame(session, layers, most_blocks, frame))
        })
    }

    /// Cuts the power of the drive.
    fn cut(&self, py: Python<'_>) -> PyResult<()> {
        self.command(py, server::Server::cut)
    }

    /// Restores the power of the drive.
    fn restore(&self, py: Python<'_>) -> PyResult<()> {
        self.command(py, server::Server::restore)
    }

    /// Exchanges a die from now on, `in_service` or `suspended`; its new chip has `pe_cycles`
    /// cycles.
    fn exchange(&self, py: Python<'_>, die: u32, way: &str, pe_cycles: u32) -> PyResult<()> {
        let way = Way::parse(way).map_err(refuse)?;
        self.command(py, |server| server.exchange(Exchange { die: Die(die), way, pe_cycles }))
    }

    /// Lets a die fail now.
    fn fail_die(&self, py: Python<'_>, die: u32) -> PyResult<()> {
        self.command(py, |server| server.fail_die(Die(die)))
    }

    /// Saves the drive with its bytes.
    fn snapshot(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.command(py, |server| server.snapshot(&path))
    }

    /// Ages the stored data by `hours` at once.
    fn age(&self, py: Python<'_>, hours: f64) -> PyResult<()> {
        self.command(py, |server| server.age(hours))
    }

    /// Messages for the user since the last call.
    fn notes(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.lock().as_ref().map_or_else(Vec::new, server::Server::notes))
    }

    /// Columns of the requests remembered since the last call (see `Simulation.take_requests`),
    /// with their clients and times on the wall clock: 0 for a time that never came. `causes` has
    /// one number for each cause and request, where waits are kept. All are there after `stop`.
    fn take_requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut rows = self.log.as_ref().map(|log| log.take()).unwrap_or_default();
        let causes = std::mem::take(&mut rows.requests.causes);
        let columns = crate::simulation::columns_of(py, rows.requests)?;
        columns.set_item("causes", causes.into_pyarray(py))?;
        columns.set_item("client", rows.client.into_pyarray(py))?;
        columns.set_item("asked_unix_ns", rows.asked_ns.into_pyarray(py))?;
        columns.set_item("due_unix_ns", rows.due_ns.into_pyarray(py))?;
        columns.set_item("answered_unix_ns", rows.answered_ns.into_pyarray(py))?;
        Ok(columns)
    }

    /// Takes no more requests, answers those under way, and gives the drive back to the simulation.
    /// Returns the server's counts as JSON. Raises the error with which the drive has failed.
    fn stop(&self, py: Python<'_>, simulation: &mut Simulation) -> PyResult<String> {
        let server = self.lock().take().ok_or_else(over)?;
        let (session, report, ended) = py.detach(|| server.stop());
        if let Some(session) = session {
            simulation.put(session);
        }
        ended.map_err(refuse)?;
        json(&report.report())
    }
}
