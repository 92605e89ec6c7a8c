//! Life: ages a drive like the window's own until it fails or years have passed, in bounded steps.
//!
//! The life has a drive of its own, which begins as the window's drive did. The window's drive
//! stays as it is, and a page goes on with it meanwhile.

use super::calls;
use super::held::Held;
use crate::drive::Drive;
use crate::lifetime::course::{Course, Demand, Step};
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
    let demand = Demand {
        years: years.unwrap_or(f64::INFINITY),
        windows,
        dwpd,
        most_cycles,
        acceleration: accelerate,
        exact_units: EXACT_UNITS,
    };
    let mut drive = Drive::new(held.session.loaded.clone(), memory_limit / DRIVES)?;
    // A drive lives with data.
    drive.precondition(match held.precondition {
        Precondition::None => Precondition::Fill,
        goal => goal,
    })?;
    Course::new(drive, held.workload.clone(), demand)
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
        "share": progress.share,
        "windows": &windows[call.since.min(windows.len())..],
        "acceleration": progress.acceleration,
        "end": progress.end,
        "capacity_bytes": course.capacity_bytes(),
    }))
}
