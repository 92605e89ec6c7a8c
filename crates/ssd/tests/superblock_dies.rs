//! Superblocks across dies (`ftl.superblock_dies`): storms on whole drives, blocks of all dies that
//! are opened and erased together, and combinations that are refused.

use crate::drive;

use base::error::assert_carries;
use nand::geometry::{Block, Geometry};
use ssd::Ssd;
use ssd::conformance::storm::Storm;
use ssd::ftl::{Lpn, Untimed};

/// Reads return the data written last, with every policy and in every way the drive can work.
#[test]
fn reads_return_the_newest_version() {
    let mut modes: Vec<Vec<String>> = [
        &[][..],
        &["buffer.bytes=0"],
        &["chip.features.multi_plane_program=false"],
        &["ftl.separate_gc_stream=false", "scheduler.name=in_order"],
        &["ftl.host_streams=3", "ftl.overprovisioning=1.2"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.geometry.bad_block_fraction=0.05", "ftl.overprovisioning=0.9"],
        &["gc.background_free_blocks=6", "ftl.static_wear_delta=2"],
        &["gc.paced=false", "chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &["ftl.metadata_share=0.1", "ftl.overprovisioning=0.9", "ftl.gc_reserve_blocks=2"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=20"],
        &["chip.fault.program_failure_chance=0.0005", "ftl.gc_reserve_blocks=2"],
        &["ecc.t_encode_us=300", "ecc.decoders=1", "buffer.bytes=65536"],
    ]
    .iter()
    .map(|mode| mode.iter().map(ToString::to_string).collect())
    .collect();
    modes.extend(ssd::gc::ROSTER.iter().map(|gc| vec![format!("gc.name={}", gc.name)]));
    for mode in &modes {
        for (dies, seed) in [(0, 0), (0, 1), (2, 2)] {
            let dies = format!("ftl.superblock_dies={dies}");
            let mut sets = vec![dies.as_str()];
            sets.extend(mode.iter().map(String::as_str));
            let mut storm = Storm::new(drive::small(&sets), seed);
            storm.run(12_000).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            let counts = storm.ssd.ftl_counts();
            assert!(counts.reclaimed_blocks > 0, "{sets:?}: no collection");
            let reclaims = mode.iter().any(|set| set.starts_with("gc.reclaim"));
            assert_eq!(counts.read_reclaims > 20, reclaims, "{sets:?}: {counts:?}");
        }
    }
}

/// Blocks fail at the erase until the drive takes no more writes.
#[test]
fn reads_return_the_newest_version_on_a_drive_that_wears_out() {
    for mode in [&[][..], &["ftl.static_wear_delta=2"], &["ftl.separate_gc_stream=false"]] {
        for seed in 0..5 {
            let fault = [
                "ftl.superblock_dies=0",
                "chip.rated_pe_cycles=5",
                "chip.fault={median_ratings=1,spread=0.3}",
            ];
            let mut storm = Storm::new(drive::small(&[&fault, mode].concat()), seed);
            storm.run(12_000).unwrap();
            assert!(storm.ssd.ftl_counts().retired_blocks > 0, "{mode:?}");
            assert!(storm.ssd.read_only_at().is_some(), "{mode:?}");
        }
    }
}

/// Pages handed out in the blocks of a drive that has been written in order, of the first `units`
/// units.
fn filled(ssd: &mut Ssd, units: u32) -> Vec<u32> {
    let mut untimed = Untimed::new(ssd.dies());
    let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
    let ftl = ssd.ftl_mut();
    ftl.write_untimed(&lpns, &mut untimed).unwrap();
    (0..geometry().blocks()).map(|block| ftl.filled_pages(Block(block))).collect()
}

fn geometry() -> Geometry {
    ssd::build::chips(&drive::config(&[] as &[&str])).unwrap().geometry.clone()
}

/// A superblock is filled in stripes: the parts of all dies differ by a row at most, and another
/// one is opened when all are full.
#[test]
fn superblocks_are_filled_in_stripes() {
    let geometry = geometry();
    for (units, dies) in [(100, 0), (1000, 0), (1153, 0), (1000, 2)] {
        let dies = format!("ftl.superblock_dies={dies}");
        let pages = filled(&mut drive::small(&[dies.as_str()]), units);
        let by_plane: Vec<Vec<u32>> = pages
            .chunks(geometry.blocks_per_plane as usize)
            .map(|plane| plane.iter().copied().filter(|&pages| pages > 0).collect())
            .collect();
        let most = by_plane.iter().map(Vec::len).max().unwrap();
        let open: Vec<u32> =
            by_plane.iter().map(|plane| plane.get(most - 1).copied().unwrap_or(0)).collect();
        assert!(open.iter().max().unwrap() - open.iter().min().unwrap() <= 1, "{open:?}");
        let full = |plane: &Vec<u32>| plane[..most - 1].iter().all(|&pages| pages == 18);
        assert!(by_plane.iter().all(full), "{by_plane:?}");
    }
}

/// Erases come in whole superblocks: with one in each plane, all planes have as many.
#[test]
fn superblocks_are_erased_together() {
    let mut ssd = drive::small(&["ftl.superblock_dies=0", "ftl.static_wear_delta=0"]);
    let mut untimed = Untimed::new(ssd.dies());
    let units = ssd.ftl_mut().facts().logical_units;
    let mut rng = base::rng::Rng::stream(1, "addresses");
    let mut draw = || Lpn(rng.below(u64::from(units)) as u32);
    let ftl = ssd.ftl_mut();
    ftl.overwrite_untimed(5 * u64::from(units), &mut draw, &mut untimed).unwrap();
    let counts = ftl.counts();
    assert!(counts.reclaimed_blocks > 100, "{counts:?}");
    assert_eq!(counts.reclaimed_blocks % u64::from(geometry().planes()), 0, "{counts:?}");
}

/// Combinations that cannot be are refused by name.
#[test]
fn what_cannot_be_is_refused() {
    let refused = |sets: &[&str]| match drive::built(sets) {
        Ok(_) => panic!("{sets:?}: not refused"),
        Err(error) => error,
    };
    let error = refused(&["ftl.superblock_dies=3"]);
    assert_eq!(error.place, "ftl.superblock_dies");
    assert_carries(&error.problem, &["3 dies", "4"]);
    let error =
        refused(&["ftl.superblock_dies=0", "gc.copyback=unchecked", "chip.features.copyback=true"]);
    assert_eq!(error.place, "gc.copyback", "{error}");
}
