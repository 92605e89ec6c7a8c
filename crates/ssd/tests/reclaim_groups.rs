//! Reclaim groups: handles on dies of their own, groups that are full, and what holds all promises
//! beside them.

use crate::drive;

use base::rng::{Rng, turn};
use nand::geometry::Die;
use ssd::config::SsdConfig;
use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::power::Cuts;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::ROSTER;
use ssd::ftl::contract::Account;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step, UnitPlace};

/// Two groups of two dies.
const TWO: &str = "ftl.reclaim_groups=2";

/// A page of parity in each stripe, and what it needs.
const PARITY: &str = "parity.pages=1";
const RESERVE: &str = "ftl.gc_reserve_blocks=2";
const BLOCKS: &str = "chip.geometry.blocks_per_plane=40";

/// Sends a write of a unit with a placement identifier.
fn write(ssd: &mut Ssd, unit: u64, identifier: u8) {
    while !ssd.has_room() {
        ssd.step();
    }
    let stream = ssd.stream_of(identifier);
    let request = Request { stream, ..Request::new(Op::Write, 4096 * unit, 4096) };
    ssd.submit(request, 0, ssd.now());
}

fn settle(ssd: &mut Ssd) {
    while !matches!(ssd.step(), Step::Idle) {}
    ssd.fault().unwrap();
}

/// Blocks enough for a small spread of the write amplification.
const SIZE: [&str; 3] =
    ["chip.geometry.blocks_per_plane=40", "ftl.overprovisioning=0.4", "ftl.static_wear_delta=0"];

/// Write amplification of a drive of two dies, half of whose writes go to a tenth of it.
fn alone(seed: u64) -> f64 {
    let mut ssd = drive::small(&[&SIZE[..], &["drive.dies_per_channel=1"]].concat());
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = Rng::stream(seed, "alone");
    ssd.start(0);
    for pass in 0..2 {
        let count = if pass == 0 { 7 } else { 8 };
        for number in 0..count * units {
            let unit = if pass == 0 && number < units { number } else { skewed(&mut rng, units) };
            write(&mut ssd, unit, 0);
        }
        settle(&mut ssd);
        if pass == 0 {
            ssd.start_again();
        }
    }
    let counts = ssd.ftl_counts();
    1.0 + counts.moved_units as f64 / counts.host_units as f64
}

fn skewed(rng: &mut Rng, units: u64) -> u64 {
    if rng.chance(0.5) { rng.below(units / 10) } else { rng.below(units) }
}

/// Write amplification of two groups of two dies: the first is written as [`alone`] is, the second
/// in order and half as often.
fn side_by_side(seed: u64) -> [f64; 2] {
    let mut ssd = drive::small(&[&SIZE[..], &[TWO]].concat());
    let units = ssd.capacity_bytes() / 4096 / 2;
    let mut rng = Rng::stream(seed, "groups");
    ssd.start(0);
    for pass in 0..2 {
        let count = if pass == 0 { 7 } else { 8 };
        for number in 0..count * units {
            let is_fill = pass == 0 && number < units;
            let unit = if is_fill { number } else { skewed(&mut rng, units) };
            write(&mut ssd, unit, 0);
            if is_fill || number % 2 == 0 {
                let unit = if is_fill { number } else { number / 2 % units };
                write(&mut ssd, units + unit, 1);
            }
        }
        settle(&mut ssd);
        assert_eq!(ssd.redirected_units(), 0);
        if pass == 0 {
            ssd.start_again();
        }
    }
    [0, 1].map(|group| {
        let counts = ssd.handle_counts(group);
        1.0 + counts.moved_units as f64 / counts.host_units as f64
    })
}

/// A group has the write amplification of a drive of its own dies, whatever its neighbour does: a
/// neighbour that writes in order has none.
#[test]
fn a_group_is_a_drive_of_its_dies() {
    let mut ratios = Vec::new();
    for seed in 0..5 {
        let (own, [noisy, quiet]) = (alone(seed), side_by_side(seed));
        println!("write amplification {noisy:.3} beside {quiet:.3}, {own:.3} alone");
        assert!(noisy > 1.3 && quiet < 1.05, "{noisy} {quiet}");
        ratios.push(noisy / own);
    }
    let (mean, spread) = drive::interval(&ratios);
    println!("ratio {mean:.4} +- {spread:.4}");
    assert!((mean - 1.0).abs() < 0.02 + spread && spread < 0.03, "{ratios:?}");
}

