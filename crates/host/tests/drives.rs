//! Tests of a drive as an object: a run on a clone equals the run that preconditioned itself, to
//! the bit; runs follow one another; and stored data grow old.

use base::error::assert_carries;
use base::rng::turn;
use host::config::Loaded;
use host::drive::Drive;
use host::report::Outside;
use host::session::{Session, Workload};
use serde_json::Value;
use ssd::precondition::Precondition;

const MIX: &str = "[mix]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=3000\nnorandommap=1\n";

fn workload(text: &str) -> Workload {
    Workload::FioText {
        text: text.into(),
        place: "test".into(),
        dir: ".".into(),
        traces: Box::default(),
    }
}

/// Preset `tiny` with a quarter of its blocks, and `sets` laid over it.
fn loaded(sets: &[&str]) -> Loaded {
    let small = ["chip.geometry.blocks_per_plane=64"];
    let sets: Vec<String> = small.iter().chain(sets).map(|&set| set.to_owned()).collect();
    host::config::load("tiny", &sets).unwrap()
}

fn drive(sets: &[&str]) -> Drive {
    Drive::new(loaded(sets), 1 << 32).unwrap()
}

fn preconditioned(sets: &[&str], goal: Precondition) -> Drive {
    let mut drive = drive(sets);
    drive.precondition(goal).unwrap();
    while !drive.advance_precondition().unwrap() {}
    drive
}

/// Runs to the end. Returns the report, and the drive that is left.
fn run(drive: Drive, text: &str) -> (Value, Drive) {
    let mut session = Session::on(drive, &workload(text)).unwrap();
    while !session.advance(1000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
    (report, session.drive_left().unwrap())
}

const FTLS: [&[&str]; 10] = [
    &[],
    &["ftl.superblock_dies=0"],
    &["chip.array={name='power_law'}", "ecc={model='threshold', t=2}"],
    &["ftl.name=dftl", "ftl.map_cache_bytes=4096", "ftl.overprovisioning=0.5"],
    &[
        "ftl.name=dftl",
        "ftl.map_cache_policy=segmented_lru",
        "ftl.map_cache_bytes=4096",
        "ftl.overprovisioning=0.5",
    ],
    &[
        "ftl.name=dftl",
        "ftl.map_cache_policy=tpftl",
        "ftl.map_cache_bytes=4096",
        "ftl.overprovisioning=0.5",
    ],
    &["ftl.name=learned", "ftl.gamma=16", "ftl.overprovisioning=0.5"],
    &["buffer.coalesces=false"],
    &["ftl.name=bast", "ftl.overprovisioning=0.5"],
    &["ftl.name=superblock", "ftl.overprovisioning=0.5"],
];

#[test]
fn a_run_on_a_clone_is_the_run_that_preconditioned_itself() {
    for (i, sets) in FTLS.into_iter().enumerate().step_by(turn::few_or_all(2, 1)) {
        // By default each FTL starts from one of these states.
        let goals = [Precondition::None, Precondition::Fill, Precondition::Steady];
        for goal in turn::few_or_all(vec![goals[i % 3]], goals.to_vec()) {
            let drive = preconditioned(sets, goal);
            let of_clone = run(drive.twin().unwrap(), MIX).0;
            let of_another = run(drive.twin().unwrap(), MIX).0;
            let of_itself = run(drive, MIX).0;
            let mut session = Session::new(loaded(sets), &workload(MIX), goal, 1 << 32).unwrap();
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
        drive.age(hours, true).unwrap();
        let report = run(drive.twin().unwrap(), read).0;
        errors.push(report["ecc"]["raw_bit_errors"].as_u64().unwrap());
    }
    assert!(errors[0] < errors[1] && errors[1] < errors[2], "{errors:?}");
    for hours in [-1.0, f64::NAN, 1e9] {
        assert_eq!(drive.age(hours, true).unwrap_err().place, "age.hours");
    }
    assert_eq!(drive.precondition(Precondition::Fill).unwrap_err().place, "precondition");
}

fn file(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("nandlab-{}-{name}.nldrive", std::process::id()))
}

fn saved(drive: &mut Drive, name: &str) -> Drive {
    let path = file(name);
    drive.save(&path).unwrap();
    let loaded = Drive::load(&path, 1 << 32).unwrap();
    std::fs::remove_file(path).unwrap();
    loaded
}

/// Each FTL, each policy that picks victims, and a drive that keeps its failures.
fn every_kind() -> Vec<Vec<&'static str>> {
    let mut kinds: Vec<Vec<&str>> = FTLS.iter().map(|sets| sets.to_vec()).collect();
    for member in ssd::gc::ROSTER {
        kinds.push(vec![Box::leak(format!("gc.name={}", member.name).into_boxed_str())]);
    }
    kinds.push(vec![
        "chip.fault.program_failure_chance=1e-4",
        "chip.array={name='power_law'}",
        "ecc={model='threshold', t=1}",
        "ftl.overprovisioning=0.3",
    ]);
    kinds
}

