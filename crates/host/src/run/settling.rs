//! Settling: parts of a run, and whether a metric still changes over them.
//!
//! A run is cut into parts in which the host writes a quarter of the drive (or completes
//! [`PART_READS`] requests without a write). A rule over the last parts decides whether the run has
//! settled.

use base::stats::Latency;
use base::{Error, Result, Time};
use ssd::ftl::FtlCounts;

/// Parts in one write of the whole drive.
const PARTS: u64 = 4;

/// Requests without a write that make a part, where the goal is awaited.
const PART_READS: u64 = 1 << 14;

/// Parts after which a run that does not settle is given up: 25 drive writes, the most rounds of
/// SNIA's specification.
const MOST_PARTS: usize = 100;

/// Parts of the smallest window of [`Rule::Trend`]: two drive writes.
const WINDOW: usize = 8;

/// Student's t, two-sided 95 %, with `WINDOW - 2` degrees of freedom.
const STUDENT: f64 = 2.447;

/// Largest drift over the window, relative to the mean, of a run that has settled by
/// [`Rule::Trend`].
const MOST_DRIFT: f64 = 0.1;

/// Largest change over a window, on a drive that stands still: of mapped units relative to mapped
/// units, and of erased units relative to all units.
const MOST_FILLING: f64 = 0.02;

/// Metric whose settling is watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// Write amplification: programmed units for each unit of the host. Padding is left out: it
    /// depends on flushes and small writes, and not on the state of the drive.
    WriteAmplification,
    /// Requests completed in a second.
    Iops,
    /// Bytes read and written in a second.
    Bandwidth,
    /// A percentile of the latency, in microseconds.
    Percentile(f64),
}

impl Metric {
    /// Name of the metric in reports and on the command line.
    pub fn name(self) -> String {
        match self {
            Self::WriteAmplification => "write_amplification".into(),
            Self::Iops => "iops".into(),
            Self::Bandwidth => "bandwidth".into(),
            Self::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// Metric by its name; `key` is the key that errors name.
    pub fn parse(key: &str, name: &str) -> Result<Self> {
        match name {
            "write_amplification" => return Ok(Self::WriteAmplification),
            "iops" => return Ok(Self::Iops),
            "bandwidth" => return Ok(Self::Bandwidth),
            _ => {}
        }
        let percent = name.strip_prefix('p').and_then(|text| text.parse::<f64>().ok());
        match percent {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percentile(percent)),
            _ => Err(Error::new(key, format!("unknown metric `{name}`"))
                .expected("write_amplification, iops, bandwidth, or a percentile such as p99.9")),
        }
    }
}

/// Rule by which a metric counts as settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The last half of the run, of two drive writes at least, is cut into eight parts, and a line
    /// is fitted through them. The 95 % confidence interval of its drift from the first to the last
    /// part must lie within 10 % of the mean. The drive must stand still: mapped units and erased
    /// units change by no more than 2 %. In every part blocks must have been reclaimed, where the
    /// host writes: before that, a drive with free blocks looks settled.
    Trend,
    /// SNIA's Performance Test Specification: over the last five parts the highest and the lowest
    /// value differ by at most 20 % of the mean, and the line through them by at most 10 %. The
    /// drive must stand still, as for `Trend`, which the specification's preconditioning ensures.
    Pts,
    /// fio's `steadystate`, with parts of one check interval.
    Fio(FioRule),
}

/// fio's rule: `steadystate` and the options beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FioRule {
    /// Whether the slope of a line is judged, and not the largest deviation from the mean.
    pub is_slope: bool,
    /// Limit of the slope or deviation, in the metric's unit or in percent of the mean.
    pub limit: f64,
    /// Whether the limit is a percentage.
    pub is_percent: bool,
    /// Length of the window (`ss_dur`).
    pub window: Time,
    /// Time before the first window (`ss_ramp`).
    pub ramp: Time,
    /// Length of a part (`ss_interval`).
    pub interval: Time,
}

/// Goal of settling: a metric and its rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Metric that is watched.
    pub metric: Metric,
    /// Rule by which the metric counts as settled.
    pub rule: Rule,
}

impl Default for Goal {
    fn default() -> Self {
        Self { metric: Metric::WriteAmplification, rule: Rule::Trend }
    }
}

/// Counts of a run at one moment, since its start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    /// Simulated time of the mark.
    pub at: Time,
    /// Requests that were completed.
    pub completed: u64,
    /// Bytes written by the host.
    pub written: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Counts of the FTL.
    pub ftl: FtlCounts,
    /// Units that hold data.
    pub mapped: u64,
    /// Units of erased pages.
    pub free: u64,
    /// Physical units of the drive, whatever they hold.
    pub physical: u64,
}

