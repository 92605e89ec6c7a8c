//! A session: builds a drive and its workload, preconditions the drive, and runs.
//!
//! The command line and Python drive a session step by step, so that they can show progress and
//! stop.

use crate::config::Loaded;
use crate::drive::{Drive, Life, namespaces};
use crate::fio::Target;
use crate::request::{Job, Pace, Source};
use crate::rewriting::Rewriting;
use crate::run::Run;
use crate::run::commands::Act;
use crate::run::exchange::{Plan, parse_at};
use crate::run::served::clients;
use crate::run::settling::Goal;
use crate::run::until::Until;
#[cfg(feature = "device")]
use crate::saved::SavedBytes;
use crate::tenants::{Measured, check_names, idle_keys};
use crate::{fio, trace};
use base::{Error, Result, Time};
use ssd::Started;
use ssd::config::{NamespacePart, Priority};
use ssd::conflicts::Feature;
use ssd::precondition::Precondition;
use std::path::{Path, PathBuf};

/// Source of the requests of a session.
#[derive(Debug, Clone)]
pub enum Workload {
    /// A fio job file.
    Fio {
        /// Path of the job file.
        path: PathBuf,
        /// Options for the traces that it names.
        traces: Box<trace::Options>,
    },
    /// Text of a fio job file.
    FioText {
        /// Content of the job file.
        text: String,
        /// Name of the text in errors.
        place: String,
        /// Folder at which relative paths start.
        dir: PathBuf,
        /// Options for the traces that it names.
        traces: Box<trace::Options>,
    },
    /// A recorded trace, replayed.
    Trace {
        /// Path of the trace.
        path: PathBuf,
        /// Options for reading the trace.
        options: Box<trace::Options>,
        /// Queue depth for a trace without times; default: 1.
        depth: Option<u32>,
    },
    /// Requests of clients, offered one by one.
    Clients,
}

/// A workload opened for a drive that it fits.
pub struct Opened {
    jobs: Vec<Job>,
    notices: Vec<String>,
    global_options: Vec<(String, String)>,
    trace: Option<trace::Summary>,
    files: Vec<PathBuf>,
    /// Steady state in which the jobs are to end.
    goal: Option<Goal>,
}

impl Opened {
    /// Jobs of the workload.
    pub(crate) fn into_jobs(self) -> Vec<Job> {
        self.jobs
    }

    /// Keeps the jobs of one name only.
    pub(crate) fn only(mut self, name: &str) -> Self {
        self.jobs.retain(|job| job.name == name);
        self
    }

    /// Opens a workload for a drive. Refuses files of other kinds, workloads that do not fit, and a
    /// drive with rules for jobs that the workload does not have.
    pub fn new(drive: &Drive, workload: &Workload) -> Result<Self> {
        let mut opened = Self::of(drive, workload)?;
        let host = &drive.loaded.config.host;
        check_names(host, &opened.jobs)?;
        opened.notices.extend(idle_keys(host, &opened.jobs));
        Ok(opened)
    }

    fn of(drive: &Drive, workload: &Workload) -> Result<Self> {
        if drive.is_off() {
            let problem = "the power of this drive has been cut";
            return Err(Error::new("drive", problem).hint("recover it first"));
        }
        let (capacity, seed) = (drive.capacity_bytes(), drive.seed_of_jobs());
        let (zoning, handles) = (drive.zoning(), drive.handles());
        let config = &drive.loaded.config;
        // An FTL of a user may look at urgent writes too.
        let has_fast_pages = drive.features().has(Feature::FastPages) || config.own_ftl.is_some();
        let host = config.host.clone();
        let namespaces = drive.namespaces();
        let target = Target {
            namespaces,
            zoning,
            handles,
            groups: drive.groups(),
            host,
            has_fast_pages,
            ..Target::new(capacity, seed)
        };
        let of_file = |file: fio::Loaded| Self {
            jobs: file.jobs,
            notices: file.notices,
            global_options: file.global_options,
            trace: None,
            files: file.files,
            goal: file.goal,
        };
        match workload {
            Workload::Fio { path, traces } => {
                let target = Target { traces: (**traces).clone(), ..target };
                fio::load(path, &target).map(of_file)
            }
            Workload::FioText { text, place, dir, traces } => {
                let target = Target { traces: (**traces).clone(), ..target };
                fio::parse(text, place, dir, &target).map(of_file)
            }
            Workload::Clients => Ok(Self {
                jobs: vec![clients()],
                notices: Vec::new(),
                global_options: Vec::new(),
                trace: None,
                files: Vec::new(),
                goal: None,
            }),
            Workload::Trace { path, options, depth } => {
                let part = part_of(options, &target.namespaces, capacity)?;
                let (job, summary) = replay(path, options, *depth, &part)?;
                Ok(Self {
                    jobs: vec![job],
                    notices: Vec::new(),
                    global_options: Vec::new(),
                    trace: Some(summary),
                    files: Vec::new(),
                    goal: None,
                })
            }
        }
    }
}

