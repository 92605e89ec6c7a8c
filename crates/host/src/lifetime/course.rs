//! Course of a life: timed runs and ageing in turns, to the end, in bounded steps.
//!
//! A timed run is that of the workload on a clone, so that it leaves no trace in the life. Between
//! two of them the writes and trims of the workload age the drive without time.

use super::Life;
use super::plan::{Asked, HOURS_PER_YEAR, LEARNING_CYCLES, Plan};
use crate::drive::Drive;
use crate::report::Outside;
use crate::session::{Session, Workload};
use base::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use ssd::ageing::{Goal, Totals};

/// Demand on a life.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Years that the life is to last; infinite where the drive is to die.
    pub years: f64,
    /// Number of windows after the first one.
    pub windows: u32,
    /// Drive writes per day; `None` where the timed runs give the rate.
    pub dwpd: Option<f64>,
    /// Cycles that a block may have; `None` without a limit.
    pub most_cycles: Option<u32>,
    /// Cycles for each cycle that is carried out; `None` where the plan chooses.
    pub acceleration: Option<f64>,
    /// Programmed units above which the plan accelerates.
    pub exact_units: f64,
}

/// Bounds of one step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Requests of a timed run in a step.
    pub requests: u64,
    /// Units that ageing writes in a step.
    pub units: u64,
}

/// End of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A block has failed, and no spare one is left.
    Spare,
    /// The most worn block has the most cycles that the demand allows.
    Limit,
    /// A codeword of a timed run could not be decoded.
    Errors,
    /// The years have passed.
    Years,
}

/// Window of a life: its age, its wear, and what its timed run has measured. Names are the columns
/// of `nandlab life`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// Calendar time since the life began.
    pub years: f64,
    /// Data written by the host since the life began, in 10^12 bytes.
    pub tb_written: f64,
    /// Data written by the host since the life began, over the capacity.
    pub drive_writes: f64,
    /// Least cycles of the blocks in use.
    pub pe_cycles_min: u32,
    /// Mean cycles of the blocks in use.
    pub pe_cycles_mean: f64,
    /// Most cycles of the blocks in use.
    pub pe_cycles_max: u32,
    /// Blocks that have failed since the life began.
    pub failed_blocks: u64,
    /// Write amplification of the ageing since the window before; `None` in the first.
    pub write_amplification: Option<f64>,
    /// Figures of the timed run; `None` once the drive is read-only.
    #[serde(flatten)]
    pub run: Option<Service>,
}

/// Figures of a timed run of a life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    read_us_mean: Option<f64>,
    read_us_p50: Option<f64>,
    read_us_p99: Option<f64>,
    read_us_p99_9: Option<f64>,
    read_us_p99_99: Option<f64>,
    write_us_mean: Option<f64>,
    write_us_p50: Option<f64>,
    write_us_p99: Option<f64>,
    write_us_p99_9: Option<f64>,
    write_us_p99_99: Option<f64>,
    iops: Option<f64>,
    bandwidth_mb_s: Option<f64>,
    run_write_amplification: Option<f64>,
    codewords: Option<f64>,
    hard_failures: Option<f64>,
    retries: Option<f64>,
    soft_reads: f64,
    uncorrectable: Option<f64>,
    requests_failed: Option<f64>,
}

