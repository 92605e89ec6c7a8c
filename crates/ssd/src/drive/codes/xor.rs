//! Engine of parity over dies: the time that parity takes to be computed (`parity.xor_mb_s`).
//!
//! A single engine takes in the data of each row on their way to the flash, and the pages from
//! which another is rebuilt. All pages of parity are computed from one pass.

use crate::config::ParityConfig;
use crate::drive::stage::Stage;
use base::Time;

/// Engine that computes parity, and when it is free.
pub(crate) struct Xor {
    ns_per_byte: f64,
    engine: Stage,
}

impl Xor {
    /// Engine of a drive with parity; `None` where it takes no time.
    pub(super) fn of(config: &ParityConfig) -> Option<Self> {
        let rate = config.xor_mb_s;
        (rate > 0.0).then(|| Self { ns_per_byte: 1e3 / rate, engine: Stage::new(1) })
    }

    /// Time that an idle engine takes for so many bytes.
    pub(crate) fn time(&self, bytes: u64) -> Time {
        Time((bytes as f64 * self.ns_per_byte) as u64)
    }

    /// Takes in bytes that are there now. Returns when they are computed.
    pub(crate) fn take(&mut self, now: Time, bytes: u64) -> Time {
        self.engine.serve(now, self.time(bytes)).2
    }

    /// Time from which on all that was taken in is computed.
    pub(crate) fn ready(&mut self, now: Time) -> Time {
        self.engine.serve(now, Time::ZERO).2
    }

    /// Forgets what is being computed, as the power is gone.
    pub(super) fn stop(&mut self, now: Time) {
        self.engine.stop(now);
    }
}
