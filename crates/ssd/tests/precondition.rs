//! Preconditioning: `steady` ends when write amplification has settled, on small drives too.

use crate::drive;

use base::rng::{Rng, turn};
use nand::geometry::Die;
use ssd::ftl::{Job, Lpn, Untimed, Urgency};
use ssd::precondition::{Precondition, Preconditioning};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Overwrites until `steady` ended, whether it settled, and its write amplification.
fn steady(sets: &[&str]) -> (f64, Option<bool>, f64) {
    let mut ssd = drive::small(sets);
    assert_eq!(Preconditioning::new(Precondition::Steady, ssd.dies(), 1).settled(), None);
    let preconditioning = drive::prepare(&mut ssd, Precondition::Steady);
    let units = f64::from(ssd.ftl_mut().facts().logical_units);
    let (written, _) = preconditioning.progress(ssd.ftl_mut());
    let amplification = preconditioning.write_amplification().unwrap();
    (written as f64 / units - 1.0, preconditioning.settled(), amplification)
}

/// Write amplification in the long run.
fn settled(sets: &[&str]) -> f64 {
    let mut ssd = drive::small(sets);
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.facts().logical_units);
    let (mut rng, mut untimed) = (Rng::stream(7, "long"), Untimed::new(dies));
    let mut overwrite = |times: u64| {
        ftl.overwrite_untimed(times * units, &mut || Lpn(rng.below(units) as u32), &mut untimed)
            .unwrap();
        ftl.counts()
    };
    let (from, to) = (overwrite(15), overwrite(60));
    let programmed = to.programmed_units() - from.programmed_units();
    programmed as f64 / (to.host_units - from.host_units) as f64
}

/// A drive that has had time has no collection left to do, and is as settled as before.
#[test]
fn a_rested_drive_owes_nothing() {
    for sets in [&[][..], &["gc.background_free_blocks=8"], &["ftl.separate_gc_stream=false"]] {
        let (mut steady, mut rested) = (drive::small(sets), drive::small(sets));
        let before = drive::prepare(&mut steady, Precondition::Steady);
        let after = drive::prepare(&mut rested, Precondition::Rested);
        assert_eq!(before.write_amplification(), after.write_amplification());
        assert_eq!((before.settled(), after.settled()), (Some(true), Some(true)));
        let owes = |ssd: &mut Ssd| {
            let wants = |die| ssd.ftl_mut().wants(Job::of(Die(die)), Urgency::Idle);
            (0..4).map(wants).filter(|&wants| wants).count()
        };
        assert_eq!((owes(&mut steady), owes(&mut rested)), (4, 0), "{sets:?}");
        // So a write moves nothing, where a drive that comes from many goes on collecting.
        let moved = |mut ssd: Ssd| {
            ssd.start(0);
            ssd.submit(Request { fua: true, ..Request::new(Op::Write, 0, 4096) }, 0, ssd.now());
            while !matches!(ssd.step(), Step::Idle) {}
            ssd.ftl_counts().moved_units
        };
        assert_eq!(moved(rested), 0, "{sets:?}");
        assert!(moved(steady) > 0, "{sets:?}");
    }
}

#[test]
fn small_drives_settle() {
    let shapes: [&[&str]; 9] = [
        &[],
        &["gc.name=random"],
        &["gc.name=fifo"],
        &["gc.name=d_choices"],
        &["gc.name=cost_benefit"],
        &["drive.channels=1", "drive.dies_per_channel=1"],
        &["drive.channels=1", "drive.dies_per_channel=1", "gc.name=random"],
        &["chip.geometry.blocks_per_plane=200", "ftl.overprovisioning=0.12"],
        &["chip.geometry.blocks_per_plane=60", "ftl.overprovisioning=2.5"],
    ];
    for shape in shapes {
        let (overwrites, settled, ours) = steady(shape);
        let long = self::settled(shape);
        let what =
            format!("{shape:?}: {ours} after {overwrites} overwrites, {long} in the long run");
        assert_eq!(settled, Some(true), "{what}");
        assert!((2.0..6.0).contains(&overwrites), "{what}");
        assert!((ours / long - 1.0).abs() < 0.06, "{what}");
    }
}

/// A drive that was never collected cannot be called settled.
#[test]
fn nothing_settles_before_it_is_collected() {
    let (overwrites, settled, amplification) =
        steady(&["ftl.overprovisioning=20", "chip.geometry.blocks_per_plane=100"]);
    assert!(overwrites >= 12.0 && settled == Some(false), "{overwrites} {settled:?}");
    assert!(amplification < 1.01, "{amplification}");
}

