//! Demand on a life, and what may end it.

use base::{Error, Result};
use serde::Serialize;

/// Demand on a life.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Years that the life is to last; infinite where the drive is to die.
    pub years: f64,
    /// Number of windows after the first one.
    pub windows: u32,
    /// Bytes that the host writes in an hour of calendar time; `None` where the timed runs give the
    /// rate.
    pub bytes_per_hour: Option<f64>,
    /// Cycles that a block may have, and the end where one has them; `None` without a limit.
    pub limit: Option<Limit>,
    /// Cycles for each cycle that is carried out; `None` where the plan chooses.
    pub acceleration: Option<f64>,
    /// Programmed units above which the plan accelerates.
    pub exact_units: f64,
}

/// Most cycles of a block, and what they mean.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Cycles that the most worn block has at the end.
    pub most_cycles: u32,
    /// End of a life where a block has them.
    pub end: End,
}

/// End of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A block has failed, and no spare one is left.
    Spare,
    /// The most worn block has the most cycles that the demand allows.
    Limit,
    /// The most worn block has the last cycle at which its data are kept.
    Uber,
    /// The most worn block has the most cycles at which the chip was measured.
    Measured,
    /// Data of a timed run were lost: neither decoded nor rebuilt.
    Errors,
    /// The years have passed.
    Years,
}

impl End {
    /// Ends that a limit of cycles may mean, by name.
    pub const OF_LIMITS: [(&str, Self); 3] =
        [("limit", Self::Limit), ("uber", Self::Uber), ("measured", Self::Measured)];
}

impl Demand {
    /// Most years that a device counts.
    const MOST_YEARS: f64 = 500.0;

    /// Most bytes in an hour.
    const MOST_BYTES: f64 = 1e24;

    /// Refuses values out of range.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |key: &str, value: String, expected: String| {
            Err(Error::new(format!("life: {key}"), value).expected(expected))
        };
        if !(self.years > 0.0 && (self.years <= Self::MOST_YEARS || self.years.is_infinite())) {
            let expected = format!("above 0, at most {}", Self::MOST_YEARS);
            return refuse("years", self.years.to_string(), expected);
        }
        if !(1..=1000).contains(&self.windows) {
            return refuse("windows", self.windows.to_string(), "1 to 1000".into());
        }
        if let Some(bytes) = self.bytes_per_hour
            && !(bytes > 0.0 && bytes < Self::MOST_BYTES)
        {
            let expected = format!("above 0, below {:e}", Self::MOST_BYTES);
            return refuse("bytes_per_hour", bytes.to_string(), expected);
        }
        if let Some(times) = self.acceleration
            && !(1.0..=1e6).contains(&times)
        {
            return refuse("accelerate", times.to_string(), "1 (exact) to 1000000".into());
        }
        Ok(())
    }
}
