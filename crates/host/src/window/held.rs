//! Session that a window holds: a drive, its job, and what was seen of them at the last frame.

use super::acts::Wearing;
use super::calls::{self, Build};
use super::frame::Seen;
use super::look::Look;
use super::trace::{Replay, Sent};
use crate::config;
use crate::drive::Drive;
use crate::run::tails::recent::Recent;
use crate::run::until::Until;
use crate::session::{Opened, Session, Workload};
use base::{Error, Result, Time};
use serde_json::Value;
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A drive in a window, with its job.
pub(super) struct Held {
    pub session: Session,
    /// Name of the drive: that of its preset.
    pub name: String,
    /// Text of the job, or the name of the trace; `None` without.
    pub job: Option<String>,
    /// Facts of the trace that is replayed; null for a job.
    pub trace: Value,
    /// Source of the requests.
    pub workload: Workload,
    /// State that the drive was preconditioned to.
    pub precondition: Precondition,
    keeps: Keeps,
    /// Simulated time up to which the session was advanced: no event may lie there.
    pub now: Time,
    pub seen: Seen,
    /// Wear of the blocks that is under way; `None` without one.
    pub wearing: Option<Wearing>,
    /// Whether anything was done to the drive that its drive file and its job do not tell of.
    pub is_used: bool,
}

/// Records that are kept of a job.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    /// Waits of every request.
    explain: bool,
    /// Latest spans of the timeline.
    spans: usize,
}

/// Most spans that a window keeps: 512 MiB of them.
const MOST_SPANS: usize = 1 << 24;

impl Held {
    /// Builds a drive, and opens its job if there is one.
    pub fn build(call: Build, sent: &Sent, memory_limit: u64) -> Result<Self> {
        let Build { config, set, job, trace, until, seed, precondition, explain, spans } = call;
        if spans > MOST_SPANS {
            return Err(
                Error::new("spans", spans.to_string()).expected(format!("0 to {MOST_SPANS}"))
            );
        }
        let goals = Precondition::ALL;
        let goal = goals.iter().find(|(known, _)| *known == precondition).ok_or_else(|| {
            Error::unknown("precondition", "state", &precondition, goals.map(|(name, _)| name))
        })?;
        let name = config.name().to_owned();
        let mut drive = Drive::new(config.load(&set, seed)?, memory_limit)?;
        drive.precondition(goal.1)?;
        let work = Work::of(job, trace, sent)?;
        let opened = Opened::new(&drive, &work.workload)?;
        let session = Session::with(drive, opened)?;
        let mut held = Self::holding(session, name, Keeps { explain, spans });
        held.set_work(work);
        held.begin(until)?;
        Ok(held)
    }

    /// Holds a drive without a job.
    pub fn of(drive: Drive) -> Result<Self> {
        let keeps = Keeps { explain: true, spans: calls::spans() };
        let session = Session::on(drive, &Workload::Clients)?;
        let mut held = Self::holding(session, "saved drive".to_owned(), keeps);
        held.is_used = true;
        held.begin(None)?;
        Ok(held)
    }

    fn holding(session: Session, name: String, keeps: Keeps) -> Self {
        let precondition = session.goal();
        let (now, seen) = (Time::ZERO, Seen::of(&session));
        let (trace, workload) = (Value::Null, Workload::Clients);
        let (wearing, is_used) = (None, false);
        Self {
            session,
            name,
            job: None,
            trace,
            workload,
            precondition,
            keeps,
            now,
            seen,
            wearing,
            is_used,
        }
    }

    fn set_work(&mut self, work: Work) {
        let Work { job, trace, workload } = work;
        (self.job, self.trace, self.workload) = (job, trace, workload);
    }

