//! Times of changes: whether data have changed while they were read.
//!
//! A read that is under way brings data as they were. Where its unit was written or trimmed
//! meanwhile they are of no use, and the cache must not take them. The last change is noted by hash
//! of the unit: two units that share a cell cost a unit that is not kept, and never a wrong one.

use crate::terms::Lpn;
use base::Time;

/// Fewest and most cells of the table.
const CELLS: (u32, u32) = (1 << 10, 1 << 18);

/// Times of the last changes.
pub(super) struct Changes {
    /// Time after the last change of the units of a cell; 0 without any.
    until: Vec<Time>,
    shift: u32,
}

impl Changes {
    /// No changes, for a cache of `capacity` units.
    pub(super) fn new(capacity: u32) -> Self {
        let cells = capacity.clamp(CELLS.0, CELLS.1).next_power_of_two();
        Self { until: vec![Time::ZERO; cells as usize], shift: 32 - cells.trailing_zeros() }
    }

    #[inline]
    fn cell(&self, lpn: Lpn) -> usize {
        (lpn.0.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// Notes a change of a unit.
    #[inline]
    pub(super) fn note(&mut self, lpn: Lpn, now: Time) {
        let cell = self.cell(lpn);
        self.until[cell] = now + Time(1);
    }

    /// Whether a unit has certainly not changed at `since` or later.
    #[inline]
    pub(super) fn is_unchanged(&self, lpn: Lpn, since: Time) -> bool {
        self.until[self.cell(lpn)] <= since
    }

    /// Forgets all changes: nothing is being read.
    pub(super) fn clear(&mut self) {
        self.until.fill(Time::ZERO);
    }
}
