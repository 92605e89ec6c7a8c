//! Sums of runs: counts and latencies of finished runs, which another run adds to its own for a
//! report of all of them together.
//!
//! Times are added like counts, as if the runs had followed one another: rates and shares are then
//! those of all runs together.

use super::stats::JobStats;
use super::tails::Tails;
use super::{ByWindow, Run, Tally};
use base::counts::Counts;
use base::{Error, Result, Time};
use ssd::drive::activity::Activity;

/// Counts, times and latencies of one run, or of several together.
pub struct Sums {
    pub(super) activity: Activity,
    pub(super) tally: Tally,
    pub(super) under_way_ns: u128,
    pub(super) measured: Time,
    pub(super) longest_silence: Time,
    pub(super) events: u64,
    /// Statistics of each job, and the time that they are over.
    jobs: Vec<(JobStats, Time)>,
    tails: Option<Box<Tails>>,
    by_window: Vec<ByWindow>,
}

impl Sums {
    /// Sums of a finished run.
    pub fn of(run: Run) -> Self {
        Self {
            activity: run.activity(),
            tally: run.tally(),
            under_way_ns: run.counted_under_way_ns(),
            measured: run.measured(),
            longest_silence: run.longest_silence(),
            events: run.events(),
            tails: run.tails,
            by_window: run.by_window,
            jobs: run
                .runners
                .into_iter()
                .map(|runner| (runner.stats, runner.last_completion.since(runner.measure_from)))
                .collect(),
        }
    }

    /// Adds the sums of a run with the same jobs. Refuses more time than a run may take.
    pub fn add(&mut self, other: Self) -> Result<()> {
        self.activity = checked_time(&self.activity, &other.activity)?;
        self.tally = self.tally.plus(&other.tally);
        self.under_way_ns += other.under_way_ns;
        self.measured += other.measured;
        self.longest_silence = self.longest_silence.max(other.longest_silence);
        self.events += other.events;
        for ((stats, time), (more, longer)) in self.jobs.iter_mut().zip(&other.jobs) {
            stats.merge(more);
            *time += *longer;
        }
        if let (Some(tails), Some(more)) = (&mut self.tails, other.tails) {
            tails.merge(*more);
        }
        for (by, more) in self.by_window.iter_mut().zip(&other.by_window) {
            by.merge(more);
        }
        Ok(())
    }
}

/// Sum of two activities. Refuses more time than a run may take.
fn checked_time(one: &Activity, other: &Activity) -> Result<Activity> {
    if one.time.saturating_add(other.time) < Time::LIMIT {
        return Ok(one.plus(other));
    }
    let problem = "the replicates take more simulated time together than one run may take";
    Err(Error::new("replicates", problem)
        .expected("at most 2^63 ns")
        .hint("use fewer replicates or shorter runs"))
}

impl Run {
    /// Adds the sums of other runs to what the run tells of itself. To be called after its end.
    pub fn absorb(&mut self, sums: Sums) -> Result<()> {
        checked_time(&self.activity(), &sums.activity)?;
        for (runner, (stats, time)) in self.runners.iter_mut().zip(&sums.jobs) {
            runner.stats.merge(stats);
            runner.last_completion = runner.last_completion.saturating_add(*time);
        }
        if let (Some(tails), Some(more)) = (&mut self.tails, sums.tails) {
            tails.merge(*more);
        }
        for (by, more) in self.by_window.iter_mut().zip(&sums.by_window) {
            by.merge(more);
        }
        self.others =
            Some(Box::new(Sums { jobs: Vec::new(), tails: None, by_window: Vec::new(), ..sums }));
        Ok(())
    }
}
