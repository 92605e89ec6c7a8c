//! Power cuts at random: what flushes and FUA have promised is there after each of them.
//!
//! After a cut, and at times a second one while the drive starts up, each unit reads as its last
//! durable version or a later one, and the storm goes on.

use super::storm::Storm;
use super::tally::hold;
use crate::config::SsdConfig;
use crate::ftl::Lpn;
use crate::{Ssd, Step};
use base::Result;
use base::rng::Rng;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die};
use std::collections::{BTreeSet, VecDeque};

/// A drive in a storm, whose power is cut again and again.
pub struct Cuts {
    /// Storm on the drive whose power is cut.
    pub storm: Storm,
    config: SsdConfig,
    rng: Rng,
    /// Cuts so far, those during a start-up included.
    pub cuts: u64,
    /// Cuts during a start-up.
    pub second_cuts: u64,
    /// Units that read as an older version than the last that was acknowledged.
    pub lost_units: u64,
    /// Units that a cut had spoilt and a copy has restored.
    pub restored_units: u64,
    /// Most units after one cut that were on failed dies in stripes without parity.
    pub most_unprotected_units: usize,
    /// Units of these at the last cut: they may read as anything older.
    unprotected: BTreeSet<u32>,
    /// Dies that are to fail, in order, and whether they do so without power too.
    failing: (VecDeque<Die>, bool),
}

/// Most events between two cuts.
const MOST_EVENTS: u64 = 4000;

impl Cuts {
    /// Creates a storm on a drive of this configuration, with this seed.
    pub fn new(config: &SsdConfig, seed: u64) -> Result<Self> {
        let storm = Storm::new(Ssd::new(config, 1 << 32)?, seed);
        let rng = Rng::stream(seed, "cuts");
        Ok(Self {
            storm,
            config: config.clone(),
            rng,
            cuts: 0,
            second_cuts: 0,
            lost_units: 0,
            restored_units: 0,
            most_unprotected_units: 0,
            unprotected: BTreeSet::new(),
            failing: (VecDeque::new(), false),
        })
    }

    /// Lets these dies fail, one after the other as each is rebuilt: before a cut, or also without
    /// power and while the drive starts up.
    pub fn fail_dies(&mut self, dies: impl IntoIterator<Item = Die>, without_power: bool) {
        self.failing = (dies.into_iter().collect(), without_power);
    }

    /// Lets the next die fail, with this chance, if the ones before are rebuilt.
    fn fail_die(&mut self, chance: f64) -> Result<()> {
        let is_rebuilt =
            self.storm.ssd.failed_dies().iter().all(|failed| failed.rebuilt_at.is_some());
        if is_rebuilt
            && !self.failing.0.is_empty()
            && self.rng.chance(chance)
            && let Some(die) = self.failing.0.pop_front()
        {
            self.storm.ssd.fail_die(die)?;
        }
        Ok(())
    }

    /// As `fail_die`, without power: the die takes data whose parity was in memory.
    fn fail_die_without_power(&mut self, chance: f64) -> Result<()> {
        if self.failing.1 {
            self.fail_die(chance)?;
        }
        let unprotected = self.storm.ssd.unprotected();
        self.unprotected.extend(unprotected.into_iter().map(|unit| unit.0));
        Ok(())
    }

    /// Goes on until the power has been cut `cuts` times in all.
    pub fn run(&mut self, cuts: u64) -> Result<()> {
        while self.cuts < cuts {
            let events = self.rng.below(MOST_EVENTS);
            self.storm.run_events(events)?;
            self.fail_die(0.3)?;
            if !self.storm.ssd.failed_dies().is_empty() {
                let events = self.rng.below(200);
                self.storm.run_events(events)?;
            }
            self.cut()?;
        }
        Ok(())
    }

    /// Goes on, without cuts, until all failed dies are rebuilt, or for as long as some cuts take.
    pub fn rebuild(&mut self) -> Result<()> {
        for _ in 0..50 {
            let failed = self.storm.ssd.failed_dies();
            if failed.iter().all(|failed| failed.rebuilt_at.is_some()) {
                break;
            }
            self.storm.run_events(MOST_EVENTS)?;
        }
        Ok(())
    }

