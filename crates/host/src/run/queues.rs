//! Submission queues of jobs: requests that their pace allows, fetched by the drive.

use super::runner::{Phase, Runner};
use super::{FETCH, Run};
use crate::request::{Arrival, Pace};
use base::{Error, Result, Time};
use ssd::request::{Op, Request};

impl Run {
    pub(super) fn start_group(&mut self, group: u32) -> Result<()> {
        let now = self.ssd.now();
        for job in 0..self.runners.len() {
            let runner = &mut self.runners[job];
            if runner.group != group || runner.phase != Phase::Waiting {
                continue;
            }
            runner.phase = Phase::Running;
            runner.start = now.saturating_add(runner.job.start_delay);
            runner.measure_from = runner.start.saturating_add(runner.job.ramp);
            runner.ready_at = runner.start;
            if let Some(runtime) = runner.job.runtime {
                runner.deadline = runner.measure_from.saturating_add(runtime);
            }
            self.send(job)?;
        }
        self.fetch()
    }

    /// Bytes of the units that a read may touch, whose first and last units count whole.
    #[inline]
    pub(super) fn touched(&self, request: &Request) -> u64 {
        if request.op == Op::Read { request.length + 2 * self.ssd.unit_bytes() } else { 0 }
    }

    /// Puts all requests into the queue of a job that its pace allows now.
    #[inline]
    pub(super) fn send(&mut self, job: usize) -> Result<()> {
        let now = self.ssd.now();
        let runner = &mut self.runners[job];
        while runner.phase == Phase::Running && !runner.is_full() {
            let Some(next) = runner.next(&self.ssd)? else {
                if runner.waits() {
                    self.waiting.push(job);
                } else {
                    runner.run_dry(now);
                }
                break;
            };
            let Some((due, arrival)) = runner.due(next, now) else { break };
            // A request of a trace arrives at its own time, however late the drive takes it.
            let sent = if runner.job.pace == Pace::Open { due } else { due.max(now) };
            if sent > runner.deadline {
                runner.end_sending(now);
                break;
            }
            if due > now {
                if due < runner.wake {
                    runner.wake = due;
                    self.ssd.wake_at(due, job as u32);
                }
                break;
            }
            runner.send(arrival, now, self.submit_time);
            self.arrivals_ns += u128::from(arrival.0);
            self.queued += 1;
            if self.under_way == 0 {
                self.silence.begin(now);
            }
            self.under_way += 1;
        }
        self.end_of_group(job)
    }

    /// Lets jobs go on that waited for others.
    #[inline]
    pub(super) fn send_waiting(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|job| self.send(job))
    }

    /// Ends jobs that wait for others, if none goes on.
    #[cold]
    pub(super) fn end_waiting(&mut self) -> Result<()> {
        if self.runners.iter().any(|runner| runner.phase == Phase::Running && !runner.waits()) {
            return Ok(());
        }
        let now = self.ssd.now();
        let waiting = std::mem::take(&mut self.waiting);
        for &job in &waiting {
            if self.runners[job].waits() {
                self.runners[job].run_dry(now);
            }
        }
        waiting.into_iter().try_for_each(|job| self.end_of_group(job))?;
        self.fetch()
    }

    /// Starts the next group after the last job of this one.
    #[inline]
    pub(super) fn end_of_group(&mut self, job: usize) -> Result<()> {
        let runner = &self.runners[job];
        if !runner.is_over() || self.is_stopped {
            return Ok(());
        }
        let group = runner.group;
        if self.runners.iter().filter(|runner| runner.group <= group).all(Runner::is_over)
            && self.runners.iter().any(|r| r.group == group + 1 && r.phase == Phase::Waiting)
        {
            self.start_group(group + 1)?;
        }
        Ok(())
    }

    /// Fetches requests from the queues while the drive has room: the arbiter says from which, and
    /// limits of jobs hold them back.
    #[inline]
    pub(super) fn fetch(&mut self) -> Result<()> {
        while self.queued > 0 && self.ssd.has_room() {
            let now = self.ssd.now();
            let (runners, limits) = (&self.runners, &self.limits);
            let is_ready = |job: usize| runners[job].has_queued() && limits.is_open(job, now);
            let Some(job) = self.arbiter.next(is_ready) else {
                self.wait_for_limit();
                break;
            };
            let runner = &mut self.runners[job];
            let Some(Arrival { at: arrival, request }) = runner.fetch() else { continue };
            self.limits.take(job, now, &request);
            self.waited += u64::from(arrival < now);
            self.queued -= 1;
            if request.end().is_none_or(|end| end > self.ssd.capacity_bytes()) {
                let problem = format!("{request:?} is outside the drive");
                return Err(Error::new(runner.job.name.clone(), problem)
                    .expected(format!("{} bytes", self.ssd.capacity_bytes())));
            }
            let is_open = runner.job.pace == Pace::Open;
            self.reading += self.touched(&request);
            if self.reading > self.most_reading {
                let problem = format!("reads of {} bytes are in flight at once", self.reading);
                return Err(Error::new(self.runners[job].job.name.clone(), problem)
                    .expected(format!("at most {} bytes", self.most_reading))
                    .hint("use smaller requests, or fewer at a time"));
            }
            self.ssd.submit(request, job as u32, arrival);
            self.issued += 1;
            if is_open {
                self.send(job)?;
            }
        }
        Ok(())
    }

    /// Asks for a wake-up when a limit lets the first of the waiting jobs go on.
    #[cold]
    fn wait_for_limit(&mut self) {
        let waiting = (0..self.runners.len()).filter(|&job| self.runners[job].has_queued());
        let opens_at = waiting.map(|job| self.limits.opens_at(job)).min();
        self.wake_for_limit(opens_at.unwrap_or(Time::NEVER));
    }

    /// Asks for a wake-up at a time at which a limit lets a job go on.
    #[cold]
    pub(super) fn wake_for_limit(&mut self, opens_at: Time) {
        if opens_at < self.limits.wake {
            self.limits.wake = opens_at;
            self.ssd.wake_at(opens_at, FETCH);
        }
    }
}
