//! Wakes: parts of the drive that look for work again, as what they wait for may be there now.
//!
//! Handlers of events change the state of the drive and set wakes here. At the end of the event
//! [`Ssd::settle_wakes`] carries all of them out, in the order of [`Wake`]: a part stands before
//! those that wait for it. After each wake the order begins anew.

use super::Ssd;
use crate::terms::Job;
use nand::geometry::Die;

/// Part of the drive that looks for work; earlier ones look first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Collection of the dies that are listed.
    Collection,
    /// Dies that are blocked until they are collected, if no job is under way.
    Blocked,
    /// Jobs that the FTL names.
    Jobs,
    /// Writes that wait for room in the buffer.
    Room,
    /// Rows that wait for a step of a job.
    Step,
    /// Rows of the buffer.
    Rows,
    /// Requests that wait for a step of a job that writes the map.
    Map,
    /// Jobs that wait for a step of another.
    Parked,
    /// Finishes of zones whose rows are short.
    Finishes,
    /// Blocks that wait for refresh.
    Refresh,
}

/// Wakes that are set and not yet carried out.
#[derive(Default)]
pub(super) struct Wakes {
    /// One bit for each [`Wake`], the first of them lowest.
    woken: u32,
    /// Dies whose collection is woken, in the order in which that happened.
    dies: Vec<Die>,
}

impl Wakes {
    /// Sets a wake, which is carried out at the end of the event.
    #[inline]
    pub(super) fn wake(&mut self, wake: Wake) {
        self.woken |= 1 << wake as u32;
    }

    /// Wakes the collection of a die.
    #[inline]
    pub(super) fn collect(&mut self, die: Die) {
        self.dies.push(die);
        self.wake(Wake::Collection);
    }

    /// Sets the wakes of all that wait for a step of a job.
    pub(super) fn step_done(&mut self) {
        [Wake::Jobs, Wake::Step, Wake::Map, Wake::Parked].into_iter().for_each(|it| self.wake(it));
    }

    /// Whether any wake is set.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.woken != 0
    }

    /// Clears a wake. Returns whether it was set.
    #[inline]
    fn take(&mut self, wake: Wake) -> bool {
        let bit = 1 << wake as u32;
        let was_woken = self.woken & bit != 0;
        self.woken &= !bit;
        was_woken
    }

    /// Whether a wake is set that stands before `wake`.
    #[inline]
    fn any_before(&self, wake: Wake) -> bool {
        self.woken & ((1 << wake as u32) - 1) != 0
    }
}

impl Ssd {
    /// Carries out all wakes, those that are set meanwhile too.
    #[inline]
    pub(super) fn settle_wakes(&mut self) {
        if self.wakes.any() {
            self.look_all();
        }
    }

    /// Carries out the wakes of collection and of the jobs that the FTL names. Returns whether no
    /// other wake stands before rows.
    #[inline]
    pub(super) fn settle_jobs(&mut self) -> bool {
        self.wakes.take(Wake::Collection);
        self.start_woken();
        self.look_at_blocked();
        self.wakes.take(Wake::Jobs);
        self.start_named();
        !self.wakes.any_before(Wake::Rows)
    }

    /// Collects blocked dies, if they were woken. A job that is under way will come back to them.
    #[inline]
    fn look_at_blocked(&mut self) {
        if self.wakes.take(Wake::Blocked) && !self.jobs.any_busy() {
            self.collect_blocked();
        }
    }

    /// Starts collection of the dies that are listed, in their order.
    #[inline]
    fn start_woken(&mut self) {
        let mut at = 0;
        while let Some(&die) = self.wakes.dies.get(at) {
            self.start_job(Job::of(die));
            at += 1;
        }
        self.wakes.dies.clear();
    }

    #[inline(never)]
    fn look_all(&mut self) {
        // In the order of `Wake`: from the beginning again after each.
        while self.wakes.any() {
            if self.wakes.take(Wake::Collection) {
                self.start_woken();
            } else if self.wakes.any_before(Wake::Jobs) {
                self.look_at_blocked();
            } else if self.wakes.take(Wake::Jobs) {
                self.start_named();
            } else if self.wakes.take(Wake::Room) {
                self.retry_stalled();
            } else if self.wakes.take(Wake::Step) {
                self.wake_rows_of_jobs();
            } else if self.wakes.take(Wake::Rows) {
                self.drain_buffer();
            } else if self.wakes.take(Wake::Map) {
                self.ask_map_again();
            } else if self.wakes.take(Wake::Parked) {
                self.go_on_parked();
            } else if self.wakes.take(Wake::Finishes) {
                self.end_finishes();
            } else if self.wakes.take(Wake::Refresh) {
                self.rewrite();
            }
        }
    }
}
