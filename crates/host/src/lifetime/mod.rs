//! A lifetime under a workload: its writes, trims and commands on zones age a drive, without time.
//!
//! Jobs take turns so that each has its share of the writes, which an earlier run with time has
//! measured. Jobs before the last stonewall come once, those after it again and again. Reads and
//! flushes are left out, and a unit that a write touches is written whole.
//!
//! `plan` estimates a life before it begins. `course` lives one by a `demand`: windows with a timed
//! run, and ageing between them. Every life takes this course, that of a command and of a page.

pub mod course;
pub mod demand;
pub mod plan;
pub mod window;

use crate::drive::Drive;
use crate::request::{Arrival, Job, Source};
use crate::session::{Opened, Workload};
use base::{Error, Result, Time};
use ssd::Ssd;
use ssd::ageing::{Goal, Lifetime, Totals, Touch};
use ssd::ftl::Lpn;
use ssd::request::{Op, Request};

/// Requests in a row without a write or a trim after which a job counts as one without any.
const MOST_OTHERS: u64 = 10_000_000;

/// A job that takes turns in writing and trimming.
struct Lane {
    name: String,
    source: Box<dyn Source>,
    /// Share of the job in the bytes written and trimmed.
    weight: f64,
    /// Bytes that the job has written or trimmed, divided by its share.
    done: f64,
    /// Whether the job goes on only after requests of others.
    waits: bool,
}

/// Writes and trims of a workload, in turns.
struct Turns {
    /// Groups of jobs that run at a time; the last element comes next.
    phases: Vec<Vec<Lane>>,
    unit_bytes: u64,
    /// Bytes that the host wrote, and units written for them.
    written: (u64, u64),
}

impl Turns {
    fn new(jobs: Vec<Job>, weights: &[f64], ssd: &Ssd) -> Result<Self> {
        if jobs.len() != weights.len() {
            let problem = format!("{} shares for {} jobs", weights.len(), jobs.len());
            return Err(Error::new("life", problem).expected("one for each job"));
        }
        let mut phases: Vec<Vec<Lane>> = Vec::new();
        let last = jobs.iter().rposition(|job| job.stonewall).unwrap_or(0);
        for (i, (mut job, &weight)) in jobs.into_iter().zip(weights).enumerate() {
            if i == 0 || job.stonewall {
                phases.push(Vec::new());
            }
            if weight <= 0.0 {
                continue;
            }
            if i >= last {
                job.source.repeat(u64::MAX);
            } else if job.runtime.is_some() || job.source.total().is_none() {
                let problem = "this job before a stonewall ends by time, and a life has no time";
                return Err(Error::new(format!("job `{}`", job.name), problem)
                    .hint("give it `size`, `io_size` or `number_ios` instead of a time"));
            }
            let Job { name, mut source, .. } = job;
            source.begin(ssd);
            if let Some(phase) = phases.last_mut() {
                phase.push(Lane { name, source, weight, done: 0.0, waits: false });
            }
        }
        phases.reverse();
        Ok(Self { phases, unit_bytes: ssd.unit_bytes(), written: (0, 0) })
    }

    /// Appends what the next write, trim or command on a zone concerns to `into`.
    fn draw(&mut self, into: &mut Vec<Touch>) -> Result<()> {
        let mut others = 0;
        while let Some(lanes) = self.phases.last_mut() {
            let by_turn = |a: &&mut Lane, b: &&mut Lane| a.done.total_cmp(&b.done);
            let Some(lane) = lanes.iter_mut().filter(|lane| !lane.waits).min_by(by_turn) else {
                // No job is left that others could wait for.
                self.end_phase();
                continue;
            };
            let Some(Arrival { request, .. }) = lane.source.next(Time::ZERO)? else {
                lane.waits = lane.source.waits();
                if !lane.waits {
                    lane.source.end();
                    lane.done = f64::INFINITY;
                    lanes.iter_mut().for_each(|lane| lane.waits = false);
                }
                if lanes.iter().all(|lane| lane.done == f64::INFINITY) {
                    self.end_phase();
                }
                continue;
            };
            if lane.source.is_exclusive() {
                lane.source.completed(&request);
            }
            let before = into.len();
            touch(&request, self.unit_bytes, into);
            let touched = (into.len() - before) as u64;
            if matches!(request.op, Op::Write | Op::ZoneAppend | Op::Trim) {
                lane.done += request.length as f64 / lane.weight;
            }
            if request.op.writes() {
                self.written.0 += request.length;
                self.written.1 += touched;
            }
            if touched > 0 {
                lanes.iter_mut().for_each(|lane| lane.waits = false);
                return Ok(());
            }
            others += 1;
            if others > MOST_OTHERS {
                let place = format!("job `{}`", lane.name);
                return Err(Error::new(place, "it has stopped writing"));
            }
        }
        Ok(())
    }

