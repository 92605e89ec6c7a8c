//! Checks of every run: Little's law, conservation, and the time that operations take.
//!
//! Each law compares two independent accounts: latencies with the depth that a job asked for,
//! completed requests with the jobs' requests, the FTL's counts with the flash's, mapped units with
//! physical ones, busy times of the dies with counts times the chip's times. A law that does not
//! apply to a run is `null` in its report.

use crate::request::Pace;
use crate::run::{Depth, JobView};
use crate::session::Session;
use base::{Result, Time};
use nand::chip::ChipConfig;
use nand::timing::Timing;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::doing::DieTimes;

/// Checks of a run, the report's `checks`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checks {
    /// Relative difference between the mean depth of a closed loop (sum of latencies / time) and
    /// its `iodepth`, while the job has more requests; the largest of all jobs. The share of the
    /// time that `host.submit_us` keeps the job's thread busy may be missing. `null` where no job
    /// has to keep a depth: traces at their times, rates, pauses, `ramp_time`, a run cut short.
    pub little_law_error: Option<f64>,
    /// Largest difference between the dies' time in reads, programs, erases and what as many
    /// operations take (exact where each has one time; where it depends on page type, wear or
    /// planes joined, between the shortest and the longest; one operation a die may be cut short by
    /// the end and by each power cut), and what decoders, encoders, cores, the link or a channel
    /// were busy for longer than the run, relative to it. `null` where no time passed. That busy
    /// and idle time make up the run's holds by the way they are booked, and is not looked at.
    pub busy_idle_error: Option<f64>,
    /// Largest difference between a latency and the sum of its causes: 0; `null` without
    /// `--explain`.
    pub blame_error_ns: Option<u64>,
    /// Whether nothing was lost, and the accounts behind that.
    pub conservation: Conservation,
}

/// Accounts of requests and units, and whether they agree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Conservation {
    /// Whether the counts of requests and units and those of the FTL agree.
    pub ok: bool,
    /// Whether the run was not interrupted.
    pub finished: bool,
    /// Requests of the jobs; `null` if unknown, limited by a `runtime`, or after a refused write.
    pub expected: Option<u64>,
    /// Requests that the drive accepted.
    pub issued: u64,
    /// Requests that were completed.
    pub completed: u64,
    /// Requests that the drive had accepted and not answered when its power was cut; 0 without a
    /// cut.
    pub lost: u64,
    /// Whether the FTL's host, moved and padding units are the slots of all pages that the flash
    /// has programmed or is being sent, its reclaimed and retired blocks those that were erased.
    pub counts_agree: bool,
    /// Units that hold the newest data of a logical unit, or a map page in use.
    pub mapped_units: u64,
    /// Units that can be programmed without an erase.
    pub free_units: u64,
    /// Units that hold old data or padding, or are being programmed.
    pub invalid_units: u64,
    /// Units of bad blocks.
    pub bad_units: u64,
    /// Units of the drive in all.
    pub physical_units: u64,
}

impl Checks {
    /// Checks of two runs together: the larger errors, and sums of the accounts.
    pub(crate) fn of_both(self, other: Self) -> Self {
        let (one, two) = (self.conservation, other.conservation);
        Self {
            little_law_error: larger(self.little_law_error, other.little_law_error),
            busy_idle_error: larger(self.busy_idle_error, other.busy_idle_error),
            blame_error_ns: self.blame_error_ns.max(other.blame_error_ns),
            conservation: Conservation {
                ok: one.ok && two.ok,
                finished: one.finished && two.finished,
                expected: one.expected.zip(two.expected).map(|(one, two)| one + two),
                issued: one.issued + two.issued,
                completed: one.completed + two.completed,
                lost: one.lost + two.lost,
                counts_agree: one.counts_agree && two.counts_agree,
                mapped_units: one.mapped_units + two.mapped_units,
                free_units: one.free_units + two.free_units,
                invalid_units: one.invalid_units + two.invalid_units,
                bad_units: one.bad_units + two.bad_units,
                physical_units: one.physical_units + two.physical_units,
            },
        }
    }
}

/// Larger of two errors; `None` where neither applies.
fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

impl Session {
    /// Checks of the run, the report's `checks`.
    pub(super) fn checks(&self) -> Result<Checks> {
        let run = &self.run;
        let occupancy = run.ssd.occupancy();
        let physical = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
        let expected = self.expected();
        let answered = run.completed + run.lost_requests();
        let all_complete = expected.is_none_or(|requests| requests == answered)
            && (!run.is_finished() || run.issued == answered);
        let counts_agree = run.ssd.counts_agree();
        Ok(Checks {
            little_law_error: self.little_law_error(),
            busy_idle_error: self.busy_idle_error()?,
            blame_error_ns: run.tails.as_ref().map(|tails| tails.error_ns),
            conservation: Conservation {
                ok: all_complete && counts_agree && physical == run.ssd.physical_units(),
                finished: run.is_finished(),
                expected,
                issued: run.issued,
                completed: run.completed,
                lost: run.lost_requests(),
                counts_agree,
                mapped_units: occupancy.mapped,
                free_units: occupancy.free,
                invalid_units: occupancy.invalid,
                bad_units: occupancy.bad,
                physical_units: run.ssd.physical_units(),
            },
        })
    }

