//! Tests of extreme values: each parameter at the end of its range is refused by name, or works.

mod running;

use running::{number, refused, run, session};
use ssd::precondition::Precondition;

/// One rate for a chip with two kinds of pages.
const POINTS: &str =
    "chip.array={name='table', points=[{pe_cycles=0, hours=0, reads=0, rber=[1e-5]}]}";
const READ: &str = "rw=randread\nbs=4k\nnumber_ios=100";

#[test]
fn values_that_cannot_be_are_refused_by_name() {
    for (sets, named) in [
        (&["ftl.gc_reserve_blocks=4294967295"][..], "ftl.gc_reserve_blocks"),
        (&["gc.start_free_blocks=4294967295"], "gc.start_free_blocks"),
        (&["gc.background_free_blocks=257"], "up to chip.geometry.blocks_per_plane, 256"),
        (&["host.link_mb_s=1e-300"], "host.link_mb_s"),
        (&["host.link_mb_s=nan"], "host.link_mb_s"),
        (&["chip.timing.bus_mt_s=1e-300"], "chip.timing.bus_mt_s"),
        (&["ecc.payload_bytes=16384"], "chip.geometry.page_bytes, 8192"),
        (&["ecc.parity_bytes=225"], "chip.geometry.spare_bytes, 448"),
        (&["chip.array={name='power_law', alpha=nan}"], "chip.array.alpha"),
        (&["chip.array={name='power_law', k=-1.0}"], "chip.array.k"),
        (&["buffer.bytes=1099511627776"], "this drive needs"),
        (&["buffer.bytes=4096"], "at least 16384, or 0 for no write-back"),
        (&[POINTS], "chip.cell_bits"),
    ] {
        let error = refused(sets, READ);
        assert!(error.contains(named), "{sets:?}: {error}");
        assert!(error.contains("; allowed: "), "{error}");
    }
    // Parity that just fits, and a chip that does not say what its spare area holds.
    run(&["ecc.parity_bytes=224"], READ, Precondition::None).unwrap();
    let silent = ["ecc.parity_bytes=225", "chip.geometry.spare_bytes=0"];
    run(&silent, READ, Precondition::None).unwrap();
}

/// Simulated time has an end; nothing wraps around at it.
#[test]
fn runs_beyond_the_end_of_time_are_refused() {
    for job in [
        "rw=randread\nbs=4k\nnumber_ios=1000\nthinktime=366d",
        "rw=write\nbs=128m\nrate=1\nnumber_ios=1000",
        "rw=read\nbs=4k\nnumber_ios=9\nrate_iops=1\nthinktime=366d\nloops=1000",
    ] {
        let error = refused(&[], job);
        assert!(error.starts_with("simulated time: "), "{job}: {error}");
        assert!(error.contains("292 years"), "{error}");
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
    assert!(error.contains("bytes at a time"), "{error}");
}
