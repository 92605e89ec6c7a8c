//! Regression tests: runs that once hung, or ended in a panic.

use crate::running;

use running::run;
use ssd::precondition::Precondition;

/// Sequential writes with holes over a full drive: blocks die in one plane only, and the host
/// waited for a die that nobody collected.
#[test]
fn writes_with_holes_on_a_full_drive_end() {
    let job = "rw=write:8k\nbs=8k\niodepth=8\nnumber_ios=60000";
    let report = run(&[], job, Precondition::Fill).unwrap();
    assert_eq!(report["host"]["requests_completed"], 60_000);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
}

/// Planes that are programmed one by one, collected at random from the last block before the
/// reserve: moved data found no place.
#[test]
fn moved_data_find_a_place() {
    let sets =
        ["chip.features.multi_plane_program=false", "gc.name=random", "gc.start_free_blocks=2"];
    let job = "rw=randwrite\nbs=4k\niodepth=32\nnorandommap\nnumber_ios=300000";
    let report = run(&sets, job, Precondition::Steady).unwrap();
    assert_eq!(report["host"]["requests_completed"], 300_000);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
}
