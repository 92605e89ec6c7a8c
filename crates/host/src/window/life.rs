//! Life: ages a drive like the window's own until it fails or years have passed, in bounded steps.
//!
//! The life has a drive of its own, which begins as the window's drive did. The window's drive
//! stays as it is, and a page goes on with it meanwhile.

use super::calls;
use super::held::Held;
use crate::drive::Drive;
use crate::lifetime::course::{Course, Runs, Step};
use crate::lifetime::demand::{Demand, End, Limit};
use base::{Error, Result};
use serde_json::{Value, json};
use ssd::precondition::Precondition;

/// Programmed units above which a life is accelerated where its caller leaves that open: some
/// seconds of work.
const EXACT_UNITS: f64 = 3e7;

/// Drives of this size that have room at once: the window's own, that of the life, and its clone
/// in a timed run.
const DRIVES: u64 = 3;

/// Most requests and units of one step: a page stays awake between two of them.
const MOST_REQUESTS: u64 = 1 << 16;
const MOST_UNITS: u64 = 1 << 18;

/// Begins the life of a drive that begins as the window's own did, under its job.
pub(super) fn begin(call: calls::Life, held: &Held, memory_limit: u64) -> Result<Course> {
    if held.job.is_none() {
        let problem = "the drive has no job to live under";
        return Err(
            Error::new("life", problem).hint("begin one with `job`, or build a drive with one")
        );
    }
    let calls::Life { years, windows, dwpd, most_cycles, accelerate } = call;
    let refuse = |key: &str, value: String, expected: &str| {
        Err(Error::new(format!("life: {key}"), value).expected(expected))
    };
    if let Some(dwpd) = dwpd
        && !(dwpd > 0.0 && dwpd < 1e6)
    {
        return refuse("dwpd", dwpd.to_string(), "above 0, below 1000000");
    }
    if most_cycles == Some(0) {
        return refuse("most_cycles", "0".into(), "at least 1");
    }
    let mut drive = Drive::new(held.session.loaded.clone(), memory_limit / DRIVES)?;
    let demand = Demand {
        years: years.unwrap_or(f64::INFINITY),
        windows,
        bytes_per_hour: dwpd.map(|dwpd| dwpd * drive.capacity_bytes() as f64 / 24.0),
        limit: most_cycles.map(|most_cycles| Limit { most_cycles, end: End::Limit }),
        acceleration: accelerate,
        exact_units: EXACT_UNITS,
    };
    // A drive lives with data.
    drive.precondition(match held.precondition {
        Precondition::None => Precondition::Fill,
        goal => goal,
    })?;
    let runs = Runs { workload: held.workload.clone(), skip: None, until: None };
    Course::new(drive, runs, demand)
}

/// Advances a life by one step. The answer has the windows from number `since` on.
pub(super) fn advance(call: &calls::Live, course: &mut Course) -> Result<Value> {
    let most = |asked: Option<u64>, most: u64| asked.unwrap_or(most).clamp(1, most);
    let step =
        Step { requests: most(call.requests, MOST_REQUESTS), units: most(call.units, MOST_UNITS) };
    let progress = course.advance(step)?;
    let windows = course.windows();
    Ok(json!({
        "phase": progress.phase,
        "share": progress.share(),
        "windows": &windows[call.since.min(windows.len())..],
        "acceleration": progress.acceleration,
        "end": progress.end,
        "worn_sets": progress.worn_sets,
        "capacity_bytes": course.capacity_bytes(),
    }))
}
