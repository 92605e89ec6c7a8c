//! Simulated time: unsigned nanoseconds since the start of a run, good for 292 years.
//!
//! Events at [`Time::LIMIT`] or later never happen, and the run ends with an error. Below it a sum
//! of two times is exact. Where a length comes from outside, as a pause of years does,
//! [`Time::saturating_add`] stops at the end of the range. Products always stop there.

use serde::{Deserialize, Serialize, Serializer};
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
    /// Start of a run, and the length zero.
    pub const ZERO: Self = Self(0);
    /// End of simulated time: nothing happens at it or after it. It is half of the range, so that
    /// adding the length of one operation to any time before it is exact.
    pub const LIMIT: Self = Self(1 << 63);
    /// Time later than anything that happens.
    pub const NEVER: Self = Self(u64::MAX);

    /// Converts from microseconds, rounded to the nearest nanosecond; negative becomes zero.
    pub fn from_us(us: f64) -> Self {
        Self((us * 1e3).round() as u64)
    }

    /// Converts from seconds, rounded to the nearest nanosecond; negative becomes zero.
    pub fn from_s(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// This time in whole nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// This time in microseconds.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// This time in seconds.
    pub fn s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Writes a time in seconds, for keys of a report whose names end with `_s`.
    pub fn as_s<S: Serializer>(time: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        time.s().serialize(serializer)
    }

    /// Length from `earlier` to this time, or zero where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Sum of two times, limited to the end of the range.
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
