//! Ends of a run: where it is asked to end, where no event comes, where no time passes.

use super::Run;
use super::until::{End, Until};
use base::{Error, Result, Time};

/// Longest run in simulated years.
const YEARS: f64 = Time::LIMIT.0 as f64 / (365.25 * 86_400e9);

/// Completions in which time must pass: more requests than any drive holds at a time.
const MOST_AT_ONCE: u64 = 1 << 20;

impl Run {
    /// Looks at the run from time to time: whether time passes, a part is over, or the run must
    /// end.
    #[cold]
    pub(super) fn look(&mut self) -> Result<()> {
        if self.completed.is_multiple_of(MOST_AT_ONCE) && self.offered.is_none() {
            self.check_time_passes()?;
        }
        let now = self.ssd.now();
        let is_over = self.settling.is_part_over(now, self.completed, self.write_bytes);
        if is_over {
            let latency = self.settling.keeps_latencies().then(|| self.totals().latency());
            self.settling.close(self.mark(), latency);
        }
        match self.until.filter(|_| !self.is_stopped) {
            Some(Until::DriveWrites(_))
                if self.write_bytes == 0 && self.completed >= MOST_AT_ONCE =>
            {
                let problem = format!("none of the first {} requests wrote", self.completed);
                return Err(Error::new("until", problem).hint("end it by requests or by time"));
            }
            Some(Until::Settled(_)) if is_over && self.settling.is_over() => self.reach_end(),
            _ => {}
        }
        Ok(())
    }

    /// Whether `until` has been reached.
    #[inline]
    pub(super) fn is_at_end(&self, now: Time) -> bool {
        self.completed >= self.end.completed
            || now >= self.end.time
            || self.write_bytes >= self.end.write_bytes
    }

    /// Ends the run, or pauses it at the end of the skipped beginning, where its jobs go on.
    #[cold]
    pub(super) fn reach_end(&mut self) {
        if self.is_skipping {
            (self.is_paused, self.end) = (true, End::NEVER);
        } else {
            self.stop();
        }
    }

    /// Stops all jobs: they send nothing more.
    pub(super) fn stop(&mut self) {
        let now = self.ssd.now();
        (self.is_stopped, self.end) = (true, End::NEVER);
        self.runners.iter_mut().for_each(|runner| runner.stop(now));
    }

    /// Refuses a run that only its time would end, when no time passes: its requests cost nothing,
    /// like trims, and reads of data never written.
    #[cold]
    pub(super) fn check_time_passes(&mut self) -> Result<()> {
        let now = self.ssd.now();
        if std::mem::replace(&mut self.looked_at, now) < now || self.total().is_some() {
            return Ok(());
        }
        let problem =
            format!("simulated time stands still: the last {MOST_AT_ONCE} requests took 0 ns");
        Err(Error::new("workload", problem).hint(
            "write the data before reading them, give the host times, or limit the number of \
             requests (number_ios, size)",
        ))
    }

    /// Refuses a run in which no event comes any more while requests wait.
    pub(super) fn check_idle(&mut self) -> Result<()> {
        if self.ssd.is_out_of_time() {
            let problem = format!("the run takes more than {YEARS:.0} simulated years");
            return Err(Error::new("simulated time", problem)
                .expected("at most 2^63 ns")
                .hint("use fewer requests, higher rates, shorter pauses and delays"));
        }
        if self.under_way > 0 {
            self.ssd.stalled()?;
            // A lost request is an error: other simulators do not check that.
            let lost = format!("{} requests never completed", self.under_way);
            return Err(
                Error::new("drive", lost).hint("this is a defect of nandlab; please report it")
            );
        }
        Ok(())
    }
}
