//! Batches: an FTL without time, under random batches of writes and trims, against an account of
//! its calls.

mod zones;

use super::tally::{Tally, hold};
use crate::ftl::contract::{BlockService, Drive, Parts, ZoneState};
use crate::ftl::{Ftl, Job, Lpn, Untimed, Urgency};
use base::Result;
use base::rng::Rng;
use nand::geometry::Block;
use std::collections::BTreeSet;

/// An FTL under random batches and trims.
pub struct Batches {
    /// The FTL and its account.
    pub ftl: Tally,
    untimed: Untimed,
    rng: Rng,
    written: BTreeSet<u32>,
}

impl Batches {
    /// Starts batches on a new FTL.
    pub fn new(ftl: Tally, seed: u64) -> Self {
        let untimed = Untimed::new(ftl.geometry.dies);
        let rng = Rng::stream(seed, "conformance");
        Self { ftl, untimed, rng, written: BTreeSet::new() }
    }

    /// A batch of any length, hot enough to hold the same unit twice, and some trims.
    fn round(&mut self) -> Result<()> {
        let logical = self.ftl.facts().logical_units;
        let layout = self.ftl.zones().map(|zones| zones.layout());
        if let Some(layout) = layout
            && (layout.is_all(logical) || self.rng.chance(0.5))
        {
            return self.zone_round(layout);
        }
        let beside = layout.map_or(0..logical, |layout| layout.beside(logical));
        let Self { ftl, untimed, rng, written } = self;
        let units = beside.len() as u64;
        let length = 1 + rng.below(3 * u64::from(ftl.facts().row_units));
        let span = if rng.chance(0.5) { 1 + units / 50 } else { units };
        let draw = |rng: &mut Rng, span: u64| beside.start + rng.below(span) as u32;
        let mut batch: Vec<Lpn> = (0..8 * length).map(|_| Lpn(draw(rng, span))).collect();
        if rng.chance(0.2) {
            // In order, as files are written.
            let first = batch[0].0;
            batch = (first..beside.end).take(8 * length as usize).map(Lpn).collect();
        }
        ftl.write_untimed(&batch, untimed)?;
        written.extend(batch.iter().map(|lpn| lpn.0));
        for _ in 0..rng.below(20) {
            let lpn = draw(rng, units);
            ftl.trim_untimed(Lpn(lpn), untimed)?;
            written.remove(&lpn);
        }
        Ok(())
    }

    /// Runs `count` rounds, and compares the account now and then.
    pub fn rounds(&mut self, count: u32) -> Result<()> {
        for round in 0..count {
            self.round()?;
            if round % 50 == 49 {
                self.check()?;
            }
        }
        Ok(())
    }

    /// Holds what is mapped, and what the FTL reports, against the account.
    pub fn check(&mut self) -> Result<()> {
        for lpn in 0..self.ftl.facts().logical_units {
            let is_there = self.ftl.lookup(Lpn(lpn)).is_some();
            let was_written = self.written.contains(&lpn);
            hold!(is_there == was_written, "unit {lpn} was written: {was_written}");
        }
        self.ftl.check()
    }

    /// Retires free, open and full blocks. Blocks that the FTL agrees to retire are gone in the
    /// end, and not used again (the account sees to that).
    pub fn retire(&mut self) -> Result<()> {
        let blocks = u64::from(self.ftl.geometry.blocks());
        for _ in 0..20 {
            let block = Block(self.rng.below(blocks) as u32);
            if self.ftl.retire(block) {
                hold!(self.ftl.retire(block), "{block:?} is refused when it is retired twice");
            }
        }
        for _ in 0..2000 {
            if self.ftl.doomed() == 0 {
                break;
            }
            self.round()?;
            // As the controller does: a die may take no data before it has made room.
            for job in (0..self.ftl.facts().jobs).map(Job) {
                self.ftl.settle_untimed(job, Urgency::Blocked, &mut self.untimed)?;
            }
        }
        let doomed = self.ftl.doomed() - self.ftl.doomed_and_open();
        // Those of zones that are read only stay for their data. Once all zones are out of use,
        // erased ones stay as they are: nothing is written, and so nothing is erased.
        let is_kept = self.ftl.zones().is_some_and(|zones| {
            let states = (0..zones.layout().zones).map(|zone| zones.view(zone).state);
            let is_out = |state| matches!(state, ZoneState::Offline);
            states.clone().any(|state| state == ZoneState::ReadOnly) || states.clone().all(is_out)
        });
        hold!(doomed == 0 || is_kept, "{doomed} blocks that were to be retired are still in use");
        self.rounds(100)
    }
}
