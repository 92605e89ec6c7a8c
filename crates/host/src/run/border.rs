//! Border of a run: the moment from which a run counts. Earlier requests are in no figure, and the
//! run goes on as if nothing had happened.

use super::settling::Settling;
use super::silence::Silence;
use super::stats::Series;
use super::until::{End, Until};
use super::{ByWindow, Run};
use base::Time;
use base::counts;
use base::counts::Counts;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::{Activity, Counted};

/// Requests and bytes of a run, as the host counts them.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct Tally {
    /// Requests that the drive has taken.
    #[serde(rename = "requests_issued")]
    pub issued: u64,
    /// Requests that the drive took later than they arrived: it had no room for them
    /// (`drive.queue_depth`), a limit of their job held them back, or its queue depth did. Where it
    /// is 0, arbitration and priorities change nothing.
    #[serde(rename = "requests_waited")]
    pub waited: u64,
    /// Requests that were completed.
    #[serde(rename = "requests_completed")]
    pub completed: u64,
    /// Requests with uncorrectable data, and writes that a worn-out drive refused. Failed reads are
    /// included in other counts, latencies and rates; refused writes are not.
    #[serde(rename = "requests_failed")]
    pub failed: u64,
    /// Bytes of all writes taken, with those of ramp times.
    #[serde(skip)]
    pub write_bytes: u64,
}

counts!(Tally { issued, waited, completed, failed, write_bytes });

/// Counts of drive and host at the moment from which a run counts.
pub(super) struct Border {
    activity: Activity,
    tally: Tally,
    /// Requests under way, summed over time, in ns.
    under_way_ns: u128,
    /// Energy used by the arrays, in microjoules.
    array_uj: f64,
}

impl Run {
    /// Leaves out the beginning of the run, up to `skip`: `advance` pauses there, until
    /// [`Run::count`]. To be called before the run begins.
    pub fn skip(&mut self, skip: Until) {
        self.is_skipping = true;
        self.end_at(skip);
    }

    /// Begins to count at the end of the skipped beginning, and ends the run at `until`, counted
    /// from here. Jobs under way have the whole of their runtime before them, as after fio's
    /// `ramp_time`.
    pub fn count(&mut self, until: Option<Until>) {
        let now = self.ssd.now();
        (self.is_skipping, self.is_paused) = (false, false);
        self.border = Some(Box::new(Border {
            activity: self.ssd.activity(),
            tally: Tally { issued: self.completed, ..self.whole_tally() },
            under_way_ns: self.under_way_ns(),
            array_uj: self.ssd.array_energy_uj([now])[0],
        }));
        self.runners.iter_mut().for_each(|runner| runner.count_from(now));
        self.series = Series::starting(now);
        self.silence = Silence::default();
        self.silence.begin(now);
        self.settling = Settling::new(self.ssd.capacity_bytes(), self.mark());
        self.tails = self.tails.take().map(|_| Box::default());
        self.by_window.fill(ByWindow::default());
        (self.until, self.end) = (None, End::NEVER);
        until.into_iter().for_each(|until| self.end_at(until));
    }

    /// Whether the run is in its skipped beginning, or pauses at the end of that.
    pub fn is_skipping(&self) -> bool {
        self.is_skipping
    }

    /// Time at which the run began to count.
    pub fn counts_from(&self) -> Time {
        self.border.as_ref().map_or(Time::ZERO, |border| border.activity.time)
    }

    /// Activity of the drive since the run began to count.
    pub fn activity(&self) -> Activity {
        let whole = self.ssd.activity();
        let own = match &self.border {
            Some(border) => whole.since(&border.activity),
            None => whole,
        };
        let own = Activity { counted: self.own_counted(), ..own };
        self.others.as_ref().map_or_else(|| own.clone(), |others| own.plus(&others.activity))
    }

    /// Requests and bytes since the run began to count.
    pub fn tally(&self) -> Tally {
        let whole = self.whole_tally();
        let own = self.border.as_ref().map_or(whole, |border| whole.since(&border.tally));
        self.others.as_ref().map_or(own, |others| own.plus(&others.tally))
    }

    /// Mean number of requests under way since the run began to count.
    pub fn mean_queue_depth(&self) -> f64 {
        let time = self.activity().time;
        let under_way_ns = self.counted_under_way_ns();
        if time == Time::ZERO { 0.0 } else { under_way_ns as f64 / time.0 as f64 }
    }

    /// Requests under way since the run began to count, summed over time, in ns.
    pub(super) fn counted_under_way_ns(&self) -> u128 {
        let before = self.border.as_ref().map_or(0, |border| border.under_way_ns);
        let others = self.others.as_ref().map_or(0, |others| others.under_way_ns);
        self.under_way_ns() - before + others
    }