/// A drive under a workload, through preconditioning, run and report.
pub struct Session {
    /// Configuration that the drive was built from.
    pub loaded: Loaded,
    /// Run of the jobs on the drive.
    pub run: Run,
    /// Notices of options that were accepted and have no effect here.
    pub notices: Vec<String>,
    /// Options of fio for the whole job file.
    pub global_options: Vec<(String, String)>,
    /// Summary of the trace, if the workload is a trace.
    pub trace: Option<trace::Summary>,
    /// Every file that the drive was made from or that the workload names.
    pub files: Vec<PathBuf>,
    memory_limit: u64,
    life: Life,
    started: bool,
    /// Rest of a preconditioning by a trace.
    rewriting: Option<Rewriting>,
    /// Bytes of clients in the file that the drive was loaded from.
    #[cfg(feature = "device")]
    pub(crate) bytes: Option<SavedBytes>,
    /// End of the measured part of the run, where its beginning is skipped.
    until: Option<Until>,
    /// Runs of each tenant alone, by its name.
    pub(crate) alone: Option<Vec<(String, Measured)>>,
}

impl Session {
    /// Builds the drive of `loaded`, within `memory_limit` bytes, and opens the workload on it.
    pub fn new(
        loaded: Loaded,
        workload: &Workload,
        precondition: Precondition,
        memory_limit: u64,
    ) -> Result<Self> {
        let mut drive = Drive::new(loaded, memory_limit)?;
        drive.precondition(precondition)?;
        Self::on(drive, workload)
    }

    /// Opens the workload on a drive. The rest of the drive's preconditioning is done first.
    pub fn on(drive: Drive, workload: &Workload) -> Result<Self> {
        let opened = Opened::new(&drive, workload)?;
        Self::with(drive, opened)
    }

    /// Session with a workload that is open already.
    #[cfg_attr(not(feature = "device"), allow(unused_mut))]
    pub fn with(mut drive: Drive, opened: Opened) -> Result<Self> {
        #[cfg(feature = "device")]
        let bytes = drive.bytes.take();
        let (loaded, memory_limit, ssd, life) = drive.into_parts();
        let files = loaded.files.iter().cloned().chain(opened.files).collect();
        let mut run = Run::new(ssd, opened.jobs, &loaded.config.host)?;
        let until = opened.goal.map(Until::Settled);
        until.into_iter().for_each(|until| run.end_at(until));
        Ok(Self {
            run,
            notices: opened.notices,
            global_options: opened.global_options,
            trace: opened.trace,
            files,
            memory_limit,
            life,
            started: false,
            rewriting: None,
            until,
            alone: None,
            loaded,
            #[cfg(feature = "device")]
            bytes,
        })
    }

    /// Ends the run at `until`, and repeats its jobs until then. The report leaves out its
    /// beginning up to `skip`: there the run pauses, and [`Session::measure`] begins to count. To
    /// be called before the run begins.
    pub fn plan(&mut self, skip: Option<Until>, until: Option<Until>) {
        if until.is_some() {
            self.run.repeat();
            self.until = until;
        }
        match (skip, self.until) {
            (Some(skip), _) => self.run.skip(skip),
            (None, Some(until)) => self.run.end_at(until),
            (None, None) => {}
        }
    }

    /// Cuts the power `time` after the beginning of the run, which ends there. Refuses a drive
    /// without recovery. To be called before the run begins.
    pub fn cut_at(&mut self, time: Time) -> Result<()> {
        self.run.ssd.check_asked(Feature::PowerCut)?;
        self.run.cut_at(time);
        Ok(())
    }

    /// Exchanges a die in the run, as `text` says (`3@0.5`, `3@0.5,suspended`). Refuses an exchange
    /// that the drive cannot carry out. To be called before the run begins.
    pub fn exchange(&mut self, text: &str) -> Result<()> {
        self.run.exchange(Plan::parse(text)?)
    }

