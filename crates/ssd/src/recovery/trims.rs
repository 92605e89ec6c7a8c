//! Trims that outlast a power cut: noted on flash by the next flush.
//!
//! What was trimmed is still on flash until its block is erased, and a scan would find it. So each
//! trim has a number, as data have, and whatever is older is dead. Notes are many in the end. A
//! table of the units without data takes their place then: all that was written before it, of such
//! a unit, is dead.

use base::Result;
use base::archive::{Archive, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Units that were trimmed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trim {
    pub first: u32,
    pub end: u32,
    pub sequence: u64,
}

impl Trim {
    /// Bytes of a note: a unit, a length and a number.
    pub(crate) const BYTES: u32 = 16;
}

/// Table of the units that had no data at `sequence`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Unmapped {
    sequence: u64,
    words: Vec<u64>,
    /// Units that the write buffer held then: the table says nothing of them.
    held: BTreeSet<u32>,
}

/// The trims of a drive.
#[derive(Debug, Default, Clone)]
pub(crate) struct Trims {
    /// Trims since the last flush, in memory only.
    pending: Vec<Trim>,
    /// Trims that are noted on flash.
    notes: Vec<Trim>,
    unmapped: Unmapped,
}

impl State for Trims {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { pending, notes, unmapped } = self;
        archive.value(pending)?;
        archive.value(notes)?;
        archive.value(unmapped)
    }
}

impl Trims {
    /// Adds a trim, which stays in memory until the next flush.
    pub(crate) fn add(&mut self, trim: Trim) {
        self.pending.push(trim);
    }

    /// Takes the trims that are not on flash yet.
    pub(crate) fn take_pending(&mut self) -> Vec<Trim> {
        std::mem::take(&mut self.pending)
    }

    /// Notes are on flash.
    pub(crate) fn noted(&mut self, notes: &[Trim]) {
        self.notes.extend_from_slice(notes);
    }

    /// Bytes of a table of the units without data.
    pub(crate) fn table_bytes(units: u32) -> u64 {
        u64::from(units.div_ceil(8))
    }

    /// A table is on flash: older notes are of no use, except those of units that were in the write
    /// buffer.
    pub(crate) fn replace(&mut self, unmapped: Unmapped) {
        let held = &unmapped.held;
        self.notes.retain(|note| {
            let is_held = || held.range(note.first..note.end).next().is_some();
            note.sequence > unmapped.sequence || is_held()
        });
        for &unit in held.iter().filter(|&&unit| self.unmapped.has(unit)) {
            let sequence = self.unmapped.sequence;
            self.notes.push(Trim { first: unit, end: unit + 1, sequence });
        }
        self.unmapped = unmapped;
    }

    /// The power is gone, and with it what was not noted.
    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// By unit: the number of its newest trim on flash; 0 without one.
    pub(crate) fn newest(&self, units: u32) -> Vec<u64> {
        let of_table = |unit| if self.unmapped.has(unit) { self.unmapped.sequence } else { 0 };
        let mut newest: Vec<u64> = (0..units).map(of_table).collect();
        for note in &self.notes {
            for at in &mut newest[note.first as usize..note.end as usize] {
                *at = note.sequence.max(*at);
            }
        }
        newest
    }
}

impl Unmapped {
    /// Creates the table of `units` units at `sequence`: it names those that `has_data` denies and
    /// that are not `held` in the write buffer.
    pub(crate) fn of(
        units: u32,
        sequence: u64,
        held: BTreeSet<u32>,
        has_data: impl Fn(u32) -> bool,
    ) -> Self {
        let mut words = vec![0; units.div_ceil(64) as usize];
        for unit in (0..units).filter(|&unit| !has_data(unit) && !held.contains(&unit)) {
            words[unit as usize / 64] |= 1 << (unit % 64);
        }
        Self { sequence, words, held }
    }

    fn has(&self, unit: u32) -> bool {
        self.words.get(unit as usize / 64).is_some_and(|word| word >> (unit % 64) & 1 != 0)
    }
}
