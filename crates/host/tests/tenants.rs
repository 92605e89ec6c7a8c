//! Tests of jobs that share a drive: arbitration between their queues, limits, fairness.

#![allow(clippy::print_stdout)]

use crate::running;

use base::error::assert_carries;
use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use host::tenants::Alone;
use running::number;
use serde_json::Value;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use std::path::PathBuf;

/// Drive without other times than those of its flash, which takes eight commands at a time.
const PLAIN: &[&str] = &[
    "host.link_mb_s=0",
    "host.link_latency_us=0",
    "host.submit_us=0",
    "controller.command_us=0",
    "chip.timing.t_read_us=40",
    "chip.timing.t_command_us=0.3",
    "chip.timing.t_transfer_us=0.1",
    "chip.timing.bus_mt_s=400",
    "ecc.t_decode_us=2",
    "drive.queue_depth=8",
];

const WEIGHTED: &str = "host.arbitration=weighted_round_robin";

/// Random reads of two jobs, `test` and `other`, with options of each.
fn two(both: &str, test: &str, other: &str) -> String {
    let reads = format!("rw=randread\nbs=4k\nnorandommap=1\n{both}\n");
    format!("{reads}{test}\n[other]\n{reads}{other}\n")
}

fn session(sets: &[&str], job: &str) -> Session {
    running::session(&[PLAIN, sets].concat(), job, Precondition::Fill).unwrap()
}

fn run(sets: &[&str], job: &str) -> Value {
    let mut session = session(sets, job);
    while !session.advance(10_000).unwrap() {}
    session.report(Outside::default()).unwrap()
}

/// Figure of the reads of each job.
fn reads(report: &Value, key: &str) -> Vec<f64> {
    let of_job = |job: &Value| number(key.split('.').fold(&job["read"], |at, key| &at[key]));
    report["jobs"].as_array().unwrap().iter().map(of_job).collect()
}

/// One server, Poisson arrivals, two classes: an urgent command waits for the one in service and
/// earlier urgent ones, another one for all of both classes (Cobham 1954).
#[test]
fn two_classes_wait_as_in_theory() {
    let sets = [
        "drive.channels=1",
        "drive.dies_per_channel=1",
        "chip.geometry.blocks_per_plane=512",
        "drive.queue_depth=1",
        WEIGHTED,
    ];
    let seconds = (40.0 + 0.3 + 10.24 + 0.1 + 2.0) / 1e6;
    let arrivals = "iodepth=4096\nnumber_ios=400000\nrate_iops=6000\nrate_process=poisson";
    let report = run(&sets, &two(arrivals, "prioclass=1", "prioclass=2"));
    let load = 6000.0 * seconds;
    let rest = 2.0 * load * seconds / 2.0;
    let expected = [rest / (1.0 - load), rest / (1.0 - load) / (1.0 - 2.0 * load)];
    let waits = reads(&report, "lat_ns.mean").into_iter().map(|ns| ns / 1e9 - seconds);
    for ((class, ours), theory) in ["urgent", "other"].into_iter().zip(waits).zip(expected) {
        let (ours, theory) = (1e6 * ours, 1e6 * theory);
        println!(
            "validation | M/D/1 with two classes: mean wait of the {class} one, us | {ours} | \
             {theory} | 2.00e-2 | Cobham 1954: service left / (1 - load) (1 - load before)"
        );
        assert!((ours / theory - 1.0).abs() < 0.02, "{class}: {ours} us of {theory} us");
    }
}

/// Weights are shares of the commands where all queues are full: of jobs, and of classes.
#[test]
fn weights_are_shares() {
    let full = "iodepth=64\ntime_based=1\nruntime=500ms";
    let own = [WEIGHTED, "host.jobs.test.weight=3", "host.jobs.other.weight=1"];
    let classes = [WEIGHTED, "host.weight_high=3", "host.weight_low=1"];
    for (sets, ways) in [
        (&own[..], ["", ""]),
        (&classes[..], ["prio=0", "prioclass=3"]),
        (&[&classes[..], &["host.jobs.other.priority=low"]].concat(), ["prioclass=2\nprio=3", ""]),
    ] {
        let iops = reads(&run(sets, &two(full, ways[0], ways[1])), "iops");
        assert!((iops[0] / iops[1] / 3.0 - 1.0).abs() < 0.01, "{sets:?}: {iops:?}");
    }
    // By turns, priorities change nothing.
    let iops = reads(&run(&[], &two(full, "prioclass=1", "prioclass=3")), "iops");
    assert!((iops[0] / iops[1] - 1.0).abs() < 0.01, "{iops:?}");
}

