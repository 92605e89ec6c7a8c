//! Power cuts at random times, for every FTL and every recovery: flushed data are there.

use crate::drive;

use base::error::assert_carries;
use base::rng::turn;
use ssd::conformance::power::Cuts;
use ssd::ftl::{Build, Ftl};
use ssd::recovery;

/// A drive that is small enough to be looked at as a whole after each cut.
const SMALL: &[&str] = &[
    "chip.geometry.blocks_per_plane=20",
    "chip.geometry.pages_per_block=16",
    "ftl.overprovisioning=2.5",
];

/// Shapes of drives: programs, buffers, failures, collection.
const SHAPES: &[&[&str]] = &[
    &[],
    &["buffer.bytes=0", "chip.features.multi_plane_program=false"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=32", "scheduler.name=in_order"],
    &["chip.fault.program_failure_chance=0.001", "ftl.gc_reserve_blocks=2"],
    &["gc.background_free_blocks=4", "chip.geometry.bad_block_fraction=0.05"],
    &["chip.timing.suspends_max=3", "gc.name=fifo", "ftl.merges_ahead=true"],
    &["drive.capacitors=true"],
    &[
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=threshold",
        "ecc.t=1000",
        "refresh.rber=0.0005",
        "refresh.patrol_hours=0.0001",
    ],
];

fn run(sets: &[String], seed: u64, count: u64) -> base::Result<Cuts> {
    let mut cuts = Cuts::new(&drive::config(sets), seed)?;
    cuts.run(count)?;
    Ok(cuts)
}

/// FTLs with every recovery, on drives of these shapes: with each FTL the shapes that `is_tried`
/// takes by the numbers of the FTL and of the shape.
fn for_all(shapes: &[&[&str]], count: u64, seed: u64, is_tried: fn(usize, usize) -> bool) {
    for (i, ftl) in drive::members_that(rebuilds_from_any_cut).enumerate() {
        for member in recovery::ROSTER.iter().filter(|member| member.name != "none") {
            for (_, shape) in shapes.iter().enumerate().filter(|&(j, _)| is_tried(i, j)) {
                let sets = sets_of(ftl, member.name, shape);
                let cuts = run(&sets, seed, count)
                    .unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
                assert!(cuts.second_cuts * 30 > cuts.cuts, "{sets:?}: {}", cuts.second_cuts);
                let has_capacitors = shape.contains(&"drive.capacitors=true");
                let has_buffer = !shape.contains(&"buffer.bytes=0");
                assert!(!has_capacitors || cuts.lost_units == 0, "{sets:?}");
                assert!(has_capacitors || !has_buffer || cuts.lost_units > 0, "{sets:?}");
            }
        }
    }
}

/// Whether a cut may tear programs of an FTL: those of zones end on the power that is left, and
/// have tests of their own.
fn rebuilds_from_any_cut(ftl: &dyn Ftl) -> bool {
    ftl.recovery().is_some() && ftl.zones().is_none()
}

fn sets_of(ftl: &base::family::Member<Build>, recovery: &str, shape: &[&str]) -> Vec<String> {
    let names = [format!("recovery.name={recovery}"), "chip.fault.paired_page_loss=0".into()];
    let small: Vec<&str> = SMALL.iter().chain(shape).copied().collect();
    let mut sets = drive::of_ftl(ftl, &small);
    sets.extend(names);
    if recovery == "checkpoint" {
        sets.push("recovery.checkpoint_units=3000".into());
    }
    sets
}

/// Power cuts at any time, and during the start-up.
#[test]
fn what_was_flushed_is_there_after_a_cut() {
    for_all(&SHAPES[..1], turn::few_or_all(50, 300), 1, |_, _| true);
}

/// A buffer that is a log: stale data take room in the rows of others.
#[test]
fn what_was_flushed_is_there_on_a_drive_that_does_not_coalesce() {
    let page = &ssd::ftl::ROSTER[0];
    for member in recovery::ROSTER.iter().filter(|member| member.name != "none") {
        let sets = sets_of(page, member.name, &["buffer.coalesces=false"]);
        run(&sets, 4, 100).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    }
}

/// Other drives, with fewer cuts of each; by default each FTL on every fourth of them.
#[test]
fn what_was_flushed_is_there_on_other_drives() {
    for_all(&SHAPES[1..], turn::few_or_all(25, 60), 2, |i, j| turn::is_tried(i + j, 4));
}

/// Cells of two pages, of which the second program takes the first page with it.
#[test]
fn lower_pages_are_there_after_a_cut() {
    for ftl in drive::members_that(rebuilds_from_any_cut) {
        let mut restored_units = 0;
        for member in recovery::ROSTER.iter().filter(|member| member.name != "none") {
            let shape = ["chip.geometry.blocks_per_plane=24"];
            let mut sets = sets_of(ftl, member.name, &shape);
            sets.retain(|set| !set.starts_with("chip.fault.paired"));
            let cuts = run(&sets, 3, turn::few_or_all(40, 80))
                .unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            restored_units += cuts.restored_units;
            // The test sees the loss where there are no copies, and most programs are of the host.
            if ftl.name != ssd::ftl::ROSTER[0].name {
                continue;
            }
            sets.push("recovery.backup=false".into());
            let Err(error) = run(&sets, 3, 80) else { panic!("{sets:?}: nothing lost") };
            assert_carries(error, &["version", "cut"]);
        }
        assert!(restored_units > 0, "{}", ftl.name);
    }
}

/// Cuts that interrupt one table of the log after the other, while erases wait for many trims: the
/// log does not fill up.
#[test]
fn the_log_has_room_when_cuts_interrupt_its_tables() {
    let sepbit = ssd::ftl::ROSTER.iter().find(|ftl| ftl.name == "sepbit").unwrap();
    for recovery in ["scan_pages", "checkpoint"] {
        let sets = sets_of(sepbit, recovery, SHAPES[3]);
        let cuts = run(&sets, 1_000_100, 100).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        assert!(cuts.second_cuts > 0, "{sets:?}: {}", cuts.second_cuts);
    }
}

/// 1,000 power cuts on drives of the first shape, 100 on the others, for every FTL and recovery.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn what_was_flushed_is_there_after_many_cuts() {
    for seed in turn::seeds(100, 1) {
        for_all(&SHAPES[..1], 1000, seed, |_, _| true);
        for_all(&SHAPES[1..], 100, 1_000_000 + seed, |_, _| true);
    }
}
