//! Replicates: runs of one workload from one state of a drive, each with a seed of its own, on
//! several threads.
//!
//! The first replicate is a session as it is without others. Every other one runs on a clone of
//! its drive, with the next seed. A replicate does not know of the others, and they are added up
//! in their order: the number of threads changes no result.

pub(crate) mod figures;

use crate::drive::Drive;
use crate::report::{self, Checks, Outside, Report, as_json};
use crate::run::sums::Sums;
use crate::run::until::Until;
use crate::session::{Session, Workload};
use base::{Error, Result};
use figures::Figures;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Plan of every replicate but the first.
pub struct Plan {
    /// Workload of the run.
    pub workload: Workload,
    /// Beginning that is not measured.
    pub skip: Option<Until>,
    /// End of the run.
    pub until: Option<Until>,
    /// Exchange of a die in the run, as text.
    pub exchange: Option<String>,
    /// Dies that fail in the run, as text.
    pub fail_die: Option<String>,
    /// Whether the time of requests is accounted by cause.
    pub keeps_blame: bool,
}

/// Replicates of a run.
pub struct Replicates {
    plan: Plan,
    count: u64,
    workers: usize,
    queue: Queue,
    added: Added,
}

/// Replicates other than the first that are to begin or under way.
struct Queue {
    /// Drive before the run; `None` once every replicate has its clone.
    base: Option<Drive>,
    seed: u64,
    count: u64,
    /// Number of the next replicate to begin.
    next: u64,
    /// Replicates that have begun, with their numbers.
    under_way: Vec<(u64, Box<Session>)>,
    /// Replicates that have ended, by their numbers.
    ended: BTreeMap<u64, Ended>,
}

/// Replicate that has ended.
struct Ended {
    seed: u64,
    completed: u64,
    is_settled: Option<bool>,
    figures: Figures,
    checks: Checks,
    sums: Sums,
}

/// Replicates added up in their order.
#[derive(Default)]
struct Added {
    completed: u64,
    seeds: Vec<u64>,
    are_settled: Vec<bool>,
    figures: Vec<Figures>,
    checks: Vec<Checks>,
    sums: Option<Sums>,
}

/// Replicate that a thread is to advance.
enum Task {
    New(u64, Box<Drive>),
    Begun(u64, Box<Session>),
}

impl Replicates {
    /// Most replicates of a run.
    pub const MOST: u64 = 10_000;
    /// Most threads of them.
    pub const MOST_WORKERS: usize = 1024;

    /// Plans `count` replicates of the run of `first`, whose drive is preconditioned and whose run
    /// has not begun. Up to `workers` of them are under way at a time, fewer where memory is short.
    pub fn new(first: &mut Session, plan: Plan, count: u64, workers: usize) -> Result<Self> {
        if !(1..=Self::MOST).contains(&count) {
            let expected = format!("1 to {}", Self::MOST);
            return Err(Error::new("replicates", count.to_string()).expected(expected));
        }
        if !(1..=Self::MOST_WORKERS).contains(&workers) {
            let expected = format!("1 to {}", Self::MOST_WORKERS);
            return Err(Error::new("workers", workers.to_string()).expected(expected));
        }
        // Beside the drives under way there is the one that they are cloned from.
        let mut drives = workers.min(count as usize) as u64 + 1;
        let base = loop {
            match first.drive_at_rest(first.memory_limit() / drives) {
                Ok(base) => break base,
                Err(error) if drives == 2 => return Err(error),
                Err(_) => drives -= 1,
            }
        };
        let queue = Queue {
            base: Some(base),
            seed: first.loaded.config.seed,
            count,
            next: 1,
            under_way: Vec::new(),
            ended: BTreeMap::new(),
        };
        Ok(Self { plan, count, workers: drives as usize - 1, queue, added: Added::default() })
    }

    /// Advances the replicates, `first` among them, on several threads. `step` advances a session
    /// until the time of the caller is over: true where the session has ended, or pauses at the end
    /// of its skipped beginning. True when all replicates have ended, or `first` pauses.
    pub fn advance(
        &mut self,
        first: &mut Session,
        step: impl Fn(&mut Session) -> Result<bool> + Sync,
    ) -> Result<bool> {
        let (plan, queue) = (&self.plan, Mutex::new(&mut self.queue));
        let waiting = Mutex::new((!first.run.is_finished()).then_some(&mut *first));
        let work = || -> Result<bool> {
            let first = locked(&waiting).take();
            let mut pauses = false;
            if let Some(first) = first {
                if !step(first)? {
                    return Ok(false);
                }
                pauses = first.run.is_skipping();
            }
            loop {
                let Some(task) = locked(&queue).take()? else { return Ok(pauses) };
                let (number, mut session) = match task {
                    Task::New(number, drive) => (number, Box::new(plan.begin(*drive)?)),
                    Task::Begun(number, session) => (number, session),
                };
                while step(&mut session)? && session.run.is_skipping() {
                    session.measure()?;
                }
                if !session.run.is_finished() {
                    locked(&queue).under_way.push((number, session));
                    return Ok(pauses);
                }
                let ended = Ended::of(*session)?;
                locked(&queue).ended.insert(number, ended);
            }
        };
        let pauses = thread::scope(|scope| {
            let others: Vec<_> = (1..self.workers).map(|_| scope.spawn(work)).collect();
            let mut pauses = work();
            for other in others {
                let other = other.join().unwrap_or_else(|panic| resume_unwind(panic));
                pauses = pauses.and_then(|pauses| Ok(pauses | other?));
            }
            pauses
        })?;
        while let Some(ended) = self.queue.ended.remove(&(self.added.seeds.len() as u64 + 1)) {
            self.added.add(ended)?;
        }
        let have_ended = first.run.is_finished() && self.added.seeds.len() as u64 + 1 == self.count;
        Ok(pauses || have_ended)
    }

