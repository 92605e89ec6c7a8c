//! Tests of replicates: whatever the number of threads, they are the same, and their report is of
//! all of them together.

use base::error::assert_carries;
use base::{Error, Result};
use host::drive::Drive;
use host::replicates::{Plan, Replicates};
use host::report::{Outside, as_json};
use host::run::until::Until;
use host::session::{Session, Workload};
use serde_json::Value;
use ssd::precondition::Precondition;

const MIX: &str = "[mix]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=2000\nnorandommap=1\n\
                   [log]\nrw=write\nbs=16k\nnumber_ios=100\n";

const NOISY: [&str; 2] =
    ["chip.array={name='power_law', beta=1e-3}", "ecc={model='threshold', t=45}"];

fn fio(text: &str) -> Workload {
    Workload::FioText {
        text: text.into(),
        place: "test".into(),
        dir: ".".into(),
        traces: Box::default(),
    }
}

/// Session of a quarter of preset `tiny`, preconditioned.
fn session(sets: &[&str], workload: &Workload, goal: Precondition) -> Session {
    let small = ["chip.geometry.blocks_per_plane=64"];
    let sets: Vec<String> = small.iter().chain(sets).map(|&set| set.to_owned()).collect();
    let mut drive = Drive::new(host::config::load("tiny", &sets).unwrap(), 1 << 32).unwrap();
    drive.precondition(goal).unwrap();
    while !drive.advance_precondition().unwrap() {}
    Session::on(drive, workload).unwrap()
}

fn plan(workload: Workload) -> Plan {
    Plan { workload, skip: None, until: None, exchange: None, fail_die: None, keeps_blame: false }
}

/// Report of `count` replicates on `workers` threads; steps are short, so that there are many.
fn replicated(mut first: Session, plan: Plan, count: u64, workers: usize) -> Value {
    first.plan(plan.skip, plan.until);
    let mut replicates = Replicates::new(&mut first, plan, count, workers).unwrap();
    loop {
        let is_over = replicates.advance(&mut first, |session| session.advance(150)).unwrap();
        if is_over && first.run.is_skipping() {
            first.measure().unwrap();
        } else if is_over {
            break;
        }
    }
    let (completed, total) = replicates.progress(&first);
    assert!(total.is_some_and(|total| total <= completed), "{completed} of {total:?}");
    as_json(&replicates.report(&mut first, Outside::default()).unwrap()).unwrap()
}

fn single(mut session: Session) -> Value {
    while !session.advance(1000).unwrap() {}
    session.report(Outside::default()).unwrap()
}

fn number(report: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(report, |value, key| match value {
        Value::Array(list) => &list[key.parse::<usize>().unwrap()],
        table => &table[key],
    });
    found.as_f64().unwrap_or_else(|| panic!("{path}: {found}"))
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let begin = || session(&NOISY, &fio(MIX), Precondition::Steady);
    let one = replicated(begin(), plan(fio(MIX)), 5, 1);
    for workers in [2, 3, 16] {
        assert_eq!(replicated(begin(), plan(fio(MIX)), 5, workers), one, "{workers} threads");
    }
    assert_eq!(one["checks"]["conservation"]["ok"], true);
    assert_eq!(one["replicates"]["seeds"], serde_json::json!([1, 2, 3, 4, 5]));
    // The skipped beginning, the end and the causes of waits are those of each replicate.
    let planned = || Plan {
        skip: Some(Until::Requests(500)),
        until: Some(Until::Requests(1000)),
        keeps_blame: true,
        ..plan(fio(MIX))
    };
    let begin = || {
        let mut first = begin();
        first.run.keep_blame();
        first
    };
    let one = replicated(begin(), planned(), 3, 1);
    assert_eq!(replicated(begin(), planned(), 3, 2), one);
    assert_eq!(one["checks"]["blame_error_ns"], 0);
    let completed = &one["replicates"]["figures"]["host.requests_completed"]["each"];
    assert!(completed.as_array().unwrap().iter().all(|count| count.as_f64() >= Some(1000.0)));
}