/// Settling of a run: its goal, and the counts at the end of each part.
#[derive(Debug)]
pub struct Settling {
    goal: Goal,
    /// Whether the run waits for the goal: parts without writes count then too.
    is_awaited: bool,
    /// Bytes written at the last look, and requests completed when these bytes last changed.
    written: u64,
    wrote_at: u64,
    /// Bytes written by the host in a part.
    part_bytes: u64,
    capacity_bytes: u64,
    /// Counts at the start, and at the end of each part.
    marks: Vec<Mark>,
    /// Latencies up to each mark, where a percentile is watched.
    latencies: Vec<Latency>,
}

impl Settling {
    /// Settling of a run from `start` on, on a drive of `capacity_bytes`.
    pub fn new(capacity_bytes: u64, start: Mark) -> Self {
        Self {
            goal: Goal::default(),
            is_awaited: false,
            written: start.written,
            wrote_at: start.completed,
            part_bytes: (capacity_bytes / PARTS).max(1),
            capacity_bytes,
            marks: vec![start],
            latencies: vec![Latency::new()],
        }
    }

    /// Sets another goal. To be called before the run begins.
    pub fn watch(&mut self, goal: Goal) {
        (self.goal, self.is_awaited) = (goal, true);
    }

    /// Metric that is watched, and its rule.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// Whether every mark needs the latencies.
    pub fn keeps_latencies(&self) -> bool {
        matches!(self.goal.metric, Metric::Percentile(_))
    }

    /// Whether a part ends here.
    pub fn is_part_over(&mut self, now: Time, completed: u64, written: u64) -> bool {
        if written != self.written {
            (self.written, self.wrote_at) = (written, completed);
        }
        let from = &self.marks[self.marks.len() - 1];
        if let Rule::Fio(rule) = &self.goal.rule {
            return now.since(from.at) >= rule.interval;
        }
        written - from.written >= self.part_bytes
            || (self.is_awaited && completed - self.wrote_at.max(from.completed) >= PART_READS)
    }

    /// Ends a part with the counts of its end.
    pub fn close(&mut self, mark: Mark, latency: Option<Latency>) {
        self.marks.push(mark);
        self.latencies.extend(latency);
    }

    /// Whether a run that waits for the goal must end: it has settled, or is given up.
    pub fn is_over(&self) -> bool {
        let is_bounded = !matches!(self.goal.rule, Rule::Fio(_));
        self.settled_value().is_some() || (is_bounded && self.parts() >= MOST_PARTS)
    }

    /// Drive writes from the start to a mark.
    pub fn drive_writes(&self, mark: &Mark) -> f64 {
        (mark.written - self.marks[0].written) as f64 / self.capacity_bytes as f64
    }

    /// Value of the metric over the window; `None` where the run has not settled.
    pub fn settled_value(&self) -> Option<f64> {
        let first = match self.goal.rule {
            Rule::Trend => self.trend()?,
            Rule::Pts => self.pts()?,
            Rule::Fio(rule) => self.fio(&rule)?,
        };
        self.value(first, self.parts())
    }

    /// Value of the metric from the start of the run to `now`; `latency` holds all latencies until
    /// then.
    pub fn run_value(&self, now: &Mark, latency: &Latency) -> Option<f64> {
        match self.goal.metric {
            Metric::Percentile(percent) => {
                (latency.count() > 0).then(|| latency.percentile_ns(percent) as f64 / 1e3)
            }
            _ => self.between(&self.marks[0], now),
        }
    }

    fn parts(&self) -> usize {
        self.marks.len() - 1
    }

    /// Value of the metric between two marks; `None` where it is not defined.
    fn value(&self, from: usize, to: usize) -> Option<f64> {
        match self.goal.metric {
            Metric::Percentile(percent) => {
                let latency = self.latencies[to].since(&self.latencies[from]);
                (latency.count() > 0).then(|| latency.percentile_ns(percent) as f64 / 1e3)
            }
            _ => self.between(&self.marks[from], &self.marks[to]),
        }
    }

    fn between(&self, from: &Mark, to: &Mark) -> Option<f64> {
        let seconds = to.at.since(from.at).s();
        let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        match self.goal.metric {
            Metric::Iops => rate(to.completed - from.completed),
            Metric::Bandwidth => rate(to.bytes - from.bytes),
            _ => amplification(&from.ftl, &to.ftl),
        }
    }

