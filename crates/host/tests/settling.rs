//! Tests of settling: runs that have not settled say so, and runs that wait for it end there.

use crate::running;

use base::error::assert_carries;
use base::rng::turn;
use host::report::Outside;
use host::run::stats::RequestLog;
use host::run::until::Until;
use host::session::{Session, Workload};
use host::trace::Options;
use running::{number, run, session};
use serde_json::Value;
use ssd::precondition::Precondition;

/// Runs a job until `until` ends it.
fn run_until(sets: &[&str], job: &str, precondition: Precondition, until: &str) -> Value {
    let mut session = session(sets, job, precondition).unwrap();
    session.plan(None, Some(Until::parse("until", until).unwrap()));
    while !session.advance(10_000).unwrap() {}
    session.report(Outside::default()).unwrap()
}

/// A drive of 200 MiB.
const SMALL: &[&str] = &["drive.channels=1", "drive.dies_per_channel=1"];

const WRITES: &str = "rw=randwrite\nbs=4k\niodepth=16\nnorandommap";

/// A run that calls itself settled has the amplification of a long run, and one far from it does
/// not call itself so, for every drive, state and length.
#[test]
fn a_run_that_has_not_settled_says_so() {
    let (mut said, mut unsaid) = (0, 0);
    for &overprovisioning in turn::few_or_all(&["0.28"][..], &["0.15", "0.28", "0.5"]) {
        let set = format!("ftl.overprovisioning={overprovisioning}");
        let sets = [SMALL, &[&set]].concat();
        let long = run_until(&sets, WRITES, Precondition::Steady, "settled");
        let truth = number(&long["settled"]["settled_value"]);
        for start in [Precondition::Fill, Precondition::Steady, Precondition::Rested] {
            for drive_writes in ["0.05x", "0.3x", "1x", "3x"] {
                let report = run_until(&sets, WRITES, start, drive_writes);
                let settled = &report["settled"];
                let off = (number(&settled["run_value"]) / truth - 1.0).abs();
                let what = format!("{set} {start:?} {drive_writes}: {settled} of {truth}");
                if settled["ok"] == true {
                    assert!(off < 0.15, "{what}");
                    said += 1;
                } else {
                    unsaid += 1;
                    // A run near the long one is called settled, where that can be known.
                    assert!(off > 0.05 || start == Precondition::Fill, "{what}");
                }
                let written = number(&settled["drive_writes"]);
                let asked: f64 = drive_writes.trim_end_matches('x').parse().unwrap();
                assert!(written >= asked && written < asked + 0.1, "{what}");
            }
        }
    }
    let least = turn::few_or_all(3, 8);
    assert!(said >= least && unsaid >= least, "{said} {unsaid}");
}

#[test]
fn a_run_ends_where_it_is_told_to() {
    let job = &format!("{WRITES}\nnumber_ios=100");
    let report = run_until(SMALL, job, Precondition::Fill, "20000");
    let completed = number(&report["host"]["requests_completed"]);
    assert!((20_000.0..20_200.0).contains(&completed), "{completed}");
    let report = run_until(SMALL, job, Precondition::Fill, "80ms");
    let took = number(&report["sim"]["simulated_s"]);
    assert!((0.08..0.1).contains(&took), "{took}");
    // Reads settle as well; the jobs before the last group run once.
    let job = "rw=write\nbs=64k\nsize=1m\n[then]\nstonewall\nrw=randread\nbs=4k\nsize=1m";
    for until in ["settled=iops", "settled=p99", "pts"] {
        let report = run_until(SMALL, job, Precondition::Fill, until);
        assert_eq!(report["settled"]["ok"], true, "{until}: {}", report["settled"]);
        assert_eq!(report["host"]["write"]["requests"], 16, "{until}");
        assert!(number(&report["host"]["read"]["requests"]) > 5.0 * 16384.0, "{until}");
    }
    // Drive writes of a job that only reads never come.
    let mut session = session(SMALL, "rw=randread\nbs=4k\nsize=64k", Precondition::None).unwrap();
    session.plan(None, Some(Until::DriveWrites(1.0)));
    assert_carries(session.advance(u64::MAX).unwrap_err(), &["until", "wrote"]);
    // Without writes there is no amplification, and the run ends all the same.
    let report = run_until(SMALL, "rw=randread\nbs=4k", Precondition::Fill, "settled");
    assert!(report["settled"]["ok"].is_null());
}

/// SNIA's rule is applied as it is on a drive that pauses before it collects.
#[test]
fn the_rule_of_snia_ends_a_run() {
    let report = run_until(SMALL, WRITES, Precondition::Steady, "pts");
    assert_eq!(
        (&report["settled"]["rule"], &report["settled"]["metric"]),
        (&"pts".into(), &"iops".into())
    );
    assert!(number(&report["settled"]["drive_writes"]) >= 1.25);
}