/// On an empty drive a replicate is the run of the drive with its seed: the report of all has the
/// sums of their counts, the rates and percentiles of all together, and the figures of each.
#[test]
fn the_report_is_of_all_replicates_together() {
    // Long enough for garbage collection.
    let long = MIX.replace("2000", "12000").replace("4k", "32k");
    let seeds = ["seed=1", "seed=2", "seed=3"];
    let runs: Vec<Value> = seeds
        .iter()
        .map(|seed| single(session(&[NOISY[0], NOISY[1], seed], &fio(&long), Precondition::Fill)))
        .collect();
    let all = replicated(session(&NOISY, &fio(&long), Precondition::Fill), plan(fio(&long)), 3, 2);
    let of_each = |path: &str| runs.iter().map(|run| number(run, path)).collect::<Vec<_>>();
    for path in [
        "host.requests_issued",
        "host.requests_completed",
        "host.read.requests",
        "host.write.bytes",
        "host.read.latency_us.count",
        "ftl.host_units",
        "nand.reads",
        "nand.programs",
        "nand.erases",
        "ftl.gc_copies",
        "nand.energy_uj",
        "ecc.codewords",
        "ecc.raw_bit_errors",
        "buffer.stalls",
        "endurance_group.host_bytes",
        "sim.simulated_s",
        "sim.events",
        "jobs.0.read.total_ios",
        "jobs.1.write.io_bytes",
        "checks.conservation.completed",
    ] {
        let sum: f64 = of_each(path).iter().sum();
        assert!((number(&all, path) / sum - 1.0).abs() < 1e-12, "{path}: {sum}");
    }
    assert!(number(&all, "ecc.raw_bit_errors") > 0.0);
    for path in ["host.iops", "host.read.latency_us.p99", "jobs.0.read.iops", "dies.read"] {
        let values = of_each(path);
        let (low, high) =
            (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
        let value = number(&all, path);
        assert!(low.unwrap() <= value && value <= high.unwrap(), "{path}: {value} {values:?}");
        assert_eq!(all["replicates"]["figures"][path]["each"], serde_json::json!(values), "{path}");
    }
    let mean = of_each("host.latency_us.mean").iter().sum::<f64>() / 3.0;
    let pooled = number(&all, "host.latency_us.mean");
    assert!((pooled / mean - 1.0).abs() < 1e-9, "as many requests in each: {pooled} {mean}");
    let depth = number(&all, "host.mean_queue_depth");
    let depths = of_each("host.mean_queue_depth");
    assert!(depths.iter().any(|one| *one <= depth) && depths.iter().any(|one| *one >= depth));
    // Every figure of a run is one of the replicates'.
    let kept = all["replicates"]["figures"].as_object().unwrap();
    assert!(kept.contains_key("ftl.write_amplification") && kept.contains_key("jobs.1.write.iops"));
    assert!(!kept.keys().any(|path| path.contains("wall_s") || path.starts_with("nandlab")));
}

#[test]
fn one_replicate_is_the_run_itself() {
    let begin = || session(&NOISY, &fio(MIX), Precondition::Steady);
    let (run, mut one) = (single(begin()), replicated(begin(), plan(fio(MIX)), 1, 4));
    let replicates = one["replicates"].take();
    assert_eq!(one, run);
    assert_eq!(replicates["count"], 1);
    assert!(replicates["figures"]["host.iops"]["half_width"].is_null());
}

#[test]
fn replicates_that_nothing_random_tells_apart_say_so() {
    let text = "[seq]\nrw=write\nbs=16k\nnumber_ios=500\n";
    let all = replicated(session(&[], &fio(text), Precondition::None), plan(fio(text)), 3, 2);
    let notices = all["nandlab"]["notices"].as_array().unwrap();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(all["replicates"]["figures"]["host.iops"]["half_width"].is_null());
}

/// A run that is ended early has the replicates that had ended, and the first as far as it came.
#[test]
fn what_has_ended_is_kept() {
    let mut first = session(&[], &fio(MIX), Precondition::None);
    let mut replicates = Replicates::new(&mut first, plan(fio(MIX)), 5, 2).unwrap();
    let is_first = |session: &Session| session.loaded.config.seed == 1;
    // The first replicate is slow.
    let step = |session: &mut Session| session.advance(if is_first(session) { 10 } else { 1000 });
    while replicates.progress(&first).0 < 5000 {
        assert!(!replicates.advance(&mut first, step).unwrap());
    }
    let report = as_json(&replicates.report(&mut first, Outside::default()).unwrap()).unwrap();
    let count = report["replicates"]["count"].as_u64().unwrap();
    assert!((1..4).contains(&count), "{count}");
    assert_eq!(report["replicates"]["seeds"][0], 2, "the first has not ended");
    let values = report["replicates"]["figures"]["host.iops"]["each"].as_array().unwrap();
    assert_eq!(values.len() as u64, count);
    let completed = number(&report, "host.requests_completed");
    assert!(completed > 2100.0 * count as f64 && completed < 2100.0 * (count + 1) as f64);
    assert_eq!(report["checks"]["conservation"]["ok"], true);
    assert_eq!(report["checks"]["conservation"]["finished"], false);
}

#[test]
fn a_workload_inside_the_skipped_part_is_refused() {
    let mut first = session(&[], &fio(MIX), Precondition::None);
    let planned = Plan { skip: Some(Until::Requests(5000)), ..plan(fio(MIX)) };
    first.plan(planned.skip, None);
    let mut replicates = Replicates::new(&mut first, planned, 3, 1).unwrap();
    let is_over = replicates.advance(&mut first, |session| session.advance(u64::MAX));
    assert_eq!(is_over.unwrap_err().place, "skip", "the second replicate is past its end");
    assert_eq!(first.measure().unwrap_err().place, "skip");
}

#[test]
fn an_error_of_a_replicate_ends_all() {
    let mut first = session(&[], &fio(MIX), Precondition::None);
    let mut replicates = Replicates::new(&mut first, plan(fio(MIX)), 5, 2).unwrap();
    let step = |session: &mut Session| -> Result<bool> {
        if session.loaded.config.seed == 3 {
            return Err(Error::new("test", "the third is refused"));
        }
        session.advance(1000)
    };
    let error = loop {
        match replicates.advance(&mut first, step) {
            Ok(is_over) => assert!(!is_over),
            Err(error) => break error,
        }
    };
    assert_eq!(error.place, "test");
}

/// States of replicates spread as those of drives that were built apart; here as far as collection
/// has come. The first is the run itself.
#[test]
fn each_replicate_has_a_steady_state_of_its_own() {
    let read = "[read]\nrw=randread\nnumber_ios=10\n";
    for (goal, is_drawn) in
        [(Precondition::Fill, false), (Precondition::Steady, true), (Precondition::Rested, true)]
    {
        let all = replicated(session(&[], &fio(read), goal), plan(fio(read)), 4, 2);
        let run = single(session(&[], &fio(read), goal));
        let figures = &all["replicates"]["figures"];
        let amplifications = &figures["sim.precondition_write_amplification"]["each"];
        let Some(each) = amplifications.as_array() else {
            assert!(!is_drawn);
            continue;
        };
        let each: Vec<f64> = each.iter().map(|one| one.as_f64().unwrap()).collect();
        assert_eq!(each[0], number(&run, "sim.precondition_write_amplification"));
        assert!((1..4).all(|i| !each[..i].contains(&each[i])), "{goal:?}: {each:?}");
        assert!(each.iter().all(|one| (one / each[0] - 1.0).abs() < 0.05), "{goal:?}: {each:?}");
    }
    // What a drive has stored for a year is not overwritten.
    let mut drive = Drive::new(host::config::load("tiny", &[]).unwrap(), 1 << 32).unwrap();
    drive.precondition(Precondition::Steady).unwrap();
    while !drive.advance_precondition().unwrap() {}
    drive.age(8766.0, false).unwrap();
    let all = replicated(Session::on(drive, &fio(read)).unwrap(), plan(fio(read)), 3, 2);
    let each = &all["replicates"]["figures"]["sim.precondition_write_amplification"]["each"];
    assert_eq!((&each[1], &each[2]), (&each[0], &each[0]));
}

/// Threads have a drive each. Where memory is short there are fewer, down to one beside the drive
/// that they are cloned from.
#[test]
fn memory_is_shared_by_the_drives() {
    let within = |limit| Drive::new(host::config::load("tiny", &[]).unwrap(), limit);
    let (mut low, mut high) = (0u64, 1 << 32);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if within(middle).is_ok() { high = middle } else { low = middle }
    }
    let planned = |limit| {
        let mut first = Session::on(within(limit).unwrap(), &fio(MIX)).unwrap();
        Replicates::new(&mut first, plan(fio(MIX)), 8, 8).map(|_| ())
    };
    assert!(planned(2 * high).is_ok());
    assert_eq!(planned(2 * high - 1).unwrap_err().place, "drive");
}

#[test]
fn bad_numbers_are_refused() {
    let mut first = session(&[], &fio(MIX), Precondition::None);
    let mut refused = |count, workers| {
        Replicates::new(&mut first, plan(fio(MIX)), count, workers).map(|_| ()).unwrap_err()
    };
    assert_carries(refused(0, 1), &["replicates", "0", "1 to"]);
    assert_carries(refused(1 << 40, 1), &["replicates", "1099511627776", "10000"]);
    assert_carries(refused(2, 0), &["workers", "0", "1 to"]);
    assert_carries(refused(2, 5000), &["workers", "5000", "1024"]);
}
