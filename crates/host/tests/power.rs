//! Tests of runs whose power is cut: their laws hold up to the cut, and the drive takes the next
//! run.

use base::Time;
use base::error::assert_carries;
use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use serde_json::Value;
use ssd::precondition::Precondition;
use std::path::PathBuf;

fn session(sets: &[&str], job: &str) -> Session {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = config::load("tiny", &sets).unwrap();
    let text = format!("[job]\nbs=4k\niodepth=32\nnorandommap=1\n{job}\n");
    let place = "test".into();
    let workload =
        Workload::FioText { text, place, dir: PathBuf::from("."), traces: Box::default() };
    Session::new(loaded, &workload, Precondition::Fill, 1 << 32).unwrap()
}

fn report(session: &mut Session) -> Value {
    while !session.advance(1 << 20).unwrap() {}
    session.report(Outside::default()).unwrap()
}

#[test]
fn a_run_ends_with_the_cut_and_the_next_one_begins_after_the_start_up() {
    for recovery in ["scan_pages", "scan_blocks", "checkpoint", "journal"] {
        let name = format!("recovery.name={recovery}");
        let sets = [&name[..], "drive.capacitors=false"];
        let mut run = session(&sets, "rw=randrw\nrwmixread=30\nfsync=16\nnumber_ios=50000");
        run.cut_at(Time::from_us(50_000.0)).unwrap();
        let told = report(&mut run);
        let cut = &told["power"]["cut"];
        assert_eq!(cut["at_s"], 0.05, "{told}");
        assert!(cut["requests"].as_u64().unwrap() > 0, "{cut}");
        let checks = &told["checks"];
        assert_eq!(checks["conservation"]["ok"], true, "{recovery}: {checks}");
        assert!(checks["busy_idle_error"].as_f64().unwrap() < 1e-9, "{recovery}: {checks}");
        assert!(run.start_up(1).unwrap().is_none(), "a start-up takes time");
        let started = loop {
            if let Some(started) = run.start_up(1000).unwrap() {
                break started;
            }
        };
        assert!(started.time > Time::ZERO && started.mapped_units > 0, "{started:?}");
        let drive = run.drive_left().unwrap();
        let text = "[job]\nrw=randread\nbs=4k\nnumber_ios=2000\n".into();
        let (place, dir) = ("test".into(), PathBuf::from("."));
        let workload = Workload::FioText { text, place, dir, traces: Box::default() };
        let again = report(&mut Session::on(drive, &workload).unwrap());
        assert_eq!(again["checks"]["conservation"]["ok"], true, "{again}");
        assert_eq!(again["host"]["requests_failed"], 0, "{again}");
        assert_eq!(again["host"]["read_units_unwritten"], 0, "the drive was full");
    }
}

#[test]
fn without_recovery_the_power_is_not_cut() {
    let mut run = session(&[], "rw=randread\nnumber_ios=100");
    let error = run.cut_at(Time::from_us(1.0)).unwrap_err();
    assert_carries(error, &["recovery.name"]);
    let told = report(&mut run);
    assert_eq!(told["power"], Value::Null);
}

/// The end of a run may cut short a program that the drive makes for its recovery.
#[test]
fn a_run_shorter_than_a_program_keeps_its_checks() {
    for recovery in ["none", "scan_pages", "scan_blocks", "checkpoint", "journal"] {
        let name = format!("recovery.name={recovery}");
        let job = "rw=randwrite\niodepth=1\ntime_based\nruntime=300us";
        let checks = &report(&mut session(&[&name], job))["checks"];
        assert!(checks["busy_idle_error"].as_f64().unwrap() < 1e-9, "{recovery}: {checks}");
    }
}
