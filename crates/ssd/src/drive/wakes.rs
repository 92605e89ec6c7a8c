//! Wakes: who must look at his work again, as what he waits for may be there.
//!
//! Handlers of events change the state of the drive and note here who may go on. At the end of the
//! event all of these look at their work ([`Ssd::settle_wakes`]), those first whom the others wait
//! for: collection of dies, jobs that the FTL names, writes that wait for room, rows of the buffer,
//! requests that wait for the map, and jobs that wait for others.

use super::Ssd;
use crate::terms::Job;
use nand::geometry::Die;
use std::collections::VecDeque;

/// Somebody who looks at his work, in the order in which they do. Collection of dies goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Jobs that the FTL names.
    Jobs,
    /// Dies that are blocked until they are collected, if no job is under way.
    Blocked,
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

/// All wakes in their order.
const ORDER: [Wake; 9] = [
    Wake::Jobs,
    Wake::Blocked,
    Wake::Room,
    Wake::Step,
    Wake::Rows,
    Wake::Map,
    Wake::Parked,
    Wake::Finishes,
    Wake::Refresh,
];

/// Wakes of those who have not looked at their work yet.
#[derive(Default)]
pub(super) struct Wakes {
    /// One bit for each [`Wake`].
    woken: u32,
    /// Dies whose collection is woken, in the order in which that happened.
    dies: VecDeque<Die>,
}

impl Wakes {
    /// Wakes somebody who looks at the end of the event.
    #[inline]
    pub(super) fn wake(&mut self, wake: Wake) {
        self.woken |= 1 << wake as u32;
    }

    /// Wakes the collection of a die.
    #[inline]
    pub(super) fn collect(&mut self, die: Die) {
        self.dies.push_back(die);
    }

    /// Wakes all who wait for a step of a job.
    pub(super) fn step_done(&mut self) {
        [Wake::Jobs, Wake::Step, Wake::Map, Wake::Parked].into_iter().for_each(|it| self.wake(it));
    }

    /// Whether anybody has been woken.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.woken != 0 || !self.dies.is_empty()
    }

    /// Takes the first of those who have been woken, but for collection of dies.
    #[inline]
    fn next(&mut self) -> Option<Wake> {
        let wake = *ORDER.get(self.woken.trailing_zeros() as usize)?;
        self.woken &= self.woken - 1;
        Some(wake)
    }
}

impl Ssd {
    /// Lets all who have been woken look at their work, until nobody is left.
    #[inline]
    pub(super) fn settle_wakes(&mut self) {
        if self.wakes.any() {
            self.look_all();
        }
    }

    #[inline(never)]
    fn look_all(&mut self) {
        loop {
            if let Some(die) = self.wakes.dies.pop_front() {
                self.start_job(Job::of(die));
                continue;
            }
            let Some(wake) = self.wakes.next() else { return };
            match wake {
                Wake::Jobs => self.start_named(),
                Wake::Blocked if !self.jobs.any_busy() => self.collect_blocked(),
                Wake::Blocked => {}
                Wake::Room => self.retry_stalled(),
                Wake::Step => self.wake_rows_of_jobs(),
                Wake::Rows => self.drain_buffer(),
                Wake::Map => self.ask_map_again(),
                Wake::Parked => self.go_on_parked(),
                Wake::Finishes => self.end_finishes(),
                Wake::Refresh => self.rewrite(),
            }
        }
    }
}
