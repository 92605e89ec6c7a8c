//! Idle times of the drive: when internal work that has time begins.
//!
//! A die collects in the background when it is idle. With `gc.background_after_us` the whole drive
//! must have been without requests for so long first: a pause between two requests of a burst is
//! no idle time.

use super::Ssd;
use super::flow::event;
use crate::ftl::Ftl;
use crate::space::gc::GcConfig;
use base::{Error, Result, Time};
use nand::geometry::Die;

/// Idle times: whether they are used, and since when the drive has one.
pub(crate) struct Idle {
    /// Internal work runs in idle times.
    is_used: bool,
    /// Idle times begin so long after the last request.
    after: Time,
    /// Time at which the last request was complete.
    since: Time,
    /// An event is scheduled that looks whether an idle time has begun.
    is_watched: bool,
}

impl Idle {
    /// Idle times that internal work uses or not, which begin `after` the last request.
    pub(super) fn new(is_used: bool, after: Time) -> Self {
        Self { is_used, after, since: Time::ZERO, is_watched: false }
    }

    /// Idle times of a drive with this collection and FTL. Refuses to wait for one without work in
    /// the background.
    pub(super) fn of(gc: &GcConfig, ftl: &dyn Ftl) -> Result<Self> {
        let is_used = gc.background_free_blocks > 0 || ftl.facts().works_when_idle;
        let after_us = gc.background_after_us;
        if after_us > 0.0 && !is_used {
            let problem = format!("{after_us} us: this drive has no work in the background");
            return Err(Error::new("gc.background_after_us", problem).expected("0").hint(
                "set gc.background_free_blocks, or use an FTL with a cache that is emptied",
            ));
        }
        Ok(Self::new(is_used, Time::from_us(after_us)))
    }

    /// Whether internal work runs in idle times.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }
}

impl Ssd {
    /// Whether a die has time for work that can wait.
    #[inline]
    pub(super) fn has_time(&self, die: Die) -> bool {
        let idle = &self.idle;
        idle.is_used
            && self.flash.is_idle(die)
            && (idle.after == Time::ZERO
                || (self.outstanding() == 0 && self.now() >= idle.since + idle.after))
    }

    /// A request is complete: an idle time may begin.
    #[inline]
    pub(super) fn rest(&mut self) {
        if self.idle.is_used && self.idle.after > Time::ZERO && self.outstanding() == 0 {
            self.idle.since = self.now();
            self.watch();
        }
    }

    /// Looks whether an idle time has begun, when it may have.
    fn watch(&mut self) {
        if !self.idle.is_watched {
            self.idle.is_watched = true;
            self.events.push(self.idle.since + self.idle.after, event::of(event::REST, 0));
        }
    }

    /// An idle time may have begun.
    #[cold]
    pub(super) fn look_for_rest(&mut self) {
        self.idle.is_watched = false;
        if self.outstanding() > 0 {
            return;
        }
        if self.now() < self.idle.since + self.idle.after {
            self.watch();
        } else {
            self.start_idle_work();
        }
    }

    /// The drive begins a run: work that has time begins, at once or later.
    pub(super) fn use_idle_time(&mut self) {
        if self.idle.is_used && self.idle.after > Time::ZERO {
            self.idle.since = self.now();
            self.watch();
        } else if self.idle.is_used {
            self.start_idle_work();
            self.settle_wakes();
        }
    }

    fn start_idle_work(&mut self) {
        let dies = self.flash.chips.geometry.dies;
        (0..dies).for_each(|die| self.wakes.collect(Die(die)));
    }
}