    /// Cuts the power, starts up, and holds what is there against what was promised.
    fn cut(&mut self) -> Result<()> {
        let before = self.storm.zone_views();
        let cut = self.storm.ssd.cut()?;
        self.cuts += 1;
        self.unprotected.clear();
        self.fail_die_without_power(0.3)?;
        // A drive with zones is held up, and all its sets of dies with it.
        if self.config.drive.capacitors || !before.is_empty() {
            self.storm.durable.flush_all();
        }
        hold!(!self.storm.ssd.has_room(), "a drive without power takes requests: {cut:?}");
        loop {
            self.storm.ssd.power_on(&self.config)?;
            let most = if self.rng.chance(0.3) { self.rng.below(800) } else { u64::MAX };
            if !self.start_up(most)? {
                break;
            }
            self.fail_die_without_power(0.5)?;
            self.storm.ssd.cut()?;
            self.fail_die_without_power(0.0)?;
            (self.cuts, self.second_cuts) = (self.cuts + 1, self.second_cuts + 1);
        }
        self.restored_units += self.storm.ssd.started().map_or(0, |started| started.restored_units);
        hold!(self.storm.ssd.has_room(), "a drive that is ready takes no requests");
        let units = 0..self.storm.units();
        let layout = self.storm.ssd.zone_layout();
        let is_of_zone = |unit: u32| layout.is_some_and(|layout| layout.contains(Lpn(unit)));
        let is_early = self.config.parity.partial.is_written();
        self.most_unprotected_units = self.most_unprotected_units.max(self.unprotected.len());
        for unit in units.filter(|&unit| !is_of_zone(unit)) {
            // Whole stripes give back all that was written and flushed since the last start-up.
            let is_whole = is_early && self.storm.durable.is_new(unit);
            if self.unprotected.contains(&unit) && !is_whole {
                continue;
            }
            let allowed = self.storm.allowed(unit);
            let found = stored(&self.storm.ssd, unit);
            hold!(
                allowed.contains(&found),
                "unit {unit} is version {found} after a cut, not one of {allowed:?}"
            );
            self.lost_units += u64::from(Some(&found) != allowed.last());
        }
        let occupancy = self.storm.ssd.occupancy();
        let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
        let units = self.storm.ssd.physical_units();
        hold!(all == units, "after a cut {occupancy:?} of {units}");
        hold!(self.storm.ssd.counts_agree(), "{:?} after a cut", self.storm.ssd.ftl_counts());
        self.check_levels()?;
        self.storm.check_zones_after_cut(&before)?;
        self.storm.forget_requests(stored);
        Ok(())
    }

    /// Checks that the FTL knows again which of its blocks have reduced levels.
    fn check_levels(&mut self) -> Result<()> {
        let Ssd { ftl, flash, .. } = &self.storm.ssd;
        for block in (0..flash.chips.geometry.blocks()).map(Block) {
            let modes = [ftl.mode(block), flash.chips.mode(block)];
            let [told, known] = modes.map(|mode| mode == BlockMode::Reduced);
            let pages = ftl.filled_pages(block).min(flash.chips.programmed_pages(block));
            let is_used = pages > 0 && !ftl.is_bad(block);
            hold!(!is_used || told == known, "{block:?} after a cut: {modes:?}");
        }
        Ok(())
    }

    /// Starts up, for `most` events at most. Returns whether the start-up is still under way.
    fn start_up(&mut self, most: u64) -> Result<bool> {
        let mut events = 0;
        while events < most {
            events += 1;
            match self.storm.ssd.step_event() {
                Some(Step::Ready) => return Ok(false),
                Some(Step::Idle) => {
                    self.storm.ssd.fault()?;
                    hold!(false, "the drive does not start up");
                }
                _ => {}
            }
        }
        self.storm.ssd.fault()?;
        Ok(true)
    }
}

/// The version of a unit on flash.
fn stored(ssd: &Ssd, unit: u32) -> u64 {
    ssd.stored(Lpn(unit))
}
