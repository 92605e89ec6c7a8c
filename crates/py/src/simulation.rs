//! A session for Python: every long call releases the GIL.

use crate::catalogue::trace_options;
use crate::configuration::Config;
use crate::drive::{Drive, state};
use crate::patience::patiently;
use crate::refuse;
use base::Error;
use host::report::Outside;
use host::run::stats::RequestLog;
use host::session::{Opened, Session, Workload};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssd::request::Op;
use ssd::timeline::SPAN_NAMES;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A drive under a workload, step by step.
#[pyclass]
pub struct Simulation {
    /// Never contended: Python calls one method at a time. The lock lets threads share the class.
    session: Mutex<Session>,
}

impl Simulation {
    fn session(&mut self) -> &mut Session {
        self.session.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Simulation {
    /// `kind` says what `workload` is: `fio` (a job file), `fio_text` (its text) or `trace` (read
    /// as the JSON `options` say).
    #[new]
    #[pyo3(signature = (config, kind, workload, options, depth, precondition, memory_limit))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        config: &Config,
        kind: &str,
        workload: String,
        options: &str,
        depth: Option<u32>,
        precondition: &str,
        memory_limit: u64,
    ) -> PyResult<Self> {
        let workload = workload_of(kind, workload, options, depth)?;
        let goal = state(precondition)?;
        let loaded = config.loaded().clone();
        let session = patiently(py, move || Session::new(loaded, &workload, goal, memory_limit))?;
        Ok(Self { session: Mutex::new(session) })
    }

    /// The same on a drive, which is in the run until `give_back`.
    #[staticmethod]
    fn on(
        py: Python<'_>,
        drive: &Drive,
        kind: &str,
        workload: String,
        options: &str,
        depth: Option<u32>,
    ) -> PyResult<Self> {
        let workload = workload_of(kind, workload, options, depth)?;
        // A workload that is refused must not take the drive with it.
        let opened = py.detach(|| drive.with(|drive| Opened::new(drive, &workload)))?;
        let session = Session::with(drive.take()?, opened).map_err(refuse)?;
        Ok(Self { session: Mutex::new(session) })
    }

    /// Gives the drive back as the run has left it.
    fn give_back(&mut self, py: Python<'_>, drive: &Drive) -> PyResult<()> {
        let session = self.session();
        drive.put(py.detach(|| session.drive_left()).map_err(refuse)?);
        Ok(())
    }

    /// Does a part of the preconditioning: True when it is finished.
    fn precondition(&mut self, py: Python<'_>) -> PyResult<bool> {
        let session = self.session();
        py.detach(|| session.precondition()).map_err(refuse)
    }

    /// Units written by preconditioning, and the least that will be.
    fn precondition_progress(&mut self) -> (u64, u64) {
        self.session().precondition_progress()
    }

    /// Goes on for `completions` more requests: True when the run is over.
    fn advance(&mut self, py: Python<'_>, completions: u64) -> PyResult<bool> {
        let session = self.session();
        py.detach(|| session.advance(completions)).map_err(refuse)
    }

    /// Requests completed, requests in all (None where unknown), simulated nanoseconds.
    fn progress(&mut self) -> (u64, Option<u64>, u64) {
        let run = &self.session().run;
        (run.completed, run.total(), run.ssd.now().ns())
    }

    /// Things that were accepted and mean nothing here.
    fn notices(&mut self) -> Vec<String> {
        self.session().notices.clone()
    }

    /// Bytes that the host sees.
    fn capacity_bytes(&mut self) -> u64 {
        self.session().run.ssd.capacity_bytes()
    }

    /// The report so far, as JSON.
    fn report(&mut self, py: Python<'_>, wall_s: f64, peak_rss_mb: f64) -> PyResult<String> {
        let outside = Outside { wall_s, peak_rss_mb };
        let session = self.session();
        let report = py.detach(|| session.report(outside)).map_err(refuse)?;
        Ok(report.to_string())
    }

    /// Remembers every request from now on.
    fn keep_requests(&mut self) {
        self.session().run.log = Some(RequestLog::default());
    }

    /// Takes the requests remembered since the last call: columns by name.
    fn take_requests<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let log = self.session().run.log.as_mut().map(std::mem::take).unwrap_or_default();
        let columns = PyDict::new(py);
        columns.set_item("arrival_ns", log.arrival_ns.into_pyarray(py))?;
        columns.set_item("start_ns", log.start_ns.into_pyarray(py))?;
        columns.set_item("completion_ns", log.completion_ns.into_pyarray(py))?;
        columns.set_item("op", log.op.into_pyarray(py))?;
        columns.set_item("job", log.job.into_pyarray(py))?;
        columns.set_item("offset", log.offset.into_pyarray(py))?;
        columns.set_item("bytes", log.bytes.into_pyarray(py))?;
        columns.set_item("queue_ns", log.queue_ns.into_pyarray(py))?;
        columns.set_item("flash_ns", log.flash_ns.into_pyarray(py))?;
        columns.set_item("bus_ns", log.bus_ns.into_pyarray(py))?;
        columns.set_item("ecc_ns", log.ecc_ns.into_pyarray(py))?;
        columns.set_item("failed", log.failed.into_pyarray(py))?;
        columns.set_item("measured", log.measured.into_pyarray(py))?;
        Ok(columns)
    }

