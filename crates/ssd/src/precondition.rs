//! Preconditioning: brings a drive into its state before a run, exactly and without time.
//!
//! The very same FTL code that runs under the engine writes the drive: `fill` writes every unit
//! once in order; `steady` then overwrites at random until write amplification settles; `rested`
//! then lets garbage collection finish.

use crate::ftl::contract::MapCounts;
use crate::ftl::{Ftl, FtlCounts, Job, Lpn, Untimed, Urgency};
use base::Result;
use base::archive::{Archive, State};
use base::rng::Rng;
use nand::geometry::Die;
use serde::{Deserialize, Serialize};

/// State that a drive is brought into before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precondition {
    /// Leave the drive empty.
    None,
    /// Write every logical unit once, in order.
    Fill,
    /// Fill, then overwrite uniformly at random until write amplification settles: a drive whose
    /// writes never pause, with the room that its reserve leaves.
    Steady,
    /// Steady, then garbage collection until the whole reserve is free: a drive after a pause.
    Rested,
}

impl Precondition {
    /// All preconditions with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("fill", Self::Fill),
        ("steady", Self::Steady),
        ("rested", Self::Rested),
    ];

    /// Name of the precondition, as in a drive file.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, goal)| *goal == self).map_or("", |(name, _)| name)
    }
}

/// Units written between looks at the clock, signals and progress.
const CHUNK: u64 = 1 << 17;

/// A preconditioning in progress.
#[derive(Clone)]
pub struct Preconditioning {
    goal: Precondition,
    dies: u32,
    untimed: Untimed,
    rng: Rng,
    filled: u64,
    overwritten: u64,
    /// Counts of the FTL at the start of the overwrites and after each half drive write.
    halves: Vec<FtlCounts>,
    /// Units overwritten at the end of overwrites that went on after the drive had settled.
    until: Option<u64>,
    settled: bool,
    done: bool,
}

impl State for Preconditioning {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { goal, rng, filled, overwritten, halves, settled, done, .. } = self;
        archive.value(goal)?;
        archive.value(rng)?;
        archive.value(filled)?;
        archive.value(overwritten)?;
        archive.value(halves)?;
        archive.value(settled)?;
        archive.value(done)
    }
}

impl Preconditioning {
    /// Fewest overwrites of the whole drive before `steady` may be called settled.
    const LEAST_OVERWRITES: f64 = 2.0;
    /// Most overwrites of the whole drive.
    const MOST_OVERWRITES: f64 = 12.0;
    /// Change of write amplification between drive writes that counts as settled: least and most
    /// tolerance. Between these it is half of 1 / sqrt(n) for n reclaimed blocks, which would
    /// scatter by 1 / sqrt(n) if they were chance; collection is more regular.
    const SETTLED: (f64, f64) = (0.01, 0.1);

    /// Starts the preconditioning of a drive with `dies` dies.
    pub fn new(goal: Precondition, dies: u32, seed: u64) -> Self {
        Self {
            goal,
            dies,
            untimed: Untimed::new(dies),
            rng: Rng::stream(seed, "precondition"),
            filled: 0,
            overwritten: 0,
            halves: Vec::new(),
            until: None,
            settled: false,
            done: goal == Precondition::None,
        }
    }

    /// Goes on to overwrite the drive, with the random numbers of another seed: another draw of the
    /// same steady state. The length is drawn from 1 to 1.5 drive writes, as open blocks and
    /// collection are in step with the units written, whatever the seed. Does nothing for a state
    /// that is not random, or not reached yet.
    pub fn overwrite_again(&mut self, seed: u64, ftl: &dyn Ftl) {
        if self.done && matches!(self.goal, Precondition::Steady | Precondition::Rested) {
            let units = u64::from(ftl.facts().logical_units);
            self.rng = Rng::stream(seed, "precondition");
            self.until = Some(self.overwritten + units + self.rng.below(units / 2 + 1));
            self.done = false;
        }
    }

    /// State that the drive is brought into.
    pub fn goal(&self) -> Precondition {
        self.goal
    }

    /// Whether there is nothing left to do.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Units written so far, and the least that will be written.
    pub fn progress(&self, ftl: &dyn Ftl) -> (u64, u64) {
        let units = u64::from(ftl.facts().logical_units);
        let least = match self.goal {
            Precondition::None => 0,
            Precondition::Fill => units,
            Precondition::Steady | Precondition::Rested => {
                units + (units as f64 * Self::LEAST_OVERWRITES) as u64
            }
        };
        let written = self.filled + self.overwritten;
        (written, least.max(written))
    }