    /// Values of the last `parts * size` parts, in groups of `size`.
    fn window(&self, parts: usize, size: usize) -> Option<Vec<f64>> {
        let first = self.parts().checked_sub(parts * size)?;
        let ends = (0..parts).map(|part| first + part * size);
        ends.map(|from| self.value(from, from + size)).collect()
    }

    /// Whether the drive holds as many mapped and erased units as at mark `from`: a drive that
    /// fills up will be slower, however steady it looks.
    fn stands_still(&self, from: usize) -> bool {
        let (from, to) = (&self.marks[from], &self.marks[self.parts()]);
        let is_near = |a: u64, b: u64, of: u64| a.abs_diff(b) as f64 <= MOST_FILLING * of as f64;
        is_near(from.mapped, to.mapped, to.mapped) && is_near(from.free, to.free, to.physical)
    }

    fn trend(&self) -> Option<usize> {
        let size = (self.parts() / 2 / WINDOW).max(1);
        let first = self.parts().checked_sub(WINDOW * size)?;
        let reclaims = |from: usize| {
            let blocks = |mark: usize| self.marks[mark].ftl.reclaimed_blocks;
            blocks(from + size) > blocks(from)
        };
        let wrote = self.marks[self.parts()].ftl.host_units > self.marks[first].ftl.host_units;
        if !self.stands_still(first) {
            return None;
        }
        if wrote && !(0..WINDOW).all(|part| reclaims(first + part * size)) {
            return None;
        }
        let values = self.window(WINDOW, size)?;
        let line = Line::through(&values);
        let drift = (line.slope.abs() + STUDENT * line.slope_error) * (WINDOW - 1) as f64;
        (drift <= MOST_DRIFT * line.mean).then_some(first)
    }

    fn pts(&self) -> Option<usize> {
        const ROUNDS: usize = 5;
        let values = self.window(ROUNDS, 1)?;
        let line = Line::through(&values);
        let drift = line.slope.abs() * (ROUNDS - 1) as f64;
        let first = self.parts() - ROUNDS;
        let is_settled = range(&values) <= 0.2 * line.mean && drift <= 0.1 * line.mean;
        (is_settled && self.stands_still(first)).then_some(first)
    }

    fn fio(&self, rule: &FioRule) -> Option<usize> {
        let parts = (rule.window.ns() / rule.interval.ns()).max(1) as usize;
        let first = self.parts().checked_sub(parts)?;
        if self.marks[first].at.since(self.marks[0].at) < rule.ramp {
            return None;
        }
        let values = self.window(parts, 1)?;
        let line = Line::through(&values);
        let deviation = values.iter().map(|value| (value - line.mean).abs()).fold(0.0, f64::max);
        let found = if rule.is_slope { line.slope.abs() } else { deviation };
        let limit = if rule.is_percent { rule.limit / 100.0 * line.mean } else { rule.limit };
        (found < limit).then_some(first)
    }
}

/// Write amplification without padding between two counts; `None` where the host wrote nothing.
pub fn amplification(from: &FtlCounts, to: &FtlCounts) -> Option<f64> {
    // Signed, as the units of a failed program are taken back.
    let change = |to: u64, from: u64| to as f64 - from as f64;
    let host = change(to.host_units, from.host_units);
    let other = change(to.moved_units, from.moved_units) + change(to.map.writes, from.map.writes);
    (host > 0.0).then(|| (host + other) / host)
}

fn range(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    most - values.iter().copied().fold(f64::MAX, f64::min)
}

/// Line through equally spaced values, by least squares.
struct Line {
    mean: f64,
    /// Change from one value to the next, and the standard error of it.
    slope: f64,
    slope_error: f64,
}

impl Line {
    fn through(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let centred = |index: usize| index as f64 - (count - 1.0) / 2.0;
        let spread: f64 = (0..values.len()).map(|index| centred(index).powi(2)).sum();
        if spread == 0.0 {
            return Self { mean, slope: 0.0, slope_error: 0.0 };
        }
        let products = values.iter().enumerate().map(|(i, value)| centred(i) * (value - mean));
        let slope = products.sum::<f64>() / spread;
        let rest = |(i, value): (usize, &f64)| (value - mean - slope * centred(i)).powi(2);
        let residue: f64 = values.iter().enumerate().map(rest).sum();
        let freedom = (count - 2.0).max(1.0);
        Self { mean, slope, slope_error: (residue / freedom / spread).sqrt() }
    }
}

#[cfg(test)]
mod tests;
