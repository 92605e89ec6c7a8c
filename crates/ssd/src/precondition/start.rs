//! First writes of a drive that begins at its stationary state.
//!
//! As many units are written as the full blocks of the drive have. Some of them are dead at the
//! end: they are written again later. How many follows from the age of their block, so that in the
//! end the blocks have as many valid units as uniform writes would leave them, and nothing was
//! collected on the way. Units come in a random order, as after many writes.

use crate::ftl::{Ftl, Lpn, Untimed};
use crate::space::stationary::Stationary;
use base::Result;
use base::permutation::Permutation;
use base::rng::Rng;

/// Points at which the shares of valid units are known.
const POINTS: usize = 4096;

/// First writes under way.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Shares of valid units, from the first writes to the last.
    shares: Vec<f64>,
    /// Order in which units are written for the last time.
    order: Permutation,
    units: u64,
    /// Writes of units in all, as planned.
    planned: u64,
    written: u64,
    /// Units written for the last time.
    placed: u64,
}

impl Start {
    /// Plans the first writes of a drive of `units` units; `None` where no state is stationary.
    pub(super) fn new(state: &Stationary, units: u64, rng: &mut Rng) -> Option<Self> {
        let shares = state.shares(units, POINTS)?;
        let order = Permutation::new(units, rng);
        Some(Self { shares, order, units, planned: state.units, written: 0, placed: 0 })
    }

    /// Writes about `count` units. Returns how many of the drive's are in their last place.
    pub(super) fn write(
        &mut self,
        count: u64,
        rng: &mut Rng,
        ftl: &mut dyn Ftl,
        untimed: &mut Untimed,
    ) -> Result<u64> {
        let row = ftl.facts().row_units as usize;
        let mut batch = Vec::with_capacity(row);
        let end = self.written + count;
        while self.written < end && self.placed < self.units {
            batch.clear();
            while batch.len() < row && self.placed < self.units {
                batch.push(self.next(rng));
            }
            ftl.write_untimed(&batch, untimed)?;
        }
        Ok(self.placed)
    }

    /// Unit that is written next.
    fn next(&mut self, rng: &mut Rng) -> Lpn {
        let point = (self.written as f64 / self.planned as f64 * POINTS as f64) as usize;
        // What is left after the planned writes is valid.
        let share = self.shares.get(point).copied().unwrap_or(1.0);
        self.written += 1;
        let at = if rng.chance(share) {
            self.placed += 1;
            self.placed - 1
        } else {
            // Any unit that is still to come.
            self.placed + rng.below(self.units - self.placed)
        };
        Lpn(self.order.map(at) as u32)
    }
}