/// Options of fio end a job as in fio.
#[test]
fn a_job_ends_in_fios_steady_state() {
    let job = "rw=randread\nbs=4k\niodepth=4\ntime_based\nruntime=100\nss=iops:5%\nss_dur=20ms\n\
               ss_ramp=10ms\nss_interval=1ms";
    let report = run(SMALL, job, Precondition::Fill).unwrap();
    let took = number(&report["sim"]["simulated_s"]);
    assert!((0.03..0.2).contains(&took), "{took}");
    assert_eq!(
        (&report["settled"]["rule"], &report["settled"]["ok"]),
        (&"fio".into(), &true.into())
    );
    // A criterion that is never met leaves the job its own end.
    let job = &job.replace("runtime=100", "runtime=100ms").replace("5%", "0.000001");
    let report = run(SMALL, job, Precondition::Fill).unwrap();
    let took = number(&report["sim"]["simulated_s"]);
    assert!((0.1..0.11).contains(&took), "{took}");
    assert_eq!(report["settled"]["ok"], false);
}

/// Requests of the skipped beginning are in no figure.
#[test]
fn a_beginning_is_left_out() {
    let skip = |job: &str, until: Option<&str>| {
        let mut session = session(SMALL, job, Precondition::None).unwrap();
        let parse = |text| Until::parse("until", text).unwrap();
        session.plan(Some(parse("1x")), until.map(parse));
        while !session.advance(10_000).unwrap() {}
        session.measure()?;
        while !session.advance(10_000).unwrap() {}
        session.report(Outside::default())
    };
    // 51,200 units of 4 KiB: three drive writes, of which one is left out.
    let job = format!("{WRITES}\nnumber_ios=153600\nrandrepeat=1");
    let report = skip(&job, None).unwrap();
    let left = number(&report["host"]["requests_completed"]);
    assert!((102_300.0..=102_400.0).contains(&left), "{left}");
    assert!((number(&report["settled"]["drive_writes"]) - left / 51_200.0).abs() < 1e-9);
    assert!(report["checks"]["conservation"]["ok"].as_bool().unwrap());
    // An empty drive has nothing to collect at first.
    let whole = run(SMALL, &job, Precondition::None).unwrap();
    let amplification = |report: &Value| number(&report["settled"]["run_value"]);
    assert!(amplification(&whole) < 0.95 * amplification(&report));
    // A job shorter than the run, which is repeated.
    let job = format!("{WRITES}\nnumber_ios=1000");
    assert_carries(skip(&job, None).unwrap_err(), &["skip", "ended"]);
    assert!(number(&skip(&job, Some("5000")).unwrap()["host"]["requests_completed"]) >= 5000.0);
}

/// A drive that fills up looks settled to both rules, however slow it will be.
#[test]
fn a_drive_that_fills_up_has_not_settled() {
    let zipf = format!("{WRITES}\nrandom_distribution=zipf:1.1");
    for until in ["settled", "pts"] {
        let report = run_until(SMALL, &zipf, Precondition::None, until);
        let steady = run_until(SMALL, &zipf, Precondition::Steady, until);
        let (settled, truth) = (&report["settled"], &steady["settled"]);
        if settled["ok"] == true {
            let value = |of: &Value| number(&of["settled_value"]);
            let off = (value(settled) / value(truth) - 1.0).abs();
            assert!(off < 0.25, "{until}: {settled} and {truth}");
        }
    }
    // The settled value of uniform writes does not hold for skewed ones, or for those to a part of
    // a drive.
    for part in ["random_distribution=zipf:1.1", "size=50%", "percentage_random=50"] {
        let report = run_until(SMALL, &format!("{WRITES}\n{part}"), Precondition::Steady, "0.3x");
        let settled = &report["settled"];
        assert_eq!((&settled["ok"], settled["settled_value"].is_null()), (&false.into(), true));
    }
    let uniform = run_until(SMALL, WRITES, Precondition::Steady, "0.3x");
    assert_eq!(uniform["settled"]["settled_by"], "precondition");
}