#[test]
fn a_run_on_a_saved_drive_is_the_run_on_the_drive() {
    let few = turn::few_or_all(3, 1);
    for (i, sets) in every_kind().into_iter().enumerate().step_by(few) {
        let mut drive = preconditioned(&sets, Precondition::Steady);
        let mut loaded = saved(&mut drive, &format!("kind-{i}"));
        // After preconditioning, in the middle of a life, and after years and cycles.
        for step in 0..turn::few_or_all(2, 3) {
            let (expected, after) = run(drive, MIX);
            let (report, after_loaded) = run(loaded, MIX);
            assert_eq!(report, expected, "{sets:?}, run {step}");
            (drive, loaded) = (after, after_loaded);
            for drive in [&mut drive, &mut loaded] {
                drive.age(1000.0, true).unwrap();
                let mut ageing = drive.age_by_writes(3).unwrap();
                while !drive.advance_ageing(&mut ageing).unwrap() {}
            }
            loaded = saved(&mut loaded, &format!("kind-{i}"));
        }
    }
}

#[test]
fn what_is_saved_is_little_more_than_the_tables() {
    let mut drive = preconditioned(&["chip.geometry.blocks_per_plane=512"], Precondition::Steady);
    let path = file("size");
    drive.save(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    std::fs::remove_file(&path).unwrap();
    let units = drive.capacity_bytes() / drive.ssd().unit_bytes();
    let tables = 4 * (units + drive.ssd().physical_units());
    assert!(size as f64 <= 1.1 * tables as f64, "{size} bytes for {tables} of tables");
}

/// A file that is cut anywhere, has a byte changed anywhere, or was written by another version is
/// refused with its name.
#[test]
fn a_file_that_is_not_whole_is_refused() {
    let mut drive = preconditioned(&[], Precondition::Fill);
    let path = file("damaged");
    drive.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = Drive::load(&path, 1 << 32).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        error
    };
    for cut in (0..bytes.len()).step_by(bytes.len() / 50).chain([bytes.len() - 1]) {
        let error = refused(&bytes[..cut]);
        assert!(error.contains("cut short") || error.contains("`nandlab save`"), "{error}");
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 50) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        let error = refused(&changed);
        let is_told = ["damaged", "cut short", "`nandlab save`"];
        assert!(is_told.iter().any(|word| error.contains(word)), "byte {at}: {error}");
    }
    refused(&[&bytes[..], b"more"].concat());
    assert_carries(refused(b"[drive]\n"), &["`nandlab save`"]);
    std::fs::remove_file(&path).unwrap();
    let missing = Drive::load(&path, 1 << 32).map(|_| ()).unwrap_err().to_string();
    assert!(missing.starts_with(&path.display().to_string()), "{missing}");
}

#[test]
fn a_drive_is_worn_by_writes_as_by_a_run() {
    let cycles = turn::few_or_all(4, 20);
    for sets in FTLS.into_iter().step_by(turn::few_or_all(2, 1)) {
        let mut drive = preconditioned(sets, Precondition::Steady);
        let before = drive.wear();
        let mut ageing = drive.age_by_writes(cycles).unwrap();
        while !drive.advance_ageing(&mut ageing).unwrap() {}
        let wear = drive.wear();
        let more = wear.mean - before.mean;
        assert!((0.0..2.0).contains(&(more - f64::from(cycles))), "{sets:?}: {more}");
        // The chips have the wear too, and the drive works on.
        let (report, _) = run(drive, MIX);
        let mean = report["nand"]["pe_cycles"]["mean"].as_f64().unwrap();
        assert!(mean >= wear.mean, "{sets:?}: {mean}");
    }
    let error = drive(&[]).age_by_writes(1).map(|_| ()).unwrap_err();
    assert_carries(error, &["age.cycles", "no data"]);
}

/// Blocks with failed erases or programs are retired until there are no spares.
#[test]
fn a_drive_worn_out_by_writes_takes_no_more() {
    for of_ftl in FTLS.into_iter().step_by(turn::few_or_all(5, 1)) {
        let mut sets = of_ftl.to_vec();
        sets.push("chip.fault={median_ratings=0.01, spread=0.2, program_failure_chance=1e-5}");
        let mut drive = preconditioned(&sets, Precondition::Fill);
        let mut ageing = drive.age_by_writes(100_000).unwrap();
        while !drive.advance_ageing(&mut ageing).unwrap() {}
        let (erases, wanted) = ageing.progress();
        assert!(drive.is_read_only() && erases < wanted, "{of_ftl:?}: {:?}", drive.wear());
        let (report, _) = run(drive, MIX);
        assert!(report["host"]["requests_failed"].as_u64().unwrap() > 0, "{of_ftl:?}: {report}");
    }
}

/// Runs on one drive go on with their random numbers: the second one writes to other addresses, so
/// that a drive in its steady state stays there.
#[test]
fn a_run_does_not_repeat_the_one_before() {
    let writes = "[w]\nrw=randwrite\nbs=4k\niodepth=16\nnorandommap=1\nnumber_ios=40000\n";
    let mut drive = preconditioned(&[], Precondition::Steady);
    let mut amplifications = Vec::new();
    for _ in 0..3 {
        let (report, left) = run(drive, writes);
        amplifications.push(report["ftl"]["write_amplification"].as_f64().unwrap());
        drive = left;
    }
    let (least, most) = (
        amplifications.iter().copied().fold(f64::MAX, f64::min),
        amplifications.iter().copied().fold(0.0, f64::max),
    );
    assert!(most / least < 1.1, "{amplifications:?}");
}
