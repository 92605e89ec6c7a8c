//! Tests of the controller's DRAM, whose bandwidth buffer, cache, map and collection share.

#![allow(clippy::print_stdout)]

use crate::running;

use host::report::Outside;
use running::{number, session};
use serde_json::Value;
use ssd::precondition::Precondition;

/// Runs a job to its end, and checks the laws of its report.
fn run(sets: &[&str], job: &str, start: Precondition) -> Value {
    let mut session = session(sets, &format!("norandommap=1\n{job}"), start).unwrap();
    while !session.advance(10_000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    let checks = &report["checks"];
    assert_eq!(checks["conservation"]["ok"], true, "{checks}");
    assert!(number(&checks["busy_idle_error"]) < 1e-9, "{checks}");
    report
}

/// Shared DRAM: requests saturate at its bandwidth over the bytes that each moves there.
#[test]
fn requests_saturate_at_the_bandwidth_over_the_bytes_of_each() {
    let write = "rw=randwrite\nbs=4k\niodepth=64\nnumber_ios=30000";
    let read = "rw=randread\nbs=4k\niodepth=64\nnumber_ios=20000";
    let small = "rw=randread\nsize=1m\nbs=4k\niodepth=64\nnumber_ios=20000";
    let cached = ["read_cache.bytes=4194304"];
    type Case<'a> = (&'a str, &'a [&'a str], f64, &'a str, Precondition, f64);
    let cases: [Case<'_>; 3] = [
        // Data come in and go out to the flash; each unit is looked up.
        ("writes", &[], 20.0, write, Precondition::None, 4096.0 + 64.0 + 4096.0),
        ("reads from flash", &[], 1.0, read, Precondition::Fill, 64.0),
        // What is not there yet comes in.
        ("hits of a read cache", &cached, 40.0, small, Precondition::Fill, 64.0 + 4096.0),
    ];
    for (what, sets, mb_s, job, start, bytes) in cases {
        let dram = format!("controller.dram_mb_s={mb_s}");
        let report = run(&[sets, &[dram.as_str()]].concat(), job, start);
        let busy = number(&report["front"]["dram_busy_fraction"]);
        assert!(busy > 0.98, "{what}: {busy}");
        let (iops, expected) = (number(&report["host"]["iops"]), mb_s * 1e6 / bytes);
        println!(
            "validation | DRAM: {what} a second | {iops} | {expected} | 2.00e-2 | bandwidth / \
             bytes that each moves"
        );
        assert!((iops / expected - 1.0).abs() < 0.02, "{what}: {iops} of {expected}");
        let free = run(sets, job, start);
        assert_eq!(number(&free["front"]["dram_busy_fraction"]), 0.0);
        assert!(number(&free["host"]["iops"]) > 1.5 * iops, "{what}");
    }
}

/// Data that collection moves cross the DRAM twice, as they come from the flash and as they go
/// there, and so a drive at its bandwidth takes fewer writes.
#[test]
fn moved_data_cross_the_dram_twice() {
    for (spare, least_moved) in
        [("ftl.overprovisioning=0.15", 2.0), ("ftl.overprovisioning=1", 0.1)]
    {
        let sets = ["controller.dram_mb_s=20", spare];
        let job = "rw=randwrite\nbs=4k\niodepth=64\nnumber_ios=30000";
        let report = run(&sets, job, Precondition::Steady);
        let of = |key: &str| number(&report["ftl"][key]);
        let (written, moved) = (of("host_units"), of("gc_copies"));
        assert!(moved > least_moved * written, "{spare}: {moved} of {written}");
        let requests = number(&report["host"]["requests_completed"]);
        // Each write comes in and is looked up; each unit that is programmed goes out.
        let bytes = requests * (4096.0 + 64.0) + 4096.0 * (written + moved) + 4096.0 * moved;
        let seconds = number(&report["sim"]["simulated_s"]);
        let busy_s = number(&report["front"]["dram_busy_fraction"]) * seconds;
        assert!((busy_s * 20e6 / bytes - 1.0).abs() < 0.01, "{spare}: {busy_s} s, {bytes} bytes");
        assert!(busy_s > 0.95 * seconds, "{spare}: {busy_s} s of {seconds}");
    }
}
