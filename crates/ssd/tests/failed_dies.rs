//! Dies that fail on drives that start up again after power cuts, and drives without writes that
//! rebuild them to the end.

use crate::drive;

use nand::geometry::{Block, Die};
use ssd::Step;
use ssd::conformance::power::Cuts;
use ssd::conformance::storm::Storm;
use ssd::request::{Op, Request};

/// Settings of a small drive with parity over its four dies, and room for the failure of one.
const SMALL: &[&str] = &[
    "parity.pages=1",
    "ftl.superblock_dies=0",
    "ftl.gc_reserve_blocks=2",
    "ftl.overprovisioning=6",
    "chip.geometry.blocks_per_plane=40",
    "chip.geometry.pages_per_block=16",
    "recovery.checkpoint_units=3000",
];

/// Shapes of drives: capacitors, programs, failing programs, two pages of parity, reclaim groups.
const SHAPES: &[&[&str]] = &[
    &["drive.capacitors=true"],
    &[],
    &["drive.capacitors=true", "parity.pages=2", "ftl.overprovisioning=12"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "drive.capacitors=true"],
    &["drive.capacitors=true", "ftl.host_streams=2", "ftl.isolation=persistent"],
    &["chip.fault.program_failure_chance=0.001", "chip.geometry.blocks_per_plane=48"],
    &["parity.rebuild_mb_s=40", "parity.read_around=busy", "gc.rotation=all"],
    &["drive.channels=4", "ftl.reclaim_groups=2", "drive.capacitors=true"],
];

/// Settings of a drive with a recovery and a shape. `checkpoint_units` belongs to two recoveries
/// alone.
fn sets_of(recovery: &str, shape: &[&str]) -> Vec<String> {
    let takes = |set: &&&str| {
        matches!(recovery, "checkpoint" | "journal") || !set.starts_with("recovery.checkpoint")
    };
    let small = SMALL.iter().filter(takes).chain(shape).map(|set| (*set).to_owned());
    let names = [format!("recovery.name={recovery}"), "chip.fault.paired_page_loss=0".into()];
    small.chain(names).collect()
}

/// Cuts the power of a drive again and again, while a die fails before a cut, or without power, and
/// another when the first is rebuilt. Of a drive with capacitors whose programs do not fail, and
/// whose dies fail with the power on, no unit is lost.
fn cut(sets: &[String], seed: u64, cuts: u64) {
    let mut storm = Cuts::new(&drive::config(sets), seed).unwrap();
    let dies = [1 + seed as u32 % 3, 0];
    let without_power = seed.is_multiple_of(2);
    storm.fail_dies(dies.map(Die), without_power);
    storm.run(cuts).unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
    storm.rebuild().unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
    let failed = storm.storm.ssd.failed_dies();
    assert!(!failed.is_empty(), "{sets:?}, seed {seed}: none has failed");
    let are_rebuilt = failed.iter().all(|failed| failed.rebuilt_at.is_some());
    assert!(are_rebuilt, "{sets:?}, seed {seed}: {failed:?}");
    // A die has a quarter of the units, and only those of rows that were open at a cut may be lost:
    // 3.7 % at most in 112 long runs.
    let (lost, units) = (storm.most_unprotected_units, storm.storm.units() as usize);
    assert!(20 * lost < units, "{sets:?}, seed {seed}: {lost} of {units} units");
    let has = |set: &str| sets.iter().any(|other| other.starts_with(set));
    if has("drive.capacitors=true") && !has("chip.fault.program") && !without_power {
        assert_eq!(storm.most_unprotected_units, 0, "{sets:?}, seed {seed}");
    }
}

/// Drives of all shapes with every recovery.
fn for_all(cuts: u64, seeds: u64) {
    for (i, recovery) in ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate() {
        for (j, shape) in SHAPES.iter().enumerate() {
            for seed in (0..seeds).map(|seed| 100 * seed + (i + j) as u64) {
                cut(&sets_of(recovery, shape), seed, cuts);
            }
        }
    }
}

/// Power cuts with dies that fail, for every recovery: flushed data are there, but those that stood
/// on the die in stripes whose parity the cut has taken from the memory.
#[test]
fn a_start_up_finds_the_data_of_failed_dies() {
    for_all(10, 1);
}

/// Many power cuts with dies that fail.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn start_ups_find_the_data_of_failed_dies_for_long() {
    for_all(60, 4);
}

