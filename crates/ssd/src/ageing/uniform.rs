//! Ageing by writes: uniform random overwrites without time, until the blocks reach a number of
//! program/erase cycles more. The flash is in the loop: its blocks wear, and their programs and
//! erases fail as they do in a run.

use super::worn::Worn;
use crate::drive::Ssd;
use crate::ftl::{Lpn, Untimed};
use base::rng::Rng;
use base::{Error, Result};

/// Units written between looks at the flash; few, as a read-only drive gets no more after them.
const BATCH: u64 = 1024;

/// An ageing in progress.
pub struct Ageing {
    untimed: Untimed,
    rng: Rng,
    /// Units that hold data; `None` if all units do.
    some: Option<Vec<u32>>,
    units: u64,
    erases: u64,
    wanted: u64,
    is_over: bool,
}

impl Ageing {
    /// Starts an ageing of the blocks by `cycles` cycles on average. Only units that hold data are
    /// overwritten: refuses a drive that holds none.
    pub fn new(ssd: &Ssd, cycles: u32, seed: u64) -> Result<Self> {
        let ftl = &*ssd.ftl;
        let all = ftl.facts().logical_units;
        let mapped = (0..all).filter(|&unit| ftl.lookup(Lpn(unit)).is_some());
        let units = mapped.clone().count() as u64;
        if units == 0 {
            let problem = "the drive holds no data to overwrite";
            return Err(Error::new("age.cycles", problem).hint("precondition the drive first"));
        }
        let geometry = &ssd.flash.chips.geometry;
        let bad = ftl.occupancy().bad / u64::from(geometry.units_per_block());
        let good = u64::from(geometry.blocks()) - bad;
        Ok(Self {
            untimed: Untimed::new(geometry.dies),
            // By the wear: a second ageing of a drive draws other units than its first.
            rng: Rng::stream(seed, &format!("ageing/{}", ftl.wear().mean)),
            some: (units < u64::from(all)).then(|| mapped.collect()),
            units,
            erases: 0,
            wanted: good * u64::from(cycles),
            is_over: cycles == 0 || ssd.failures.read_only.is_any(),
        })
    }

    /// Whether the blocks have their cycles, or the drive takes no more writes.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Erases so far, and erases wanted in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.erases, self.wanted)
    }

    /// Does a part of the work: about `units` units.
    pub fn advance(&mut self, ssd: &mut Ssd, units: u64) -> Result<()> {
        let mut written = 0;
        while written < units && !self.is_over {
            let Self { rng, some, untimed, .. } = self;
            let mut draw = || {
                let at = rng.below(self.units);
                Lpn(some.as_ref().map_or(at as u32, |some| some[at as usize]))
            };
            let mut device = Worn { chips: &mut ssd.flash.chips, erases: 0, kept: Vec::new() };
            ssd.ftl.overwrite_on(BATCH, &mut draw, untimed, &mut device)?;
            let Worn { erases, kept, .. } = device;
            let (now, is_full) = (ssd.now(), !kept.is_empty());
            kept.into_iter().for_each(|block| ssd.failures.read_only.set(block, now));
            written += BATCH;
            self.erases += erases;
            self.is_over = is_full || self.erases >= self.wanted;
        }
        ssd.end_untimed();
        Ok(())
    }
}
