//! Tenants: jobs that share a drive. What sharing costs each of them: its slowdown against a run
//! alone, and the fairness of the drive.
//!
//! All jobs of one name are one tenant, as the clones of `numjobs`. Each tenant runs alone on a
//! clone of the drive, from the state before the run of all, and sends the same requests there.

use crate::report::Operation;
use crate::request::Job;
use crate::run::stats::JobStats;
use crate::run::until::Until;
use crate::session::{Opened, Session, Workload};
use base::{Error, Result, Time};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::config::{Arbitration, HostConfig, Level, Priority};

/// Runs of each tenant alone.
pub struct Alone {
    workload: Workload,
    skip: Option<Until>,
    until: Option<Until>,
    names: Vec<String>,
    under_way: Option<Box<Session>>,
    ended: Vec<Measured>,
}

/// Requests of a tenant in one run, and the time that they are over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    jobs: usize,
    stats: JobStats,
    time: Time,
}

/// Tenants of a run, the report's `tenants`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tenants {
    /// Least slowdown over the most: 1 where sharing the drive costs all alike, near 0 where one
    /// pays for the others; `null` where fewer than two have a slowdown.
    pub fairness: Option<f64>,
    /// Tenants in the order of the job file.
    pub jobs: Vec<Tenant>,
}

/// Tenant of a run: all jobs of one name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tenant {
    /// Name of its jobs.
    pub name: String,
    /// Number of its jobs.
    pub jobs: usize,
    /// Requests of its run alone, all operations.
    pub alone: Operation,
    /// Requests of its run beside the others, all operations.
    pub together: Operation,
    /// Mean latency together over mean latency alone; `null` where it completed no request in one
    /// of the two runs.
    pub slowdown: Option<f64>,
}

/// Refuses jobs of a drive file that the workload does not have.
pub(crate) fn check_names(host: &HostConfig, jobs: &[Job]) -> Result<()> {
    let names = names_of(jobs.iter());
    match host.jobs.keys().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::new("host.jobs", format!("the workload has no job `{name}`"))
            .expected(names.join(", "))
            .suggest(name, names.iter().map(String::as_str))),
    }
}

/// Notices of weights of classes that no job has, and of a burst without a limit.
pub(crate) fn idle_keys(host: &HostConfig, jobs: &[Job]) -> Vec<String> {
    let usual = HostConfig::default();
    let is_of = |class: Priority| {
        let level = Level::Class(class);
        jobs.iter().any(|job| host.level(&job.name, job.priority) == level)
    };
    let mut notices = Vec::new();
    // Without `weighted_round_robin` all weights are idle, and are told together.
    for (key, weight, default, class) in [
        ("weight_high", host.weight_high, usual.weight_high, Priority::High),
        ("weight_medium", host.weight_medium, usual.weight_medium, Priority::Medium),
        ("weight_low", host.weight_low, usual.weight_low, Priority::Low),
    ] {
        let is_weighted = host.arbitration == Arbitration::WeightedRoundRobin;
        if is_weighted && weight != default && !is_of(class) {
            let class = class.name();
            notices.push(format!("host.{key} changes nothing: no job is of class `{class}`"));
        }
    }
    let is_limited = |job: &Job| host.limits(&job.name).iter().any(Option::is_some);
    if host.limit_burst_us != usual.limit_burst_us && !jobs.iter().any(is_limited) {
        notices.push(
            "host.limit_burst_us changes nothing: no job has a limit (limit_iops, limit_mb_s)"
                .to_owned(),
        );
    }
    notices
}

/// Names of jobs in their order, each once.
fn names_of<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for job in jobs {
        if names.last() != Some(&job.name) && !names.contains(&job.name) {
            names.push(job.name.clone());
        }
    }
    names
}