/// A skipped beginning does not change the run: it ends at the same time, and every counted request
/// takes as long. Holds for jobs at a rate, in a closed loop, with pauses and in groups.
#[test]
fn a_run_goes_on_where_it_begins_to_count() {
    let jobs = [
        format!("{WRITES}\nnumber_ios=60000"),
        "rw=randrw\nrwmixread=70\nbs=4k\nnorandommap\niodepth=64\nrate_iops=30000\n\
         rate_process=poisson\nnumber_ios=60000"
            .to_owned(),
        format!(
            "{WRITES}\nnumber_ios=9000\nthinktime=300\n[second]\n{WRITES}\nnumber_ios=50000\n\
                 [last]\nstonewall\nrw=randread\nbs=16k\nnumber_ios=5000"
        ),
    ];
    for job in &jobs {
        let done = |skip: Option<&str>| {
            let mut session = session(SMALL, job, Precondition::Steady).unwrap();
            let skip = skip.and_then(|text| Until::parse_skip(text).unwrap());
            session.plan(skip, None);
            session.run.keep_blame();
            if skip.is_some() {
                while !session.advance(10_000).unwrap() {}
                session.measure().unwrap();
            }
            session.run.log = Some(RequestLog::default());
            while !session.advance(10_000).unwrap() {}
            let log = session.run.log.take().unwrap();
            (session.report(Outside::default()).unwrap(), log.completion_ns, log.arrival_ns)
        };
        let (whole, ends, arrivals) = done(None);
        assert_eq!(done(Some("0")).0, whole);
        assert_eq!(done(Some("0x")).0, whole);
        for skip in ["5000", "100ms", "0.2x"] {
            let (part, of_part, arrivals_of_part) = done(Some(skip));
            let skipped = ends.len() - of_part.len();
            assert!(skipped > 100, "{skip}: {skipped}");
            assert_eq!(
                (&ends[skipped..], &arrivals[skipped..]),
                (&of_part[..], &arrivals_of_part[..])
            );
            let sum = |key: &str, of: &Value| number(&of["sim"][key]);
            let until = sum("simulated_s", &part) + sum("skipped_s", &part);
            assert!((until - sum("simulated_s", &whole)).abs() < 1e-9, "{skip}");
            assert_eq!(number(&part["host"]["requests_completed"]) as usize, of_part.len());
            assert_eq!(part["host"]["requests_issued"], part["host"]["requests_completed"]);
            // Counts and times of the dies are a part of those of the whole run.
            for (room, key) in [("ftl", "host_units"), ("nand", "programs"), ("nand", "energy_uj")]
            {
                let (of, all) = (number(&part[room][key]), number(&whole[room][key]));
                assert!(of > 0.0 && of < all, "{skip} {key}: {of} of {all}");
            }
            let doing = ["read", "program", "erase", "wait", "idle"];
            let all: f64 = doing.iter().map(|doing| number(&part["dies"][doing])).sum();
            assert!((all - 1.0).abs() < 1e-9, "{skip}: {all}");
            let checks = &part["checks"];
            assert_eq!(checks["conservation"]["ok"], true, "{skip}: {checks}");
            assert_eq!(checks["blame_error_ns"], 0, "{skip}: {checks}");
            assert!(number(&checks["busy_idle_error"]) < 1e-3, "{skip}: {checks}");
        }
    }
}

/// A trace that is repeated goes on a mean interval after its end.
#[test]
fn traces_are_repeated() {
    let path = std::env::temp_dir().join(format!("nandlab-loops-{}", std::process::id()));
    let lines: Vec<String> =
        (0..10).map(|i| format!("{} f write {} 4096\n", 1000 * i, i * 4096)).collect();
    std::fs::write(&path, format!("fio version 3 iolog\n0 f add\n0 f open\n{}", lines.concat()))
        .unwrap();
    let run = |loops: u64, until: Option<&str>| {
        let options = Box::new(Options { loops, ..Options::default() });
        let workload = Workload::Trace { path: path.clone(), options, depth: None };
        let loaded = host::config::load("tiny", &[]).unwrap();
        let mut session = Session::new(loaded, &workload, Precondition::Fill, 1 << 32).unwrap();
        session.plan(None, until.map(|text| Until::parse("until", text).unwrap()));
        while !session.advance(10_000).unwrap() {}
        session.report(Outside::default()).unwrap()
    };
    let seconds = |report: &Value| number(&report["sim"]["simulated_s"]);
    let (once, thrice) = (run(1, None), run(3, None));
    assert_eq!(thrice["host"]["requests_completed"], 30);
    assert!((seconds(&thrice) - seconds(&once) - 0.02).abs() < 0.0005, "{}", seconds(&thrice));
    let endless = run(1, Some("640"));
    assert_eq!(number(&endless["host"]["requests_completed"]), 640.0);
    std::fs::remove_file(path).unwrap();
}

/// A run ends with the first completion at its end: no later, however seldom requests complete.
#[test]
fn a_run_ends_at_the_first_completion_at_its_end() {
    let seldom = format!("{WRITES}\nrate_iops=1\nsync=1");
    let late = run_until(SMALL, &seldom, Precondition::Fill, "2s");
    let simulated = number(&late["sim"]["simulated_s"]);
    assert!((2.0..3.5).contains(&simulated), "{simulated}");
    let one =
        run_until(SMALL, "rw=randread\nbs=4k\niodepth=1\nnorandommap", Precondition::Fill, "1");
    assert_eq!(number(&one["host"]["requests_completed"]), 1.0);
    let part = run_until(SMALL, WRITES, Precondition::Fill, "0.05x");
    let written = number(&part["host"]["write"]["bytes"]);
    let goal = 0.05 * number(&part["nandlab"]["capacity_bytes"]);
    // Requests under way are completed.
    assert!((goal..goal + 16.0 * 4096.0).contains(&written), "{written} of {goal}");
}
