//! Tests of replays: send times of a trace's requests, and options that do not apply.

use crate::running;

use base::Result;
use base::error::assert_carries;
use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use host::trace::{AddressPolicy, Options, TimePolicy};
use running::number;
use serde_json::Value;
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// Replays `text` on `tiny`, full. Returns the report; `name` tells the files of tests apart.
fn replay(name: &str, text: &str, options: Options, depth: Option<u32>) -> Result<Value> {
    replay_on(&[], name, text, options, depth)
}

/// Replays `text` on `tiny` with `sets`, full.
fn replay_on(
    sets: &[&str],
    name: &str,
    text: &str,
    options: Options,
    depth: Option<u32>,
) -> Result<Value> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let path = std::env::temp_dir().join(format!("nandlab-replays-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let run = |path: PathBuf| -> Result<Value> {
        let workload = Workload::Trace { path, options: Box::new(options), depth };
        let loaded = config::load("tiny", &sets)?;
        let mut session = Session::new(loaded, &workload, Precondition::Fill, 1 << 32)?;
        while !session.advance(10_000)? {}
        session.report(Outside::default())
    };
    let report = run(path.clone());
    std::fs::remove_file(path).unwrap();
    report
}

/// Log of fio, version 2, with `reads` reads, and `line` after every `every` of them.
fn log(reads: u64, every: u64, line: &str) -> String {
    let mut text = "fio version 2 iolog\nf add\nf open\n".to_owned();
    for read in 0..reads {
        text += &format!("f read {} 4096\n", read * 7919 % 100_000 * 4096);
        if (read + 1) % every == 0 {
            text += line;
        }
    }
    text
}

/// A pause leaves the loop closed: it does not become an open one in which all arrive at once.
#[test]
fn waits_are_pauses_of_a_closed_loop() {
    let run = |name, every, line| {
        let text = log(5000, every, line);
        replay(name, &text, Options::default(), Some(4)).unwrap()
    };
    let closed = run("closed", 5000, "");
    let last = run("last", 5000, "f wait 100 0\n");
    assert!(number(&closed["checks"]["little_law_error"]) < 0.05);
    for key in ["mean_queue_depth", "latency_us", "iops"] {
        assert_eq!(closed["host"][key], last["host"][key], "{key}");
    }
    // Ten pauses of 50 ms, longer than the reads between them.
    let paused = run("paused", 500, "f wait 50000 0\n");
    let (without, with) = (&closed["host"], &paused["host"]);
    let ratio = number(&with["latency_us"]["mean"]) / number(&without["latency_us"]["mean"]);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    assert!(number(&with["mean_queue_depth"]) < number(&without["mean_queue_depth"]));
    // The last pause comes after the last request; each lasts from the end of the one before.
    let took = number(&paused["sim"]["simulated_s"]);
    assert!((0.45..0.5).contains(&took), "{took}");
    assert!(paused["checks"]["little_law_error"].is_null());
    assert_eq!(paused["nandlab"]["trace"]["timed"], false);
    assert_eq!(paused["host"]["requests_completed"], 5000);
    // At half the speed they are twice as long.
    let text = log(5000, 500, "f wait 50000 0\n");
    let slow = Options { time_scale: 2.0, ..Options::default() };
    let took = number(&replay("slow", &text, slow, Some(4)).unwrap()["sim"]["simulated_s"]);
    assert!((0.9..0.95).contains(&took), "{took}");
    // Waits shorter than the reads between them delay nothing.
    let short = run("short", 500, "f wait 100 0\n");
    assert_eq!(short["host"]["iops"], closed["host"]["iops"]);
}

/// With a depth, a trace that has times is replayed as fast as the drive takes it.
#[test]
fn a_depth_leaves_times_aside() {
    let reads = (0..2000).map(|i| format!("{} f read {} 4096\n", 1000 * i, i * 37 % 200 * 4096));
    let text = format!("fio version 3 iolog\n0 f add\n0 f open\n{}", reads.collect::<String>());
    let run = |depth| replay("aside", &text, Options::default(), depth).unwrap();
    let (timed, one, eight) = (run(None), run(Some(1)), run(Some(8)));
    for (report, is_timed) in [(&timed, true), (&one, false), (&eight, false)] {
        assert_eq!(report["host"]["requests_completed"], 2000);
        assert_eq!(report["nandlab"]["trace"]["timed"], is_timed);
    }
    let deep = |report: &Value| number(&report["host"]["mean_queue_depth"]);
    assert!((deep(&one) - 1.0).abs() < 0.01 && (deep(&eight) - 8.0).abs() < 0.1);
    let took = |report: &Value| number(&report["sim"]["simulated_s"]);
    assert!(took(&timed) > 1.9 && took(&one) < 0.5 && took(&eight) < took(&one));
    assert!(number(&eight["checks"]["little_law_error"]).abs() < 0.01);
}

