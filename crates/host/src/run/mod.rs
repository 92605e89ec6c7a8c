//! The run loop: jobs send requests, the drive completes them, statistics are counted.
//!
//! Jobs and a drive come in, statistics (`stats`) go out; a `runner` is one job under way.
//!
//! Each job has a submission queue, as NVMe has them. A job puts requests into its queue when its
//! pace says so; the drive fetches from the queues while it has room, in the order of the `arbiter`
//! and within the `limits` of each job; a completion lets its job continue. The run does not depend
//! on the inside of a drive and reads no clock.

mod arbiter;
mod border;
pub mod commands;
mod ending;
pub mod exchange;
mod limits;
mod queues;
mod runner;
pub mod served;
pub mod settling;
mod silence;
pub mod stats;
pub mod sums;
pub mod tails;
pub mod until;
mod windows;

pub use border::Tally;
pub use runner::Depth;
pub use windows::ByWindow;

use crate::request::Job;
use arbiter::Arbiter;
use base::{Error, Result, Time};
use border::Border;
use commands::Commands;
use exchange::{Plan, Service};
use limits::Limits;
use runner::{Phase, Runner};
use served::Offered;
use settling::{Mark, Settling};
use silence::Silence;
use ssd::config::HostConfig;
use ssd::drive::exchange::Exchanged;
use ssd::ftl::contract::Occupancy;
use ssd::request::{Op, Request};
use ssd::timeline::{SpanKind, Track};
use ssd::{Completion, Cut, Ssd, Step};
use stats::{JobStats, RequestLog, Series};
use sums::Sums;
use tails::Tails;
use tails::recent::Recent;
use until::{End, Until};

/// Most jobs of a run: a column of requests has 16 bits for them.
const MOST_JOBS: usize = 1 << 16;

/// Number of the wake-up for the power cut: no job has it.
const CUT: u32 = MOST_JOBS as u32;

/// Number of the wake-up for the exchange of a die.
const EXCHANGE: u32 = CUT + 1;

/// Number of the wake-up at which a limit lets a job go on.
const FETCH: u32 = EXCHANGE + 1;

/// Number of the wake-up for a command between requests.
const COMMAND: u32 = FETCH + 1;

/// Number of the wake-up at which an offered request arrives.
const ARRIVAL: u32 = COMMAND + 1;

/// Completions between two looks at the run's time, parts and end.
const BETWEEN_LOOKS: u64 = 1 << 6;

/// A run: jobs on a drive, and the statistics of their requests.
pub struct Run {
    /// Drive that serves the requests.
    pub ssd: Ssd,
    runners: Vec<Runner>,
    arbiter: Arbiter,
    limits: Limits,
    submit_time: Time,
    /// Throughput and latency over time.
    pub series: Series,
    /// Log of every request, if asked for.
    pub log: Option<RequestLog>,
    /// Requests fetched by the drive.
    pub issued: u64,
    /// Requests that waited for the drive to fetch them.
    waited: u64,
    /// Requests that were completed.
    pub completed: u64,
    /// Requests completed with data lost, or refused.
    pub failed: u64,
    /// Bytes of all writes taken, with those of ramp times, as in the counts of the flash.
    pub write_bytes: u64,
    /// Requests in the submission queues, and requests there or in the drive.
    queued: u64,
    under_way: u64,
    /// Jobs that wait for others.
    waiting: Vec<usize>,
    silence: Silence,
    /// Sum of the arrival times and sum of the completion times of requests, in ns.
    arrivals_ns: u128,
    completions_ns: u128,
    /// Bytes of the units that fetched reads may touch, and their limit.
    reading: u64,
    most_reading: u64,
    /// Time of requests by cause, if asked for.
    pub tails: Option<Box<Tails>>,
    /// Requests by the window that took them, of a drive with windows of predictable latency.
    pub by_window: Vec<ByWindow>,
    /// Latest requests, if somebody watches.
    pub recent: Option<Box<Recent>>,
    /// Parts of the run, and whether it has settled.
    pub settling: Settling,
    until: Option<Until>,
    /// End by `until`, as counts and a time.
    end: End,
    /// Whether the run has ended before its jobs: waiting jobs do not begin.
    is_stopped: bool,
    /// Whether the run is in its skipped beginning, whose end is `end`; whether it pauses at that
    /// end; and the counts there.
    is_skipping: bool,
    is_paused: bool,
    border: Option<Box<Border>>,
    /// Simulated time after the last multiple of `MOST_AT_ONCE` completions.
    looked_at: Time,
    finished: bool,
    started: bool,
    /// Time of the planned power cut, and the losses of the cut.
    cut_at: Option<Time>,
    cut: Option<Cut>,
    /// Requests taken by the drive before its power was cut, and not answered.
    lost_requests: u64,
    /// Power cuts of the drive.
    cuts: u64,
    /// Exchange of a die, planned or under way, and earlier exchanges.
    service: Option<Box<Service>>,
    earlier: Vec<(Service, Exchanged)>,
    /// Commands between requests that are still to come.
    commands: Commands,
    /// Requests of clients, if the run serves any.
    offered: Option<Box<Offered>>,
    /// Sums of other runs, which the run tells with its own counts.
    others: Option<Box<Sums>>,
}

