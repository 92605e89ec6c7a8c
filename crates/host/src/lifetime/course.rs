//! Course of a life: timed runs and ageing in turns, to the end, in bounded steps.
//!
//! A timed run is that of the workload on a clone, so that it leaves no trace in the life. Between
//! two of them the writes and trims of the workload age the drive without time.

use super::Life;
use super::demand::{Demand, End};
use super::plan::{Asked, HOURS_PER_YEAR, LEARNING_CYCLES, Plan};
use super::window::{Service, Window};
use crate::drive::Drive;
use crate::report::Outside;
use crate::run::until::Until;
use crate::session::{Session, Workload};
use base::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use ssd::ageing::{Goal, Totals};

/// Runs of a life with time: their workload, and the part of each that is measured.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Workload of the runs, whose writes and trims also age the drive.
    pub workload: Workload,
    /// Part at the beginning that is not measured.
    pub skip: Option<Until>,
    /// End of each run, where not with its jobs.
    pub until: Option<Until>,
}

/// Bounds of one step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Requests of a timed run in a step.
    pub requests: u64,
    /// Units that ageing writes in a step.
    pub units: u64,
}

/// Work that a life is at.
enum Phase {
    /// Preconditioning of the drive.
    Precondition,
    /// Timed run of a window.
    Run(Box<Session>),
    /// Ageing to the next window.
    Ageing,
    /// Nothing more: the life is over.
    Over(End),
}

/// Life under way, and its windows so far.
pub struct Course {
    drive: Drive,
    runs: Runs,
    demand: Demand,
    phase: Phase,
    /// Life without time; `None` before the first window.
    life: Option<Life>,
    plan: Option<Plan>,
    bytes_per_hour: f64,
    /// Number of the window to which the drive ages, from 1.
    number: u32,
    /// Totals at the last window.
    before: Totals,
    /// End that the ageing has come to, told once its window is complete.
    ending: Option<End>,
    windows: Vec<Window>,
}

/// State of a life, for whoever advances it.
#[derive(Debug, Clone, Serialize)]
pub struct Progress {
    /// Work at the moment: `precondition`, `skip`, `run`, `ageing` or `over`.
    pub phase: &'static str,
    /// Part of this work that is done: units, requests, or thousandths of the way to the next
    /// window.
    pub done: u64,
    /// Whole of this work, where it is known.
    pub total: Option<u64>,
    /// Number of complete windows.
    pub windows: usize,
    /// Cycles for each cycle that is carried out; `None` before the first window.
    pub acceleration: Option<f64>,
    /// End of the life, once it is over.
    pub end: Option<End>,
    /// Numbers of the NVM sets without spare blocks, of a drive that has sets.
    pub worn_sets: Vec<usize>,
}

impl Progress {
    /// Share of the work that is done, where it is known.
    pub fn share(&self) -> Option<f64> {
        self.total.map(|total| (self.done as f64 / total.max(1) as f64).min(1.0))
    }
}

impl Course {
    /// Begins the life of a drive whose preconditioning is chosen or done.
    pub fn new(drive: Drive, runs: Runs, demand: Demand) -> Result<Self> {
        demand.check()?;
        Ok(Self {
            drive,
            runs,
            demand,
            phase: Phase::Precondition,
            life: None,
            plan: None,
            bytes_per_hour: demand.bytes_per_hour.unwrap_or(0.0),
            number: 0,
            before: Totals::default(),
            ending: None,
            windows: Vec::new(),
        })
    }