    /// Measured time: from the start of the first measured job to the end.
    pub fn measured(&self) -> Time {
        let start = self.runners.iter().map(|runner| runner.measure_from).min();
        let own = self.ssd.now().since(start.unwrap_or_default());
        self.others.as_ref().map_or(own, |others| own + others.measured)
    }

    /// Events that the drive has scheduled.
    pub fn events(&self) -> u64 {
        self.ssd.events() + self.others.as_ref().map_or(0, |others| others.events)
    }

    /// Longest time since the run began to count in which requests were under way and none was
    /// completed.
    pub fn longest_silence(&self) -> Time {
        let own = self.silence.longest(self.ssd.now(), self.under_way > 0);
        self.others.as_ref().map_or(own, |others| own.max(others.longest_silence))
    }

    /// Energy used up to the end of each interval of the series, in microjoules. Arrays use theirs
    /// while they work.
    pub fn energy_uj(&self) -> Vec<f64> {
        let (now, bins) = (self.ssd.now(), &self.series.bins);
        let arrays = self.ssd.array_energy_uj(self.series.ends().map(|end| end.min(now)));
        let before_uj = self.border.as_ref().map_or(0.0, |border| border.array_uj);
        // The last interval is still open.
        let last = bins.len().saturating_sub(1);
        let beside = bins.iter().take(last).map(|bin| bin.energy_uj);
        let beside = beside.chain(bins.last().map(|_| self.energy_beside_arrays_uj()));
        arrays.iter().zip(beside).map(|(arrays, beside)| arrays - before_uj + beside).collect()
    }

    /// Energy of the whole drive up to the end of each interval of the series in microjoules, and
    /// its temperature there, of a drive with `[power]`.
    pub fn drive_course(&self) -> Option<(Vec<f64>, Option<Vec<f64>>)> {
        let now = self.ssd.now();
        let begin = self.ssd.supply_over_time([self.counts_from()])?.used_uj[0];
        let ends = self.series.ends().map(|end| end.min(now));
        let course = self.ssd.supply_over_time(ends)?;
        let flash = self.energy_uj();
        let whole = course.used_uj.iter().zip(flash).map(|(used, flash)| used - begin + flash);
        Some((whole.collect(), course.celsius))
    }

    /// Opens an interval of the series at `now`.
    #[cold]
    pub(super) fn open_interval(&mut self, now: Time) {
        let energy_uj = self.energy_beside_arrays_uj();
        self.series.open(now, self.own_counted(), energy_uj, self.ssd.held_by_handles());
    }

    /// Counts of the drive since the run began to count.
    pub fn counted(&self) -> Counted {
        let own = self.own_counted();
        self.others
            .as_ref()
            .map_or_else(|| own.clone(), |others| own.plus(&others.activity.counted))
    }

    /// Counts of the drive of this run alone. Refresh has blocks rewritten as read reclaim does;
    /// its own are not among the reclaimed ones.
    pub(crate) fn own_counted(&self) -> Counted {
        let mut counted = self.ssd.counted();
        if let Some(border) = &self.border {
            counted = counted.since(&border.activity.counted);
        }
        let Counted { ftl, controller, .. } = &mut counted;
        ftl.read_reclaims = ftl.read_reclaims.saturating_sub(controller.refresh.blocks.all());
        counted
    }

    /// Energy used outside the arrays since the run began to count, in microjoules.
    fn energy_beside_arrays_uj(&self) -> f64 {
        let before = self.border.as_ref().map_or(0.0, |border| border.activity.beside_arrays_uj());
        self.ssd.energy_beside_arrays_uj() - before
    }

    fn whole_tally(&self) -> Tally {
        let &Self { issued, waited, completed, failed, write_bytes, .. } = self;
        Tally { issued, waited, completed, failed, write_bytes }
    }

    /// Requests under way, summed over the time of the run, in ns: the sum of all latencies, those
    /// of requests under way up to now (Little 1961).
    fn under_way_ns(&self) -> u128 {
        let now = u128::from(self.ssd.now().0);
        self.completions_ns + now * u128::from(self.under_way) - self.arrivals_ns
    }

    /// End of the run in its own units, where it is to end at `until`.
    pub(super) fn end_of(&self, until: Until) -> End {
        let before = self.border.as_ref().map_or_else(Tally::default, |border| border.tally);
        End::of(until, self.ssd.capacity_bytes()).after(&before, self.counts_from())
    }

    /// Requests completed before the run began to count.
    pub(super) fn skipped(&self) -> u64 {
        self.border.as_ref().map_or(0, |border| border.tally.completed)
    }
}
