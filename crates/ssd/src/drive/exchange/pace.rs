//! Pace of rebuilding a failed die: the rate at which its data are moved to the other dies
//! (`parity.rebuild_mb_s`).
//!
//! Each step of a job pays for the units that it moves with time. Until that has passed the FTL
//! moves no more data off failed dies, but for the space that the host needs.

use crate::config::SsdConfig;
use crate::drive::Ssd;
use crate::drive::flow::event;
use crate::drive::wakes::Wake;
use base::Time;

/// Pace of rebuilding, where it has one.
#[derive(Clone, Copy)]
pub(in crate::drive) struct Pace {
    /// Time that a byte pays.
    byte_ns: f64,
    /// Time until which moves have paid.
    paid_until: Time,
    /// An event is scheduled at which rebuilding goes on.
    rests: bool,
}

impl Pace {
    /// Pace of a drive; `None` where rebuilding is as fast as collection.
    pub(in crate::drive) fn of(config: &SsdConfig) -> Option<Self> {
        let rate = config.parity.rebuild_mb_s;
        let (byte_ns, paid_until) = (1e3 / rate, Time::ZERO);
        (rate > 0.0).then_some(Self { byte_ns, paid_until, rests: false })
    }
}

impl Ssd {
    /// A job moves units off failed dies: they pay, and rebuilding rests.
    #[cold]
    pub(in crate::drive) fn pay_for_rebuild(&mut self, units: usize) {
        let now = self.now();
        let bytes = units as f64 * f64::from(self.flash.chips.geometry.unit_bytes);
        let Some(pace) = &mut self.rebuild_pace else { return };
        let time = Time((bytes * pace.byte_ns) as u64);
        pace.paid_until = pace.paid_until.max(now) + time;
        if pace.paid_until > now && !pace.rests {
            pace.rests = true;
            self.events.push(pace.paid_until, event::of(event::REBUILD, 0));
            self.rest_rebuild(true);
        }
    }

    /// Looks whether what was moved has paid: then rebuilding goes on.
    #[cold]
    pub(in crate::drive) fn look_at_pace(&mut self) {
        let now = self.now();
        let Some(pace) = &mut self.rebuild_pace else { return };
        if pace.paid_until > now {
            self.events.push(pace.paid_until, event::of(event::REBUILD, 0));
            return;
        }
        pace.rests = false;
        self.rest_rebuild(false);
        self.wakes.wake(Wake::Jobs);
    }

    /// The power is gone: what has not paid yet pays no more.
    pub(in crate::drive) fn cut_pace(&mut self) {
        if let Some(pace) = &mut self.rebuild_pace {
            (pace.paid_until, pace.rests) = (Time::ZERO, false);
        }
    }

    fn rest_rebuild(&mut self, rests: bool) {
        if let Some(parity) = self.ftl.parity_mut() {
            parity.rest_rebuild(rests);
        }
    }
}