/// Data of a group are programmed, moved and erased on its dies alone, with handles that are
/// initially or persistently isolated, die by die or in superblocks.
#[test]
fn work_of_a_group_stays_on_its_dies() {
    let shapes: [&[&str]; 4] = [
        &[],
        &["ftl.host_streams=2"],
        &["ftl.host_streams=2", "ftl.isolation=persistent"],
        &["ftl.superblock_dies=2", "ftl.host_streams=2", "ftl.isolation=persistent"],
    ];
    for shape in shapes {
        let sets = [&SIZE[..], shape, &[TWO, "ftl.overprovisioning=0.6"]].concat();
        let mut ssd = drive::small(&sets);
        let handles = ssd.handles() as u8 / 2;
        let units = ssd.capacity_bytes() / 4096 / 2;
        ssd.start(0);
        (0..2 * units).for_each(|unit| write(&mut ssd, unit, (unit / units) as u8 * handles));
        settle(&mut ssd);
        let (before, mut rng) = (ssd.block_cycles(), Rng::stream(1, "groups"));
        for _ in 0..6 * units {
            write(&mut ssd, units + rng.below(units), handles + handles - 1);
        }
        settle(&mut ssd);
        let after = ssd.block_cycles();
        let half = before.len() / 2;
        assert_eq!(before[..half], after[..half], "{shape:?}");
        assert_ne!(before[half..], after[half..], "{shape:?}");
        let mut buffered = 0;
        for unit in 0..2 * units {
            match ssd.place_of_unit(unit as u32) {
                Some(UnitPlace::Flash { die, .. }) => {
                    assert_eq!(u64::from(die) / 2, unit / units, "{shape:?}: unit {unit}");
                }
                Some(UnitPlace::Buffer) => buffered += 1,
                None => panic!("{shape:?}: unit {unit} is lost"),
            }
        }
        assert!(buffered < 64, "{shape:?}: {buffered} units in the buffer");
    }
}

/// Writes to one group alone: what it has no room for goes to the other, and nothing stalls.
#[test]
fn a_full_group_redirects() {
    for more in [&[][..], &["ftl.host_streams=2", "ftl.isolation=persistent"]] {
        let sets = [&SIZE[..], more, &[TWO, "ftl.overprovisioning=0.6"]].concat();
        let mut ssd = drive::small(&sets);
        let units = ssd.capacity_bytes() / 4096;
        let mut rng = Rng::stream(2, "full");
        ssd.start(0);
        for number in 0..4 * units {
            let unit = if number < units { number } else { rng.below(units) };
            write(&mut ssd, unit, 0);
        }
        settle(&mut ssd);
        let redirected = ssd.redirected_units();
        assert!(redirected > units / 4 && redirected < 3 * units, "{redirected} of {units}");
        // Back to their own groups: each has room for its half again once the other's have gone.
        for unit in (0..3 * units).rev().map(|number| number % units) {
            let identifier = if unit < units / 2 { 0 } else { ssd.handles() as u8 / 2 };
            write(&mut ssd, unit, identifier);
        }
        settle(&mut ssd);
        let before = ssd.redirected_units();
        for unit in 0..units / 4 {
            write(&mut ssd, unit, 0);
        }
        settle(&mut ssd);
        assert_eq!(ssd.redirected_units(), before);
    }
}

/// Drives with groups for storms and cuts.
const SHAPES: [&[&str]; 7] = [
    &[TWO],
    &["ftl.reclaim_groups=4", "ftl.host_streams=2"],
    &[TWO, "ftl.host_streams=2", "ftl.isolation=persistent"],
    &[TWO, "ftl.host_streams=2", "ftl.isolation=persistent", "ftl.superblock_dies=2"],
    &[TWO, "ftl.superblock_dies=2", "ftl.separate_gc_stream=false"],
    &[
        TWO,
        "drive.channels=4",
        "ftl.superblock_dies=0",
        PARITY,
        RESERVE,
        BLOCKS,
        "gc.start_free_blocks=4",
    ],
    &[
        TWO,
        "drive.channels=4",
        "ftl.superblock_dies=4",
        "ftl.host_streams=2",
        "ftl.isolation=persistent",
        PARITY,
        RESERVE,
        BLOCKS,
    ],
];

#[test]
fn reads_return_the_newest_version() {
    let more: [&[&str]; 3] = [
        &["ftl.overprovisioning=2"],
        &["ftl.overprovisioning=2", "buffer.bytes=0", "gc.background_free_blocks=6"],
        &["ftl.overprovisioning=2", "chip.fault.program_failure_chance=0.0005"],
    ];
    for (i, shape) in SHAPES.into_iter().enumerate() {
        for (j, more) in more.into_iter().enumerate() {
            if !turn::is_tried(i + j, 2) {
                continue;
            }
            let ssd = drive::small(&[shape, more].concat());
            let mut storm = Storm::new(ssd, i as u64);
            let run = storm.run(turn::few_or_all(12_000, 40_000));
            run.unwrap_or_else(|error| panic!("{shape:?}, {more:?}: {error}"));
            assert!(storm.ssd.ftl_counts().reclaimed_blocks > 0);
        }
    }
}