    /// Requests that must have completed, or were lost in a power cut: all requests of the jobs, if
    /// their number is known, neither a `runtime` nor a refused write ends them earlier, and the
    /// run was not interrupted.
    fn expected(&self) -> Option<u64> {
        let run = &self.run;
        let is_whole = run.is_finished()
            && !run.is_stopped()
            && run.jobs().all(|view| view.job.runtime.is_none() && !view.is_refused);
        run.total().filter(|_| is_whole)
    }

    /// Largest relative error of a closed loop's depth, over all jobs; `None` where no job keeps
    /// one.
    fn little_law_error(&self) -> Option<f64> {
        let submit = Time::from_us(self.loaded.config.host.submit_us);
        self.run.jobs().filter_map(|job| depth_error(&job, submit)).reduce(f64::max)
    }

    /// Relative error of the dies' busy times against the times of their operations. Each kind of
    /// operation is compared with counts x times: exactly where they have one time, with the
    /// shortest and the longest where it depends on page or wear. Operations that the end of the
    /// run or a power cut breaks off, one for each die, may be missing.
    fn busy_idle_error(&self) -> Result<Option<f64>> {
        let ssd = &self.run.ssd;
        if ssd.now() == Time::ZERO {
            return Ok(None);
        }
        let kinds = self.loaded.config.kinds();
        let timing = |chip: &ChipConfig| chip.timing(chip.cell()?.as_deref());
        let timings = kinds.iter().map(|(_, chip)| timing(chip)).collect::<Result<Vec<_>>>()?;
        let chip = kinds[0].1;
        let most_of = |of: fn(&Timing) -> Time| timings.iter().map(of).max().unwrap_or(Time::ZERO);
        let (counts, dies) = (ssd.flash_counts(), ssd.die_times());
        let spent =
            |of: fn(&DieTimes) -> u64| -> u128 { dies.iter().map(|die| u128::from(of(die))).sum() };
        // The end of the run and each power cut break off one operation of a die.
        let torn = dies.len() * self.run.cuts() as usize;
        let broken_off = dies.len() + torn;
        let resumes = Spent::at(counts.suspends, (Time::ZERO, most_of(|timing| timing.resume)));

        let all_cache = kinds.iter().all(|(_, chip)| chip.features.cache_read);
        let no_cache = !kinds.iter().any(|(_, chip)| chip.features.cache_read);
        let cache = most_of(|timing| timing.cache);
        let (least, most) = union(timings.iter().map(Timing::read_range));
        let mut range = (
            least + if all_cache && kinds.len() == 1 { cache } else { Time::ZERO },
            most + if no_cache { Time::ZERO } else { cache },
        );
        if ssd.counts().further_reads.soft_reads.iter().any(|&reads| reads > 0) {
            // Of two reads that the chip combines one is copied, whatever the other reads are.
            range = (least, most + cache);
        }
        if counts.copybacks > 0 {
            // Data programmed from the page register are not copied to the second register.
            range.0 = least;
        }
        let reads = Spent::at(counts.reads - counts.joined_reads, range);
        let reads = reads.cut_short(broken_off, range.1);

        let mut programs = resumes;
        let (mut shortest, mut longest) = (Time::NEVER, Time::ZERO);
        for (timing, of_kind) in timings.iter().zip(&counts.of_kind) {
            for (row, &(commands, _)) in of_kind.program_time.iter().enumerate() {
                if commands > 0 {
                    let range = timing.program_range(row as u8);
                    programs.add(Spent::at(commands, range));
                    (shortest, longest) = (shortest.min(range.0), longest.max(range.1));
                }
            }
        }
        // Programs of the log, of copies and of write-once codes have a time of their own.
        // Summaries have the time of a page.
        let kept = u128::from(counts.kept_programs.1.0) + u128::from(counts.coded_time.0.0);
        longest = longest.max(counts.coded_time.1.0);
        if counts.kept_programs.0 > 0 {
            longest = longest.max(most_of(Timing::longest_program));
        }
        programs.add(Spent { least: kept, most: kept });
        let summary = ssd.summary_programs();
        if counts.summaries > 0 {
            programs.add(Spent::at(counts.summaries * summary, (shortest, longest)));
            longest = longest * (1 + summary);
        }
        let programs = programs.cut_short(broken_off, longest);

        // An erase takes one block or one of each plane.
        let (least, most) = union(timings.iter().map(Timing::erase_range));
        let planes = u64::from(chip.geometry.planes_per_die);
        let erased = counts.erases + counts.kept_erases;
        let mut erases = resumes;
        erases.add(Spent {
            least: Spent::at(erased.div_ceil(planes), (least, least)).least,
            // An erase that a power cut tears is not counted.
            most: Spent::at(erased + torn as u64, (most, most)).most,
        });
        let erases = erases.cut_short(broken_off, most);

        // Busy and idle time add up to the run by definition: their sum checks nothing.
        let kinds = [
            reads.error(spent(|die| die.read_ns)),
            programs.error(spent(|die| die.program_ns)),
            erases.error(spent(|die| die.erase_ns)),
            self.overbooked(),
        ];
        Ok(kinds.into_iter().reduce(f64::max))
    }