    /// The session as it is looked at.
    pub fn look(&mut self) -> Look<'_> {
        Look {
            session: &mut self.session,
            name: &self.name,
            job: self.job.as_deref(),
            trace: &self.trace,
            precondition: self.precondition,
            now: self.now,
            is_used: self.is_used,
            seen: &mut self.seen,
        }
    }

    /// Begins to keep what the window shows of a new session.
    fn begin(&mut self, until: Option<String>) -> Result<()> {
        let until = until.map(|text| Until::parse("until", &text)).transpose()?;
        let session = &mut self.session;
        if self.job.is_some() {
            session.plan(None, until);
        }
        session.run.recent = Some(Box::new(Recent::new()));
        if self.keeps.explain {
            session.run.keep_blame();
        }
        session.run.ssd.keep_latest_spans(self.keeps.spans);
        session.run.ssd.keep_origins();
        (self.now, self.seen) = (Time::ZERO, Seen::of(session));
        Ok(())
    }

    /// Refuses a drive that is not ready for an act or another job: to end what it is at could
    /// take minutes, and `advance` does it in parts.
    pub fn check_ready(&self) -> Result<()> {
        let problem = match (self.session.is_preconditioned(), self.is_wearing()) {
            (true, false) => return Ok(()),
            (false, _) => "the drive is still being brought to the state before its job",
            (true, true) => "the blocks of the drive are still being worn",
        };
        Err(Error::new("drive", problem).hint("`advance` until that is done"))
    }

    /// The drive as it is, once what is under way has ended, for another job.
    pub fn leave(&mut self) -> Result<Drive> {
        self.check_ready()?;
        if self.session.run.ssd.is_off() {
            let problem = "the power of this drive has been cut";
            return Err(Error::new("drive", problem).hint("`recover` it first"));
        }
        self.session.drive_left()
    }

    /// Goes on with a drive: under a job, or without.
    pub fn take(&mut self, drive: Drive, job: Option<String>, until: Option<String>) -> Result<()> {
        self.take_work(drive, Work::of_job(job)?, until)
    }

    fn take_work(&mut self, drive: Drive, work: Work, until: Option<String>) -> Result<()> {
        // A job that is refused leaves the session as it is.
        until.iter().try_for_each(|text| Until::parse("until", text).map(drop))?;
        let opened = Opened::new(&drive, &work.workload)?;
        self.session = Session::with(drive, opened)?;
        self.set_work(work);
        self.is_used = true;
        self.begin(until)
    }

    /// Begins another job, or the replay of the trace that was sent, on the drive.
    pub fn begin_job(&mut self, call: calls::Job, sent: &Sent) -> Result<()> {
        let calls::Job { job, trace, until } = call;
        if job.is_none() && trace.is_none() {
            return Err(Error::new("job", "no job is given").expected("`job` or `trace`"));
        }
        let work = Work::of(job, trace, sent)?;
        let drive = self.leave()?;
        self.take_work(drive, work, until)
    }

    /// Bytes of the drive. The job ends.
    pub fn save(&mut self) -> Result<Vec<u8>> {
        let mut drive = self.leave()?;
        let bytes = drive.to_bytes()?;
        self.take(drive, None, None)?;
        Ok(bytes)
    }
}

/// Source of the requests, and what a page is told of it.
struct Work {
    job: Option<String>,
    trace: Value,
    workload: Workload,
}

impl Work {
    /// Work of a job, or of the trace that was sent; none of both is a drive without a job.
    fn of(job: Option<String>, trace: Option<calls::Replay>, sent: &Sent) -> Result<Self> {
        match (job, trace) {
            (Some(_), Some(_)) => {
                Err(Error::new("trace", "both `job` and `trace` are given").expected("one of them"))
            }
            (None, Some(call)) => {
                let Replay { name, workload, facts } = sent.replay(call)?;
                Ok(Self { job: Some(name), trace: facts, workload })
            }
            (job, None) => Self::of_job(job),
        }
    }

    fn of_job(job: Option<String>) -> Result<Self> {
        let workload = workload(job.as_deref())?;
        Ok(Self { job, trace: Value::Null, workload })
    }
}

/// Workload of a job: its text, or the name of a preset.
fn workload(job: Option<&str>) -> Result<Workload> {
    let Some(job) = job else { return Ok(Workload::Clients) };
    let (text, place) = match job.contains('\n') || job.trim_start().starts_with('[') {
        true => (job.to_owned(), "job".to_owned()),
        false => config::workload(job).ok_or_else(|| {
            Error::new("job", format!("`{job}`"))
                .expected("the text of a fio job file, or the name of a workload preset")
                .suggest(job, config::names("workload").iter().map(String::as_str))
        })?,
    };
    Ok(Workload::FioText { text, place, dir: PathBuf::from("."), traces: Box::default() })
}