/// Other page maps, those with their map on flash and with sorted data among them.
#[test]
fn a_start_up_finds_the_map_of_failed_dies() {
    for (i, ftl) in ["dftl", "learned", "sepbit"].iter().enumerate() {
        let own = match *ftl {
            "dftl" => "ftl.map_cache_bytes=2048",
            "sepbit" => "chip.geometry.blocks_per_plane=52",
            _ => "seed=7",
        };
        let name = format!("ftl.name={ftl}");
        for (j, recovery) in ["scan_pages", "journal"].iter().enumerate() {
            for capacitors in [true, false] {
                let capacitors = format!("drive.capacitors={capacitors}");
                let shape = [name.as_str(), own, "ftl.overprovisioning=8", &capacitors];
                cut(&sets_of(recovery, &shape), (2 * i + j) as u64, 12);
            }
        }
    }
}

/// Caches of single-level blocks: kept or folded early, with the map on flash, and of the static
/// part alone.
const CACHES: [&[&str]; 4] = [
    &["ftl.keep_share=1", "drive.capacitors=true"],
    &["ftl.when_full=fold", "ftl.keep_share=0.5"],
    &["ftl.map_cache_bytes=2048", "ftl.keep_share=1", "drive.capacitors=true"],
    &["parity.pages=2", "ftl.dynamic_bytes=0", "chip.geometry.blocks_per_plane=60"],
];

/// Drives with a cache, of all shapes with every recovery.
fn for_caches(cuts: u64, seeds: u64) {
    for (i, recovery) in ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate() {
        for (j, cache) in CACHES.iter().enumerate() {
            let shape = [&["ftl.name=slc_cache", "ftl.overprovisioning=8"], *cache].concat();
            for seed in (0..seeds).map(|seed| 100 * seed + (i + j) as u64) {
                cut(&sets_of(recovery, &shape), seed, cuts);
            }
        }
    }
}

/// Data in a cache of single-level blocks, and behind it, survive cuts and failed dies.
#[test]
fn a_start_up_finds_the_cache_of_failed_dies() {
    for_caches(10, 1);
}

/// Many power cuts of drives with a cache whose dies fail.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn start_ups_find_the_cache_of_failed_dies_for_long() {
    for_caches(60, 4);
}

/// Drives that write partial stripes early: FTLs, streams, programs, caches and collection.
const WRITTEN: [&[&str]; 10] = [
    &[],
    &["parity.pages=2", "ftl.overprovisioning=12"],
    &["ftl.name=sepbit", "ftl.overprovisioning=14", "drive.capacitors=true"],
    &["ftl.name=dftl", "ftl.map_cache_bytes=2048", "ftl.overprovisioning=10"],
    &["ftl.host_streams=2", "ftl.isolation=persistent", "ftl.overprovisioning=10"],
    &["parity.read_around=busy", "parity.rebuild_mb_s=40", "gc.rotation=all", "buffer.bytes=0"],
    &["ftl.separate_gc_stream=false"],
    &["ftl.name=slc_cache", "ftl.keep_share=1", "ftl.overprovisioning=12"],
    &["ftl.name=slc_cache", "ftl.when_full=fold", "ftl.overprovisioning=12"],
    &[
        "chip.page_order=one_shot",
        "chip.geometry.pages_per_block=36",
        "chip.geometry.blocks_per_plane=100",
    ],
];

/// Drives that write partial stripes early, of all shapes with every recovery.
fn for_written(cuts: u64, seeds: u64) {
    for (i, recovery) in ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate() {
        for (j, shape) in WRITTEN.iter().enumerate() {
            let early = ["parity.partial=written", "chip.geometry.blocks_per_plane=64"];
            let written = [&early[..], *shape].concat();
            for seed in (0..seeds).map(|seed| 100 * seed + (i + j) as u64) {
                cut(&sets_of(recovery, &written), seed, cuts);
            }
        }
    }
}

/// Flushed data are there after a cut without capacitors that a die fails with, whatever stripes
/// lacked rows, if partial stripes are written early.
#[test]
fn flushed_data_need_no_parity_in_memory_where_it_is_written_early() {
    for_written(12, 1);
}

/// Many power cuts of drives that write partial stripes early, with dies that fail.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn flushed_data_need_no_parity_in_memory_for_long() {
    for_written(60, 4);
}