    /// Lets dies fail in the run, as `text` says (`3@0.5`, `3@0.5,1@0.5`). Refuses a failure that
    /// the drive would not survive. To be called before the run begins.
    pub fn fail_die(&mut self, text: &str) -> Result<()> {
        for one in text.split(',') {
            let Some((die, at)) = parse_at(one) else {
                return Err(Error::new("fail_die", format!("`{text}`"))
                    .expected("DIE@SECONDS, as 3@0.5, or several with commas between them"));
            };
            self.run.command(at, Act::FailDie(die), &self.loaded.config)?;
        }
        Ok(())
    }

    /// Repeats a command of a recording in its replay: at `at_ns` on the recording's clock, where a
    /// second takes `time_scale` seconds. Refuses a command that the drive cannot carry out. To be
    /// called before the run begins.
    pub fn repeat(&mut self, at_ns: u64, time_scale: f64, act: Act) -> Result<()> {
        let origin_ns = self.trace.as_ref().map_or(0, |trace| trace.origin_ns);
        let at = Time((at_ns.saturating_sub(origin_ns) as f64 * time_scale) as u64);
        self.run.command(at, act, &self.loaded.config)
    }

    /// Advances the start-up after a power cut by `events` events of the drive. Returns its time
    /// and reads once it is over.
    pub fn start_up(&mut self, events: u64) -> Result<Option<Started>> {
        let ssd = &mut self.run.ssd;
        if ssd.is_off() {
            ssd.power_on(&self.loaded.config)?;
        }
        ssd.advance_start_up(events)
    }

    /// Begins to count, where the run pauses at the end of its skipped beginning. Refuses a run
    /// that came to its end before.
    pub fn measure(&mut self) -> Result<()> {
        if self.run.is_finished() {
            let problem = "the workload ended inside the skipped part";
            return Err(Error::new("skip", problem)
                .hint("skip less, or use a longer workload or `until`, which repeats its jobs"));
        }
        self.run.count(self.until);
        Ok(())
    }

    /// The drive as the run has left it, for another run: all requests are done, and buffered data
    /// are on flash. The session itself stays as it is, for its report.
    pub fn drive_left(&mut self) -> Result<Drive> {
        if self.started {
            self.run.ssd.settle()?;
        }
        self.drive_at_rest(self.memory_limit)
    }

    /// Clones the drive within `memory_limit` bytes. Refuses while anything is under way in it.
    pub(crate) fn drive_at_rest(&self, memory_limit: u64) -> Result<Drive> {
        Drive::from_run(self.loaded.clone(), memory_limit, &self.run.ssd, self.life.clone())
    }

    /// Bytes that the drive may take.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Adds `passes` passes over the writes of a trace to the preconditioning. Refuses a workload
    /// of another kind.
    pub fn precondition_by_trace(&mut self, workload: &Workload, passes: u64) -> Result<()> {
        let Workload::Trace { path, options, .. } = workload else {
            let problem = "preconditioning by a trace, but the workload is not a trace";
            return Err(
                Error::new("precondition", problem).expected("none, fill, steady or rested")
            );
        };
        let ssd = &self.run.ssd;
        let namespaces = namespaces(&self.loaded.config, ssd);
        let part = part_of(options, &namespaces, ssd.capacity_bytes())?;
        let mut source = trace::open_in(path, options, &part)?;
        source.repeat(passes);
        self.rewriting = Some(Rewriting::new(Box::new(source), self.run.ssd.dies()));
        Ok(())
    }

    /// Performs a part of the preconditioning; true when it is finished.
    pub fn precondition(&mut self) -> Result<bool> {
        self.life.preconditioning.advance(self.run.ssd.ftl_mut())?;
        if !self.life.preconditioning.is_done() {
            return Ok(false);
        }
        let Some(rewriting) = &mut self.rewriting else { return Ok(true) };
        let is_over = rewriting.advance(&mut self.run.ssd)?;
        if is_over {
            self.rewriting = None;
        }
        Ok(is_over)
    }

    /// State that preconditioning brings the drive into.
    pub(crate) fn goal(&self) -> ssd::precondition::Precondition {
        self.life.preconditioning.goal()
    }

    /// Whether preconditioning is finished.
    pub(crate) fn is_preconditioned(&self) -> bool {
        self.life.preconditioning.is_done() && self.rewriting.is_none()
    }