    /// Remembers the first `limit` spans of the timeline from now on.
    fn keep_timeline(&mut self, limit: usize) {
        self.session().run.ssd.keep_timeline(limit);
    }

    /// The timeline: columns by name, the names of the span kinds, and how many were dropped.
    fn timeline<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<&'static str>, u64)> {
        let timeline = self.session().run.ssd.timeline();
        let spans = timeline.spans();
        let columns = PyDict::new(py);
        let u64s =
            |of: fn(&ssd::timeline::Span) -> u64| -> Vec<u64> { spans.iter().map(of).collect() };
        columns.set_item("start_ns", u64s(|s| s.start.ns()).into_pyarray(py))?;
        columns.set_item("end_ns", u64s(|s| s.end.ns()).into_pyarray(py))?;
        columns.set_item("track", u64s(|s| s.track as u64).into_pyarray(py))?;
        columns.set_item("index", u64s(|s| u64::from(s.index)).into_pyarray(py))?;
        columns.set_item("kind", u64s(|s| s.kind as u64).into_pyarray(py))?;
        Ok((columns, SPAN_NAMES.to_vec(), timeline.dropped))
    }

    /// Throughput and latency over time: columns by name, and the interval in nanoseconds.
    fn series<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, u64)> {
        let series = &self.session().run.series;
        let columns = PyDict::new(py);
        let column = |of: fn(&host::run::stats::Bin) -> u64| -> Vec<u64> {
            series.bins.iter().map(of).collect()
        };
        columns.set_item("requests", column(|b| b.requests).into_pyarray(py))?;
        columns.set_item("reads", column(|b| b.reads).into_pyarray(py))?;
        columns.set_item("writes", column(|b| b.writes).into_pyarray(py))?;
        columns.set_item("read_bytes", column(|b| b.read_bytes).into_pyarray(py))?;
        columns.set_item("write_bytes", column(|b| b.write_bytes).into_pyarray(py))?;
        columns.set_item("latency_sum_ns", column(|b| b.latency_sum_ns).into_pyarray(py))?;
        columns.set_item("latency_max_ns", column(|b| b.latency_max_ns).into_pyarray(py))?;
        columns.set_item("host_units", column(|b| b.ftl.host_units).into_pyarray(py))?;
        columns.set_item("gc_copies", column(|b| b.ftl.moved_units).into_pyarray(py))?;
        columns.set_item("padding_units", column(|b| b.ftl.padding_units).into_pyarray(py))?;
        columns.set_item("map_writes", column(|b| b.ftl.map.writes).into_pyarray(py))?;
        columns.set_item("gc_runs", column(|b| b.ftl.reclaimed_blocks).into_pyarray(py))?;
        Ok((columns, series.interval.ns()))
    }

    /// Latency histogram of `op`, by its name, or of `all`: upper edges of the buckets in ns, and
    /// counts.
    #[allow(clippy::type_complexity)]
    fn latency_buckets<'py>(
        &mut self,
        py: Python<'py>,
        op: &str,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let totals = self.session().run.totals();
        let latency = match Op::ALL.iter().find(|known| known.name() == op) {
            Some(&op) => totals.of(op).latency.clone(),
            None if op == "all" => totals.latency(),
            None => {
                let names = ["read", "write", "trim", "flush", "all"];
                return Err(refuse(Error::unknown("latency", "operation", op, names)));
            }
        };
        let (edges, counts): (Vec<u64>, Vec<u64>) = latency.buckets().into_iter().unzip();
        Ok((edges.into_pyarray(py), counts.into_pyarray(py)))
    }
}

/// The workload that a run is given.
fn workload_of(
    kind: &str,
    workload: String,
    options: &str,
    depth: Option<u32>,
) -> PyResult<Workload> {
    Ok(match kind {
        "fio" => Workload::Fio(PathBuf::from(workload)),
        "fio_text" => {
            Workload::FioText { text: workload, place: "workload".into(), dir: PathBuf::from(".") }
        }
        "trace" => Workload::Trace {
            path: PathBuf::from(workload),
            options: Box::new(trace_options(options)?),
            depth,
        },
        other => {
            let kinds = ["fio", "fio_text", "trace"];
            return Err(refuse(Error::unknown("workload", "kind", other, kinds)));
        }
    })
}