impl Run {
    /// Creates a run of `jobs` on `ssd`, whose host is `host`.
    pub fn new(ssd: Ssd, jobs: Vec<Job>, host: &HostConfig) -> Result<Self> {
        if jobs.is_empty() {
            return Err(Error::new("workload", "no jobs").expected("at least one"));
        }
        if jobs.len() > MOST_JOBS {
            let problem = format!("{} jobs", jobs.len());
            return Err(Error::new("workload", problem).expected(format!("at most {MOST_JOBS}")));
        }
        let arbiter = Arbiter::new(host, jobs.iter().map(|job| (job.name.as_str(), job.priority)));
        let limits = Limits::new(host, jobs.iter().map(|job| job.name.as_str()));
        let mut group = 0;
        let runners = jobs.into_iter().enumerate().map(|(i, job)| {
            group += u32::from(job.stonewall && i > 0);
            Runner::new(job, group)
        });
        let runners = runners.collect();
        Ok(Self {
            runners,
            reading: 0,
            most_reading: ssd.most_read_units() * ssd.unit_bytes(),
            tails: None,
            by_window: vec![ByWindow::default(); ssd.counts_of_windows().len()],
            recent: None,
            settling: Settling::new(ssd.capacity_bytes(), Mark::default()),
            until: None,
            end: End::NEVER,
            is_stopped: false,
            is_skipping: false,
            is_paused: false,
            border: None,
            ssd,
            arbiter,
            limits,
            submit_time: Time::from_us(host.submit_us),
            series: Series::starting(Time::ZERO),
            log: None,
            issued: 0,
            waited: 0,
            completed: 0,
            failed: 0,
            write_bytes: 0,
            queued: 0,
            under_way: 0,
            waiting: Vec::new(),
            silence: Silence::default(),
            arrivals_ns: 0,
            completions_ns: 0,
            looked_at: Time::ZERO,
            finished: false,
            started: false,
            cut_at: None,
            cut: None,
            lost_requests: 0,
            cuts: 0,
            service: None,
            earlier: Vec::new(),
            commands: Commands::default(),
            offered: None,
            others: None,
        })
    }

    /// Ends the run at `until`, or with its jobs if they end before. To be called before the run
    /// begins.
    pub fn end_at(&mut self, until: Until) {
        if let Until::Settled(goal) = until {
            self.settling.watch(goal);
        }
        self.end = self.end_of(until);
        self.until = Some(until);
    }

    /// Cuts the power at this time, and ends the run there. To be called before the run begins.
    pub fn cut_at(&mut self, time: Time) {
        self.cut_at = Some(time);
    }

