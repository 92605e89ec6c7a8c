//! Simulated time beside the clock on the wall.

use base::{Error, Result, Time};
use std::time::{Duration, Instant};

/// Pace of simulated time against the clock on the wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// No pace: requests are answered at once, and simulated time is only counted.
    Fast,
    /// Wall-clock seconds for a simulated second; 1 is real time.
    Scaled(f64),
}

impl Pacing {
    /// Pacing from `fast`, `real` or `scaled=10`.
    pub fn parse(text: &str) -> Result<Self> {
        let expected = "fast, real, or scaled=K with K from 0.001 to 1,000,000";
        let refused = || Error::new("--clock", format!("`{text}`")).expected(expected);
        match text {
            "fast" => Ok(Self::Fast),
            "real" => Ok(Self::Scaled(1.0)),
            _ => {
                let factor: f64 = text
                    .strip_prefix("scaled=")
                    .and_then(|factor| factor.parse().ok())
                    .ok_or_else(refused)?;
                let is_possible = (1e-3..=1e6).contains(&factor);
                is_possible.then_some(Self::Scaled(factor)).ok_or_else(refused)
            }
        }
    }

    /// Text of the pacing, as `parse` takes it.
    pub fn name(self) -> String {
        match self {
            Self::Fast => "fast".to_owned(),
            Self::Scaled(1.0) => "real".to_owned(),
            Self::Scaled(factor) => format!("scaled={factor}"),
        }
    }
}

/// Simulated time tied to the clock on the wall at a fixed ratio.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Moment on the wall at which simulated time is `simulated`.
    wall: Instant,
    simulated: Time,
    /// Wall-clock seconds for a simulated second.
    factor: f64,
}

impl Clock {
    /// Clocks that show `wall` and `simulated` at the same time.
    pub fn new(wall: Instant, simulated: Time, factor: f64) -> Self {
        Self { wall, simulated, factor }
    }

    /// Simulated time at a moment on the wall.
    pub fn simulated_at(&self, wall: Instant) -> Time {
        let passed = wall.saturating_duration_since(self.wall).as_nanos() as f64 / self.factor;
        self.simulated.saturating_add(Time(passed as u64))
    }

    /// Moment on the wall at which it is this simulated time, rounded up to what clocks can show.
    pub fn wall_at(&self, simulated: Time) -> Instant {
        let passed = (simulated.since(self.simulated).0 as f64 * self.factor).ceil();
        // A century on, nobody waits any more.
        self.wall + Duration::from_nanos((passed as u64).min(1 << 61))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_is_early() {
        for factor in [0.001, 0.3, 1.0, 7.0, 1e6] {
            let clock = Clock::new(Instant::now(), Time(12_345), factor);
            for time in [12_345, 12_346, 99_999, 123_456_789, 5_000_000_000] {
                let wall = clock.wall_at(Time(time));
                assert!(clock.simulated_at(wall) >= Time(time - 1), "{factor} {time}");
            }
            assert_eq!(clock.simulated_at(clock.wall), Time(12_345));
        }
    }

    #[test]
    fn pacing_is_read_as_it_is_written() {
        for text in ["fast", "real", "scaled=10", "scaled=0.5"] {
            assert_eq!(Pacing::parse(text).unwrap().name(), text);
        }
        for text in ["", "slow", "scaled=", "scaled=0", "scaled=nan", "scaled=1e9", "scaled=-1"] {
            assert!(Pacing::parse(text).is_err(), "{text}");
        }
    }
}