#[test]
fn any_order_of_what_is_under_way_is_safe() {
    let page = ROSTER.iter().find(|member| member.name == "page").unwrap();
    let (mut ran, mut erases) = (0, 0);
    for shape in [SHAPES[0], SHAPES[2], SHAPES[3], SHAPES[5]] {
        for seed in turn::few_or_all(0..40, 0..400) {
            let build = |sets: &[String]| {
                let sets = sets.iter().map(String::as_str).chain(shape.iter().copied());
                let sets: Vec<&str> = sets.chain(["drive.channels=4"]).collect();
                Tally::new(&small_config(&drive::of_ftl(page, &sets))?)
            };
            match Interleaving::new(seed, build) {
                Ok(Some(trial)) => {
                    let run = trial.run(2000);
                    let (outcome, _) = run.unwrap_or_else(|e| panic!("{shape:?}, {seed}: {e}"));
                    ran += 1;
                    erases += outcome.erases;
                }
                Ok(None) => {}
                Err(error) => panic!("{shape:?}, {seed}: {error}"),
            }
        }
    }
    assert!(ran > 30 && erases > 20 * ran, "{ran} ran, {erases} erases");
}

#[test]
fn groups_pass_conformance() {
    for shape in SHAPES {
        let sets = [shape, &["ftl.overprovisioning=2.5"]].concat();
        let mut trial = Batches::new(Tally::new(&drive::config(&sets)).unwrap(), 9);
        trial.ftl.check().unwrap();
        // Larger blocks are collected later.
        trial.rounds(if shape.contains(&PARITY) { 1000 } else { 200 }).unwrap();
        assert!(trial.ftl.counts().reclaimed_blocks > 0, "no collection");
        trial.ftl.start_run(Some(70));
        trial.check().unwrap();
        trial.ftl.fail_erases(0.1);
        trial.rounds(100).unwrap();
        trial.ftl.fail_erases(0.0);
        trial.retire().unwrap();
    }
}

#[test]
fn what_was_flushed_is_there_after_a_cut() {
    for (i, shape) in SHAPES.into_iter().enumerate() {
        for (j, recovery) in
            ["scan_pages", "scan_blocks", "checkpoint", "journal"].iter().enumerate()
        {
            if turn::is_tried(i + j, 3) {
                let recovery = format!("recovery.name={recovery}");
                let spare: &[&str] = match shape.contains(&PARITY) {
                    true => &[BLOCKS, "ftl.overprovisioning=8"],
                    false => &[],
                };
                let sets = [shape, &drive::CUT_SHAPE[..], spare, &[&*recovery]].concat();
                let mut cuts = Cuts::new(&drive::config(&sets), 5).unwrap();
                let ran = cuts.run(turn::few_or_all(15, 100));
                ran.unwrap_or_else(|error| panic!("{shape:?}, {recovery}: {error}"));
            }
        }
    }
}

/// A drive that goes on after a power cut has counted what its groups hold anew: it redirects what
/// it did before.
#[test]
fn a_start_up_knows_what_groups_hold() {
    let groups = ["ftl.reclaim_groups=4", "recovery.name=scan_pages"];
    let config = drive::config(&[&drive::CUT_SHAPE[..], &groups].concat());
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    for round in 0..3 {
        (0..units).for_each(|unit| write(&mut ssd, unit, round % 2));
        settle(&mut ssd);
        ssd.cut().unwrap();
        ssd.power_on(&config).unwrap();
        while !matches!(ssd.step(), Step::Ready) {}
    }
    (0..units).for_each(|unit| write(&mut ssd, unit, 0));
    settle(&mut ssd);
    assert!(ssd.redirected_units() > 0);
}

/// Groups that part no dies, or that other keys do not fit, are refused at their key.
#[test]
fn groups_that_part_nothing_are_refused() {
    let refused = |sets: &[&str]| -> String {
        let config: base::Result<SsdConfig> = small_config(sets);
        config.and_then(|config| Ssd::new(&config, 1 << 30)).err().unwrap().place.clone()
    };
    for (sets, place) in [
        (&["ftl.reclaim_groups=3"][..], "ftl.reclaim_groups"),
        (&["ftl.reclaim_groups=0"], "ftl.reclaim_groups"),
        (
            &[
                "ftl.reclaim_groups=4",
                "ftl.host_streams=5",
                "ftl.overprovisioning=5",
                "chip.geometry.blocks_per_plane=60",
            ],
            "ftl.reclaim_groups",
        ),
        (&[TWO, "ftl.superblock_dies=4"], "ftl.superblock_dies"),
        (&["ftl.reclaim_groups=4", "ftl.superblock_dies=0", PARITY, RESERVE], "parity.pages"),
        (&[TWO, "ftl.superblock_dies=0", "parity.pages=2", RESERVE], "parity.pages"),
        (&["ftl.name=dftl", "ftl.map_cache_bytes=512", TWO], "ftl.reclaim_groups"),
        (
            &[TWO, "ftl.host_streams=2", "ftl.isolation=persistent", "ftl.handle_quota=[0.5, 0.5]"],
            "ftl.reclaim_groups",
        ),
    ] {
        assert_eq!(refused(sets), place, "{sets:?}");
    }
}