    /// Plans the exchange of a die. Refuses an exchange that the drive cannot carry out. To be
    /// called before the run begins.
    pub fn exchange(&mut self, plan: Plan) -> Result<()> {
        self.ssd.check_exchange(plan.asked.die)?;
        self.service = Some(Box::new(Service::new(plan)));
        Ok(())
    }

    /// Service of the host during each exchange that was asked for, and the progress of the
    /// exchange, in order.
    pub fn exchanges(&self) -> impl Iterator<Item = (&Service, Option<Exchanged>)> {
        let earlier = self.earlier.iter().map(|(service, done)| (service, Some(*done)));
        earlier.chain(self.service.as_deref().map(|service| (service, self.ssd.exchanged())))
    }

    #[cold]
    fn begin_exchange(&mut self) -> Result<()> {
        let Some(service) = &mut self.service else { return Ok(()) };
        service.begin(self.ssd.now(), self.under_way > 0);
        self.ssd.exchange_die(service.plan.asked)
    }

    #[cold]
    fn note_service(&mut self, arrival: Time, now: Time) {
        if let (Some(service), Some(done)) = (&mut self.service, self.ssd.exchanged()) {
            let is_busy = self.under_way > 0;
            service.complete((arrival, now), is_busy, done.asked_at, done.replaced_at);
        }
    }

    /// Losses of the power cut, if there was one.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Power cuts of the drive in the run.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Requests taken by the drive before its power was cut, and not answered.
    pub fn lost_requests(&self) -> u64 {
        self.lost_requests
    }

    /// Repeats the jobs of the last group for ever. To be called before the run begins.
    pub fn repeat(&mut self) {
        let last = self.runners.iter().map(|runner| runner.group).max();
        for runner in self.runners.iter_mut().filter(|runner| Some(runner.group) == last) {
            runner.job.source.repeat(u64::MAX);
        }
    }

    /// Counts of the run at this moment.
    pub fn mark(&self) -> Mark {
        let bytes = |runner: &Runner| runner.stats.ops.iter().map(|op| op.bytes).sum::<u64>();
        let Occupancy { mapped, free, .. } = self.ssd.occupancy();
        Mark {
            at: self.ssd.now(),
            completed: self.completed,
            written: self.write_bytes,
            bytes: self.runners.iter().map(bytes).sum(),
            ftl: self.ssd.ftl_counts(),
            mapped,
            free,
            physical: self.ssd.physical_units(),
        }
    }

    /// Whether the jobs write at random, and evenly all over the drive.
    pub fn writes_evenly(&self) -> bool {
        let capacity = self.ssd.capacity_bytes();
        self.runners.iter().all(|runner| runner.job.source.writes_evenly(capacity) != Some(false))
    }

    /// Requests that the jobs will send; `None` where that is not known beforehand.
    pub fn total(&self) -> Option<u64> {
        if let Some(Until::Requests(requests)) = self.until {
            return Some(requests.saturating_add(self.skipped()));
        }
        let mut totals = self.runners.iter().map(|runner| runner.job.source.total());
        totals.try_fold(0u64, |sum, total| sum.checked_add(total?))
    }

