//! Preconditioning: brings a drive into its state before a run, exactly and without time.
//!
//! The very same FTL code that runs under the engine writes the drive: `fill` writes every unit
//! once in order; `steady` then overwrites at random until write amplification settles; `rested`
//! then lets garbage collection finish. A large drive whose stationary state is known begins there
//! (`start`), and is overwritten for as long as it takes to forget that.

mod start;

use crate::ftl::contract::MapCounts;
use crate::ftl::{Ftl, FtlCounts, Job, Lpn, Untimed, Urgency};
use base::Result;
use base::archive::{Archive, State};
use base::rng::Rng;
use nand::geometry::Die;
use serde::{Deserialize, Serialize};
use start::Start;

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
    /// First writes that bring the drive near its stationary state, in place of a fill in order.
    start: Option<Start>,
    /// Drives of at least so many units begin at their stationary state, where it is known.
    at_once_from: u64,
    filled: u64,
    overwritten: u64,
    /// Windows of overwrites in a drive write.
    windows: u64,
    /// Counts of the FTL at the start of the overwrites and after each window of them.
    halves: Vec<FtlCounts>,
    /// Units overwritten at the end of overwrites that went on after the drive had settled.
    until: Option<u64>,
    settled: bool,
    done: bool,
}

impl State for Preconditioning {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { goal, rng, windows, filled, overwritten, halves, settled, done, .. } = self;
        archive.value(goal)?;
        archive.value(rng)?;
        archive.value(windows)?;
        archive.value(filled)?;
        archive.value(overwritten)?;
        archive.value(halves)?;
        archive.value(settled)?;
        archive.value(done)
    }
}

impl Preconditioning {
    /// Most overwrites of the whole drive.
    const MOST_OVERWRITES: f64 = 12.0;
    /// Change of write amplification between drive writes that counts as settled: least and most
    /// tolerance. Between these it is half of 1 / sqrt(n) for n reclaimed blocks, which would
    /// scatter by 1 / sqrt(n) if they were chance; collection is more regular.
    const SETTLED: (f64, f64) = (0.01, 0.1);
    /// Windows of overwrites in a drive write, from a fill and from the stationary state: there
    /// little is to be forgotten.
    const WINDOWS: u64 = 2;
    const WINDOWS_AT_ONCE: u64 = 16;
    /// Fewest units of a drive that begins at its stationary state: smaller ones settle from a fill
    /// in seconds, and results that were published with them stay as they are.
    const AT_ONCE_FROM: u64 = 1 << 25;

    /// Starts the preconditioning of a drive with `dies` dies.
    pub fn new(goal: Precondition, dies: u32, seed: u64) -> Self {
        Self {
            goal,
            dies,
            untimed: Untimed::new(dies),
            rng: Rng::stream(seed, "precondition"),
            start: None,
            at_once_from: Self::AT_ONCE_FROM,
            filled: 0,
            overwritten: 0,
            windows: Self::WINDOWS,
            halves: Vec::new(),
            until: None,
            settled: false,
            done: goal == Precondition::None,
        }
    }

    /// Begins a drive of any size at its stationary state, where that is known.
    pub fn at_once(mut self) -> Self {
        self.at_once_from = 0;
        self
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
            Precondition::Steady | Precondition::Rested => units + 4 * units.div_ceil(self.windows),
        };
        let written = self.filled + self.overwritten;
        (written, least.max(written))
    }

    /// Write amplification of the last two windows: a drive write after a fill, an eighth of one
    /// after a start at once.
    pub fn write_amplification(&self) -> Option<f64> {
        let counts = self.last_windows(0)?;
        Some(counts.write_amplification())
    }

    /// Write amplification of the last two windows without padding, as a run counts it to tell
    /// whether it has settled.
    pub fn collection_amplification(&self) -> Option<f64> {
        let counts = self.last_windows(0)?;
        Some(FtlCounts { padding_units: 0, ..counts }.write_amplification())
    }

    /// Whether write amplification settled before the most overwrites were done; `None` if not
    /// asked for, or not known yet.
    pub fn settled(&self) -> Option<bool> {
        let is_known = !self.halves.is_empty() && self.done;
        is_known.then_some(self.settled)
    }

    /// Counts of the FTL in two windows: `back` = 0 are the last two, 1 the two before.
    fn last_windows(&self, back: usize) -> Option<FtlCounts> {
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
            if self.filled == 0 {
                self.start = self.stationary_start(ftl);
                if self.start.is_some() {
                    self.windows = Self::WINDOWS_AT_ONCE;
                }
            }
            match &mut self.start {
                Some(start) => {
                    self.filled = start.write(CHUNK, &mut self.rng, ftl, &mut self.untimed)?;
                }
                None => self.fill(ftl, units)?,
            }
            self.done = self.filled == units && self.goal == Precondition::Fill;
            return Ok(());
        }
        if self.halves.is_empty() {
            self.halves.push(ftl.counts());
        }
        let window = units.div_ceil(self.windows);
        let until = self.until.unwrap_or(u64::MAX);
        let left = window - self.overwritten % window;
        let count = CHUNK.min(left).min(until - self.overwritten);
        let rng = &mut self.rng;
        ftl.overwrite_untimed(count, &mut || Lpn(rng.below(units) as u32), &mut self.untimed)?;
        self.overwritten += count;
        if self.overwritten.is_multiple_of(window) {
            self.halves.push(ftl.counts());
            if self.until.is_none() {
                self.settled = self.is_settled();
                self.done =
                    self.settled || self.overwritten as f64 >= Self::MOST_OVERWRITES * units as f64;
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

    /// The start at the stationary state, if the drive is large enough and the state is known.
    fn stationary_start(&mut self, ftl: &dyn Ftl) -> Option<Start> {
        let is_steady = matches!(self.goal, Precondition::Steady | Precondition::Rested);
        let facts = ftl.facts();
        let is_large = u64::from(facts.logical_units) >= self.at_once_from;
        let state = facts.stationary.filter(|_| is_steady && is_large)?;
        Start::new(&state, u64::from(facts.logical_units), &mut self.rng)
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

    /// Whether the last two pairs of windows had the same write amplification, within tolerance.
    /// Before any block was reclaimed it cannot be told: false.
    fn is_settled(&self) -> bool {
        let (Some(last), Some(before)) = (self.last_windows(0), self.last_windows(1)) else {
            return false;
        };
        let reclaimed = last.reclaimed_blocks.min(before.reclaimed_blocks);
        let (least, most) = Self::SETTLED;
        // A slow change is smaller in shorter windows.
        let least = least * Self::WINDOWS as f64 / self.windows as f64;
        let tolerance = (0.5 / (reclaimed as f64).sqrt()).clamp(least, most);
        let change = last.write_amplification() / before.write_amplification() - 1.0;
        reclaimed > 0 && change.abs() < tolerance
    }
}
