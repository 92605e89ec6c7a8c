//! Numbers of a set: what the drive calls the units, keys, jobs and dies that are the set's.

use crate::terms::{Job, Lpn};
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
}
