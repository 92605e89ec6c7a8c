//! End of a run before its jobs end: after requests, a time, drive writes, or once it has settled.

use super::Tally;
use super::settling::{Goal, Metric, Rule};
use base::{Error, Result, Time};

/// Condition that ends a run. The jobs are repeated until it holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// Number of completed requests.
    Requests(u64),
    /// Simulated time that has passed.
    Time(Time),
    /// Number of times that the host has written the whole drive.
    DriveWrites(f64),
    /// A metric has settled, or the run is given up.
    Settled(Goal),
}

/// End of a run as numbers, of which the first that is reached counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Requests that are complete.
    pub completed: u64,
    /// Simulated time of the end.
    pub time: Time,
    /// Bytes written by the host.
    pub write_bytes: u64,
}

impl End {
    /// End of a run that only its jobs end.
    pub const NEVER: Self = Self { completed: u64::MAX, time: Time::NEVER, write_bytes: u64::MAX };

    /// End of a run on a drive of `capacity_bytes`; `NEVER` for a run that is to settle.
    pub fn of(until: Until, capacity_bytes: u64) -> Self {
        match until {
            Until::Requests(completed) => Self { completed, ..Self::NEVER },
            Until::Time(time) => Self { time, ..Self::NEVER },
            Until::DriveWrites(times) => {
                let write_bytes = (times * capacity_bytes as f64).ceil() as u64;
                Self { write_bytes, ..Self::NEVER }
            }
            Until::Settled(_) => Self::NEVER,
        }
    }

    /// Moves the end by the counts and the time of a skipped beginning.
    pub fn after(self, before: &Tally, time: Time) -> Self {
        Self {
            completed: self.completed.saturating_add(before.completed),
            time: self.time.saturating_add(time),
            write_bytes: self.write_bytes.saturating_add(before.write_bytes),
        }
    }
}

const EXPECTED: &str = "settled, settled=METRIC, pts, pts=METRIC, requests as 100000, simulated \
                        time as 2s, or drive writes as 1.5x";

impl Until {
    /// Reads the length of the skipped beginning of a run: read like an end, where 0 of any unit
    /// skips nothing.
    pub fn parse_skip(text: &str) -> Result<Option<Self>> {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        if number.parse() == Ok(0.0) && Self::parse("skip", &text.replacen(number, "1", 1)).is_ok()
        {
            return Ok(None);
        }
        Self::parse("skip", text).map(Some)
    }

    /// Reads `settled=p99.9`, `pts`, `100000`, `2s`, `1.5x`. `key` is the key that errors name.
    pub fn parse(key: &str, text: &str) -> Result<Self> {
        let refuse = || Error::new(key, format!("`{text}`")).expected(EXPECTED);
        let (name, metric) = text.split_once('=').unwrap_or((text, "write_amplification"));
        let rule = match name {
            "settled" => Some(Rule::Trend),
            "pts" => Some(Rule::Pts),
            _ => None,
        };
        if let Some(rule) = rule {
            // SNIA's tests watch the rate.
            let metric = if rule == Rule::Pts && name == text { "iops" } else { metric };
            let metric = Metric::parse(key, metric)?;
            return Ok(Self::Settled(Goal { metric, rule }));
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        if unit.is_empty() {
            let requests = number.parse().ok().filter(|&requests: &u64| requests > 0);
            return requests.map(Self::Requests).ok_or_else(refuse);
        }
        let number: f64 = number.parse().ok().filter(|&n: &f64| n > 0.0).ok_or_else(refuse)?;
        let seconds = match unit {
            "x" => return Ok(Self::DriveWrites(number)),
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "h" => 3600.0,
            _ => return Err(refuse()),
        };
        let ns = number * seconds * 1e9;
        if ns >= Time::LIMIT.ns() as f64 || ns < 1.0 {
            return Err(refuse());
        }
        Ok(Self::Time(Time(ns as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood() {
        let of = |text| Until::parse("until", text).unwrap();
        let goal = |metric, rule| Until::Settled(Goal { metric, rule });
        assert_eq!(of("settled"), goal(Metric::WriteAmplification, Rule::Trend));
        assert_eq!(of("settled=p99.9"), goal(Metric::Percentile(99.9), Rule::Trend));
        assert_eq!(of("pts"), goal(Metric::Iops, Rule::Pts));
        assert_eq!(of("pts=bandwidth"), goal(Metric::Bandwidth, Rule::Pts));
        assert_eq!(of("100000"), Until::Requests(100_000));
        assert_eq!(of("250ms"), Until::Time(Time(250_000_000)));
        assert_eq!(of("1.5x"), Until::DriveWrites(1.5));
        let texts = ["", "0", "1.5", "2y", "x", "settled=", "pts=p101", "1e999s", "0.1ns", "-1"];
        for text in texts {
            assert_eq!(Until::parse("until", text).unwrap_err().place, "until", "{text}");
        }
    }
}