impl Service {
    fn of(report: &Value) -> Self {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64);
        let latency = |op: &str, key: &str| {
            let count = number(&format!("/host/{op}/latency_us/count")).unwrap_or(0.0);
            number(&format!("/host/{op}/latency_us/{key}")).filter(|_| count > 0.0)
        };
        let soft = report.pointer("/ecc/soft_reads").and_then(Value::as_array);
        Self {
            read_us_mean: latency("read", "mean"),
            read_us_p50: latency("read", "p50"),
            read_us_p99: latency("read", "p99"),
            read_us_p99_9: latency("read", "p99_9"),
            read_us_p99_99: latency("read", "p99_99"),
            write_us_mean: latency("write", "mean"),
            write_us_p50: latency("write", "p50"),
            write_us_p99: latency("write", "p99"),
            write_us_p99_9: latency("write", "p99_9"),
            write_us_p99_99: latency("write", "p99_99"),
            iops: number("/host/iops"),
            bandwidth_mb_s: number("/host/bandwidth_mb_s"),
            run_write_amplification: number("/ftl/write_amplification"),
            codewords: number("/ecc/codewords"),
            hard_failures: number("/ecc/hard_failures"),
            retries: number("/ecc/retries"),
            soft_reads: soft.into_iter().flatten().filter_map(Value::as_f64).sum(),
            uncorrectable: number("/ecc/uncorrectable"),
            requests_failed: number("/host/requests_failed"),
        }
    }
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
    workload: Workload,
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
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Progress {
    /// Work at the moment: `precondition`, `run`, `ageing` or `over`.
    pub phase: &'static str,
    /// Share of this work that is done, where it is known.
    pub share: Option<f64>,
    /// Number of complete windows.
    pub windows: usize,
    /// Cycles for each cycle that is carried out; `None` before the first window.
    pub acceleration: Option<f64>,
    /// End of the life, once it is over.
    pub end: Option<End>,
}

