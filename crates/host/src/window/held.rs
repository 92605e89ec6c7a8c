//! Session that a window holds: a drive, its job, and what was seen of them at the last frame.

use super::acts::Wearing;
use super::calls::{self, Build};
use super::look::Look;
use super::scalars::Seen;
use crate::config;
use crate::drive::Drive;
use crate::run::tails::recent::Recent;
use crate::run::until::Until;
use crate::session::{Opened, Session, Workload};
use base::{Error, Result, Time};
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A drive in a window, with its job.
pub(super) struct Held {
    pub session: Session,
    /// Name of the drive: that of its preset.
    pub name: String,
    /// Text of the job; `None` without.
    pub job: Option<String>,
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
    pub fn build(call: Build, memory_limit: u64) -> Result<Self> {
        let Build { config, set, job, until, seed, precondition, explain, spans } = call;
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
        let opened = Opened::new(&drive, &workload(job.as_deref())?)?;
        let session = Session::with(drive, opened)?;
        let mut held = Self::holding(session, name, Keeps { explain, spans });
        held.job = job;
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
        let (wearing, is_used) = (None, false);
        Self { session, name, job: None, precondition, keeps, now, seen, wearing, is_used }
    }

    /// The session as it is looked at.
    pub fn look(&mut self) -> Look<'_> {
        Look {
            session: &mut self.session,
            name: &self.name,
            job: self.job.as_deref(),
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
        // A job that is refused leaves the session as it is.
        until.iter().try_for_each(|text| Until::parse("until", text).map(drop))?;
        let opened = Opened::new(&drive, &workload(job.as_deref())?)?;
        self.session = Session::with(drive, opened)?;
        (self.job, self.is_used) = (job, true);
        self.begin(until)
    }

    /// Begins another job on the drive.
    pub fn begin_job(&mut self, call: calls::Job) -> Result<()> {
        let drive = self.leave()?;
        self.take(drive, Some(call.job), call.until)
    }

    /// Bytes of the drive. The job ends.
    pub fn save(&mut self) -> Result<Vec<u8>> {
        let mut drive = self.leave()?;
        let bytes = drive.to_bytes()?;
        self.take(drive, None, None)?;
        Ok(bytes)
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