    /// Write amplification of the last completed drive write.
    pub fn write_amplification(&self) -> Option<f64> {
        let counts = self.drive_write(0)?;
        Some(counts.write_amplification())
    }

    /// Write amplification of the last completed drive write without padding, as a run counts it to
    /// tell whether it has settled.
    pub fn collection_amplification(&self) -> Option<f64> {
        let counts = self.drive_write(0)?;
        Some(FtlCounts { padding_units: 0, ..counts }.write_amplification())
    }

    /// Whether write amplification settled before the most overwrites were done; `None` if not
    /// asked for, or not known yet.
    pub fn settled(&self) -> Option<bool> {
        let is_known = !self.halves.is_empty() && self.done;
        is_known.then_some(self.settled)
    }

    /// Counts of the FTL in one drive write: `back` = 0 is the last, 1 the one before.
    fn drive_write(&self, back: usize) -> Option<FtlCounts> {
        let end = self.halves.len().checked_sub(1 + 2 * back)?;
        let (from, to) = (self.halves[end.checked_sub(2)?], self.halves[end]);
        Some(FtlCounts {
            host_units: to.host_units - from.host_units,
            moved_units: to.moved_units - from.moved_units,
            padding_units: to.padding_units - from.padding_units,
            reclaimed_blocks: to.reclaimed_blocks - from.reclaimed_blocks,
            map: MapCounts { writes: to.map.writes - from.map.writes, ..MapCounts::default() },
            ..FtlCounts::default()
        })
    }

    /// Does a part of the work: about a hundred thousand units.
    pub fn advance(&mut self, ftl: &mut dyn Ftl) -> Result<()> {
        let units = u64::from(ftl.facts().logical_units);
        if self.done {
            return Ok(());
        }
        if self.filled < units {
            self.fill(ftl, units)?;
            self.done = self.filled == units && self.goal == Precondition::Fill;
            return Ok(());
        }
        if self.halves.is_empty() {
            self.halves.push(ftl.counts());
        }
        let half = units.div_ceil(2);
        let until = self.until.unwrap_or(u64::MAX);
        let count = CHUNK.min(half - self.overwritten % half).min(until - self.overwritten);
        let rng = &mut self.rng;
        ftl.overwrite_untimed(count, &mut || Lpn(rng.below(units) as u32), &mut self.untimed)?;
        self.overwritten += count;
        if self.overwritten.is_multiple_of(half) {
            self.halves.push(ftl.counts());
            if self.until.is_none() {
                self.settled = self.is_settled();
                self.done = self.settled || self.overwrites() >= Self::MOST_OVERWRITES;
            }
        }
        self.done |= self.overwritten == until;
        if self.done && self.goal == Precondition::Rested {
            for die in (0..self.dies).map(Die) {
                ftl.settle_untimed(Job::of(die), Urgency::Idle, &mut self.untimed)?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, ftl: &mut dyn Ftl, units: u64) -> Result<()> {
        let row = u64::from(ftl.facts().row_units);
        let end = (self.filled + CHUNK).min(units);
        let mut batch = Vec::with_capacity(row as usize);
        while self.filled < end {
            let stop = (self.filled + row).min(units);
            batch.clear();
            batch.extend((self.filled..stop).map(|unit| Lpn(unit as u32)));
            ftl.write_untimed(&batch, &mut self.untimed)?;
            self.filled = stop;
        }
        Ok(())
    }

    /// Overwrites of the whole drive so far, in halves.
    fn overwrites(&self) -> f64 {
        self.halves.len().saturating_sub(1) as f64 / 2.0
    }

    /// Whether the last two drive writes had the same write amplification, within tolerance. Before
    /// any block was reclaimed it cannot be told: false.
    fn is_settled(&self) -> bool {
        let (Some(last), Some(before)) = (self.drive_write(0), self.drive_write(1)) else {
            return false;
        };
        let reclaimed = last.reclaimed_blocks.min(before.reclaimed_blocks);
        let (least, most) = Self::SETTLED;
        let tolerance = (0.5 / (reclaimed as f64).sqrt()).clamp(least, most);
        let change = last.write_amplification() / before.write_amplification() - 1.0;
        self.overwrites() >= Self::LEAST_OVERWRITES && reclaimed > 0 && change.abs() < tolerance
    }
}
