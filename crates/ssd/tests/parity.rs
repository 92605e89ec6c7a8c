//! Parity over the dies of superblocks (`parity.pages`): its place in stripes, its price, reads
//! that are rebuilt, and storms on drives that have it.

use crate::drive;

use base::error::assert_carries;
use nand::geometry::{Block, Die, Geometry};
use ssd::Step;
use ssd::conformance::storm::Storm;
use ssd::ftl::{Lpn, Untimed};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Settings of a small drive with parity over all of its four dies.
const PARITY: [&str; 4] = [
    "parity.pages=1",
    "ftl.superblock_dies=0",
    "ftl.overprovisioning=1.2",
    "ftl.gc_reserve_blocks=2",
];

/// Reads return the data written last, in every way the drive can work.
#[test]
fn reads_return_the_newest_version() {
    let modes: [&[&str]; 12] = [
        &[],
        &["ftl.superblock_dies=2", "ftl.overprovisioning=3", "chip.geometry.blocks_per_plane=40"],
        &["buffer.bytes=0"],
        &["chip.features.multi_plane_program=false"],
        &["ftl.separate_gc_stream=false", "scheduler.name=in_order"],
        &["ftl.host_streams=3", "ftl.isolation=persistent", "ftl.overprovisioning=4"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.geometry.bad_block_fraction=0.05", "ftl.overprovisioning=1.9"],
        &["gc.background_free_blocks=6", "ftl.static_wear_delta=2"],
        &["ftl.metadata_share=0.1", "ftl.overprovisioning=1.9"],
        &["chip.fault.program_failure_chance=0.0005", "ftl.overprovisioning=1.6"],
        &["gc.name=cost_benefit", "buffer.bytes=65536", "gc.reclaim_reads=8"],
    ];
    for mode in modes {
        for seed in 0..2 {
            let sets = [&PARITY[..], mode].concat();
            let mut storm = Storm::new(drive::small(&sets), seed);
            storm.run(12_000).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            let counts = storm.ssd.ftl_counts();
            assert!(counts.reclaimed_blocks > 0, "{sets:?}: no collection");
            assert!(counts.stripes.units > 0, "{sets:?}: no parity");
        }
    }
}

fn geometry() -> Geometry {
    ssd::build::chips(&drive::config(&[] as &[&str])).unwrap().geometry.clone()
}

/// One page of each stripe is parity: a drive of `dies` dies in a superblock that is written in
/// order programs `dies / (dies - 1)` units for each one of the host, and no die holds more of them
/// than another.
#[test]
fn parity_takes_its_share_and_is_spread_over_the_dies() {
    for dies in [2u32, 4] {
        let width = format!("ftl.superblock_dies={dies}");
        let blocks = "chip.geometry.blocks_per_plane=40";
        let sets = [&PARITY[..], &[width.as_str(), "ftl.overprovisioning=3", blocks]].concat();
        let geometry = ssd::build::chips(&drive::config(&sets)).unwrap().geometry.clone();
        let mut ssd = drive::small(&sets);
        let per_superblock = dies * geometry.planes_per_die * geometry.units_per_block();
        let data = per_superblock / dies * (dies - 1);
        // Whole superblocks on all spans, in which each die is the last as often.
        let spans = geometry.dies / dies;
        let units = 8 * spans * data;
        let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
        let ftl = ssd.ftl_mut();
        ftl.write_untimed(&lpns, &mut Untimed::new(geometry.dies)).unwrap();
        let counts = ftl.counts();
        let row = geometry.planes_per_die * geometry.units_per_page;
        // The last parity of a span is in memory until the next row comes.
        let due = u64::from(units / (dies - 1));
        let waiting = due - counts.stripes.units;
        assert!(waiting <= u64::from(spans * row), "{due}: {counts:?}");
        assert_eq!(counts.padding_units, counts.stripes.units, "{counts:?}");
        let mut of_die = vec![0; geometry.dies as usize];
        for block in (0..geometry.blocks()).map(Block) {
            let valid = ftl.valid_units(block);
            of_die[geometry.die_of(block).0 as usize] += valid;
        }
        let (least, most) = (of_die.iter().min().unwrap(), of_die.iter().max().unwrap());
        // The last rows of a span go where there is room.
        assert!(most - least <= 4 * row, "{of_die:?}");
    }
}

/// In every stripe that is whole one row is parity: at each page of a full superblock exactly one
/// die holds no data.
#[test]
fn each_stripe_has_one_page_of_parity() {
    let geometry = geometry();
    let mut ssd = drive::small(&PARITY);
    let per_superblock = geometry.planes() * geometry.units_per_block();
    let units = per_superblock / 4 * 3;
    let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
    let ftl = ssd.ftl_mut();
    ftl.write_untimed(&lpns, &mut Untimed::new(geometry.dies)).unwrap();
    let mut dies_at = vec![std::collections::BTreeSet::new(); geometry.pages_per_block as usize];
    for lpn in lpns {
        let place = ftl.lookup(lpn).unwrap();
        let (block, page) = geometry.page_of(place);
        dies_at[page as usize].insert(geometry.die_of(block).0);
    }
    assert!(dies_at.iter().all(|dies| dies.len() == 3), "{dies_at:?}");
}

/// Random writes cost as much as on a drive without parity that has the space of its data, and the
/// parity of that.
#[test]
fn write_amplification_is_that_of_the_data_with_their_parity() {
    let amplification = |sets: &[&str], seed: u64| {
        let mut ssd = drive::small(sets);
        let units = ssd.ftl_mut().facts().logical_units;
        let mut rng = base::rng::Rng::stream(seed, "addresses");
        let mut draw = || Lpn(rng.below(u64::from(units)) as u32);
        let mut untimed = Untimed::new(4);
        let ftl = ssd.ftl_mut();
        ftl.overwrite_untimed(4 * u64::from(units), &mut draw, &mut untimed).unwrap();
        ftl.start_run(None);
        ftl.overwrite_untimed(6 * u64::from(units), &mut draw, &mut untimed).unwrap();
        ftl.counts().write_amplification()
    };
    // Three pages of four hold data: as many logical units on four thirds of the blocks. Of a
    // superblock that is kept free three quarters are room for data.
    let small = "chip.geometry.blocks_per_plane=";
    for seed in 0..3 {
        let base = ["ftl.superblock_dies=0", "ftl.gc_reserve_blocks=2", "ftl.static_wear_delta=0"];
        let (with, without) = (format!("{small}160"), format!("{small}121"));
        let with = amplification(
            &[&base[..], &["parity.pages=1", &with, "ftl.overprovisioning=0.8"]].concat(),
            seed,
        );
        let without =
            amplification(&[&base[..], &[&without, "ftl.overprovisioning=0.36125"]].concat(), seed);
        let ratio = with / without / (4.0 / 3.0);
        assert!((ratio - 1.0).abs() < 0.05, "seed {seed}: {with} and {without}");
    }
}

/// Settings of a drive that cannot correct this share of its codewords.
fn losing(lost: f64) -> [String; 3] {
    [
        format!("ecc={{model='shares', failures=[0.9, 0.3, {lost}]}}"),
        "retry.name=soft_decision".to_owned(),
        "chip.array.name=power_law".to_owned(),
    ]
}

/// Data that the code cannot correct are rebuilt from the rest of their stripe, for the host, for
/// rewrites of parts of units, and for collection; reads return the newest version.
#[test]
fn pages_that_cannot_be_read_are_rebuilt() {
    let modes: [&[&str]; 5] = [
        &[],
        &["ftl.superblock_dies=2", "ftl.overprovisioning=3", "chip.geometry.blocks_per_plane=40"],
        &["retry.retire_after=3", "ftl.overprovisioning=2"],
        &["buffer.bytes=0", "retry.in_turn=true", "chip.features.cache_read=true"],
        &["chip.fault.program_failure_chance=0.0005", "ftl.overprovisioning=1.6"],
    ];
    for mode in modes {
        for seed in 0..2 {
            let losing = losing(0.002);
            let losing: Vec<&str> = losing.iter().map(String::as_str).collect();
            let sets = [&PARITY[..], &losing, mode].concat();
            let mut storm = Storm::new(drive::small(&sets), seed);
            storm.run(12_000).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            let parity = storm.ssd.counts().parity;
            assert!(parity.rebuilt_reads > 20, "{sets:?}: {parity:?}");
            assert!(2 * parity.page_reads >= parity.rebuilt_reads, "{sets:?}: {parity:?}");
            // A stripe with a failed program is not whole.
            let is_whole = !mode.iter().any(|set| set.contains("program_failure"));
            assert!(
                !is_whole || parity.lost_reads * 8 < parity.rebuilt_reads,
                "{sets:?}: {parity:?}"
            );
        }
    }
}

/// Every unit of a full drive is read once: pages that the code gives up, and those of them that
/// parity cannot give back either. The last stripes, whose parity is in memory, are left out.
fn read_all(sets: &[&str]) -> (u64, u64, u64) {
    let mut ssd = drive::small(sets);
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let bytes = u64::from(ssd.unit_bytes() as u32);
    let units = ssd.capacity_bytes() / bytes;
    let (mut submitted, mut completed) = (0, 0);
    while completed < units {
        while ssd.has_room() && submitted < units {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Read, submitted * bytes, bytes), 0, now);
            submitted += 1;
        }
        if let Step::Completed(_) = ssd.step() {
            completed += 1;
        }
    }
    let parity = ssd.counts().parity;
    (units, parity.rebuilt_reads + parity.lost_reads, parity.lost_reads)
}