    /// Requests completed since the replicates began to count, `first` among them, and all that
    /// will be, where that is known.
    pub fn progress(&self, first: &Session) -> (u64, Option<u64>) {
        let (completed, total) = first.run.progress();
        let waiting = self.queue.ended.values().map(|ended| ended.completed);
        let under_way = self.queue.under_way.iter().map(|(_, session)| session.run.progress().0);
        let others: u64 = waiting.chain(under_way).sum();
        let total = total.map(|total| total.saturating_mul(self.count));
        (completed + self.added.completed + others, total)
    }

    /// Report of all replicates that have ended, and of `first` as far as it has come.
    pub fn report(mut self, first: &mut Session, outside: Outside) -> Result<Report> {
        for ended in std::mem::take(&mut self.queue.ended).into_values() {
            self.added.add(ended)?;
        }
        let own = first.typed_report(Outside::default())?;
        let Added { mut seeds, mut figures, are_settled, checks, sums, .. } = self.added;
        if first.run.is_finished() {
            seeds.insert(0, self.queue.seed);
            figures.insert(0, Figures::of(&as_json(&own)?));
        }
        sums.map_or(Ok(()), |sums| first.run.absorb(sums))?;
        let mut report = first.typed_report(outside)?;
        report.checks = checks.into_iter().fold(own.checks, Checks::of_both);
        report.settled = own.settled;
        let all_settled = report.settled.ok.into_iter().chain(are_settled);
        report.settled.ok = all_settled.reduce(|one, other| one && other);
        let replicates = report::Replicates::of(seeds, &figures);
        if replicates.are_alike() {
            report.nandlab.notices.push(format!(
                "the {} replicates are alike in every figure: nothing in this run depends on the \
                 seed, so they do not tell how it spreads",
                replicates.count
            ));
        }
        report.replicates = Some(replicates);
        Ok(report)
    }
}

impl Plan {
    /// Opens the run of a replicate on its drive.
    fn begin(&self, drive: Drive) -> Result<Session> {
        let mut session = Session::on(drive, &self.workload)?;
        session.plan(self.skip, self.until);
        self.exchange.as_deref().map_or(Ok(()), |text| session.exchange(text))?;
        self.fail_die.as_deref().map_or(Ok(()), |text| session.fail_die(text))?;
        if self.keeps_blame {
            session.run.keep_blame();
        }
        Ok(session)
    }
}

impl Queue {
    /// Takes the replicate that is to be advanced next; `None` where none is left.
    fn take(&mut self) -> Result<Option<Task>> {
        if !self.under_way.is_empty() {
            let (number, session) = self.under_way.remove(0);
            return Ok(Some(Task::Begun(number, session)));
        }
        if self.next >= self.count {
            self.base = None;
        }
        let Some(base) = &self.base else { return Ok(None) };
        let number = self.next;
        self.next += 1;
        let mut drive = base.twin()?;
        drive.become_replicate(number);
        Ok(Some(Task::New(number, Box::new(drive))))
    }
}

impl Ended {
    fn of(mut session: Session) -> Result<Self> {
        let report = session.typed_report(Outside::default())?;
        Ok(Self {
            seed: report.nandlab.seed,
            completed: session.run.progress().0,
            is_settled: report.settled.ok,
            figures: Figures::of(&as_json(&report)?),
            checks: report.checks,
            sums: Sums::of(session.run),
        })
    }
}

impl Added {
    fn add(&mut self, ended: Ended) -> Result<()> {
        self.completed += ended.completed;
        self.seeds.push(ended.seed);
        self.are_settled.extend(ended.is_settled);
        self.figures.push(ended.figures);
        self.checks.push(ended.checks);
        match &mut self.sums {
            Some(sums) => sums.add(ended.sums),
            none => {
                *none = Some(ended.sums);
                Ok(())
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