impl Course {
    /// Begins the life of a new drive whose preconditioning is chosen.
    pub fn new(drive: Drive, workload: Workload, demand: Demand) -> Result<Self> {
        demand.check()?;
        Ok(Self {
            drive,
            workload,
            demand,
            phase: Phase::Precondition,
            life: None,
            plan: None,
            bytes_per_hour: 0.0,
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
                    let report = session.report(Outside::default())?;
                    self.end_run(&report)?;
                }
            }
            Phase::Ageing => self.age(step.units)?,
            Phase::Over(_) => {}
        }
        Ok(self.progress())
    }

    fn begin_run(&mut self) -> Result<()> {
        let session = Session::on(self.drive.twin()?, &self.workload)?;
        self.phase = Phase::Run(Box::new(session));
        Ok(())
    }

    /// Takes the figures of a timed run; the life goes on, or it is over.
    fn end_run(&mut self, report: &Value) -> Result<()> {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        if self.ending.is_none() {
            self.bytes_per_hour = match self.demand.dwpd {
                Some(dwpd) => dwpd * self.drive.capacity_bytes() as f64 / 24.0,
                None => number("/host/write/bytes") / number("/sim/simulated_s") * 3600.0,
            };
            let has_pace = self.bytes_per_hour.is_finite() && self.bytes_per_hour > 0.0;
            if !has_pace || number("/host/write/bytes") == 0.0 {
                return Err(
                    Error::new("life", "the workload writes nothing").hint("use one that writes")
                );
            }
        }
        self.add_window(Some(Service::of(report)));
        let has_lost = number("/ecc/uncorrectable") > 0.0 && self.number > 0;
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
        let asked = Asked {
            years: self.demand.years,
            windows: self.demand.windows,
            bytes_per_hour: self.bytes_per_hour,
            write_amplification: report.pointer("/settled/settled_value").and_then(Value::as_f64),
            most_cycles: self.demand.most_cycles,
            acceleration: self.demand.acceleration,
            exact_units: self.demand.exact_units,
        };
        let plan = Plan::new(&self.drive.loaded.config, &asked);
        let jobs = report.pointer("/jobs").and_then(Value::as_array);
        let written = |job: &Value, op: &str| {
            job.pointer(&format!("/{op}/io_bytes")).and_then(Value::as_f64).unwrap_or(0.0)
        };
        let shares: Vec<f64> = jobs
            .into_iter()
            .flatten()
            .map(|job| written(job, "write") + written(job, "trim"))
            .collect();
        let life = Life::new(&mut self.drive, &self.workload, &shares, plan.acceleration)?;
        (self.life, self.plan) = (Some(life), Some(plan));
        Ok(())
    }

    /// Ages the drive by about `units` units, and begins the run of a window where it has come to
    /// one.
    fn age(&mut self, units: u64) -> Result<()> {
        let goal = self.goal();
        let Some(life) = &mut self.life else { return Ok(()) };
        if !life.advance(&mut self.drive, &goal, units)? {
            return Ok(());
        }
        let passed = life.totals().hours >= self.demand.years * HOURS_PER_YEAR * (1.0 - 1e-6);
        self.ending = match () {
            () if self.drive.is_read_only() => Some(End::Spare),
            () if life.is_worn() => Some(End::Limit),
            () => passed.then_some(End::Years),
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
        let part = f64::from(self.number) / f64::from(self.demand.windows);
        let is_timed = self.demand.years.is_finite();
        let hours = (self.demand.years * part * HOURS_PER_YEAR - self.before.hours).max(0.0);
        let units = self.before.host_units + hours * self.bytes_per_hour / each;
        let cycles = plan.map_or(0.0, |plan| plan.cycles * part);
        Goal {
            cycles: if is_timed { f64::INFINITY } else { cycles },
            units: if is_timed { units } else { f64::INFINITY },
            most_cycles: self.demand.most_cycles,
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
        self.windows.push(Window {
            years: totals.hours / HOURS_PER_YEAR,
            tb_written: bytes / 1e12,
            drive_writes: bytes / self.drive.capacity_bytes() as f64,
            pe_cycles_min: wear.min,
            pe_cycles_mean: wear.mean,
            pe_cycles_max: wear.max,
            failed_blocks: life.map_or(0, Life::failed_blocks) as u64,
            write_amplification: (host > 0.0).then(|| programmed / host),
            run,
        });
        self.before = totals;
    }

    /// State of the life.
    pub fn progress(&mut self) -> Progress {
        let end = match self.phase {
            Phase::Over(end) => Some(end),
            _ => None,
        };
        let (phase, share) = match &self.phase {
            Phase::Precondition => {
                let (done, of) = self.drive.precondition_progress();
                ("precondition", Some(done as f64 / of.max(1) as f64))
            }
            Phase::Run(session) => {
                let (done, of) = session.run.progress();
                ("run", of.map(|of| done as f64 / of.max(1) as f64))
            }
            Phase::Ageing => ("ageing", self.way()),
            Phase::Over(_) => ("over", Some(1.0)),
        };
        Progress {
            phase,
            share: share.map(|share| share.clamp(0.0, 1.0)),
            windows: self.windows.len(),
            acceleration: self.plan.map(|plan| plan.acceleration),
            end,
        }
    }

    /// Share of the way to the next window.
    fn way(&self) -> Option<f64> {
        let (life, plan, goal) = (self.life.as_ref()?, self.plan?, self.goal());
        let (now, from, to) = match goal.units.is_finite() {
            true => (life.totals().host_units, self.before.host_units, goal.units),
            false => {
                let step = plan.cycles / f64::from(self.demand.windows);
                (life.cycles(), goal.cycles - step, goal.cycles)
            }
        };
        (to > from).then(|| (now - from) / (to - from))
    }
}

impl Demand {
    /// Most years that a device counts.
    const MOST_YEARS: f64 = 500.0;

    /// Refuses values out of range.
    fn check(&self) -> Result<()> {
        let refuse = |key: &str, value: String, expected: String| {
            Err(Error::new(format!("life: {key}"), value).expected(expected))
        };
        if !(self.years > 0.0 && (self.years <= Self::MOST_YEARS || self.years.is_infinite())) {
            let expected = format!("above 0, at most {}", Self::MOST_YEARS);
            return refuse("years", self.years.to_string(), expected);
        }
        if !(1..=1000).contains(&self.windows) {
            return refuse("windows", self.windows.to_string(), "1 to 1000".into());
        }
        if let Some(dwpd) = self.dwpd
            && !(dwpd > 0.0 && dwpd < 1e6)
        {
            return refuse("dwpd", dwpd.to_string(), "above 0, below 1000000".into());
        }
        if let Some(times) = self.acceleration
            && !(1.0..=1e6).contains(&times)
        {
            return refuse("accelerate", times.to_string(), "1 (exact) to 1000000".into());
        }
        if self.most_cycles == Some(0) {
            return refuse("most_cycles", "0".into(), "at least 1".into());
        }
        Ok(())
    }
}