    /// Units written by preconditioning, and the least that will be written.
    pub fn precondition_progress(&mut self) -> (u64, u64) {
        let (written, least) = self.life.preconditioning.progress(self.run.ssd.ftl_mut());
        let rewritten = self.rewriting.as_ref().map_or(0, |rewriting| rewriting.written);
        (written + rewritten, least + rewritten)
    }

    /// Write amplification at the end of preconditioning, where it was measured.
    pub fn precondition_write_amplification(&self) -> Option<f64> {
        self.life.preconditioning.write_amplification()
    }

    /// Write amplification at the end of preconditioning, by collection alone: uniform random
    /// writes settle at it.
    pub fn precondition_collection_amplification(&self) -> Option<f64> {
        self.life.preconditioning.collection_amplification()
    }

    /// Whether `steady` preconditioning settled within its limit of overwrites; `None` for others.
    pub fn precondition_settled(&self) -> Option<bool> {
        self.life.preconditioning.settled()
    }

    /// Begins a run of offered requests, once the drive is preconditioned.
    pub fn serve(&mut self) -> Result<()> {
        self.begin()?;
        self.run.serve(&self.loaded.config.host);
        Ok(())
    }

    /// Begins the run, once the drive is preconditioned.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if !self.started {
            self.started = true;
            while !self.precondition()? {}
            self.life.start(&mut self.run.ssd, &self.loaded.config.age)?;
        }
        Ok(())
    }

    /// Advances by about `completions` requests. True when the run is over, or pauses at the end of
    /// its skipped beginning.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        self.advance_within(completions, u64::MAX)
    }

    /// Advances by about `completions` requests, and at most `events` events of the drive.
    pub fn advance_within(&mut self, completions: u64, events: u64) -> Result<bool> {
        self.begin()?;
        self.run.advance_within(completions, events)
    }

    /// Advances like `advance_within`, and not beyond the simulated time `time`.
    pub fn advance_to(&mut self, time: Time, completions: u64, events: u64) -> Result<bool> {
        self.begin()?;
        self.run.advance_to(time, completions, events)
    }
}

/// Part of a drive that a trace sees: the whole of one without namespaces.
fn part_of(
    options: &trace::Options,
    namespaces: &[NamespacePart],
    capacity: u64,
) -> Result<NamespacePart> {
    let expected = || format!("1 to {}", namespaces.len());
    match (options.namespace, namespaces.len()) {
        (None, 0) => Ok(NamespacePart::whole(capacity)),
        (None, _) => Err(Error::new("trace.namespace", "the trace names no namespace")
            .expected(expected())
            .hint("the drive has namespaces, and a trace is replayed on one of them")),
        (Some(number), 0) => {
            let problem = format!("{number}: the drive has no namespaces");
            Err(Error::new("trace.namespace", problem)
                .hint("leave it out, or describe namespaces in the drive file"))
        }
        (Some(number), _) => {
            let part = (number as usize).checked_sub(1).and_then(|at| namespaces.get(at));
            part.cloned().ok_or_else(|| {
                let problem = format!("{number} is no namespace of the drive");
                Error::new("trace.namespace", problem).expected(expected())
            })
        }
    }
}

/// Job of a trace: at its times, or in a closed loop for one without times or with a given `depth`.
fn replay(
    path: &Path,
    options: &trace::Options,
    depth: Option<u32>,
    part: &NamespacePart,
) -> Result<(Job, trace::Summary)> {
    let source = trace::open_in(path, options, part)?;
    let closed = depth.filter(|_| source.timed());
    if closed.is_some() && options.time_scale != 1.0 {
        let problem = format!("{}: `iodepth` ignores the times of the trace", options.time_scale);
        return Err(Error::new("trace.time_scale", problem).hint("give only one of the two"));
    }
    let depth = depth.unwrap_or(1);
    let pace = closed.map_or_else(|| source.pace(depth), |depth| Pace::Closed { depth });
    let mut summary = source.summary().clone();
    if closed.is_some() {
        summary.set_times_aside();
    }
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let option = |key: &str, value: String| (key.to_owned(), value);
    let options = vec![
        option("name", name.clone()),
        option("read_iolog", path.display().to_string()),
        option("iodepth", depth.to_string()),
    ];
    let job = Job {
        name,
        source: Box::new(source),
        pace,
        think: None,
        start_delay: Time::ZERO,
        stonewall: false,
        runtime: None,
        ramp: Time::ZERO,
        priority: Priority::default(),
        options,
    };
    Ok((job, summary))
}
