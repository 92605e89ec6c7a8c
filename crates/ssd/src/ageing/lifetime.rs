//! A lifetime: the writes and trims of a host age a drive, without time.
//!
//! All of them are carried out by the FTL, or a part of them that stands for the rest: a stretch of
//! writes, then a leap (`leap`) by as many cycles as the acceleration says, and so on. What was
//! written in a leap is taken from its stretch. The first two cycles of the blocks are carried out
//! whatever the acceleration, to tell the blocks in use from those with data that stay.
//!
//! Calendar time passes by what the host writes. Data are as old as it says; in a leap, only those
//! of blocks that are not in use grow older.

use super::leap::{Asked, Leaped, Leaps};
use super::rows::{Draw, Rows};
use super::worn::{Blocks, Noted, Worn};
use crate::conflicts::Feature;
use crate::drive::Ssd;
use crate::ftl::Lpn;
use base::units::Hours;
use base::{Error, Result};
use nand::geometry::Block;

/// Most cycles for which a leap waits for blocks that are to fail: in so many, half are erased.
const WAITING_CYCLES: f64 = 0.5;

/// Goal of the next part of a life, and how it is carried out.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Mean cycles of a block since the beginning at which the life pauses.
    pub cycles: f64,
    /// Units written since the beginning at which the life pauses.
    pub units: f64,
    /// Cycles of the most worn block at which the life ends.
    pub most_cycles: Option<u32>,
    /// Calendar time that passes with each unit.
    pub hours_per_unit: f64,
    /// Cycles that are carried out before the first leap.
    pub learning_cycles: f64,
    /// Cycles that are carried out before each leap.
    pub stretch_cycles: f64,
}

/// Totals of a life since its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Units written by the host.
    pub host_units: f64,
    /// Units programmed, for any reason.
    pub programmed_units: f64,
    /// Units moved by collection.
    pub moved_units: f64,
    /// Blocks erased, in leaps too.
    pub erases: f64,
    /// Units trimmed by the host.
    pub trimmed_units: f64,
    /// Calendar time since the beginning, in hours.
    pub hours: f64,
    /// Units written by the host that were carried out.
    pub exact_units: f64,
    /// Number of leaps so far.
    pub leaps: u64,
}

impl Totals {
    fn add(&mut self, other: &Self, times: f64) {
        self.host_units += times * other.host_units;
        self.programmed_units += times * other.programmed_units;
        self.moved_units += times * other.moved_units;
        self.trimmed_units += times * other.trimmed_units;
    }
}

/// A life under way.
pub struct Lifetime {
    rows: Rows,
    blocks: Blocks,
    leaps: Option<Leaps>,
    acceleration: f64,
    good_blocks: f64,
    totals: Totals,
    /// Totals since the last leap.
    stretch: Totals,
    /// Mean cycles of a block at the end of the last leap.
    leaped_at: f64,
    /// Calendar time in hours that has passed and that the chips do not know yet.
    hours_left: f64,
    is_worn: bool,
}

impl Lifetime {
    /// Starts the life of a drive that holds data. Each cycle that is carried out stands for
    /// `acceleration` cycles; 1 is exact.
    pub fn new(ssd: &mut Ssd, acceleration: f64, seed: u64) -> Result<Self> {
        ssd.check_rest()?;
        let place = "accelerate";
        if !(1.0..=1e6).contains(&acceleration) {
            let problem = format!("{acceleration} is out of range");
            return Err(Error::new(place, problem).expected("1 (exact) to 1000000"));
        }
        let holds_data =
            (0..ssd.ftl.facts().logical_units).any(|u| ssd.ftl.lookup(Lpn(u)).is_some());
        if !holds_data {
            let problem = "the drive holds no data";
            return Err(Error::new("life", problem).hint("precondition the drive first"));
        }
        ssd.check_asked(Feature::Life)?;
        if acceleration > 1.0 {
            ssd.check_asked(Feature::Leaps)?;
        }
        let blocks = ssd.flash.chips.geometry.blocks() as usize;
        let per_block = u64::from(ssd.flash.chips.geometry.units_per_block());
        let bad = ssd.ftl.occupancy().bad / per_block;
        Ok(Self {
            rows: Rows::new(&*ssd.ftl, ssd.flash.chips.geometry.dies),
            blocks: Blocks::new(blocks, ssd.flash.chips.geometry.planes() as usize),
            leaps: (acceleration > 1.0).then(|| Leaps::new(&ssd.flash.chips, seed)),
            acceleration,
            good_blocks: (blocks as u64 - bad) as f64,
            totals: Totals::default(),
            stretch: Totals::default(),
            leaped_at: 0.0,
            hours_left: 0.0,
            is_worn: false,
        })
    }

