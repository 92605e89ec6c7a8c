//! A session for Python: every long call releases the GIL.

use crate::catalogue::trace_options;
use crate::configuration::Config;
use crate::drive::{Drive, state};
use crate::patience::begun;
use crate::window::framed;
use crate::{json, refuse};
use base::Error;
use base::Time;
use host::replicates::{Plan, Replicates};
use host::report::Outside;
use host::run::commands::Act;
use host::run::stats::RequestLog;
use host::run::tails::Slow;
use host::run::until::Until;
use host::session::{Opened, Session, Workload};
use host::tenants::Alone;
use host::window::Watch;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ssd::precondition::Precondition;
use ssd::request::Op;
use ssd::timeline::SPAN_NAMES;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A drive under a workload, run step by step.
#[pyclass]
pub struct Simulation {
    /// Session of the simulation; empty while a server has it. The lock lets threads share the
    /// class, and is never contended: Python calls one method at a time.
    session: Mutex<Option<Session>>,
    /// Events that take about as long as `BETWEEN_LOOKS`.
    events: u64,
    workload: Workload,
    /// Other replicates of the run, if there are any.
    replicates: Mutex<Option<Replicates>>,
    /// Runs of each tenant alone, if they are asked for.
    alone: Mutex<Option<Alone>>,
    /// Window on the run, if somebody looks.
    watch: Mutex<Option<Watch>>,
}

/// Most events between two looks at the clock: slow ones may follow quick ones.
const MOST_EVENTS: u64 = 256;

/// Wall time between two looks at the clock.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Advances by `completions` requests or the time `wall`. True when the run is over.
fn advance(
    session: &mut Session,
    events: &mut u64,
    completions: u64,
    wall: Duration,
) -> base::Result<bool> {
    let (begin, stop) = (Instant::now(), session.run.completed.saturating_add(completions));
    let mut last = begin;
    loop {
        let is_over = session.advance_within(stop - session.run.completed, *events)?;
        let now = Instant::now();
        if is_over || session.run.completed >= stop || now - begin >= wall {
            return Ok(is_over);
        }
        let took = now - last;
        *events = if took < BETWEEN_LOOKS {
            (2 * *events).min(MOST_EVENTS)
        } else {
            (*events / 2).max(1)
        };
        last = now;
    }
}

fn served() -> PyErr {
    refuse(Error::new("simulation", "a server has the drive"))
}

fn unwatched() -> PyErr {
    refuse(Error::new("simulation", "nobody watches it"))
}

impl Simulation {
    fn of(session: Session, workload: Workload) -> Self {
        let session = Mutex::new(Some(session));
        let (replicates, alone) = (Mutex::new(None), Mutex::new(None));
        Self { session, events: 1, workload, replicates, alone, watch: Mutex::new(None) }
    }

    /// The session, unless a server has it.
    pub fn session(&mut self) -> PyResult<&mut Session> {
        self.held().as_mut().ok_or_else(served)
    }

    /// The session, and the window on it if there is one.
    fn watched(&mut self) -> PyResult<(&mut Session, &mut Option<Watch>)> {
        let Self { session, watch, .. } = self;
        let session = session.get_mut().unwrap_or_else(PoisonError::into_inner);
        let watch = watch.get_mut().unwrap_or_else(PoisonError::into_inner);
        Ok((session.as_mut().ok_or_else(served)?, watch))
    }

    fn held(&mut self) -> &mut Option<Session> {
        self.session.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the session to a server.
    pub fn take(&mut self) -> PyResult<Session> {
        self.held().take().ok_or_else(served)
    }

    /// Takes the session back from a server.
    pub fn put(&mut self, session: Session) {
        *self.held() = Some(session);
    }
}

#[pymethods]
impl Simulation {
    /// Builds a drive under a workload. `kind` is the kind of `workload`: `fio` (a job file),
    /// `fio_text` (its text), `trace` (read with the JSON `options`) or `clients` (of a server,
    /// whatever the text is).
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
        let (goal, passes) = goal_of(precondition)?;
        let loaded = config.loaded().clone();
        let is_python = loaded.config.own_ftl.is_some();
        let opened = workload.clone();
        let session = begun(py, is_python, move || {
            let mut session = Session::new(loaded, &opened, goal, memory_limit)?;
            if let Some(passes) = passes {
                session.precondition_by_trace(&opened, passes)?;
            }
            Ok(session)
        })?;
        Ok(Self::of(session, workload))
    }

