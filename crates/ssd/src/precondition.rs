//! Bringing a drive into the state it is to be studied in, exactly and without time.
//!
//! The very same FTL code that runs under the engine writes the drive: `fill` writes every unit
//! once in order; `steady` then overwrites at random until write amplification settles.

use crate::ftl::{Ftl, Lpn, Untimed};
use base::rng::Rng;

/// What to do before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Leave the drive empty.
    None,
    /// Write every logical unit once, in order.
    Fill,
    /// Fill, then overwrite uniformly at random until write amplification settles.
    Steady,
}

impl Precondition {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("none", Self::None), ("fill", Self::Fill), ("steady", Self::Steady)];
}

/// Units written between looks at the clock, signals and progress.
const CHUNK: u64 = 1 << 17;

/// A preconditioning in progress.
pub struct Preconditioning {
    goal: Precondition,
    untimed: Untimed,
    rng: Rng,
    filled: u64,
    overwritten: u64,
    /// Write amplification of each completed half drive write.
    halves: Vec<f64>,
    half_start: (u64, u64),
    done: bool,
}

impl Preconditioning {
    /// Fewest overwrites of the whole drive before `steady` may be called settled.
    const LEAST_OVERWRITES: f64 = 2.0;
    /// Most overwrites of the whole drive.
    const MOST_OVERWRITES: f64 = 12.0;
    /// Settled when the last half drive write differs from the one before by less than this.
    const SETTLED: f64 = 0.01;

    /// For a drive of `dies` dies.
    pub fn new(goal: Precondition, dies: u32, seed: u64) -> Self {
        Self {
            goal,
            untimed: Untimed::new(dies),
            rng: Rng::stream(seed, "precondition"),
            filled: 0,
            overwritten: 0,
            halves: Vec::new(),
            half_start: (0, 0),
            done: goal == Precondition::None,
        }
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Units written so far, and the least that will be written.
    pub fn progress(&self, ftl: &dyn Ftl) -> (u64, u64) {
        let units = u64::from(ftl.logical_units());
        let least = match self.goal {
            Precondition::None => 0,
            Precondition::Fill => units,
            Precondition::Steady => units + (units as f64 * Self::LEAST_OVERWRITES) as u64,
        };
        let written = self.filled + self.overwritten;
        (written, least.max(written))
    }

    /// Write amplification of the last completed half drive write.
    pub fn write_amplification(&self) -> Option<f64> {
        self.halves.last().copied()
    }

    /// Does a part of the work: about a hundred thousand units.
    pub fn advance(&mut self, ftl: &mut dyn Ftl) {
        let units = u64::from(ftl.logical_units());
        if self.done {
            return;
        }
        if self.filled < units {
            self.fill(ftl, units);
            self.done = self.filled == units && self.goal == Precondition::Fill;
            return;
        }
        let half = units.div_ceil(2);
        let into_half = self.overwritten % half;
        if into_half == 0 {
            let counts = ftl.counts();
            self.half_start = (counts.host_units, counts.programmed_units());
        }
        let count = CHUNK.min(half - into_half);
        let rng = &mut self.rng;
        ftl.overwrite_untimed(count, &mut || Lpn(rng.below(units) as u32), &mut self.untimed);
        self.overwritten += count;
        if self.overwritten.is_multiple_of(half) {
            let counts = ftl.counts();
            let host = counts.host_units - self.half_start.0;
            let programmed = counts.programmed_units() - self.half_start.1;
            self.halves.push(programmed as f64 / host as f64);
            self.done = self.settled();
        }
    }

    fn fill(&mut self, ftl: &mut dyn Ftl, units: u64) {
        let row = u64::from(ftl.row_units());
        let end = (self.filled + CHUNK).min(units);
        let mut batch = Vec::with_capacity(row as usize);
        while self.filled < end {
            let stop = (self.filled + row).min(units);
            batch.clear();
            batch.extend((self.filled..stop).map(|unit| Lpn(unit as u32)));
            ftl.write_untimed(&batch, &mut self.untimed);
            self.filled = stop;
        }
    }

    fn settled(&self) -> bool {
        let writes = self.halves.len() as f64 / 2.0;
        let &[.., before, last] = self.halves.as_slice() else { return false };
        writes >= Self::MOST_OVERWRITES
            || (writes >= Self::LEAST_OVERWRITES && (last / before - 1.0).abs() < Self::SETTLED)
    }
}
