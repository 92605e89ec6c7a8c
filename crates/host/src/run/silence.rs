//! Silences of a run: times in which requests are under way and none completes.

use base::Time;

/// The present silence, and the longest one so far.
#[derive(Debug, Default)]
pub(super) struct Silence {
    from: Time,
    longest: Time,
}

impl Silence {
    /// Begins a silence: a request comes and no other is under way, or a figure counts from `now`.
    #[inline]
    pub fn begin(&mut self, now: Time) {
        self.from = now;
    }

    /// Ends the present silence; the next one begins.
    #[inline]
    pub fn end(&mut self, now: Time) {
        self.longest = self.longest.max(now.since(self.from));
        self.from = now;
    }

    /// The longest silence up to `now`, with the present one where requests are under way.
    pub fn longest(&self, now: Time, is_under_way: bool) -> Time {
        let present = if is_under_way { now.since(self.from) } else { Time::ZERO };
        self.longest.max(present)
    }
}
