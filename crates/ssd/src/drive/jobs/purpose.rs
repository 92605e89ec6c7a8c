//! Kind of data that commands carry, which a timeline and blame show.

use crate::drive::Ssd;
use crate::flash::command::{ProgramOwner, Purpose};
use crate::terms::{Job, Lpn, ReadOwner, Reason};
use nand::geometry::Ppn;

impl Ssd {
    /// Whether anybody is shown the purpose of commands: a timeline, or blame.
    #[inline]
    pub(super) fn shows_purposes(&self) -> bool {
        self.flash.timeline.is_on() || self.flash.blame.is_some()
    }

    /// Kind of data that a read fetches for `owner`, from unit `lpn` at place `from` on.
    #[inline]
    pub(in crate::drive) fn purpose_of_read(
        &self,
        owner: ReadOwner,
        lpn: u32,
        from: Ppn,
    ) -> Purpose {
        match owner {
            _ if !self.shows_purposes() => Purpose::Data,
            ReadOwner::Patrol | ReadOwner::Rebuild(_) => Purpose::Data,
            ReadOwner::Job(_) if self.is_refreshed(from) => Purpose::Refresh,
            ReadOwner::Map(_) => Purpose::Map,
            _ if !self.units.has(Lpn(lpn)) => Purpose::Map,
            ReadOwner::Job(job) => self.purpose_of_job(job),
            _ => Purpose::Data,
        }
    }

    /// Kind of data that a program writes for `owner`, which lay at `from` before.
    #[inline]
    pub(in crate::drive) fn purpose_of_program(&self, owner: ProgramOwner, from: Ppn) -> Purpose {
        match owner {
            ProgramOwner::Moves { job, .. } if self.shows_purposes() => {
                if self.is_refreshed(from) {
                    Purpose::Refresh
                } else {
                    self.purpose_of_job(job)
                }
            }
            _ => Purpose::Data,
        }
    }

    /// Kind of data that a job moves in its present step.
    pub(super) fn purpose_of_job(&self, job: Job) -> Purpose {
        match self.jobs.states[job.0 as usize].reason {
            Reason::Levelling => Purpose::Level,
            Reason::Folding => Purpose::Fold,
            Reason::Space if self.die_of(job).is_none() => Purpose::Merge,
            Reason::Space | Reason::Rebuild => Purpose::Data,
        }
    }

    /// Whether the place of data lies in a block that is refreshed.
    #[inline]
    pub(super) fn is_refreshed(&self, from: Ppn) -> bool {
        let refresh = &self.failures.refresh;
        refresh.any_under_way()
            && from != Ppn::NONE
            && refresh.is_under_way(self.flash.chips.geometry.block_of(from))
    }
}
