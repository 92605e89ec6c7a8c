//! Numbers of a set: what the drive calls the units, keys, jobs and dies that are the set's.

use crate::terms::{Job, Key, Lpn};
use std::ops::Range;

/// Numbers that the drive has for what belongs to a set. The set itself counts from 0: its logical
/// units and then the pages of its map, the jobs of its dies and then its others.
#[derive(Debug, Clone)]
pub(super) struct Span {
    /// Logical units of the set.
    pub units: Range<u32>,
    /// Pages of the set's map.
    pub pages: Range<u32>,
    /// Keys of the set.
    pub keys: Range<u32>,
    /// Jobs of the set that belong to no die.
    pub jobs: Range<u32>,
    /// Dies of the set.
    pub dies: Range<u32>,
}

impl Span {
    /// A unit by the number that the set has for it.
    pub fn unit_inside(&self, lpn: Lpn) -> Lpn {
        if lpn == Lpn::HOLE {
            lpn
        } else if self.units.contains(&lpn.0) {
            Lpn(lpn.0 - self.units.start)
        } else {
            Lpn(lpn.0 - self.pages.start + self.units.len() as u32)
        }
    }

    /// A unit of the set by the number of the drive.
    pub fn unit_outside(&self, lpn: Lpn) -> Lpn {
        let logical = self.units.len() as u32;
        if lpn == Lpn::HOLE {
            lpn
        } else if lpn.0 < logical {
            Lpn(self.units.start + lpn.0)
        } else {
            Lpn(self.pages.start + lpn.0 - logical)
        }
    }

    /// A job by the number that the set has for it.
    pub fn job_inside(&self, job: Job) -> Job {
        if self.dies.contains(&job.0) {
            Job(job.0 - self.dies.start)
        } else {
            Job(job.0 - self.jobs.start + self.dies.len() as u32)
        }
    }

    /// A job of the set by the number of the drive.
    pub fn job_outside(&self, job: Job) -> Job {
        let dies = self.dies.len() as u32;
        if job.0 < dies {
            Job(self.dies.start + job.0)
        } else {
            Job(self.jobs.start + job.0 - dies)
        }
    }
}

/// Ends of the numbers of each set, by which the set of a number is found.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    units: Vec<u32>,
    pages: Vec<u32>,
    keys: Vec<u32>,
    jobs: Vec<u32>,
}

impl Ends {
    /// Ends of spans that follow each other.
    pub fn of<'a>(spans: impl Iterator<Item = &'a Span> + Clone) -> Self {
        let ends = |of: fn(&Span) -> u32| spans.clone().map(of).collect();
        Self {
            units: ends(|span| span.units.end),
            pages: ends(|span| span.pages.end),
            keys: ends(|span| span.keys.end),
            jobs: ends(|span| span.jobs.end),
        }
    }

    /// Place of the set of a unit, or of a page of a map. Holes are the first set's.
    #[inline]
    pub fn of_unit(&self, lpn: Lpn) -> usize {
        let set = first_beyond(&self.units, lpn.0);
        if set < self.units.len() {
            return set;
        }
        let set = first_beyond(&self.pages, lpn.0);
        if set < self.pages.len() { set } else { 0 }
    }

    /// Place of the set of a key.
    #[inline]
    pub fn of_key(&self, key: Key) -> usize {
        first_beyond(&self.keys, key.0)
    }

    /// Place of the set of a job that belongs to no die.
    #[inline]
    pub fn of_job(&self, job: Job) -> usize {
        first_beyond(&self.jobs, job.0)
    }
}

/// Place of the first end beyond a number.
#[inline]
fn first_beyond(ends: &[u32], number: u32) -> usize {
    ends.partition_point(|&end| end <= number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_went() {
        let span = Span { units: 100..150, pages: 400..403, keys: 2..5, jobs: 16..18, dies: 4..8 };
        for lpn in (100..150).chain(400..403).map(Lpn) {
            assert_eq!(span.unit_outside(span.unit_inside(lpn)), lpn);
        }
        assert_eq!(span.unit_inside(Lpn(402)), Lpn(52));
        assert_eq!(span.unit_inside(Lpn::HOLE), Lpn::HOLE);
        assert_eq!(span.unit_outside(Lpn::HOLE), Lpn::HOLE);
        for job in (4..8).chain(16..18).map(Job) {
            assert_eq!(span.job_outside(span.job_inside(job)), job);
        }
        assert_eq!(span.job_inside(Job(17)), Job(5));
    }

    /// Each number is in the span of its set, also where sets have no pages and no further jobs.
    #[test]
    fn numbers_are_in_their_set() {
        let span = |units, pages, keys, jobs, dies| Span { units, pages, keys, jobs, dies };
        let spans = [
            span(0..10, 60..60, 0..2, 8..8, 0..4),
            span(10..11, 60..63, 2..3, 8..9, 4..5),
            span(11..40, 63..63, 3..7, 9..9, 5..7),
            span(40..60, 63..64, 7..8, 9..12, 7..8),
        ];
        let ends = Ends::of(spans.iter());
        for unit in 0..64 {
            let Span { units, pages, .. } = &spans[ends.of_unit(Lpn(unit))];
            assert!(units.contains(&unit) || pages.contains(&unit), "unit {unit}");
        }
        assert_eq!(ends.of_unit(Lpn::HOLE), 0);
        assert!((0..8).all(|key| spans[ends.of_key(Key(key))].keys.contains(&key)));
        assert!((8..12).all(|job| spans[ends.of_job(Job(job))].jobs.contains(&job)));
    }
}
