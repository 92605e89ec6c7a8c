//! Simulated time: unsigned nanoseconds since the start of a run, good for 292 years.
//!
//! Events beyond [`Time::LIMIT`] never happen, and the run ends with an error. Below it a sum of
//! two is exact; where a length comes from outside, as a pause of years does,
//! [`Time::saturating_add`] stops at the end of the range. Products do so always.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// An instant of simulated time, or a length of it, in nanoseconds.
///
/// Device age (retention) is a different thing and has a different type,
/// [`Hours`](crate::units::Hours).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Nothing happens at this time or after it: half of the range, so that adding the length of
    /// one operation to any time before it is exact.
    pub const LIMIT: Self = Self(1 << 63);
    /// Later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// From microseconds, rounded to the nearest nanosecond; negative becomes zero.
    pub fn from_us(us: f64) -> Self {
        Self((us * 1e3).round() as u64)
    }

    /// From seconds, rounded to the nearest nanosecond; negative becomes zero.
    pub fn from_s(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// Whole nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Microseconds.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds.
    pub fn s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - earlier`, or zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The sum, or the end of the range.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// This length scaled by a factor, rounded to the nearest nanosecond.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..10_000 => write!(f, "{} ns", self.0),
            10_000..10_000_000 => write!(f, "{:.3} us", self.us()),
            10_000_000..10_000_000_000 => write!(f, "{:.3} ms", self.0 as f64 / 1e6),
            _ => write!(f, "{:.3} s", self.s()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_stop_at_the_end() {
        let time = Time::LIMIT.saturating_add(Time::LIMIT);
        assert_eq!((time, Time::LIMIT * 3), (Time::NEVER, Time::NEVER));
        assert_eq!((Time(2) + Time(3), Time(2) * 3), (Time(5), Time(6)));
    }
}