/// A report describes the requests of a trace as they were replayed.
#[test]
fn reports_tell_of_the_requests_as_replayed() {
    let text = "0,0,512,W,5.0\n0,1,512,W,3.0\n0,2,512,W,4.0\n0,3,512,W,6.0\n";
    let of = |name, time, time_scale| {
        let options = Options { time, time_scale, ..Options::default() };
        replay(name, text, options, None).unwrap()["nandlab"]["trace"].clone()
    };
    let sorted = of("sorted", TimePolicy::SortWindow, 1.0);
    let between = &sorted["interarrival"];
    assert_eq!((number(&between["mean_ms"]), number(&between["cv"])), (1000.0, 0.0));
    assert_eq!((number(&sorted["span_s"]), number(&sorted["non_monotonic"])), (3.0, 1.0));
    let faster = of("faster", TimePolicy::SortWindow, 0.5);
    assert_eq!(number(&faster["interarrival"]["mean_ms"]), 500.0);
    // Clamped, three arrive at 5 s.
    let clamped = of("clamped", TimePolicy::Clamp, 1.0);
    assert_eq!(number(&clamped["span_s"]), 1.0);
    assert_eq!(number(&clamped["interarrival"]["median_ms"]), 0.0);
}

/// No option is accepted and ignored.
#[test]
fn options_without_a_use_are_refused() {
    let untimed = log(10, 10, "");
    let timed = "fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 4096\n9 f read 0 4096\n";
    let scaled = || Options { time_scale: 0.5, ..Options::default() };
    let window = Options { sort_window: Some(9), ..Options::default() };
    let sorted = Options { time: TimePolicy::SortWindow, ..Options::default() };
    for (text, options, depth, parts) in [
        (timed, scaled(), Some(4), &["trace.time_scale", "0.5", "`iodepth`"][..]),
        (&untimed, scaled(), None, &["trace.time_scale", "no times"]),
        (&untimed, sorted, None, &["trace.time", "no times"]),
        (timed, window, None, &["trace.sort_window", "9", "time = \"sort-window\""]),
    ] {
        assert_carries(replay("refused", text, options, depth).unwrap_err(), parts);
    }
    assert!(replay("scaled", timed, scaled(), None).is_ok());
    assert!(replay("depth", &untimed, Options::default(), Some(4)).is_ok());
}

/// A trace on a namespace sees its bytes as a drive: its writes go to the set of the namespace
/// alone, and addresses beyond it follow the policy.
#[test]
fn a_trace_is_replayed_on_a_namespace() {
    let sets = ["namespace=[{dies=1}, {dies=2, block_bytes=4096}, {share=1.0}]"];
    let mut text = "fio version 2 iolog\nf add\nf open\n".to_owned();
    for write in 0..4000u64 {
        text += &format!("f write {} 4096\n", write * 7919 % 4000 * 4096);
    }
    let on = |text: &str, namespace, address| {
        let options = Options { namespace, address, ..Options::default() };
        replay_on(&sets, "namespace", text, options, Some(8))
    };
    for namespace in 1..=3 {
        let report = on(&text, Some(namespace), AddressPolicy::Reject).unwrap();
        let units = |set: usize| number(&report["sets"][set]["host_units"]);
        let written: Vec<bool> = (0..3).map(|set| units(set) > 0.0).collect();
        assert_eq!(written, (1..=3).map(|set| set == namespace).collect::<Vec<_>>());
        assert_eq!(number(&report["host"]["write"]["requests"]), 4000.0);
    }
    // Twice the bytes of the first namespace, and less than those of the drive.
    let report = on(&text, Some(1), AddressPolicy::Reject).unwrap();
    let beyond = number(&report["sets"][0]["bytes"]) as u64;
    let far = format!("fio version 2 iolog\nf add\nf open\nf write {beyond} 4096\n");
    let refused = on(&far, Some(1), AddressPolicy::Reject).unwrap_err();
    assert_carries(refused, &[":4", &beyond.to_string(), "capacity"]);
    let wrapped = on(&far, Some(1), AddressPolicy::Wrap).unwrap();
    assert_eq!(number(&wrapped["host"]["write"]["requests"]), 1.0);
    let half = "fio version 2 iolog\nf add\nf open\nf write 512 4096\n";
    assert!(on(half, Some(1), AddressPolicy::Reject).is_ok());
    let refused = on(half, Some(2), AddressPolicy::Reject).unwrap_err();
    assert_carries(refused, &[":4", "offset 512", "4096"]);
    for (namespace, parts) in [(None, &["namespace"][..]), (Some(0), &["0"]), (Some(4), &["4"])] {
        let error = on(&text, namespace, AddressPolicy::Reject).unwrap_err();
        assert_eq!((&*error.place, &*error.expected), ("trace.namespace", "1 to 3"));
        assert_carries(error, parts);
    }
    let options = Options { namespace: Some(1), ..Options::default() };
    let error = replay("none", &text, options, Some(8)).unwrap_err();
    assert_carries(error, &["trace.namespace", "no namespaces"]);
}
