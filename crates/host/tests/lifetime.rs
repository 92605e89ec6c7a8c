//! Tests of lives of drives: exact ones keep the laws of wear, and accelerated ones agree with
//! them.

use base::Result;
use base::error::assert_carries;
use base::rng::turn;
use host::config;
use host::drive::Drive;
use host::lifetime::Life;
use host::session::Workload;
use ssd::ageing::{Goal, Totals};
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A small drive whose blocks fail after about 170 cycles.
const SMALL: [&str; 4] = [
    "chip.geometry.blocks_per_plane=64",
    "chip.geometry.pages_per_block=32",
    "chip.fault={median_ratings=0.02, spread=0.1}",
    "ftl.unit_bytes=4096",
];

const TO_DEATH: Goal = Goal {
    cycles: f64::INFINITY,
    units: f64::INFINITY,
    most_cycles: None,
    hours_per_unit: 0.0,
    learning_cycles: 8.0,
    stretch_cycles: 0.25,
};

const UNIFORM: &str = "[w]\nrw=randwrite\nbs=4k\nnorandommap=1\n";

fn drive(sets: &[&str], precondition: Precondition) -> Drive {
    let sets: Vec<String> = SMALL.iter().chain(sets).map(|&set| set.to_owned()).collect();
    let mut drive = Drive::new(config::load("tiny", &sets).unwrap(), 1 << 32).unwrap();
    drive.precondition(precondition).unwrap();
    while !drive.advance_precondition().unwrap() {}
    drive
}

fn workload(job: &str) -> Workload {
    Workload::FioText {
        text: job.to_owned(),
        place: "test".into(),
        dir: PathBuf::from("."),
        traces: Box::default(),
    }
}

/// Figures of a drive at the end of its life.
struct End {
    totals: Totals,
    cycles: f64,
    failed: usize,
    drive: Drive,
}

fn live(
    mut drive: Drive,
    job: &str,
    shares: &[f64],
    goal: &Goal,
    acceleration: f64,
) -> Result<End> {
    let mut life = Life::new(&mut drive, &workload(job), shares, acceleration)?;
    while !life.advance(&mut drive, goal, 1 << 16)? {}
    let (totals, cycles, failed) = (life.totals(), life.cycles(), life.failed_blocks());
    Ok(End { totals, cycles, failed, drive })
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < tolerance, "{what}: {found} instead of {expected}");
}

/// Sound blocks reach their cycles: the host can write cycles x capacity / write amplification.
#[test]
fn sound_blocks_give_their_cycles_over_write_amplification() {
    for sets in [&[][..], &["ftl.name=dftl"], &["ftl.name=learned"]] {
        for acceleration in [1.0, 10.0] {
            let sound = [&["chip.fault.median_ratings=150"], sets].concat();
            let goal = Goal { cycles: 40.0, ..TO_DEATH };
            let made = drive(&sound, Precondition::Fill);
            let mut end = live(made, UNIFORM, &[1.0], &goal, acceleration).unwrap();
            let physical = end.drive.ssd().physical_units() as f64;
            let amplification = end.totals.programmed_units / end.totals.host_units;
            // Accurate to one batch of writes.
            assert!((40.0..41.0).contains(&end.cycles), "{}", end.cycles);
            let expected = end.cycles * physical / amplification;
            close("units of the host", end.totals.host_units, expected, 0.02);
            let is_exact = end.totals.exact_units == end.totals.host_units;
            assert_eq!((end.failed, is_exact), (0, acceleration == 1.0), "{sets:?}");
            // The chips, the FTL and the account agree.
            let chips = end.drive.block_cycles().unwrap();
            let sum = chips.iter().map(|&cycles| f64::from(cycles)).sum::<f64>();
            let mean = sum / chips.len() as f64;
            assert!((mean - end.cycles).abs() < 1e-9, "{mean} and {}", end.cycles);
            let wear = end.drive.wear();
            assert!((wear.mean - mean).abs() < 1e-9, "{wear:?} and {mean}");
            assert_eq!(Some(&wear.max), chips.iter().max());
        }
    }
}

