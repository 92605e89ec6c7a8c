//! Tests of extreme values: each parameter at the end of its range is refused by name, or works.

use crate::running;

use base::error::assert_carries;
use host::report::Outside;
use running::{number, refused, run, session};
use ssd::precondition::Precondition;

/// One rate for a chip with two kinds of pages.
const POINTS: &str =
    "chip.array={name='table', points=[{pe_cycles=0, hours=0, reads=0, rber=[1e-5]}]}";
const READ: &str = "rw=randread\nbs=4k\nnumber_ios=100";

#[test]
fn values_that_cannot_be_are_refused_by_name() {
    for (sets, parts) in [
        (&["ftl.gc_reserve_blocks=4294967295"][..], &["ftl.gc_reserve_blocks"][..]),
        (&["gc.start_free_blocks=4294967295"], &["gc.start_free_blocks"]),
        (
            &["gc.background_free_blocks=257"],
            &["gc.background_free_blocks", "at most 256", "chip.geometry.blocks_per_plane"],
        ),
        (&["host.link_mb_s=1e-300"], &["host.link_mb_s"]),
        (&["host.link_mb_s=nan"], &["host.link_mb_s"]),
        (&["chip.timing.bus_mt_s=1e-300"], &["chip.timing.bus_mt_s"]),
        (&["ecc.payload_bytes=16384"], &["at most 8192", "chip.geometry.page_bytes"]),
        (&["ecc.parity_bytes=225"], &["at most 448", "chip.geometry.spare_bytes"]),
        (&["chip.array={name='power_law', alpha=nan}"], &["chip.array.alpha"]),
        (&["chip.array={name='power_law', k=-1.0}"], &["chip.array.k"]),
        (&["buffer.bytes=1099511627776"], &["drive", "memory"]),
        (&["buffer.bytes=4096"], &["buffer.bytes", "at least 16384", "or 0"]),
        (&[POINTS], &["chip.cell_bits"]),
    ] {
        let error = refused(sets, READ);
        assert!(error.contains("; expected: "), "{error}");
        assert_carries(error, parts);
    }
    // Parity that just fits, and a chip without a size of its spare area.
    run(&["ecc.parity_bytes=224"], READ, Precondition::None).unwrap();
    let silent = ["ecc.parity_bytes=225", "chip.geometry.spare_bytes=0"];
    run(&silent, READ, Precondition::None).unwrap();
}

/// Simulated time has an end: no time wraps around at it.
#[test]
fn runs_beyond_the_end_of_time_are_refused() {
    for job in [
        "rw=randread\nbs=4k\nnumber_ios=1000\nthinktime=366d",
        "rw=write\nbs=128m\nrate=1\nnumber_ios=1000",
        "rw=read\nbs=4k\nnumber_ios=9\nrate_iops=1\nthinktime=366d\nloops=1000",
    ] {
        assert_carries(refused(&[], job), &["simulated time", "292"]);
    }
}

/// A run of nearly three centuries: the times of all dies together are beyond 64 bits.
#[test]
fn long_runs_are_accounted_for() {
    let job = "rw=randread\nbs=4k\nnumber_ios=250\nthinktime=366d";
    let report = run(&[], job, Precondition::None).unwrap();
    assert!(number(&report["sim"]["simulated_s"]) > 249.0 * 365.0 * 86_400.0);
    assert_eq!(number(&report["dies"]["idle"]), 1.0);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
}

/// The slowest link and the slowest bus still move whole requests.
#[test]
fn the_slowest_link_and_bus_work() {
    let sets = ["host.link_mb_s=0.001", "chip.timing.bus_mt_s=0.001"];
    let job = "rw=read\nbs=64m\nnumber_ios=10";
    let report = run(&sets, job, Precondition::Fill).unwrap();
    // 64 MiB at a byte each millisecond, ten times, are eight days.
    assert!(number(&report["sim"]["simulated_s"]) > 10.0 * 67_108.0);
}

#[test]
fn totals_beyond_64_bits_are_unknown() {
    let job = "rw=randread\nnumber_ios=18446744073709551615\nnumjobs=2";
    assert_eq!(session(&[], job, Precondition::None).unwrap().run.total(), None);
    let job = "rw=randread\nnumber_ios=9223372036854775807\nnumjobs=2";
    let total = session(&[], job, Precondition::None).unwrap().run.total();
    assert_eq!(total, Some(u64::MAX - 1));
}

/// An event numbers flash commands with 25 bits: more reads than that are refused, not mixed up.
#[test]
fn more_reads_than_can_be_numbered_are_refused() {
    let job = "rw=read\nbs=700m\niodepth=64\nnumber_ios=64";
    let error = refused(&["ftl.unit_bytes=512"], job);
    assert_carries(error, &["reads", "in flight"]);
}

/// Encoders booked beyond the end of the run count as busy up to its end only.
#[test]
fn nobody_works_beyond_the_end() {
    let sets = ["ecc.t_encode_us=100000", "buffer.bytes=16777216"];
    let job = "rw=randwrite\nbs=4k\niodepth=16\nnumber_ios=1000";
    let report = run(&sets, job, Precondition::Fill).unwrap();
    let ecc = &report["ecc"];
    let fraction = number(&ecc["encoders_busy_fraction"]);
    assert!((0.5..=1.0).contains(&fraction), "{fraction}");
    let busy_s = number(&ecc["encoders_busy_s"]) / 2.0;
    assert!((busy_s / number(&report["sim"]["simulated_s"]) - fraction).abs() < 1e-9);
    assert_eq!(number(&report["checks"]["busy_idle_error"]), 0.0);
}

/// A host without any cost.
const FREE: &[&str] = &["host.link_mb_s=0", "host.link_latency_us=0", "host.submit_us=0"];

/// Requests that take no time never reach the end of a runtime, which is refused. A given number of
/// them ends.
#[test]
fn a_run_in_which_no_time_passes_ends() {
    let free = [FREE, &["controller.command_us=0", "buffer.latency_us=0"]].concat();
    for op in ["randread", "randtrim"] {
        let error = refused(&free, &format!("rw={op}\nbs=4k\ntime_based\nruntime=1h"));
        assert_carries(error, &["workload", "simulated time"]);
    }
    let job = "rw=randread\nbs=4k\nnumber_ios=1100000\nnorandommap";
    let report = run(&free, job, Precondition::None).unwrap();
    assert_eq!(number(&report["sim"]["simulated_s"]), 0.0);
    // Any time that passes is enough.
    let job = "rw=randread\nbs=4k\nnorandommap\ntime_based\nruntime=2ms";
    let slow = [&free[..], &["host.submit_us=0.001"]].concat();
    let report = run(&slow, job, Precondition::None).unwrap();
    assert!(number(&report["host"]["requests_completed"]) > 1e6);
}

/// A run in many short steps equals the run in one step, also where a step ends within a request.
#[test]
fn pauses_change_nothing() {
    let job = "rw=randrw\nbs=64k\niodepth=4\nnumber_ios=500";
    let whole = run(&[], job, Precondition::Fill).unwrap();
    for events in [1, 7] {
        let mut session = session(&[], job, Precondition::Fill).unwrap();
        let mut pauses = 0;
        while !session.advance_within(u64::MAX, events).unwrap() {
            pauses += 1;
        }
        assert!(pauses > 500);
        let mut report = session.report(Outside::default()).unwrap();
        for key in ["host", "ftl", "nand", "sim", "checks"] {
            assert_eq!(report[key].take(), whole[key], "{key}");
        }
    }
}