    /// Totals since the beginning.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Cycles of a block on average since the beginning.
    pub fn cycles(&self) -> f64 {
        self.totals.erases / self.good_blocks
    }

    /// Blocks that have failed since the beginning.
    pub fn failed_blocks(&self) -> usize {
        self.blocks.has_failed.iter().filter(|&&has_failed| has_failed).count()
    }

    /// Share of the blocks that were not in use at the last leap. Static wear levelling may mix
    /// their data with others; 0 without it.
    pub fn still(&self, ssd: &Ssd) -> f64 {
        let leaps = self.leaps.as_ref().filter(|_| ssd.ftl.facts().wear_delta > 0);
        leaps.map_or(0.0, |leaps| leaps.still)
    }

    /// Whether a block has all the cycles that it may have.
    pub fn is_worn(&self) -> bool {
        self.is_worn
    }

    /// Carries out about `units` further units. Returns whether the goal is reached or the life is
    /// over.
    pub fn advance(
        &mut self,
        ssd: &mut Ssd,
        goal: &Goal,
        units: u64,
        draw: Draw<'_>,
    ) -> Result<bool> {
        let mut written = 0;
        while written < units && !self.is_done(ssd, goal) {
            written += self.write(ssd, goal, draw)?;
            if let Some(mut leaps) = self.leaps.take() {
                self.leap(ssd, goal, &mut leaps)?;
                self.leaps = Some(leaps);
            }
        }
        let is_done = self.is_done(ssd, goal);
        if is_done {
            ssd.end_untimed();
        }
        Ok(is_done)
    }

    fn is_done(&self, ssd: &Ssd, goal: &Goal) -> bool {
        self.is_worn
            || ssd.failures.read_only.is_any()
            || self.cycles() >= goal.cycles
            || self.totals.host_units >= goal.units
    }

    /// Carries out a batch of units.
    fn write(&mut self, ssd: &mut Ssd, goal: &Goal, draw: Draw<'_>) -> Result<u64> {
        let (before, trimmed) = (ssd.ftl.counts(), self.rows.trimmed);
        let worn = Worn { chips: &mut ssd.flash.chips, erases: 0, kept: Vec::new() };
        let mut device = Noted { worn, blocks: &mut self.blocks };
        let written = self.rows.advance(&mut *ssd.ftl, &mut device, draw)?;
        let Worn { erases, kept, .. } = device.worn;
        let now = ssd.now();
        kept.into_iter().for_each(|block| ssd.failures.read_only.set(block, now));
        let after = ssd.ftl.counts();
        let done = Totals {
            host_units: (after.host_units - before.host_units) as f64,
            programmed_units: (after.programmed_units() - before.programmed_units()) as f64,
            moved_units: (after.moved_units - before.moved_units) as f64,
            trimmed_units: (self.rows.trimmed - trimmed) as f64,
            ..Totals::default()
        };
        for totals in [&mut self.totals, &mut self.stretch] {
            totals.add(&done, 1.0);
            totals.erases += erases as f64;
        }
        self.totals.exact_units += done.host_units;
        self.is_worn = goal.most_cycles.is_some_and(|most| self.blocks.most_cycles >= most);
        self.pass(ssd, done.host_units * goal.hours_per_unit, false)?;
        Ok(written)
    }