impl Alone {
    /// Plans a run alone of each tenant of `session`, whose drive is preconditioned and whose run
    /// has not begun. Refuses one tenant, and jobs that wait for others.
    pub fn new(
        session: &Session,
        workload: Workload,
        skip: Option<Until>,
        until: Option<Until>,
    ) -> Result<Self> {
        if let Some(view) = session.run.jobs().find(|view| view.group > 0) {
            let problem = format!("job `{}` waits for others (stonewall)", view.job.name);
            return Err(Error::new("tenants", problem).expected("jobs that run at the same time"));
        }
        let names = names_of(session.run.jobs().map(|view| view.job));
        if names.len() < 2 {
            let problem = format!("all jobs have the name `{}`", names.join(""));
            return Err(
                Error::new("tenants", problem).expected("jobs of two names or more, each a tenant")
            );
        }
        Ok(Self { workload, skip, until, names, under_way: None, ended: Vec::new() })
    }

    /// Advances the run of the tenant whose turn it is, on a clone of the drive of `session`.
    /// `step` advances it until the time of the caller is over: true where it has ended, or pauses
    /// at the end of its skipped beginning. True when every tenant has run; `session` reports them
    /// then.
    pub fn advance(
        &mut self,
        session: &mut Session,
        mut step: impl FnMut(&mut Session) -> Result<bool>,
    ) -> Result<bool> {
        let mut alone = match self.under_way.take() {
            Some(alone) => alone,
            None => Box::new(self.begin(session, &self.names[self.ended.len()])?),
        };
        let is_over = step(&mut alone)?;
        if is_over && alone.run.is_skipping() {
            alone.measure()?;
        }
        if !alone.run.is_finished() {
            self.under_way = Some(alone);
            return Ok(false);
        }
        self.ended.push(Measured::of(&alone, &self.names[self.ended.len()]));
        if self.ended.len() < self.names.len() {
            return Ok(false);
        }
        let names = self.names.iter().cloned();
        session.alone = Some(names.zip(self.ended.drain(..)).collect());
        Ok(true)
    }

    /// Requests that the tenants have completed.
    pub fn completed(&self) -> u64 {
        let ended: u64 = self.ended.iter().map(|measured| measured.stats.requests()).sum();
        ended + self.under_way.as_ref().map_or(0, |alone| alone.run.progress().0)
    }

    fn begin(&self, session: &Session, name: &str) -> Result<Session> {
        let drive = session.drive_at_rest(session.memory_limit() / 2)?;
        let opened = Opened::new(&drive, &self.workload)?.only(name);
        let mut alone = Session::with(drive, opened)?;
        alone.plan(self.skip, self.until);
        Ok(alone)
    }
}

impl Measured {
    fn of(session: &Session, name: &str) -> Self {
        let mut measured = Self::default();
        for view in session.run.jobs().filter(|view| view.job.name == name) {
            measured.jobs += 1;
            measured.stats.merge(view.stats);
            measured.time = measured.time.max(view.end.since(view.start));
        }
        measured
    }

    fn operation(&self) -> Operation {
        Operation::of_all(&self.stats, self.time.s())
    }
}

impl Session {
    /// Tenants of the run, where each has run alone.
    pub(crate) fn tenants(&self) -> Option<Tenants> {
        let tenant = |(name, alone): &(String, Measured)| {
            let together = Measured::of(self, name);
            let means = [&together, alone].map(|measured| measured.stats.latency().mean_ns());
            Tenant {
                name: name.clone(),
                jobs: together.jobs,
                alone: alone.operation(),
                together: together.operation(),
                slowdown: (means[0] > 0.0 && means[1] > 0.0).then(|| means[0] / means[1]),
            }
        };
        let jobs: Vec<Tenant> = self.alone.as_ref()?.iter().map(tenant).collect();
        let slowdowns = || jobs.iter().filter_map(|tenant| tenant.slowdown);
        let extremes = slowdowns().reduce(f64::min).zip(slowdowns().reduce(f64::max));
        let fairness =
            extremes.filter(|_| slowdowns().count() > 1).map(|(least, most)| least / most);
        Some(Tenants { fairness, jobs })
    }
}