/// While an urgent queue is full the others get nothing: at the end, they have what they had sent.
#[test]
fn an_urgent_queue_starves_the_others() {
    let full = "iodepth=64\ntime_based=1\nruntime=100ms";
    let report = run(&[WEIGHTED], &two(full, "prioclass=1", "prio=0"));
    let requests = reads(&report, "total_ios");
    assert!(requests[0] > 5000.0 && requests[1] == 64.0, "{requests:?}");
    assert!(reads(&report, "lat_ns.min")[1] > 100e6);
    // A drive that has room takes all at once.
    let report = run(&[WEIGHTED, "drive.queue_depth=1024"], &two(full, "prioclass=1", "prio=0"));
    let requests = reads(&report, "total_ios");
    assert!((requests[0] / requests[1] - 1.0).abs() < 0.05, "{requests:?}");
    assert_eq!(report["host"]["requests_waited"], 0);
}

#[test]
fn limits_hold() {
    let full = "time_based=1\nruntime=1s";
    for (sets, both, test, expected) in [
        (&["host.limit_iops=5000"][..], "iodepth=16", "", [5000.0, 5000.0]),
        (&["host.limit_iops=5000"], "iodepth=1", "", [5000.0, 5000.0]),
        (&["host.limit_mb_s=16.384"], "iodepth=16", "bs=16k", [1000.0, 4000.0]),
        (&["host.limit_iops=3000", "host.jobs.test.limit_iops=2000"], "iodepth=4", "", [2e3, 3e3]),
        // The stricter one of two limits.
        (
            &["host.limit_iops=1000", "host.limit_mb_s=40.96", WEIGHTED],
            "iodepth=8",
            "bs=64k",
            [625.0, 1000.0],
        ),
    ] {
        let iops = reads(&run(sets, &two(&format!("{full}\n{both}"), test, "")), "iops");
        for (ours, limit) in iops.iter().zip(expected) {
            assert!((ours / limit - 1.0).abs() < 0.01, "{sets:?}, {both}: {iops:?}");
        }
    }
    // Clones share the limits of their name.
    let clones = "rw=randread\niodepth=4\nnumjobs=4\ntime_based=1\nruntime=1s\nnorandommap=1";
    let iops: f64 = reads(&run(&["host.limit_iops=4000"], clones), "iops").iter().sum();
    assert!((iops / 4000.0 - 1.0).abs() < 0.01, "{iops}");
}