/// Eight dies in two groups, with stripes of four dies.
const STRIPED: [&str; 7] = [
    TWO,
    "drive.channels=4",
    "ftl.superblock_dies=0",
    PARITY,
    RESERVE,
    BLOCKS,
    "ftl.static_wear_delta=0",
];

/// Geometry of the drive of [`STRIPED`].
fn striped() -> nand::geometry::Geometry {
    ssd::build::chips(&drive::config(&STRIPED)).unwrap().geometry.clone()
}

/// A group programs `(k + m) / k` units for each of its host, and its parity is on its dies.
#[test]
fn parity_of_a_group_is_its_share_on_its_dies() {
    for pages in [1u64, 2] {
        let of_parity = format!("parity.pages={pages}");
        let sets = [&STRIPED[..], &["ftl.overprovisioning=8", &of_parity]].concat();
        let mut ssd = drive::small(&sets);
        ssd.start(0);
        let geometry = striped();
        let units = ssd.capacity_bytes() / 4096;
        // The first group alone is written, in order and more than once.
        for number in 0..6 * units {
            write(&mut ssd, number % units, 0);
        }
        settle(&mut ssd);
        let counts = ssd.ftl_counts();
        assert_eq!(ssd.redirected_units(), 0);
        assert_eq!(counts.moved_units, 0);
        let due = counts.host_units * pages / (4 - pages);
        // The parity of the last rows is in memory.
        let row = u64::from(geometry.planes_per_die * geometry.units_per_page);
        let apart = due.abs_diff(counts.stripes.units);
        assert!(apart <= 8 * pages * row, "{due} units of parity: {counts:?}");
        let cycles = ssd.block_cycles();
        let (first, second) = cycles.split_at(cycles.len() / 2);
        assert!(first.iter().sum::<u32>() > 0 && second.iter().sum::<u32>() == 0);
    }
}

/// A die that fails is rebuilt on the other dies of its group, whose data stay there. The group
/// has less room from then on.
#[test]
fn a_failed_die_is_rebuilt_in_its_group() {
    let sets = [&STRIPED[..], &["ftl.overprovisioning=2.2"]].concat();
    let mut ssd = drive::small(&sets);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    (0..units).for_each(|unit| write(&mut ssd, unit, u8::from(unit >= units / 2)));
    settle(&mut ssd);
    ssd.submit(Request::FLUSH, 0, ssd.now());
    settle(&mut ssd);
    ssd.fail_die(Die(1)).unwrap();
    settle(&mut ssd);
    assert!(ssd.failed_dies()[0].rebuilt_at.is_some(), "{:?}", ssd.failed_dies());
    for unit in 0..units {
        match ssd.place_of_unit(unit as u32) {
            Some(UnitPlace::Flash { die, .. }) => {
                let group = u64::from(unit >= units / 2);
                assert!(die != 1 && u64::from(die) / 4 == group, "unit {unit} on {die}");
            }
            place => panic!("unit {unit}: {place:?}"),
        }
    }
    assert_eq!(ssd.redirected_units(), 0);
    // What the host writes to this group alone, the drive splits by the room that is left.
    let mut rng = Rng::stream(3, "less room");
    (0..5 * units).for_each(|_| write(&mut ssd, rng.below(units), 0));
    settle(&mut ssd);
    assert!(ssd.redirected_units() > 0);
    assert_eq!(ssd.counts().parity.lost_reads, 0);
}

/// A group that holds more than its other dies have room for loses no die, and says so.
#[test]
fn a_full_group_loses_no_die() {
    let mut ssd = drive::small(&[&STRIPED[..], &["ftl.overprovisioning=2.2"]].concat());
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    (0..units).for_each(|unit| write(&mut ssd, unit, 0));
    settle(&mut ssd);
    let refusal = ssd.check_fail_die(Die(2)).unwrap_err();
    base::error::assert_carries(refusal.to_string(), &["die 2", "reclaim group 0", "holds"]);
    ssd.check_fail_die(Die(5)).unwrap();
}