/// Drive of 1,000 blocks a plane in its steady state, from a fill or at once, and the drive writes
/// that this took, with those of collection.
fn steady_by(sets: &[&str], is_at_once: bool, seed: u64) -> (Ssd, f64) {
    let sets = [&["chip.geometry.blocks_per_plane=1000"], sets].concat();
    let mut ssd = drive::small(&sets);
    let mut preconditioning = Preconditioning::new(Precondition::Steady, ssd.dies(), seed);
    if is_at_once {
        preconditioning = preconditioning.at_once();
    }
    while !preconditioning.is_done() {
        preconditioning.advance(ssd.ftl_mut()).unwrap();
    }
    assert_eq!(preconditioning.settled(), Some(true), "{sets:?}");
    let ftl = ssd.ftl_mut();
    let work = ftl.counts().programmed_units() as f64 / f64::from(ftl.facts().logical_units);
    (ssd, work)
}

const SPARES: [&str; 3] = ["0.07", "0.12", "0.2"];

/// Write amplification of the next drive writes as from a fill, in a third of the work; with
/// `random`, whose victims scatter most, in half of it.
#[test]
fn a_start_at_the_stationary_state_is_forgotten() {
    let few: &[&str] = &["greedy", "d_choices"];
    for &gc in turn::few_or_all(few, &["greedy", "d_choices", "random", "fifo"]) {
        for spare in SPARES {
            let sets = [format!("gc.name={gc}"), format!("ftl.overprovisioning={spare}")];
            let sets = [&*sets[0], &*sets[1]];
            let after = |is_at_once: bool| {
                let (mut ssd, work) = steady_by(&sets, is_at_once, 1);
                let dies = ssd.dies();
                let ftl = ssd.ftl_mut();
                let units = u64::from(ftl.facts().logical_units);
                let before = ftl.counts();
                let (mut rng, mut untimed) = (Rng::stream(2, "after"), Untimed::new(dies));
                let mut draw = || Lpn(rng.below(units) as u32);
                ftl.overwrite_untimed(2 * units, &mut draw, &mut untimed).unwrap();
                let after = ftl.counts();
                let host = after.host_units - before.host_units;
                let programmed = after.programmed_units() - before.programmed_units();
                (programmed as f64 / host as f64, work)
            };
            let ((long, long_work), (ours, work)) = (after(false), after(true));
            let what = format!("{sets:?}: {ours} for {long}, in {work} for {long_work}");
            assert!((ours / long - 1.0).abs() < 0.005, "{what}");
            let most = if gc == "random" { 0.5 } else { 1.0 / 3.0 };
            assert!(work < most * long_work, "{what}");
        }
    }
}

/// Percentiles in microseconds of the latencies of a mix of reads and writes at depth 8: the
/// median, 90 % and 99 %.
fn percentiles(ssd: &mut Ssd, seed: u64) -> [f64; 3] {
    const REQUESTS: usize = 40_000;
    let units = u64::from(ssd.ftl_mut().facts().logical_units);
    let mut rng = Rng::stream(seed, "mix");
    let mut request = || {
        let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
        Request::new(op, rng.below(units) * 4096, 4096)
    };
    ssd.start(0);
    for _ in 0..8 {
        ssd.submit(request(), 0, ssd.now());
    }
    let mut latencies = Vec::with_capacity(REQUESTS);
    while latencies.len() < REQUESTS {
        if let Step::Completed(slot) = ssd.step() {
            let now = ssd.now();
            latencies.push(now.since(ssd.completed(slot).arrival).us());
            ssd.submit(request(), 0, now);
        }
    }
    latencies.sort_by(f64::total_cmp);
    [0.5, 0.9, 0.99].map(|share| latencies[(share * REQUESTS as f64) as usize])
}

/// Means over seeds differ by no more than the seeds make them.
#[test]
fn percentiles_after_a_start_at_the_stationary_state_are_those_after_a_fill() {
    const SEEDS: u64 = 5;
    for (gc, spare) in [("greedy", "0.12"), ("d_choices", "0.2")] {
        let sets = [format!("gc.name={gc}"), format!("ftl.overprovisioning={spare}")];
        let sets = [&*sets[0], &*sets[1]];
        let of = |is_at_once: bool| -> Vec<[f64; 3]> {
            (0..SEEDS)
                .map(|seed| percentiles(&mut steady_by(&sets, is_at_once, seed).0, seed))
                .collect()
        };
        let (long, ours) = (of(false), of(true));
        for at in 0..3 {
            let moments = |runs: &[[f64; 3]]| {
                let mean = runs.iter().map(|run| run[at]).sum::<f64>() / SEEDS as f64;
                let squares = runs.iter().map(|run| (run[at] - mean).powi(2)).sum::<f64>();
                (mean, squares / (SEEDS - 1) as f64 / SEEDS as f64)
            };
            let ((mean, error), (our_mean, our_error)) = (moments(&long), moments(&ours));
            // Student's t of 99.9 % for 8 degrees of freedom, and the resolution of a percentile.
            let bound = 5.04 * (error + our_error).sqrt() + 0.002 * mean;
            let what = format!("{sets:?}, percentile {at}: {our_mean} for {mean}, {bound}");
            assert!((our_mean - mean).abs() < bound, "{what}");
            // The bound itself is tight enough to tell a drive that is not settled.
            assert!(bound < 0.15 * mean, "{what}");
        }
    }
}