/// An accelerated life has the lifetime, write amplification and wear of the exact one.
#[test]
fn an_accelerated_life_is_like_the_exact_one() {
    let skewed = format!("{UNIFORM}random_distribution=zipf:1.1\n");
    let trims = "[w]\nrw=randtrimwrite\nbs=4k\nnorandommap=1\n";
    for (job, sets) in [
        (UNIFORM, &[][..]),
        (&skewed, &[]),
        (trims, &[]),
        (UNIFORM, &["ftl.name=dftl"]),
        (&format!("{UNIFORM}size=40%\n"), &["ftl.static_wear_delta=0"]),
    ] {
        let exact = live(drive(sets, Precondition::Fill), job, &[1.0], &TO_DEATH, 1.0).unwrap();
        assert!(exact.drive.is_read_only(), "{job}");
        for &acceleration in turn::few_or_all(&[50.0][..], &[10.0, 50.0]) {
            let made = drive(sets, Precondition::Fill);
            let end = live(made, job, &[1.0], &TO_DEATH, acceleration).unwrap();
            assert!(end.drive.is_read_only(), "{job}");
            assert!(end.totals.exact_units < 0.35 * end.totals.host_units, "{:?}", end.totals);
            close("lifetime", end.totals.host_units, exact.totals.host_units, 0.03);
            let amplification = |end: &End| end.totals.programmed_units / end.totals.host_units;
            close("write amplification", amplification(&end), amplification(&exact), 0.03);
            close("mean wear", end.drive.wear().mean, exact.drive.wear().mean, 0.03);
            let most = (end.drive.wear().max, exact.drive.wear().max);
            close("most wear", most.0.into(), most.1.into(), 0.06);
        }
    }
}

/// No block passes its limit of cycles, and the life ends when the first one reaches it.
#[test]
fn a_life_ends_with_the_cycles_of_the_most_worn_block() {
    for acceleration in [1.0, 20.0] {
        let goal = Goal { most_cycles: Some(100), ..TO_DEATH };
        let mut made = drive(&[], Precondition::Fill);
        let mut life = Life::new(&mut made, &workload(UNIFORM), &[1.0], acceleration).unwrap();
        while !life.advance(&mut made, &goal, 1 << 16).unwrap() {}
        assert!(life.is_worn() && !made.is_read_only());
        let wear = made.wear();
        assert_eq!(wear.max, 100, "{wear:?}");
        close("mean wear", wear.mean, 96.0, 0.05);
    }
}

/// The writes are those of the workload: untouched data stay, and time makes them older.
#[test]
fn calendar_time_passes_by_what_is_written() {
    let goal = Goal { units: 500_000.0, hours_per_unit: 0.01, ..TO_DEATH };
    for acceleration in [1.0, 10.0] {
        let mut made = drive(&[], Precondition::Fill);
        let mut life = Life::new(&mut made, &workload(UNIFORM), &[1.0], acceleration).unwrap();
        while !life.advance(&mut made, &goal, 1 << 16).unwrap() {}
        let totals = life.totals();
        close("hours", totals.hours, 5000.0, 0.02);
        close("hours by units", totals.hours, totals.host_units * 0.01, 1e-9);
        close("bytes of a unit", life.bytes_per_unit(), 4096.0, 1e-9);
    }
}