    /// Largest excess of a busy time (decoders, encoders, a channel, cores, link, DRAM) over the
    /// run, as a fraction of the run; 0 is right.
    fn overbooked(&self) -> f64 {
        let ssd = &self.run.ssd;
        let channels = ssd.channel_times().into_iter().map(|(busy, _)| (busy, 1));
        let front = ssd.activity().front;
        let cores = (front.cores, ssd.cores());
        let link = [(front.link_in, 1), (front.link_out, 1), (front.dram, 1), cores];
        let all = channels.chain([ssd.decoders_busy(), ssd.encoders_busy()]).chain(link);
        all.map(|stage| beyond(stage, ssd.now())).fold(0.0, f64::max)
    }
}

/// Shortest and longest time of several ranges.
fn union(ranges: impl Iterator<Item = (Time, Time)>) -> (Time, Time) {
    let both = |a: (Time, Time), b: (Time, Time)| (a.0.min(b.0), a.1.max(b.1));
    ranges.reduce(both).unwrap_or_default()
}

/// Excess of the busy time of several servers over `run` for each of them, as a fraction of it.
fn beyond((busy, servers): (Time, usize), run: Time) -> f64 {
    let most = u128::from(run.0) * servers as u128;
    u128::from(busy.0).saturating_sub(most) as f64 / most.max(1) as f64
}

/// Range of the summed time of operations, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    least: u128,
    most: u128,
}

impl Spent {
    /// Range for `count` operations of `least` to `most` each.
    fn at(count: u64, (least, most): (Time, Time)) -> Self {
        let times = |time: Time| u128::from(count) * u128::from(time.0);
        Self { least: times(least), most: times(most) }
    }

    fn add(&mut self, other: Self) {
        self.least += other.least;
        self.most += other.most;
    }

    /// Lowers the range by `operations` operations that may not have begun or ended.
    fn cut_short(self, operations: usize, longest: Time) -> Self {
        let missing = operations as u128 * u128::from(longest.0);
        Self { least: self.least.saturating_sub(missing), ..self }
    }

    /// Distance of `spent` from the range, relative to the larger; 0 inside.
    fn error(self, spent: u128) -> f64 {
        let beyond = spent.saturating_sub(self.most).max(self.least.saturating_sub(spent));
        beyond as f64 / spent.max(self.least).max(1) as f64
    }
}

/// Relative difference of a job's mean depth, from its latencies (L = lambda W), to the depth asked
/// for. `None` where it did not have to keep one: rated, with pauses, at a trace's times.
///
/// While the job's thread submits one request it cannot send another that is due, so the depth may
/// lack that share of the time.
fn depth_error(job: &JobView<'_>, submit: Time) -> Option<f64> {
    let Pace::Closed { depth } = job.job.pace else { return None };
    if job.job.think.is_some() || job.job.source.is_exclusive() {
        return None;
    }
    let Depth { mean, window, requests } = job.depth?;
    let most = f64::from(depth);
    let submitting = requests as f64 * submit.s() / window.s();
    let least = most * (1.0 - submitting).max(0.0);
    Some((least - mean).max(mean - most).max(0.0) / most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_busy_for_longer_than_the_run() {
        assert_eq!(beyond((Time(40), 2), Time(20)), 0.0);
        assert_eq!(beyond((Time(60), 2), Time(20)), 0.5);
    }

    #[test]
    fn what_is_out_of_range_is_an_error() {
        let two = Spent::at(2, (Time(40), Time(60)));
        assert_eq!((two.error(80), two.error(120), two.error(100)), (0.0, 0.0, 0.0));
        assert_eq!((two.error(60), two.error(160)), (0.25, 0.25));
        assert_eq!(two.cut_short(1, Time(60)).error(20), 0.0);
        assert_eq!(Spent::default().error(0), 0.0);
        assert_eq!(Spent::default().error(7), 1.0);
    }
}