/// A storm on a drive whose dies fail, one after the other as each is rebuilt, without power cuts.
fn fail_under_storm(sets: &[&str], seed: u64, requests: u64) {
    let sets = [&SMALL[..6], sets].concat();
    let mut storm = Storm::new(drive::small(&sets), seed);
    for (i, die) in [3, 1].into_iter().enumerate() {
        let i = i as u64;
        storm.run((2 * i + 1) * requests).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        storm.ssd.fail_die(Die(die)).unwrap();
        storm.run((2 * i + 2) * requests).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        let failed = storm.ssd.failed_dies();
        assert!(failed.iter().all(|failed| failed.rebuilt_at.is_some()), "{sets:?}: {failed:?}");
    }
    assert_eq!(storm.ssd.counts().parity.lost_reads, 0, "{sets:?}");
}

/// Drives that storms with failing dies run on: reads around busy dies with two pages of parity,
/// the journal of a map on flash, and two dies of one reclaim group.
const STORMS: [&[&str]; 6] = [
    &[
        "drive.channels=4",
        "ftl.reclaim_groups=2",
        "ftl.host_streams=2",
        "ftl.isolation=persistent",
        "ftl.overprovisioning=8",
    ],
    &["parity.pages=2", "parity.read_around=busy", "ftl.overprovisioning=12", "gc.rotation=erases"],
    &["recovery.name=journal", "parity.read_around=collection"],
    &["ftl.name=dftl", "ftl.map_cache_bytes=2048", "recovery.name=checkpoint"],
    &["ftl.name=slc_cache", "ftl.keep_share=1", "parity.read_around=collection"],
    &["ftl.name=slc_cache", "ftl.when_full=fold", "gc.rotation=all", "parity.rebuild_mb_s=40"],
];

/// Dies fail under a storm of reads that go around, and with a journal: nothing is lost.
#[test]
fn storms_with_failing_dies_lose_nothing() {
    STORMS.iter().for_each(|sets| fail_under_storm(sets, 5, 6_000));
}

/// Dies fail under long storms: nothing is lost.
#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn long_storms_with_failing_dies_lose_nothing() {
    for seed in 0..6 {
        STORMS.iter().for_each(|sets| fail_under_storm(sets, seed, 30_000));
    }
}

/// A die fails on a drive that nobody writes to: all that was on it goes to other dies, open
/// superblocks among them, and then another die may fail without a loss.
#[test]
fn an_idle_drive_rebuilds_a_failed_die_to_the_end() {
    for (ftl, cache) in [
        ("page", "seed=7"),
        ("dftl", "ftl.map_cache_bytes=2048"),
        ("slc_cache", "ftl.keep_share=1"),
    ] {
        let name = format!("ftl.name={ftl}");
        let sets = [&SMALL[..6], &["parity.pages=1", &name, cache]].concat();
        let mut ssd = drive::small(&sets);
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        let requests = |ssd: &mut ssd::Ssd, op: Op| {
            for unit in 0..units {
                while !ssd.has_room() {
                    ssd.step();
                }
                ssd.submit(Request::new(op, unit * 4096, 4096), 0, ssd.now());
            }
            while !matches!(ssd.step(), Step::Idle) {}
        };
        requests(&mut ssd, Op::Write);
        ssd.submit(Request::FLUSH, 0, ssd.now());
        while !matches!(ssd.step(), Step::Idle) {}
        for (i, die) in [Die(2), Die(0)].into_iter().enumerate() {
            ssd.fail_die(die).unwrap();
            while !matches!(ssd.step(), Step::Idle) {}
            let failed = ssd.failed_dies()[i];
            assert!(failed.rebuilt_at.is_some_and(|at| at > failed.failed_at), "{ftl}: {failed:?}");
            let geometry = ssd::build::chips(&drive::config(&sets)).unwrap().geometry.clone();
            for block in (0..geometry.blocks()).map(Block) {
                let valid = ssd.ftl_mut().valid_units(block);
                assert!(valid == 0 || geometry.die_of(block) != die, "{ftl}: {block:?}");
            }
        }
        requests(&mut ssd, Op::Read);
        assert_eq!(ssd.counts().parity.lost_reads, 0, "{ftl}");
        assert_eq!(ssd.counts().codes.uncorrectable, 0, "{ftl}");
        ssd.fault().unwrap();
    }
}