    /// Ends the jobs that run at a time: those behind the next stonewall follow.
    fn end_phase(&mut self) {
        for mut lane in self.phases.pop().into_iter().flatten() {
            lane.source.end();
        }
    }

    /// Mean bytes of the host in a written unit: a unit may be written for a part of it.
    fn bytes_per_unit(&self) -> f64 {
        match self.written {
            (0, _) | (_, 0) => self.unit_bytes as f64,
            (bytes, units) => bytes as f64 / units as f64,
        }
    }
}

/// Appends the units that a write or a trim concerns to `into`, or the zone of a command.
fn touch(request: &Request, unit_bytes: u64, into: &mut Vec<Touch>) {
    let &Request { op, offset, length, .. } = request;
    let unit = |unit: u64| Lpn(unit as u32);
    let (first, end) = (offset / unit_bytes, (offset + length).div_ceil(unit_bytes));
    match op {
        Op::Write => into.extend((first..end).map(|at| Touch::Write(unit(at), request.hint()))),
        Op::Trim => {
            let whole = offset.div_ceil(unit_bytes)..(offset + length) / unit_bytes;
            into.extend(whole.map(|at| Touch::Trim(unit(at))));
        }
        // Each unit goes to the write pointer.
        Op::ZoneAppend => into.extend((first..end).map(|_| Touch::Zone(op, unit(first)))),
        Op::ZoneReset | Op::ZoneFinish | Op::ZoneOpen | Op::ZoneClose | Op::ZoneOpenArea => {
            into.push(Touch::Zone(op, unit(first)));
        }
        // Up to the last unit of it.
        Op::ZoneCommit => into.push(Touch::Zone(op, unit(end - 1))),
        Op::Read | Op::Flush => {}
    }
}

/// Life of a drive under a workload.
pub struct Life {
    turns: Turns,
    lifetime: Lifetime,
}

impl Life {
    /// Begins the life of a drive that holds data. `weights` are the shares of the jobs in the
    /// bytes written and trimmed. Each simulated cycle stands for `acceleration` cycles.
    pub fn new(
        drive: &mut Drive,
        workload: &Workload,
        weights: &[f64],
        acceleration: f64,
    ) -> Result<Self> {
        let opened = Opened::new(drive, workload)?;
        drive.put_to_use()?;
        let seed = drive.loaded.config.seed;
        let ssd = drive.ssd();
        let turns = Turns::new(opened.into_jobs(), weights, ssd)?;
        Ok(Self { turns, lifetime: Lifetime::new(ssd, acceleration, seed)? })
    }

    /// Advances by about `units` simulated units. True when the goal is reached, or the life is
    /// over.
    pub fn advance(&mut self, drive: &mut Drive, goal: &Goal, units: u64) -> Result<bool> {
        let Self { turns, lifetime } = self;
        lifetime.advance(drive.ssd(), goal, units, &mut |into| turns.draw(into))
    }

    /// Totals since the beginning of the life.
    pub fn totals(&self) -> Totals {
        self.lifetime.totals()
    }

    /// Mean P/E cycles of a block since the beginning of the life.
    pub fn cycles(&self) -> f64 {
        self.lifetime.cycles()
    }

    /// Blocks that have failed since the beginning of the life.
    pub fn failed_blocks(&self) -> usize {
        self.lifetime.failed_blocks()
    }

    /// Mean bytes of the host in a written unit.
    pub fn bytes_per_unit(&self) -> f64 {
        self.turns.bytes_per_unit()
    }

    /// Share of the blocks that were not in use at the last leap, where static wear levelling may
    /// mix their data with others; 0 without it.
    pub fn still(&self, drive: &mut Drive) -> f64 {
        self.lifetime.still(drive.ssd())
    }

    /// Whether a block has reached its limit of cycles.
    pub fn is_worn(&self) -> bool {
        self.lifetime.is_worn()
    }
}