    /// Puts a workload on a drive, which is in the run until `give_back`.
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
        // A refused workload must not take the drive with it.
        let opened = py.detach(|| drive.with(|drive| Opened::new(drive, &workload)))?;
        let session = Session::with(drive.take()?, opened).map_err(refuse)?;
        Ok(Self::of(session, workload))
    }

    /// Ends the run at `until` (`settled=p99.9`, `pts`, `100000`, `2s`, `1.5x`), and repeats its
    /// jobs until then. `skip` is the length of its beginning, at whose end the run pauses until
    /// `measure`. Returns whether the run pauses.
    fn plan(&mut self, skip: Option<&str>, until: Option<&str>) -> PyResult<bool> {
        let (skip, until) = planned(skip, until)?;
        self.session()?.plan(skip, until);
        Ok(skip.is_some())
    }

    /// Runs `count` replicates, up to `workers` at a time, with what this run was told: `plan`,
    /// `exchange`, `fail_die`, `keep_blame`. To be called between preconditioning and run.
    #[allow(clippy::too_many_arguments)]
    fn replicate(
        &mut self,
        py: Python<'_>,
        count: u64,
        workers: usize,
        skip: Option<&str>,
        until: Option<&str>,
        exchange: Option<String>,
        fail_die: Option<String>,
        keeps_blame: bool,
    ) -> PyResult<()> {
        let (skip, until) = planned(skip, until)?;
        let workload = self.workload.clone();
        let plan = Plan { workload, skip, until, exchange, fail_die, keeps_blame };
        let session = self.session()?;
        let all = py.detach(|| Replicates::new(session, plan, count, workers)).map_err(refuse)?;
        self.replicates = Mutex::new(Some(all));
        Ok(())
    }

    /// Plans a run alone of each tenant. To be called between preconditioning and run.
    fn plan_alone(&mut self, skip: Option<&str>, until: Option<&str>) -> PyResult<()> {
        let (skip, until) = planned(skip, until)?;
        let workload = self.workload.clone();
        let alone = Alone::new(self.session()?, workload, skip, until).map_err(refuse)?;
        self.alone = Mutex::new(Some(alone));
        Ok(())
    }

    /// Advances the runs of the tenants by about `wall_s` seconds. Returns the requests that they
    /// have completed, and whether every tenant has run.
    fn advance_alone(&mut self, py: Python<'_>, wall_s: f64) -> PyResult<(u64, bool)> {
        let wall = Duration::try_from_secs_f64(wall_s).unwrap_or(Duration::MAX);
        let Self { session, events, alone, .. } = self;
        let held = session.get_mut().unwrap_or_else(PoisonError::into_inner);
        let session = held.as_mut().ok_or_else(served)?;
        let alone = alone.get_mut().unwrap_or_else(PoisonError::into_inner);
        let alone = alone.as_mut().ok_or_else(|| refuse(Error::new("simulation", "no tenants")))?;
        let step = |session: &mut Session| advance(session, events, u64::MAX, wall);
        let is_over = py.detach(|| alone.advance(session, step)).map_err(refuse)?;
        Ok((alone.completed(), is_over))
    }

    /// Cuts the power `time_ns` simulated nanoseconds after the beginning, where the run ends.
    fn cut_at(&mut self, time_ns: u64) -> PyResult<()> {
        self.session()?.cut_at(Time(time_ns)).map_err(refuse)
    }

    /// Exchanges a die in the run, as `3@0.5` or `3@0.5,suspended`.
    fn exchange(&mut self, text: &str) -> PyResult<()> {
        self.session()?.exchange(text).map_err(refuse)
    }

    /// Lets a die fail in the run, as `3@0.5`.
    fn fail_die(&mut self, text: &str) -> PyResult<()> {
        self.session()?.fail_die(text).map_err(refuse)
    }

    /// Repeats a command of a recording in its replay, at `at_ns` on the recording's clock.
    fn repeat(&mut self, at_ns: u64, time_scale: f64, name: &str, value: &str) -> PyResult<()> {
        let act = Act::parse(name, value).map_err(refuse)?;
        self.session()?.repeat(at_ns, time_scale, act).map_err(refuse)
    }

    /// Advances the start-up after a cut by `events` events. Returns its time and reads as JSON
    /// once it is over.
    fn start_up(&mut self, py: Python<'_>, events: u64) -> PyResult<Option<String>> {
        let session = self.session()?;
        let started = py.detach(|| session.start_up(events)).map_err(refuse)?;
        started.map(|started| json(&started)).transpose()
    }

    /// Begins to keep what a window shows of the run, which pages call `name`, and its job `job`,
    /// unless it is kept already.
    fn watch(&mut self, name: String, job: String) -> PyResult<()> {
        if self.watched()?.1.is_none() {
            let watch = Watch::new(self.session()?, name, job);
            self.watch = Mutex::new(Some(watch));
        }
        Ok(())
    }

    /// Answers a call of a window in JSON.
    fn window_call(&mut self, py: Python<'_>, request: &str) -> PyResult<String> {
        let (session, watch) = self.watched()?;
        let watch = watch.as_mut().ok_or_else(unwatched)?;
        Ok(py.detach(|| watch.call(session, request)))
    }

    /// One frame of a window with the layers whose bits are set. At most `most_blocks` blocks are
    /// looked at; the others are as they were at their last turn.
    #[pyo3(signature = (layers, most_blocks = None))]
    fn window_frame<'py>(
        &mut self,
        py: Python<'py>,
        layers: u32,
        most_blocks: Option<u32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (session, watch) = self.watched()?;
        let watch = watch.as_mut().ok_or_else(unwatched)?;
        framed(py, |frame| {
            py.detach(|| watch.frame(session, layers, most_blocks, frame));
            Ok(())
        })
    }

    /// Begins to count, at the end of the skipped beginning.
    fn measure(&mut self, py: Python<'_>) -> PyResult<()> {
        let session = self.session()?;
        py.detach(|| session.measure()).map_err(refuse)
    }

    /// Gives the drive back as the run has left it.
    fn give_back(&mut self, py: Python<'_>, drive: &Drive) -> PyResult<()> {
        let session = self.session()?;
        drive.put(py.detach(|| session.drive_left()).map_err(refuse)?)
    }

    /// Performs a part of the preconditioning; True when it is finished.
    fn precondition(&mut self, py: Python<'_>) -> PyResult<bool> {
        let session = self.session()?;
        py.detach(|| session.precondition()).map_err(refuse)
    }

    /// Units written by preconditioning, and the least that will be written.
    fn precondition_progress(&mut self) -> PyResult<(u64, u64)> {
        Ok(self.session()?.precondition_progress())
    }

    /// Advances by `completions` requests, or about `wall_s` seconds. True when the run is over.
    /// The clock is looked at between a few events, so that no long request keeps Ctrl-C waiting.
    fn advance(&mut self, py: Python<'_>, completions: u64, wall_s: f64) -> PyResult<bool> {
        let wall = Duration::try_from_secs_f64(wall_s).unwrap_or(Duration::MAX);
        let Self { session, events, replicates, .. } = self;
        let held = session.get_mut().unwrap_or_else(PoisonError::into_inner);
        let session = held.as_mut().ok_or_else(served)?;
        let replicates = replicates.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(replicates) = replicates else {
            return py.detach(|| advance(session, events, completions, wall)).map_err(refuse);
        };
        let begin = Instant::now();
        let step = |session: &mut Session| {
            while !session.precondition()? {
                if begin.elapsed() >= wall {
                    return Ok(false);
                }
            }
            let left = wall.saturating_sub(begin.elapsed());
            advance(session, &mut 1, completions, left)
        };
        py.detach(|| replicates.advance(session, step)).map_err(refuse)
    }

    /// Requests completed, requests in all (None where unknown), simulated nanoseconds of the first
    /// replicate.
    fn progress(&mut self) -> PyResult<(u64, Option<u64>, u64)> {
        let replicates = self.replicates.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let session = self.session()?;
        let (completed, total) = match &replicates {
            Some(replicates) => replicates.progress(session),
            None => session.run.progress(),
        };
        let now = session.run.ssd.now().ns();
        self.replicates = Mutex::new(replicates);
        Ok((completed, total, now))
    }

    /// Notices of options that were accepted and have no effect here.
    fn notices(&mut self) -> PyResult<Vec<String>> {
        Ok(self.session()?.notices.clone())
    }

    /// Every file that the drive was made from or that the workload names.
    fn files(&mut self) -> PyResult<Vec<PathBuf>> {
        Ok(self.session()?.files.clone())
    }

    /// Capacity that the host sees, in bytes.
    fn capacity_bytes(&mut self) -> PyResult<u64> {
        Ok(self.session()?.run.ssd.capacity_bytes())
    }

    /// The report of all replicates so far, as JSON. From here on the latencies and the time of
    /// requests by cause are those of all of them.
    fn report_of_all(&mut self, py: Python<'_>, wall_s: f64, peak_rss_mb: f64) -> PyResult<String> {
        let outside = Outside { wall_s, peak_rss_mb };
        let held = self.replicates.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let session = self.session()?;
        let all = held.ok_or_else(|| refuse(Error::new("simulation", "it has no replicates")))?;
        json(&py.detach(|| all.report(session, outside)).map_err(refuse)?)
    }

    /// The report of the first replicate so far, as JSON.
    fn report(&mut self, py: Python<'_>, wall_s: f64, peak_rss_mb: f64) -> PyResult<String> {
        let outside = Outside { wall_s, peak_rss_mb };
        let session = self.session()?;
        let report = py.detach(|| session.report(outside)).map_err(refuse)?;
        Ok(report.to_string())
    }

    /// Remembers every request from now on.
    fn keep_requests(&mut self) -> PyResult<()> {
        self.session()?.run.log = Some(RequestLog::default());
        Ok(())
    }

    /// Takes the requests remembered since the last call: columns by name.
    fn take_requests<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let log = self.session()?.run.log.as_mut().map(std::mem::take).unwrap_or_default();
        columns_of(py, log)
    }

    /// Remembers the first `limit` spans of the timeline that begin at `from_ns` or later.
    fn keep_timeline(&mut self, limit: usize, from_ns: u64) -> PyResult<()> {
        self.session()?.run.ssd.keep_timeline(limit, Time(from_ns));
        Ok(())
    }

    /// Begins to account the time of requests by cause.
    fn keep_blame(&mut self) -> PyResult<()> {
        self.session()?.run.keep_blame();
        Ok(())
    }

    /// Time of requests of `op` by cause, in buckets of rising latency: requests of each bucket,
    /// and for each bucket one number of ns for each cause.
    #[allow(clippy::type_complexity)]
    fn blame<'py>(
        &mut self,
        py: Python<'py>,
        op: &str,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let op = Op::ALL.into_iter().find(|known| known.name() == op).ok_or_else(|| {
            refuse(Error::unknown("blame", "operation", op, Op::ALL.map(Op::name)))
        })?;
        let buckets = self.session()?.run.tails.as_ref().map_or(&[][..], |tails| tails.buckets(op));
        let requests: Vec<u64> = buckets.iter().map(|bucket| bucket.requests).collect();
        let causes: Vec<u64> = buckets.iter().flat_map(|bucket| bucket.causes).collect();
        Ok((requests.into_pyarray(py), causes.into_pyarray(py)))
    }

    /// Slowest requests, column by column; `die` is -1 for a request without one, `causes` holds
    /// one number for each cause and request. Returns also the largest error of any sum of causes,
    /// in ns.
    fn slowest<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, u64)> {
        let tails = self.session()?.run.tails.as_ref();
        let slowest = tails.map_or_else(Vec::new, |tails| tails.slowest());
        let error_ns = tails.map_or(0, |tails| tails.error_ns);
        let columns = PyDict::new(py);
        let column = |of: fn(&Slow) -> u64| -> Vec<u64> { slowest.iter().map(of).collect() };
        columns.set_item("latency_ns", column(|slow| slow.latency_ns).into_pyarray(py))?;
        columns.set_item("arrival_ns", column(|slow| slow.arrival_ns).into_pyarray(py))?;
        columns.set_item("op", column(|slow| slow.op.into()).into_pyarray(py))?;
        columns.set_item("offset", column(|slow| slow.offset).into_pyarray(py))?;
        columns.set_item("bytes", column(|slow| slow.bytes).into_pyarray(py))?;
        let dies = slowest.iter().map(|slow| slow.die.map_or(-1, i64::from));
        columns.set_item("die", dies.collect::<Vec<i64>>().into_pyarray(py))?;
        let causes: Vec<u64> = slowest.iter().flat_map(|slow| slow.causes).collect();
        columns.set_item("causes", causes.into_pyarray(py))?;
        Ok((columns, error_ns))
    }

    /// Timeline of the run: columns by name, the names of the span kinds, and the number of dropped
    /// spans.
    fn timeline<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<&'static str>, u64)> {
        let timeline = self.session()?.run.ssd.timeline();
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

    /// Throughput and latency over time: columns by name, counts of the drive at the ends of
    /// the intervals by name, and the interval in nanoseconds.
    #[allow(clippy::type_complexity)]
    fn series<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>, u64)> {
        let session = self.session()?;
        let (run, series) = (&session.run, &session.run.series);
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
        columns.set_item("energy_uj", run.energy_uj().into_pyarray(py))?;
        if let Some((drive_uj, celsius)) = run.drive_course() {
            columns.set_item("drive_uj", drive_uj.into_pyarray(py))?;
            if let Some(celsius) = celsius {
                columns.set_item("temperature_c", celsius.into_pyarray(py))?;
            }
        }
        for (name, column) in session.held_over_time() {
            columns.set_item(name, column.into_pyarray(py))?;
        }
        let counts = PyDict::new(py);
        for (name, column) in session.counts_over_time().map_err(refuse)? {
            counts.set_item(name, column.into_pyarray(py))?;
        }
        Ok((columns, counts, series.interval.ns()))
    }

    /// Latency histogram of `op`, by its name, or of `all`: upper edges of the buckets in ns, and
    /// counts.
    #[allow(clippy::type_complexity)]
    fn latency_buckets<'py>(
        &mut self,
        py: Python<'py>,
        op: &str,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let totals = self.session()?.run.totals();
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