/// The rate of lost reads is that of the closed form: a read is lost if its page fails, with
/// probability q, and any of the k other pages of its stripe does too: q (1 - (1 - q)^k).
#[test]
fn lost_reads_are_as_many_as_the_closed_form_says() {
    for (dies, blocks) in [(2, 40), (4, 30)] {
        let (mut units, mut failed, mut lost) = (0, 0, 0);
        for seed in 0..250 {
            let losing = losing(0.03);
            let more = [
                format!("ftl.superblock_dies={dies}"),
                format!("chip.geometry.blocks_per_plane={blocks}"),
                format!("seed={seed}"),
                "ftl.overprovisioning=3".to_owned(),
                "retry.retire_after=0".to_owned(),
            ];
            let all: Vec<&str> = PARITY
                .into_iter()
                .chain(losing.iter().map(String::as_str))
                .chain(more.iter().map(String::as_str))
                .collect();
            let read = read_all(&all);
            units += read.0;
            failed += read.1;
            lost += read.2;
        }
        let q = failed as f64 / units as f64;
        let expected = 1.0 - (1.0 - q).powi(dies - 1);
        let found = lost as f64 / failed as f64;
        // Failures of a stripe come in pairs: twice the variance of independent ones.
        let half = 1.96 * (2.0 * lost as f64).sqrt() / failed as f64;
        println!(
            "validation | share of {failed} reads given up that are lost, stripes of {dies} dies, \
             +- {half:.4} | {found:.4} | {expected:.4} | 0.15 | 1 - (1 - q)^k"
        );
        assert!((found - expected).abs() < 0.15 * expected, "{dies} dies: {found}, not {expected}");
    }
}