    /// Windows so far, in the order of time.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Capacity of the drive in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.drive.capacity_bytes()
    }

    /// Share of the blocks that were not in use at the last leap, where static wear levelling may
    /// mix their data with others; 0 without it.
    pub fn still(&mut self) -> f64 {
        self.life.as_ref().map_or(0.0, |life| life.still(&mut self.drive))
    }

    /// Advances by one step.
    pub fn advance(&mut self, step: Step) -> Result<Progress> {
        match &mut self.phase {
            Phase::Precondition => {
                if self.drive.advance_precondition()? {
                    self.begin_run()?;
                }
            }
            Phase::Run(session) => {
                if session.advance_within(step.requests, u64::MAX)? {
                    if session.run.is_skipping() {
                        session.measure()?;
                    } else {
                        let report = session.report(Outside::default())?;
                        self.end_run(&report)?;
                    }
                }
            }
            Phase::Ageing => self.age(step.units)?,
            Phase::Over(_) => {}
        }
        Ok(self.progress())
    }

    fn begin_run(&mut self) -> Result<()> {
        let mut session = Session::on(self.drive.twin()?, &self.runs.workload)?;
        session.plan(self.runs.skip, self.runs.until);
        self.phase = Phase::Run(Box::new(session));
        Ok(())
    }

    /// Takes the figures of a timed run; the life goes on, or it is over.
    fn end_run(&mut self, report: &Value) -> Result<()> {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        if self.ending.is_none() && self.demand.bytes_per_hour.is_none() {
            let per_hour = number("/host/write/bytes") / number("/sim/simulated_s") * 3600.0;
            if !(per_hour.is_finite() && per_hour > 0.0) {
                return Err(writes_nothing());
            }
            self.bytes_per_hour = per_hour;
        }
        let ssd = self.drive.ssd();
        // A code that does not go by bit errors says nothing about the wear.
        let tells_wear = ssd.goes_by_errors() && self.number > 0;
        let codeword_bytes = ssd.codeword_bytes();
        self.add_window(Some(Service::of(report, codeword_bytes)));
        // Parity gives back pages that the code gives up.
        let lost = ["/ftl/parity/lost_reads", "/ecc/uncorrectable"];
        let lost = lost.into_iter().find(|key| report.pointer(key).is_some());
        let has_lost = tells_wear && lost.is_some_and(|key| number(key) > 0.0);
        if let Some(end) = self.ending.or(has_lost.then_some(End::Errors)) {
            self.phase = Phase::Over(end);
            return Ok(());
        }
        if self.life.is_none() {
            self.begin_life(report)?;
        }
        self.number += 1;
        self.phase = Phase::Ageing;
        Ok(())
    }

    fn begin_life(&mut self, report: &Value) -> Result<()> {
        let jobs = report.pointer("/jobs").and_then(Value::as_array);
        let bytes = |op: &str| -> Vec<f64> {
            let path = format!("/{op}/io_bytes");
            let of = |job: &Value| job.pointer(&path).and_then(Value::as_f64).unwrap_or(0.0);
            jobs.into_iter().flatten().map(of).collect()
        };
        let (written, trimmed) = (bytes("write"), bytes("trim"));
        if written.iter().all(|&bytes| bytes == 0.0) {
            return Err(writes_nothing());
        }
        let shares: Vec<f64> =
            written.iter().zip(&trimmed).map(|(one, other)| one + other).collect();
        let asked = Asked {
            years: self.demand.years,
            windows: self.demand.windows,
            bytes_per_hour: self.bytes_per_hour,
            write_amplification: report.pointer("/settled/settled_value").and_then(Value::as_f64),
            most_cycles: self.most_cycles(),
            acceleration: self.demand.acceleration,
            exact_units: self.demand.exact_units,
        };
        let plan = Plan::new(&self.drive.loaded.config, &asked);
        self.plan = Some(plan);
        let workload = &self.runs.workload;
        self.life = Some(Life::new(&mut self.drive, workload, &shares, plan.acceleration)?);
        Ok(())
    }

    fn most_cycles(&self) -> Option<u32> {
        self.demand.limit.map(|limit| limit.most_cycles)
    }

    /// Ages the drive by about `units` units, and begins the run of a window where it has come to
    /// one.
    fn age(&mut self, units: u64) -> Result<()> {
        let goal = self.goal();
        let Some(life) = &mut self.life else { return Ok(()) };
        if !life.advance(&mut self.drive, &goal, units)? {
            return Ok(());
        }
        let (is_worn, hours) = (life.is_worn(), life.totals().hours);
        let passed = hours >= self.demand.years * HOURS_PER_YEAR * (1.0 - 1e-6);
        self.ending = if self.drive.ssd().is_any_set_read_only() {
            Some(End::Spare)
        } else if is_worn {
            self.demand.limit.map(|limit| limit.end)
        } else {
            passed.then_some(End::Years)
        };
        if self.ending == Some(End::Spare) {
            self.add_window(None);
            self.phase = Phase::Over(End::Spare);
            return Ok(());
        }
        self.begin_run()
    }

    /// Goal of the ageing: the next window.
    fn goal(&self) -> Goal {
        let (plan, life) = (self.plan.as_ref(), self.life.as_ref());
        let each = life.map_or(1.0, Life::bytes_per_unit);
        let (number, windows) = (f64::from(self.number), f64::from(self.demand.windows));
        let is_timed = self.demand.years.is_finite();
        let years = self.demand.years * number / windows;
        let hours = (years * HOURS_PER_YEAR - self.before.hours).max(0.0);
        let units = self.before.host_units + hours * self.bytes_per_hour / each;
        let cycles = plan.map_or(0.0, |plan| number * (plan.cycles / windows));
        Goal {
            cycles: if is_timed { f64::INFINITY } else { cycles },
            units: if is_timed { units } else { f64::INFINITY },
            most_cycles: self.most_cycles(),
            hours_per_unit: each / self.bytes_per_hour,
            learning_cycles: LEARNING_CYCLES,
            stretch_cycles: plan.map_or(0.0, |plan| plan.stretch_cycles),
        }
    }

    fn add_window(&mut self, run: Option<Service>) {
        let life = self.life.as_ref();
        let totals = life.map(Life::totals).unwrap_or_default();
        let bytes = totals.host_units * life.map_or(0.0, Life::bytes_per_unit);
        let host = totals.host_units - self.before.host_units;
        let programmed = totals.programmed_units - self.before.programmed_units;
        let wear = self.drive.wear();
        let window = Window {
            years: totals.hours / HOURS_PER_YEAR,
            tb_written: bytes / 1e12,
            drive_writes: bytes / self.drive.capacity_bytes() as f64,
            dwpd: 0.0,
            pe_cycles_min: wear.min,
            pe_cycles_mean: wear.mean,
            pe_cycles_max: wear.max,
            most_worn_cycles: self.drive.most_worn_cycles(),
            failed_blocks: life.map_or(0, Life::failed_blocks) as u64,
            write_amplification: (host > 0.0).then(|| programmed / host),
            energy_j: 0.0,
            run,
        };
        self.windows.push(window.since(self.windows.last()));
        self.before = totals;
    }

    /// State of the life.
    pub fn progress(&mut self) -> Progress {
        let end = match self.phase {
            Phase::Over(end) => Some(end),
            _ => None,
        };
        let (phase, done, total) = match &self.phase {
            Phase::Precondition => {
                let (done, total) = self.drive.precondition_progress();
                ("precondition", done, Some(total))
            }
            Phase::Run(session) => {
                let (done, total) = session.run.progress();
                (if session.run.is_skipping() { "skip" } else { "run" }, done, total)
            }
            Phase::Ageing => ("ageing", (1000.0 * self.way()) as u64, Some(1000)),
            Phase::Over(_) => ("over", 1, Some(1)),
        };
        let sets = 0..self.drive.loaded.config.sets().len();
        let ssd = self.drive.ssd();
        Progress {
            phase,
            done,
            total,
            windows: self.windows.len(),
            acceleration: self.plan.map(|plan| plan.acceleration),
            end,
            worn_sets: sets.filter(|&set| ssd.read_only_at_of_set(set).is_some()).collect(),
        }
    }

    /// Share of the way to the next window.
    fn way(&self) -> f64 {
        let (Some(life), Some(plan)) = (&self.life, self.plan) else { return 0.0 };
        let goal = self.goal();
        let (now, from, to) = match goal.units.is_finite() {
            true => (life.totals().host_units, self.before.host_units, goal.units),
            false => {
                let step = plan.cycles / f64::from(self.demand.windows);
                (life.cycles(), goal.cycles - step, goal.cycles)
            }
        };
        ((now - from) / (to - from).max(1e-9)).clamp(0.0, 1.0)
    }
}

fn writes_nothing() -> Error {
    Error::new("life", "the workload writes nothing").hint("use one that writes")
}
