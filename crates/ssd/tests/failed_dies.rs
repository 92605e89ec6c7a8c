//! Dies that fail on drives that start up again after power cuts, and drives without writes that
//! rebuild them to the end.

use crate::drive;

use nand::geometry::{Block, Die};
use ssd::Step;
use ssd::conformance::power::Cuts;
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

/// Shapes of drives: capacitors, programs, failing programs, two pages of parity.
const SHAPES: &[&[&str]] = &[
    &["drive.capacitors=true"],
    &[],
    &["drive.capacitors=true", "parity.pages=2", "ftl.overprovisioning=12"],
    &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "drive.capacitors=true"],
    &["drive.capacitors=true", "ftl.host_streams=2", "ftl.isolation=persistent"],
    &["chip.fault.program_failure_chance=0.001", "chip.geometry.blocks_per_plane=48"],
    &["parity.rebuild_mb_s=4", "parity.read_around=busy", "gc.rotation=all"],
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

/// Cuts the power of a drive again and again, while a die fails before, at or after a cut, and
/// another when that is rebuilt. With capacitors, and programs that do not fail, no unit is lost.
fn cut(sets: &[String], seed: u64, cuts: u64) {
    let mut storm = Cuts::new(&drive::config(sets), seed).unwrap();
    let dies = [1 + seed as u32 % 3, 0];
    storm.fail_dies(dies.map(Die));
    storm.run(cuts).unwrap_or_else(|error| panic!("{sets:?}, seed {seed}: {error}"));
    let failed = storm.storm.ssd.failed_dies();
    let first = failed.first().unwrap_or_else(|| panic!("{sets:?}, seed {seed}: none has failed"));
    assert!(first.rebuilt_at.is_some(), "{sets:?}, seed {seed}: {failed:?}");
    println!("{sets:?} {seed}: {failed:?} {}", storm.unprotected_units);
}

/// Power cuts with dies that fail, for every recovery: flushed data are there, but those that stood
/// on the die in stripes without parity, on drives without capacitors.
#[test]
fn a_start_up_finds_the_data_of_failed_dies() {
    for (i, recovery) in ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate() {
        for (j, shape) in SHAPES.iter().enumerate() {
            let seed = (3 * i + j) as u64;
            cut(&sets_of(recovery, shape), seed, 12);
        }
    }
}

/// Other page maps, those with their map on flash among them.
#[test]
fn a_start_up_finds_the_map_of_failed_dies() {
    for (i, ftl) in ["dftl", "learned", "sepbit"].iter().enumerate() {
        let cache = if *ftl == "dftl" { "ftl.map_cache_bytes=2048" } else { "seed=7" };
        let name = format!("ftl.name={ftl}");
        for (j, recovery) in ["scan_pages", "journal"].iter().enumerate() {
            for capacitors in [true, false] {
                let capacitors = format!("drive.capacitors={capacitors}");
                let shape = [name.as_str(), cache, "ftl.overprovisioning=8", &capacitors];
                cut(&sets_of(recovery, &shape), (2 * i + j) as u64, 12);
            }
        }
    }
}

/// A die fails on a drive that nobody writes to: all that was on it goes to other dies, open
/// superblocks among them, and then another die may fail without a loss.
#[test]
fn an_idle_drive_rebuilds_a_failed_die_to_the_end() {
    for ftl in ["page", "dftl"] {
        let name = format!("ftl.name={ftl}");
        let cache = if ftl == "dftl" { "ftl.map_cache_bytes=2048" } else { "seed=7" };
        let sets = [&SMALL[..6], &["parity.pages=1", &name, cache]].concat();
        let mut ssd = drive::small(&sets);
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        let mut requests = |ssd: &mut ssd::Ssd, op: Op| {
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