    /// Leaps, if the stretch before it is long enough.
    fn leap(&mut self, ssd: &mut Ssd, goal: &Goal, leaps: &mut Leaps) -> Result<()> {
        let stretch = self.stretch.erases / self.good_blocks;
        if self.cycles() < goal.learning_cycles || stretch < goal.stretch_cycles || stretch == 0.0 {
            return Ok(());
        }
        if self.is_done(ssd, goal) || self.is_waiting() {
            return Ok(());
        }
        // Units of the host for each erase say how far the goal is.
        let units_per_cycle = self.stretch.host_units / stretch;
        let to_goal = (goal.cycles - self.cycles())
            .min((goal.units - self.totals.host_units) / units_per_cycle);
        let each = goal.stretch_cycles.min(stretch);
        let cycles = ((self.acceleration - 1.0) * each).min(to_goal);
        let recent = self.blocks.erases / 2;
        let hours_per_erase = self.stretch.host_units * goal.hours_per_unit / self.stretch.erases;
        let asked = Asked {
            recent,
            cycles: cycles * self.good_blocks,
            hours_per_erase,
            most_cycles: goal.most_cycles,
        };
        let Leaped { erases, is_worn } = leaps.leap(ssd, &mut self.blocks, &asked);
        self.is_worn = is_worn;
        let times = erases / self.stretch.erases;
        let host_units = times * self.stretch.host_units;
        self.totals.add(&self.stretch, times);
        self.totals.erases += erases;
        self.totals.leaps += 1;
        self.stretch = Totals::default();
        self.leaped_at = self.cycles();
        self.pass(ssd, host_units * goal.hours_per_unit, true)
    }

    /// Whether blocks that are to fail have not been erased yet, and a leap waits for them.
    fn is_waiting(&mut self) -> bool {
        let cycles = self.cycles();
        let blocks = &mut self.blocks;
        blocks.due.retain(|block| !blocks.has_failed[block.0 as usize]);
        if cycles - self.leaped_at > WAITING_CYCLES {
            blocks.due.clear();
        }
        !blocks.due.is_empty()
    }

    /// Lets calendar time pass. What refresh writes in it counts like the copies of collection.
    fn pass(&mut self, ssd: &mut Ssd, hours: f64, is_leap: bool) -> Result<()> {
        self.totals.hours += hours;
        self.hours_left += hours;
        // The drive counts whole minutes; refresh looks at its blocks once a day.
        let refreshes = ssd.failures.refresh.is_wanted();
        let least = if refreshes { 24.0 } else { 1.0 / 60.0 };
        if self.hours_left < least {
            return Ok(());
        }
        let whole = (self.hours_left * 60.0).floor() / 60.0;
        self.hours_left -= whole;
        if refreshes {
            return self.refresh(ssd, whole);
        }
        let chips = &mut ssd.flash.chips;
        if is_leap {
            let recent = self.blocks.erases / 2;
            chips.age_others(Hours(whole), |block| self.blocks.is_used(block, recent));
        } else {
            chips.age(Hours(whole));
        }
        Ok(())
    }

    /// Lets hours pass with refresh.
    fn refresh(&mut self, ssd: &mut Ssd, hours: f64) -> Result<()> {
        let before = ssd.ftl.counts();
        let done = super::refresh(ssd, Hours(hours))?;
        let after = ssd.ftl.counts();
        self.totals.programmed_units +=
            (after.programmed_units() - before.programmed_units()) as f64;
        self.totals.moved_units += done.units as f64;
        self.totals.erases += done.erases as f64;
        if done.erases > 0 {
            let chips = &ssd.flash.chips;
            let cycles = (0..chips.geometry.blocks()).map(|block| chips.worn_cycles(Block(block)));
            self.blocks.most_cycles = cycles.max().unwrap_or(0);
        }
        Ok(())
    }
}
