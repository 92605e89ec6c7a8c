//! Preconditioning: `steady` ends when write amplification has settled, on small drives too.

use crate::drive;

use base::rng::Rng;
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
