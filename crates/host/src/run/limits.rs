//! Limits of tenants inside the drive: commands and bytes a second that it takes of their queues.
//!
//! A limit is a token bucket (the generic cell rate algorithm, ITU-T I.371): each command moves the
//! time from which the next one may be taken, by its part of a second. This time may be behind the
//! present by the burst.

use base::Time;
use ssd::config::HostConfig;
use ssd::request::{Op, Request};

/// Limits of one tenant: of its commands, and of its bytes.
#[derive(Debug)]
struct Limit {
    /// Time of each command and of each byte in ns; 0 without a limit.
    command_ns: f64,
    byte_ns: f64,
    /// Times in ns from which the next command may be taken.
    commands_at: f64,
    bytes_at: f64,
}

/// Limits of the jobs of a run.
#[derive(Debug)]
pub(super) struct Limits {
    /// Limit of each job by its number; empty where no job has one.
    of_job: Vec<Option<usize>>,
    limits: Vec<Limit>,
    burst_ns: f64,
    /// Time of the wake-up that is asked for.
    pub wake: Time,
}

impl Limits {
    /// Limits of jobs by their names: those of one name share them.
    pub fn new<'a>(host: &HostConfig, names: impl Iterator<Item = &'a str>) -> Self {
        let (mut of_job, mut limits, mut tenants) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let [iops, mb_s] = host.limits(name);
            let known = tenants.iter().position(|tenant| *tenant == name);
            if known.is_none() && (iops.is_some() || mb_s.is_some()) {
                tenants.push(name);
                limits.push(Limit {
                    command_ns: iops.map_or(0.0, |iops| 1e9 / iops),
                    byte_ns: mb_s.map_or(0.0, |mb_s| 1e3 / mb_s),
                    commands_at: 0.0,
                    bytes_at: 0.0,
                });
            }
            of_job.push(tenants.iter().position(|tenant| *tenant == name));
        }
        if limits.is_empty() {
            of_job.clear();
        }
        Self { of_job, limits, burst_ns: 1e3 * host.limit_burst_us, wake: Time::NEVER }
    }

    fn of(&self, job: usize) -> Option<&Limit> {
        self.of_job.get(job).copied().flatten().map(|limit| &self.limits[limit])
    }

    /// Whether a command of the job may be taken at `now`.
    #[inline]
    pub fn is_open(&self, job: usize, now: Time) -> bool {
        self.of_job.is_empty() || self.opens_at(job) <= now
    }

    /// Time from which a command of the job may be taken.
    pub fn opens_at(&self, job: usize) -> Time {
        let at = self.of(job).map_or(0.0, |limit| limit.commands_at.max(limit.bytes_at));
        Time(at.ceil() as u64)
    }

    /// Books a command of the job, which is taken at `now`.
    #[inline]
    pub fn take(&mut self, job: usize, now: Time, request: &Request) {
        let Some(limit) = self.of_job.get(job).copied().flatten() else { return };
        let limit = &mut self.limits[limit];
        let earliest = now.0 as f64 - self.burst_ns;
        let moves = request.op == Op::Read || request.op.writes();
        let bytes = if moves { request.length as f64 } else { 0.0 };
        limit.commands_at = limit.commands_at.max(earliest) + limit.command_ns;
        limit.bytes_at = limit.bytes_at.max(earliest) + bytes * limit.byte_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::config::TenantConfig;

    #[test]
    fn jobs_of_one_name_share_their_limits() {
        let mut host = HostConfig { limit_burst_us: 0.0, ..HostConfig::default() };
        let own = TenantConfig { limit_mb_s: Some(4.096), ..TenantConfig::default() };
        host.jobs.insert("a".to_owned(), own);
        let mut limits = Limits::new(&host, ["a", "b", "a"].into_iter());
        let read = Request { length: 4096, ..Request::FLUSH };
        let read = Request { op: Op::Read, ..read };
        limits.take(0, Time(500), &read);
        // A block of 4096 bytes at 4.096 MB/s takes a millisecond.
        assert_eq!(limits.opens_at(2), Time(1_000_500));
        assert!(!limits.is_open(2, Time(1_000_499)) && limits.is_open(2, Time(1_000_500)));
        assert!(limits.is_open(1, Time::ZERO));
        // A trim moves no data.
        limits.take(2, Time(2_000_000), &Request { op: Op::Trim, ..read });
        assert_eq!(limits.opens_at(0), Time(2_000_000));
    }

    #[test]
    fn a_burst_catches_up() {
        let host = HostConfig { limit_iops: 1e6, limit_burst_us: 3.0, ..HostConfig::default() };
        let mut limits = Limits::new(&host, ["a"].into_iter());
        let now = Time(100_000);
        let taken = (0..10).take_while(|_| {
            let is_open = limits.is_open(0, now);
            limits.take(0, now, &Request::FLUSH);
            is_open
        });
        assert_eq!(taken.count(), 4);
    }
}
