//! A session: a drive from its parameters, a workload for it, preconditioning, the run.
//!
//! The command line and Python drive a session step by step, so that they can show progress and
//! stop.

use crate::config::Loaded;
use crate::drive::{Drive, Life};
use crate::request::{Job, Pace};
use crate::run::Run;
use crate::{fio, trace};
use base::{Error, Result, Time};
use ssd::precondition::Precondition;
use std::path::{Path, PathBuf};

/// Where requests come from.
#[derive(Debug, Clone)]
pub enum Workload {
    /// A fio job file.
    Fio(PathBuf),
    /// The text of one; relative paths in it start at `dir`.
    FioText {
        /// The text.
        text: String,
        /// What errors call it.
        place: String,
        /// Where relative paths start.
        dir: PathBuf,
    },
    /// A recorded trace.
    Trace {
        /// The file.
        path: PathBuf,
        /// How to read it.
        options: Box<trace::Options>,
        /// Requests in flight, for traces without times of their own; 1 if left out.
        depth: Option<u32>,
    },
}

/// A workload that is open: it fits the drive that it was opened for.
pub struct Opened {
    jobs: Vec<Job>,
    notices: Vec<String>,
    global_options: Vec<(String, String)>,
    trace: Option<trace::Summary>,
}

impl Opened {
    /// Opens a workload for a drive. Refuses what is no workload, and what does not fit.
    pub fn new(drive: &Drive, workload: &Workload) -> Result<Self> {
        let (capacity, seed) = (drive.capacity_bytes(), drive.loaded.config.seed);
        let of_file = |file: fio::Loaded| Self {
            jobs: file.jobs,
            notices: file.notices,
            global_options: file.global_options,
            trace: None,
        };
        match workload {
            Workload::Fio(path) => fio::load(path, capacity, seed).map(of_file),
            Workload::FioText { text, place, dir } => {
                fio::parse(text, place, dir, capacity, seed).map(of_file)
            }
            Workload::Trace { path, options, depth } => {
                let (job, summary) = replay(path, options, *depth, capacity)?;
                Ok(Self {
                    jobs: vec![job],
                    notices: Vec::new(),
                    global_options: Vec::new(),
                    trace: Some(summary),
                })
            }
        }
    }
}

/// A drive under a workload.
pub struct Session {
    /// What the drive was made from.
    pub loaded: Loaded,
    /// The run.
    pub run: Run,
    /// Options that were accepted and have no effect here.
    pub notices: Vec<String>,
    /// fio's options of the whole file.
    pub global_options: Vec<(String, String)>,
    /// Summary of the trace, for traces.
    pub trace: Option<trace::Summary>,
    memory_limit: u64,
    life: Life,
    started: bool,
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

    /// Opens the workload on a drive. What preconditioning of it is left is done first.
    pub fn on(drive: Drive, workload: &Workload) -> Result<Self> {
        let opened = Opened::new(&drive, workload)?;
        Self::with(drive, opened)
    }

    /// The same with a workload that is open already.
    pub fn with(drive: Drive, opened: Opened) -> Result<Self> {
        let (loaded, memory_limit, ssd, life) = drive.into_parts();
        let submit_time = Time::from_us(loaded.config.host.submit_us);
        Ok(Self {
            run: Run::new(ssd, opened.jobs, submit_time)?,
            notices: opened.notices,
            global_options: opened.global_options,
            trace: opened.trace,
            memory_limit,
            life,
            started: false,
            loaded,
        })
    }

    /// The drive as the run has left it, for another run: what was sent to it is done, and what its
    /// buffer held is on the flash. The session itself stays as it is, for its report.
    pub fn drive_left(&mut self) -> Result<Drive> {
        if self.started {
            self.run.ssd.settle()?;
        }
        Drive::from_run(self.loaded.clone(), self.memory_limit, &self.run.ssd, self.life.clone())
    }

    /// Does a part of the preconditioning: whether it is finished.
    pub fn precondition(&mut self) -> Result<bool> {
        self.life.preconditioning.advance(self.run.ssd.ftl_mut())?;
        Ok(self.life.preconditioning.is_done())
    }

    /// Units written by preconditioning, and the least that will be.
    pub fn precondition_progress(&mut self) -> (u64, u64) {
        self.life.preconditioning.progress(self.run.ssd.ftl_mut())
    }

    /// Write amplification that preconditioning ended with, where it came to one.
    pub fn precondition_write_amplification(&self) -> Option<f64> {
        self.life.preconditioning.write_amplification()
    }

    /// Whether `steady` preconditioning settled before its most overwrites; `None` for others.
    pub fn precondition_settled(&self) -> Option<bool> {
        self.life.preconditioning.settled()
    }

    /// Goes on for about `completions` more requests: whether the run is over.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        if !self.started {
            self.started = true;
            while !self.precondition()? {}
            self.life.start(&mut self.run.ssd, self.loaded.config.age.pe_cycles);
        }
        self.run.advance(completions)
    }
}

/// A trace as a job: at its own times, or in a closed loop where it has none or `depth` is given.
fn replay(
    path: &Path,
    options: &trace::Options,
    depth: Option<u32>,
    capacity: u64,
) -> Result<(Job, trace::Summary)> {
    let source = trace::open(path, options, capacity)?;
    let closed = depth.filter(|_| source.timed());
    if closed.is_some() && options.time_scale != 1.0 {
        let problem = format!("{}: `iodepth` leaves times aside", options.time_scale);
        return Err(Error::new("trace.time_scale", problem).allow("one of the two"));
    }
    let depth = depth.unwrap_or(1);
    let pace = closed.map_or_else(|| source.pace(depth), |depth| Pace::Closed { depth });
    let summary = source.summary().clone();
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
        options,
    };
    Ok((job, summary))
}