/// Beginning to skip and end of a run from their texts.
pub fn planned(
    skip: Option<&str>,
    until: Option<&str>,
) -> PyResult<(Option<Until>, Option<Until>)> {
    let skip = skip.map(Until::parse_skip).transpose().map_err(refuse)?.flatten();
    let until = until.map(|text| Until::parse("until", text)).transpose().map_err(refuse)?;
    Ok((skip, until))
}

/// Columns of the remembered requests, by name.
pub fn columns_of(py: Python<'_>, log: RequestLog) -> PyResult<Bound<'_, PyDict>> {
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

/// Reads a state of preconditioning, and the number of passes of a trace after it: `trace` or
/// `trace=3`.
fn goal_of(text: &str) -> PyResult<(Precondition, Option<u64>)> {
    let passes = match text.strip_prefix("trace") {
        Some("") => 1,
        Some(times) if times.starts_with('=') => {
            let passes = times[1..].parse().ok().filter(|&passes: &u64| passes > 0);
            passes.ok_or_else(|| {
                refuse(Error::new("precondition", format!("`{text}`")).expected("as trace=3"))
            })?
        }
        _ => return Ok((state(text)?, None)),
    };
    Ok((Precondition::Fill, Some(passes)))
}

/// Workload of a run from its kind, text and options.
pub fn workload_of(
    kind: &str,
    workload: String,
    options: &str,
    depth: Option<u32>,
) -> PyResult<Workload> {
    let options = Box::new(trace_options(options)?);
    Ok(match kind {
        "fio" => Workload::Fio { path: PathBuf::from(workload), traces: options },
        "fio_text" => Workload::FioText {
            text: workload,
            place: "workload".into(),
            dir: PathBuf::from("."),
            traces: options,
        },
        "trace" => Workload::Trace { path: PathBuf::from(workload), options, depth },
        "clients" => Workload::Clients,
        other => {
            let kinds = ["fio", "fio_text", "trace", "clients"];
            return Err(refuse(Error::unknown("workload", "kind", other, kinds)));
        }
    })
}
