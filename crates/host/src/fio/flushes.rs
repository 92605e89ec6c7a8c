//! Flushes of a job, which make its writes durable: fio's `fsync`, `fdatasync` and `end_fsync`.
//!
//! As in fio, a flush follows every N writes and is sent just before the next request. So no flush
//! follows the last write of a job, unless `end_fsync` asks for one.

/// Flushes of a job: how often they come, and whether one is due.
#[derive(Debug, Clone)]
pub struct Flushes {
    /// Writes between flushes, for `fsync` and for `fdatasync`; 0 = no flushes.
    every: [u64; 2],
    at_end: bool,
    writes: u64,
    due: bool,
    /// Whether nothing was written since the last flush.
    clean: bool,
}

impl Flushes {
    /// Flushes after each `every` writes, and after the last write if `at_end`.
    pub fn new(every: [Option<u64>; 2], at_end: bool) -> Self {
        let every = every.map(Option::unwrap_or_default);
        Self { every, at_end, writes: 0, due: false, clean: true }
    }

    /// Counts one write of the job.
    #[inline]
    pub fn wrote(&mut self) {
        self.writes += 1;
        self.clean = false;
        self.due = self.every.iter().any(|&every| every > 0 && self.writes.is_multiple_of(every));
    }

    /// Whether a flush comes before the next request. The call takes it.
    #[inline]
    pub fn take(&mut self) -> bool {
        let due = std::mem::take(&mut self.due);
        self.clean |= due;
        due
    }

    /// Whether a flush comes at the end of the job. The call takes it.
    pub fn take_last(&mut self) -> bool {
        self.at_end && !std::mem::replace(&mut self.clean, true)
    }

    /// Whether the job has any flushes.
    pub fn any(&self) -> bool {
        self.at_end || self.every != [0, 0]
    }

    /// Number of flushes in a job of `writes` writes; `None` where it is not easily known. `exact`:
    /// the job ends with its last write and not with a search for the next place.
    pub fn count(&self, writes: u64, exact: bool) -> Option<u64> {
        let last = u64::from(self.at_end && writes > 0);
        let before = writes.saturating_sub(1);
        match self.every {
            [0, 0] => Some(last),
            _ if !exact => None,
            [every, 0] | [0, every] => (before / every).checked_add(last),
            [a, b] if a == b => (before / a).checked_add(last),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_follows_every_so_many_writes() {
        for (every, at_end) in
            [([Some(3), None], false), ([None, Some(1)], true), ([None; 2], true)]
        {
            for writes in [0, 1, 2, 3, 7, 9] {
                let mut flushes = Flushes::new(every, at_end);
                let mut sent = 0;
                for _ in 0..writes {
                    sent += u64::from(flushes.take());
                    flushes.wrote();
                }
                sent += u64::from(flushes.take_last());
                assert!(!flushes.take_last());
                assert_eq!(flushes.count(writes, true), Some(sent), "{every:?} {writes}");
            }
        }
        assert_eq!(Flushes::new([Some(2), Some(3)], false).count(9, true), None);
    }
}