/// A die fails under load: every read is answered, with the newest version, and its data come to
/// the other dies. What is written later has stripes of the dies that are left.
#[test]
fn a_die_that_fails_loses_nothing() {
    let modes: [&[&str]; 7] = [
        &[],
        &[
            "namespace=[{dies=2}, {share=1.0}]",
            "ftl.superblock_dies=2",
            "ftl.overprovisioning=4",
            "chip.geometry.blocks_per_plane=60",
        ],
        &["buffer.bytes=0"],
        &["ftl.superblock_dies=2", "ftl.overprovisioning=3", "chip.geometry.blocks_per_plane=40"],
        &["ftl.separate_gc_stream=false", "chip.features.cache_read=true"],
        &["ftl.host_streams=2", "ftl.isolation=persistent", "ftl.overprovisioning=4"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
    ];
    for mode in modes {
        for (seed, die) in [(0, 0), (1, 3), (2, 1)] {
            let sets = [&PARITY[..], &["ftl.overprovisioning=2.2"], mode].concat();
            let mut storm = Storm::new(drive::small(&sets), seed);
            let run = |storm: &mut Storm, requests: u64| {
                storm.run(requests).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            };
            run(&mut storm, 5_000);
            storm.ssd.fail_die(Die(die)).unwrap();
            run(&mut storm, 14_000);
            let failed = storm.ssd.failed_dies()[0];
            assert!(failed.rebuilt_at.is_some(), "{sets:?}: {failed:?}");
            let parity = storm.ssd.counts().parity;
            assert!(parity.rebuilt_reads > 20 && parity.lost_reads == 0, "{sets:?}: {parity:?}");
            let ftl = storm.ssd.ftl_mut();
            assert!(!ftl.parity().unwrap().holds_data(Die(die)));
            let written = ftl.counts().reclaimed_blocks;
            run(&mut storm, 18_000);
            assert!(storm.ssd.ftl_counts().reclaimed_blocks > written, "{sets:?}: no collection");
        }
    }
}

/// Two dies of a superblock fail one after the other, as soon as the first is rebuilt. With the
/// second gone too early, data are lost, and the reads of them fail.
#[test]
fn a_second_die_may_fail_after_the_first_is_rebuilt() {
    let sets = [&PARITY[..], &["ftl.overprovisioning=5"]].concat();
    let mut storm = Storm::new(drive::small(&sets), 3);
    storm.run(4_000).unwrap();
    storm.ssd.fail_die(Die(2)).unwrap();
    storm.run(14_000).unwrap();
    assert!(storm.ssd.failed_dies()[0].rebuilt_at.is_some());
    storm.ssd.fail_die(Die(0)).unwrap();
    storm.run(26_000).unwrap();
    assert!(storm.ssd.failed_dies()[1].rebuilt_at.is_some());
    assert_eq!(storm.ssd.counts().parity.lost_reads, 0);
}

/// A die whose failure the drive would not survive is kept.
#[test]
fn failures_that_lose_data_are_refused() {
    let mut ssd = drive::small(&["ftl.superblock_dies=0"]);
    let error = ssd.fail_die(Die(0)).unwrap_err();
    assert_carries(error, &["fail_die", "parity.pages"]);
    let mut ssd = drive::small(&PARITY);
    let error = ssd.fail_die(Die(7)).unwrap_err();
    assert_carries(error, &["die 7", "0 to 3"]);
    // Three dies have not the room of four.
    let tight = [&PARITY[..], &["ftl.overprovisioning=1.1"]].concat();
    let error = drive::small(&tight).fail_die(Die(0)).unwrap_err();
    assert_carries(error, &["die 0", "ftl.overprovisioning"]);
    let mut ssd = drive::small(&[&PARITY[..], &["ftl.overprovisioning=3"]].concat());
    ssd.fail_die(Die(1)).unwrap();
    let error = ssd.fail_die(Die(1)).unwrap_err();
    assert_carries(error, &["die 1", "already"]);
}

/// Settings that no stripe can have are refused by name.
#[test]
fn what_cannot_be_is_refused() {
    let refused = |sets: &[&str]| match drive::built(sets) {
        Ok(_) => panic!("{sets:?}: not refused"),
        Err(error) => error,
    };
    let error = refused(&["parity.pages=2", "ftl.superblock_dies=0"]);
    assert_eq!(error.place, "parity.pages");
    assert_carries(&error.problem, &["2"]);
    let error = refused(&["parity.pages=1"]);
    assert_carries(error, &["parity.pages", "ftl.superblock_dies"]);
    let error = refused(&["parity.pages=1", "ftl.superblock_dies=0", "ftl.overprovisioning=1.2"]);
    assert_carries(error, &["ftl.gc_reserve_blocks", "at least 2"]);
}
