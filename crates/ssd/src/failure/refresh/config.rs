//! Parameters of refresh and patrol reads: section `[refresh]` of a drive.

use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Refresh of old data, and patrol reads that look for errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefreshConfig {
    /// Hours after which data are rewritten to another block, at least a minute; 0 switches it
    /// off. A block counts from its first program.
    pub after_hours: f64,
    /// Hours after which data at reduced levels (`ftl.reduced_streams`) are rewritten, to a block
    /// with full levels, if that is sooner than `after_hours`; 0 switches it off.
    #[serde(skip_serializing_if = "is_zero")]
    pub reduced_after_hours: f64,
    /// Raw bit error rate of a page, found by a read of the host or a patrol, above which the data
    /// of its block are rewritten; 0 switches it off. If fresh data have a higher rate, refresh
    /// never ends.
    pub rber: f64,
    /// Patrol reads: hours in which pages of every block are read once, evenly spread; 0 switches
    /// them off.
    pub patrol_hours: f64,
    /// Patrol reads: pages of each block, of all types and of rows that lie apart, other rows at
    /// each patrol; 0 is all pages.
    pub patrol_pages: u32,
    /// Number of dies that rewrite blocks at the same time; blocks of other dies wait.
    pub at_once: u32,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Default for RefreshConfig {
    fn default() -> Self {
        Self {
            after_hours: 0.0,
            reduced_after_hours: 0.0,
            rber: 0.0,
            patrol_hours: 0.0,
            patrol_pages: 12,
            at_once: 1,
        }
    }
}

impl RefreshConfig {
    /// Whether all values are the defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether anything is switched on.
    pub fn is_on(&self) -> bool {
        [self.after_hours, self.reduced_after_hours, self.rber, self.patrol_hours]
            .iter()
            .any(|&limit| limit > 0.0)
    }

    /// Refuses values out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let hours = |key: &str, hours: f64, least: f64, shown: &str| {
            if hours == 0.0 || (least..=1e7).contains(&hours) {
                return Ok(());
            }
            Err(Error::new(format!("refresh.{key}"), format!("{hours} hours"))
                .expected(format!("{shown} to 1e7 hours, or 0 for none")))
        };
        hours("after_hours", self.after_hours, 1.0 / 60.0, "1/60 (a minute)")?;
        let reduced = self.reduced_after_hours;
        hours("reduced_after_hours", reduced, 1.0 / 60.0, "1/60 (a minute)")?;
        hours("patrol_hours", self.patrol_hours, 1e-6, "1e-6")?;
        if self.rber != 0.0 && !(1e-12..=0.5).contains(&self.rber) {
            return Err(Error::new("refresh.rber", format!("{}", self.rber))
                .expected("a bit error rate, 1e-12 to 0.5, or 0 for none"));
        }
        if self.at_once == 0 {
            return Err(Error::new("refresh.at_once", "0 dies").expected("at least 1"));
        }
        Ok(())
    }
}