    /// Whether every job is over and every request complete.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Requests completed since the run began to count, and all that will be, where that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        let before = self.skipped();
        (self.completed - before, self.total().map(|total| total.saturating_sub(before)))
    }

    /// Whether the run has ended before its jobs.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Statistics over all jobs.
    pub fn totals(&self) -> JobStats {
        let mut totals = JobStats::default();
        self.runners.iter().for_each(|runner| totals.merge(&runner.stats));
        totals
    }

    /// Name, statistics, options and measured time of each job.
    pub fn jobs(&self) -> impl Iterator<Item = JobView<'_>> {
        self.runners.iter().map(|runner| JobView {
            job: &runner.job,
            stats: &runner.stats,
            start: runner.measure_from,
            end: runner.last_completion,
            group: runner.group,
            has_failed: runner.has_failed,
            is_refused: runner.refused.is_some(),
            shortfall: runner.shortfall(),
            sent: runner.sent(),
            depth: runner.depth(),
        })
    }

    /// Advances the run by `completions` completions. True at the end of the skipped beginning, or
    /// of the run.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        self.advance_within(completions, u64::MAX)
    }

    /// Advances the run by at most `completions` completions and `events` events of the drive: few
    /// events take little wall time, however long a request takes.
    pub fn advance_within(&mut self, completions: u64, events: u64) -> Result<bool> {
        self.advance_bounded::<false>(completions, events, Time::NEVER)
    }

    /// Advances the run like `advance_within`, and not beyond `time`: what happens at that time is
    /// done.
    pub fn advance_to(&mut self, time: Time, completions: u64, events: u64) -> Result<bool> {
        self.advance_bounded::<true>(completions, events, time)
    }

    #[inline(always)]
    fn advance_bounded<const IN_TIME: bool>(
        &mut self,
        completions: u64,
        mut events: u64,
        time: Time,
    ) -> Result<bool> {
        if !self.started {
            self.started = true;
            self.runners.iter_mut().for_each(|runner| runner.job.source.begin(&self.ssd));
            if let Some(time) = self.cut_at {
                self.ssd.wake_at(time, CUT);
            }
            if let Some(service) = &self.service {
                self.ssd.wake_at(service.plan.at, EXCHANGE);
            }
            self.wake_for_commands();
            self.start_group(0)?;
        }
        let stop = self.completed.saturating_add(completions);
        while !self.finished && !self.is_paused && self.completed < stop && events > 0 {
            if IN_TIME && self.ssd.next_time().is_some_and(|next| next > time) {
                break;
            }
            events -= 1;
            let Some(step) = self.ssd.step_event() else { continue };
            match step {
                Step::Completed(slot) => {
                    self.complete(slot)?;
                    if self.under_way == 0 && !self.waiting.is_empty() {
                        self.end_waiting()?;
                    }
                    // The run ends with its last request, without the data in the buffer and
                    // collection in progress.
                    self.finished = self.is_done();
                }
                Step::Wake(CUT) => {
                    let cut = self.ssd.cut()?;
                    (self.cut, self.lost_requests) = (Some(cut), cut.requests);
                    self.cuts += 1;
                    (self.is_stopped, self.finished) = (true, true);
                    let now = self.ssd.now();
                    self.runners.iter_mut().for_each(|runner| runner.stop(now));
                }
                Step::Wake(EXCHANGE) => self.begin_exchange()?,
                Step::Wake(COMMAND) => {
                    self.obey()?;
                    self.finished = self.is_done();
                }
                Step::Ready => self.fetch()?,
                Step::Wake(FETCH) => {
                    self.limits.wake = Time::NEVER;
                    self.fetch()?;
                }
                Step::Wake(job) => {
                    let job = job as usize;
                    self.runners[job].wake = Time::NEVER;
                    self.send(job)?;
                    self.send_waiting()?;
                    self.fetch()?;
                }
                Step::Idle => {
                    self.ssd.fault()?;
                    self.check_idle()?;
                    self.finished = true;
                }
            }
        }
        self.ssd.fault()?;
        Ok(self.finished || self.is_paused)
    }

    /// Whether no request is under way and none will come, nor a command.
    fn is_done(&self) -> bool {
        let is_over = || self.commands.is_empty() && self.runners.iter().all(Runner::is_over);
        self.under_way == 0 && (self.is_stopped || is_over())
    }

    /// Begins to account the time of requests by cause.
    pub fn keep_blame(&mut self) {
        self.ssd.keep_blame();
        self.tails = Some(Box::default());
    }

    #[cold]
    fn record_tail(&mut self, slot: u32, latency: Time) {
        if let (Some(tails), Some(blame)) = (&mut self.tails, self.ssd.blame()) {
            let done = self.ssd.completed(slot);
            tails.record(done, self.completed, latency, blame.completed(slot));
        }
    }

    #[cold]
    fn record_recent(&mut self, slot: u32, latency: Time) {
        if let Some(recent) = &mut self.recent {
            let account = self.ssd.blame().map(|blame| blame.completed(slot));
            recent.record(self.ssd.completed(slot), self.completed, latency, account);
        }
    }

    #[inline]
    fn complete(&mut self, slot: u32) -> Result<()> {
        let now = self.ssd.now();
        let &Completion { token, request, arrival, failed, status, .. } = self.ssd.completed(slot);
        self.completions_ns += u128::from(now.0);
        self.under_way -= 1;
        self.silence.end(now);
        self.completed += 1;
        self.reading -= self.touched(&request);
        self.failed += u64::from(failed);
        if self.service.is_some() {
            self.note_service(arrival, now);
        }
        let job = token as usize;
        let runner = &mut self.runners[job];
        runner.completed(&request);
        runner.last_completion = now;
        if runner.phase == Phase::Over {
            runner.tail_ns += u128::from(now.since(runner.over_at).0);
        }
        if let Some(think) = runner.job.think
            && runner.until_think == 0
            && runner.in_flight == 0
        {
            // The pause begins when all earlier requests of the job are complete.
            runner.ready_at = runner.ready_at.max(now.saturating_add(think.time));
        }
        let latency = now.since(arrival);
        let Request { op, length, .. } = request;
        let is_done = !(failed && runner.fail(request, status, now));
        self.write_bytes += if op.writes() && is_done { length } else { 0 };
        let measured = now >= runner.measure_from && is_done;
        if measured {
            runner.stats.record(op, length, latency);
        }
        if self.series.is_over(now) {
            self.open_interval(now);
        }
        if is_done {
            self.series.record(op, length, latency);
        }
        if let Some(log) = &mut self.log {
            log.push(self.ssd.completed(slot), job as u16, now, measured);
            if self.offered.is_some()
                && let Some(blame) = self.ssd.blame()
            {
                log.causes.extend(blame.completed(slot).causes);
            }
        }
        if measured && let Some((number, is_inside)) = self.ssd.window_of(slot) {
            self.by_window[number as usize].record(is_inside, op, length, latency);
        }
        if measured && self.tails.is_some() {
            self.record_tail(slot, latency);
        }
        if self.recent.is_some() {
            self.record_recent(slot, latency);
        }
        let kind = match op {
            Op::Read => SpanKind::HostRead,
            Op::Write | Op::ZoneAppend => SpanKind::HostWrite,
            Op::ZoneReset
            | Op::ZoneFinish
            | Op::ZoneOpen
            | Op::ZoneClose
            | Op::ZoneOpenArea
            | Op::ZoneCommit => SpanKind::HostZone,
            Op::Trim => SpanKind::HostTrim,
            Op::Flush => SpanKind::HostFlush,
        };
        self.ssd.span(Track::Host, job as u32, kind, arrival, now);
        if self.completed.is_multiple_of(BETWEEN_LOOKS) {
            self.look()?;
        }
        if self.is_at_end(now) {
            self.reach_end();
        }
        self.send(job)?;
        self.send_waiting()?;
        self.fetch()
    }
}

/// One job in the report: statistics, times and failures.
pub struct JobView<'a> {
    /// Job with its pace and options.
    pub job: &'a Job,
    /// Statistics of the measured requests.
    pub stats: &'a JobStats,
    /// Beginning of the measured time.
    pub start: Time,
    /// Completion of the job's last request.
    pub end: Time,
    /// Number of the job's group: jobs between two stonewalls.
    pub group: u32,
    /// Whether a request has failed, measured or not.
    pub has_failed: bool,
    /// Whether the job ended with a write that the drive refused.
    pub is_refused: bool,
    /// Reason for which the job ended before its amount.
    pub shortfall: Option<String>,
    /// Requests that the job has sent, with those of its ramp time.
    pub sent: u64,
    /// Queue depth that the job kept, where it is known.
    pub depth: Option<Depth>,
}