/// Jobs write by their shares, and a job before a stonewall comes once.
#[test]
fn jobs_take_turns_by_their_shares() {
    let jobs = "[once]\nrw=write\nbs=64k\nsize=10m\n\
        [small]\nstonewall\nrw=randwrite\nbs=4k\nsize=20m\nnorandommap=1\n\
        [large]\nrw=randwrite\nbs=64k\noffset=50m\nsize=20m\nnorandommap=1\n\
        [reads]\nrw=randread\n";
    let goal = Goal { units: 100_000.0, ..TO_DEATH };
    let shares = [1.0, 3.0, 1.0, 0.0];
    let end = live(drive(&[], Precondition::Fill), jobs, &shares, &goal, 1.0).unwrap();
    close("units", end.totals.host_units, 100_000.0, 0.05);

    let refused = |jobs: &str, shares: &[f64]| {
        let made = drive(&[], Precondition::Fill);
        live(made, jobs, shares, &goal, 1.0).map(|_| ()).unwrap_err().to_string()
    };
    assert_carries(refused(UNIFORM, &[1.0, 1.0]), &["life", "2 shares", "1"]);
    assert_carries(refused("[r]\nrw=randread\n", &[1.0]), &["`r`", "stopped writing"]);
    let endless = "[a]\nrw=write\ntime_based=1\nruntime=1\n[b]\nstonewall\nrw=write\n";
    assert_carries(refused(endless, &[1.0, 1.0]), &["`a`", "stonewall"]);
}

#[test]
fn what_cannot_be_lived_is_refused() {
    let refused = |made: Drive, acceleration: f64| {
        let end = live(made, UNIFORM, &[1.0], &TO_DEATH, acceleration);
        end.map(|_| ()).unwrap_err().to_string()
    };
    let error = refused(drive(&[], Precondition::Fill), 0.5);
    assert_carries(error, &["accelerate", "0.5", "1 (exact)"]);
    let error = refused(drive(&[], Precondition::None), 1.0);
    assert_carries(error, &["no data"]);
}

/// Half of the writes go round a ring, half are random.
const RING: &str = "[ring]\nrw=write\nbs=128k\nsize=50%\n\
    [rand]\nrw=randwrite\nbs=4k\nnorandommap=1\noffset=50%\nsize=50%\n";

/// Where some data live longer than others, some blocks are erased twice as often as others, all
/// their life long. An accelerated life keeps that: over some drives it agrees with the exact one,
/// up to the luck of their blocks.
#[test]
fn blocks_that_wear_unlike_do_so_in_an_accelerated_life() {
    let zipf = format!("{UNIFORM}random_distribution=zipf:1.1\n");
    let two = "[hot]\nrw=randwrite\nbs=4k\nnorandommap=1\nsize=20%\n\
               [cold]\nrw=randwrite\nbs=4k\nnorandommap=1\noffset=20%\nsize=80%\n";
    let sequential = "[w]\nrw=write\nbs=128k\n";
    let ring = (RING, &[0.5, 0.5][..]);
    let all = [ring, (UNIFORM, &[1.0]), (&zipf, &[1.0]), (two, &[0.8, 0.2]), (sequential, &[1.0])];
    let (jobs, seeds) = turn::few_or_all((&all[..1], 3), (&all[..], 6));
    for &(job, shares) in jobs {
        let mean = |acceleration: f64| {
            let units = (1..=seeds).map(|seed| {
                let seed_set = format!("seed={seed}");
                let sets = [
                    "drive.channels=1",
                    "drive.dies_per_channel=2",
                    "ftl.overprovisioning=0.2",
                    "chip.rated_pe_cycles=1000",
                    "chip.fault={median_ratings=1.0, spread=0.1}",
                    &seed_set,
                ];
                let made = drive(&sets, Precondition::Steady);
                let end = live(made, job, shares, &TO_DEATH, acceleration).unwrap();
                assert!(end.drive.is_read_only(), "{job}");
                end.totals.host_units
            });
            units.sum::<f64>() / f64::from(seeds)
        };
        let exact = mean(1.0);
        for &acceleration in turn::few_or_all(&[20.0][..], &[5.0, 20.0, 100.0]) {
            close(&format!("{job} {acceleration}"), mean(acceleration), exact, 0.06);
        }
    }
}
