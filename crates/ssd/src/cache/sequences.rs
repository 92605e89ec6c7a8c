//! Sequences: reads of which each begins where the one before has ended, and what is read ahead of
//! them.

use std::ops::Range;

/// Most sequences that are followed at a time; the one that was read longest ago is forgotten.
/// Assumed: jobs and files that are read side by side.
pub const MOST_SEQUENCES: usize = 32;

/// A sequence of reads.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    /// Byte at which its next read would begin.
    end: u64,
    /// Unit up to which it was read ahead.
    ahead: u64,
    /// Number of the last read of it.
    used: u64,
}

/// Sequences among the reads of the host.
#[derive(Debug, Clone)]
pub(crate) struct Sequences {
    followed: Vec<Sequence>,
    reads: u64,
    /// Units that are read ahead.
    window: u64,
    /// Bytes and number of the units of the drive.
    unit_bytes: u64,
    units: u64,
}

impl Sequences {
    /// Follows sequences on a drive of `units` units of `unit_bytes`, `window` units ahead.
    pub(crate) fn new(window: u32, unit_bytes: u64, units: u32) -> Self {
        let followed = Vec::with_capacity(MOST_SEQUENCES);
        Self { followed, reads: 0, window: window.into(), unit_bytes, units: units.into() }
    }

    /// Notes a read of `length` bytes. Returns the units to read ahead of it: none before the
    /// second read of a sequence, and then half a window or more at a time, so that neighbours are
    /// read together.
    pub(crate) fn note(&mut self, offset: u64, length: u64) -> Range<u32> {
        self.reads += 1;
        let (end, used) = (offset + length, self.reads);
        let Some(known) = self.followed.iter_mut().find(|known| known.end == offset) else {
            self.follow(Sequence { end, ahead: 0, used });
            return 0..0;
        };
        (known.end, known.used) = (end, used);
        let next = end.div_ceil(self.unit_bytes);
        let first = known.ahead.max(next);
        let last = (next + self.window).min(self.units);
        if 2 * (first - next) >= self.window || first >= last {
            return 0..0;
        }
        known.ahead = last;
        first as u32..last as u32
    }

    /// Follows a new sequence, in the place of the one read longest ago.
    fn follow(&mut self, new: Sequence) {
        if self.followed.len() < MOST_SEQUENCES {
            self.followed.push(new);
        } else if let Some(oldest) = self.followed.iter_mut().min_by_key(|known| known.used) {
            *oldest = new;
        }
    }

    /// Forgets the sequences that are followed.
    pub(crate) fn clear(&mut self) {
        self.followed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every unit behind the second read of a sequence is read ahead once, and never more than a
    /// window before it is read; reads at random are no sequence.
    #[test]
    fn a_sequence_is_read_ahead_once() {
        let mut sequences = Sequences::new(8, 4096, 1000);
        assert_eq!(sequences.note(40 << 12, 4096), 0..0);
        let mut ahead = 0;
        for unit in 41..1000 {
            // Another read comes between.
            assert_eq!(sequences.note(((unit * 7919 % 900) << 13) + 1536, 512), 0..0);
            let asked = sequences.note(unit << 12, 4096);
            if !asked.is_empty() {
                assert!(ahead == 0 || asked.start == ahead, "{asked:?} behind {ahead}");
                ahead = asked.end;
            }
            assert!(u64::from(ahead) > unit || ahead == 1000);
            assert!(u64::from(ahead) <= unit + 1 + 8);
        }
        assert_eq!(ahead, 1000);
    }

    #[test]
    fn parts_of_units_are_a_sequence_too() {
        let mut sequences = Sequences::new(2, 4096, 1000);
        let asked: Vec<_> = (0..32).map(|sector| sequences.note(512 * sector, 512)).collect();
        let asked: Vec<_> = asked.into_iter().filter(|units| !units.is_empty()).collect();
        assert_eq!(asked, [1..3, 3..5]);
    }
}