/// The limits of the job `clients` hold for the requests of a served drive.
#[test]
fn limits_hold_for_clients() {
    let sets = ["host.jobs.clients.limit_iops=1000".to_owned()];
    let loaded = config::load("tiny", &sets).unwrap();
    let mut session =
        Session::new(loaded, &Workload::Clients, Precondition::None, 1 << 32).unwrap();
    session.serve().unwrap();
    for owner in 0..10 {
        let request = Request::new(Op::Read, 0, 4096);
        session.run.offer(owner, 0, request).unwrap();
    }
    let mut ends = Vec::new();
    while ends.len() < 10 {
        ends.extend(session.run.step_served().unwrap().map(|served| served.at.ns() / 1_000_000));
    }
    assert_eq!(ends, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// Report of a run in which each tenant has run alone before.
fn with_tenants(sets: &[&str], job: &str) -> Value {
    let mut session = session(sets, job);
    while !session.precondition().unwrap() {}
    let workload = Workload::FioText {
        text: format!("[test]\n{job}\n"),
        place: "test".into(),
        dir: PathBuf::from("."),
        traces: Box::default(),
    };
    let mut alone = Alone::new(&session, workload, None, None).unwrap();
    while !alone.advance(&mut session, |one| one.advance(10_000)).unwrap() {}
    while !session.advance(10_000).unwrap() {}
    session.report(Outside::default()).unwrap()
}

#[test]
fn equal_jobs_are_slowed_equally() {
    let full = "iodepth=32\ntime_based=1\nruntime=500ms";
    let tenants = &with_tenants(&[], &two(full, "", ""))["tenants"];
    assert!((number(&tenants["fairness"]) - 1.0).abs() < 0.01, "{tenants}");
    // Alone each has the drive to itself, and half of it beside the other.
    for tenant in tenants["jobs"].as_array().unwrap() {
        assert!((number(&tenant["slowdown"]) - 2.0).abs() < 0.05, "{tenant}");
    }
    // Three quarters and a quarter of the drive: slowdowns of 4/3 and 4.
    let sets = [WEIGHTED, "host.jobs.test.weight=3", "host.jobs.other.weight=1"];
    let tenants = &with_tenants(&sets, &two(full, "", ""))["tenants"];
    assert!((number(&tenants["fairness"]) - 1.0 / 3.0).abs() < 0.01, "{tenants}");
    let waits = |report: &Value| reads(report, "lat_ns.mean");
    let job = two(full, "", "");
    assert_eq!(waits(&with_tenants(&[], &job)), waits(&run(&[], &job)));
}

#[test]
fn mistakes_are_refused() {
    let job = two("number_ios=10", "", "");
    for (sets, parts) in [
        (&["host.arbitration=weighted"][..], &["host.arbitration", "weighted_round_robin"][..]),
        (&["host.weight_high=0"], &["host.weight_high", "1 to 256"]),
        (&["host.arbitration_burst=65"], &["host.arbitration_burst", "0 to 64"]),
        (&["host.limit_iops=-1"], &["host.limit_iops", "0 for unlimited"]),
        (&["host.jobs.test.limit_mb_s=-1"], &["host.jobs.test.limit_mb_s"]),
        (&["host.jobs.test.priority=first"], &["host.jobs.test.priority", "urgent"]),
        (&["host.jobs.test.weight=2", "host.jobs.test.priority=low"], &["host.jobs.test.weight"]),
        (&["host.jobs.tset.weight=2"], &["host.jobs", "tset", "test", "other"]),
    ] {
        let error = running::session(&[PLAIN, sets].concat(), &job, Precondition::None);
        assert_carries(error.map(|_| ()).expect_err(sets[0]), parts);
    }
    let alone = |job: &str| {
        let session = session(&[], job);
        Alone::new(&session, Workload::Clients, None, None).map(|_| ()).unwrap_err()
    };
    assert_carries(alone("rw=randread\nnumjobs=2"), &["tenants", "test"]);
    assert_carries(alone(&two("number_ios=10", "", "stonewall")), &["tenants", "other"]);
}

/// A priority that changes nothing gives a notice, and one that does gives none.
#[test]
fn idle_priorities_are_noticed() {
    let urgent = "prioclass=1";
    let fast = "ftl.fast_pages=true";
    let replay = "host.jobs.test.priority=low";
    for (sets, test, other, expected) in [
        (&[][..], urgent, urgent, &["round_robin"][..]),
        (&[], "prio=1", urgent, &["`prio`", "`prioclass`"]),
        (&[fast], "rw=write\nprio=1", "", &[]),
        (&[fast], "prio=1", "", &["round_robin"]),
        (&[WEIGHTED], urgent, "", &[]),
        (&[WEIGHTED], "prioclass=1\nprio=2", "", &["`prio`"]),
        (&[WEIGHTED], urgent, urgent, &["`urgent`"]),
        (&[WEIGHTED, replay], urgent, "", &["host.jobs"]),
        (&[WEIGHTED, fast, replay], "rw=write\nprio=1", "", &[]),
    ] {
        let notices = session(sets, &two("number_ios=10", test, other)).notices;
        assert_eq!(notices.len(), expected.len(), "{sets:?} {test}: {notices:?}");
        for (notice, part) in notices.iter().zip(expected) {
            assert!(notice.contains(part), "{notice}");
        }
    }
}
