//! A drive as an object: a run on a clone is the run that preconditioned itself, to the bit; runs
//! follow one another; and what is stored grows old.

mod running;

use host::drive::Drive;
use host::report::Outside;
use host::session::{Session, Workload};
use serde_json::Value;
use ssd::precondition::Precondition;

const MIX: &str = "[mix]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=3000\nnorandommap=1\n";

fn workload(text: &str) -> Workload {
    Workload::FioText { text: text.into(), place: "test".into(), dir: ".".into() }
}

fn drive(sets: &[&str]) -> Drive {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    Drive::new(host::config::load("tiny", &sets).unwrap(), 1 << 32).unwrap()
}

fn preconditioned(sets: &[&str], goal: Precondition) -> Drive {
    let mut drive = drive(sets);
    drive.precondition(goal).unwrap();
    while !drive.advance_precondition().unwrap() {}
    drive
}

/// Runs to the end: the report, and the drive that is left.
fn run(drive: Drive, text: &str) -> (Value, Drive) {
    let mut session = Session::on(drive, &workload(text)).unwrap();
    while !session.advance(1000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
    (report, session.drive_left().unwrap())
}

const FTLS: [&[&str]; 4] = [
    &[],
    &["chip.array={name='power_law'}", "ecc={model='threshold', t=2}"],
    &["ftl.name=dftl", "ftl.map_cache_bytes=4096", "ftl.overprovisioning=0.5"],
    &["ftl.name=bast", "ftl.overprovisioning=0.5"],
];

#[test]
fn a_run_on_a_clone_is_the_run_that_preconditioned_itself() {
    for sets in FTLS {
        for goal in [Precondition::None, Precondition::Fill, Precondition::Steady] {
            let drive = preconditioned(sets, goal);
            let of_clone = run(drive.twin().unwrap(), MIX).0;
            let of_another = run(drive.twin().unwrap(), MIX).0;
            let of_itself = run(drive, MIX).0;
            let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
            let loaded = host::config::load("tiny", &sets).unwrap();
            let mut session = Session::new(loaded, &workload(MIX), goal, 1 << 32).unwrap();
            while !session.advance(1000).unwrap() {}
            let of_session = session.report(Outside::default()).unwrap();
            assert_eq!(of_clone, of_session, "{sets:?}, {goal:?}");
            assert_eq!(of_another, of_session, "{sets:?}, {goal:?}");
            assert_eq!(of_itself, of_session, "{sets:?}, {goal:?}");
        }
    }
}

#[test]
fn runs_follow_one_another_on_one_drive() {
    for sets in FTLS {
        let drive = preconditioned(sets, Precondition::Steady);
        let (first, drive) = run(drive, MIX);
        let clone = drive.twin().unwrap();
        let (second, drive) = run(drive, MIX);
        assert_eq!(run(clone, MIX).0, second, "{sets:?}");
        let erased = |report: &Value| report["nand"]["pe_cycles"]["mean"].as_f64().unwrap();
        assert!(erased(&second) > erased(&first), "{sets:?}: wear goes on");
        let (third, _) = run(drive, "[read]\nrw=randread\nbs=4k\nnumber_ios=500\n");
        assert_eq!(third["ftl"]["host_units"], 0, "{sets:?}: counts begin anew");
    }
}

#[test]
fn what_is_stored_grows_old() {
    let sets = [
        "chip.array={name='power_law', beta=1e-3}",
        "age.pe_cycles=1000",
        "ecc={model='threshold', t=100}",
    ];
    let read = "[read]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=20000\n";
    let mut drive = preconditioned(&sets, Precondition::Fill);
    let mut errors = Vec::new();
    for hours in [0.0, 1000.0, 8000.0] {
        drive.age(hours).unwrap();
        let report = run(drive.twin().unwrap(), read).0;
        errors.push(report["ecc"]["raw_bit_errors"].as_u64().unwrap());
    }
    assert!(errors[0] < errors[1] && errors[1] < errors[2], "{errors:?}");
    for hours in [-1.0, f64::NAN, 1e9] {
        assert_eq!(drive.age(hours).unwrap_err().place, "age.hours");
    }
    assert_eq!(drive.precondition(Precondition::Fill).unwrap_err().place, "precondition");
}
