//! Parity over the dies of superblocks (`parity.pages`): its place in stripes, its price, reads
//! that are rebuilt, and storms on drives that have it.

use crate::drive::{self, interval};

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

/// Settings of a drive with two pages of parity in a stripe.
const TWO: [&str; 3] =
    ["parity.pages=2", "chip.geometry.blocks_per_plane=60", "ftl.overprovisioning=4"];

/// Data of a stream keep to blocks of its own.
const PERSISTENT: &str = "ftl.isolation=persistent";

/// Reads return the data written last, in every way the drive can work.
#[test]
fn reads_return_the_newest_version() {
    let of_two: [&[&str]; 5] = [
        &[],
        &["ftl.host_streams=3", PERSISTENT],
        &["chip.fault.program_failure_chance=0.0005", "parity.xor_mb_s=200"],
        &["buffer.bytes=0", "ftl.metadata_share=0.1", "ftl.overprovisioning=5"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
    ];
    let of_two = of_two.map(|mode| [&TWO[..], mode].concat());
    let modes: [&[&str]; 15] = [
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
        &["ftl.name=slc_cache", "ftl.overprovisioning=2.2"],
        &["ftl.name=slc_cache", "ftl.when_full=fold", "ftl.overprovisioning=2.2"],
        &[
            "ftl.name=slc_cache",
            "ftl.keep_share=1",
            "chip.fault.program_failure_chance=0.0005",
            "ftl.overprovisioning=2.2",
        ],
    ];
    for mode in modes.into_iter().chain(of_two.iter().map(Vec::as_slice)) {
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

/// One page or two of each stripe are parity: a drive of `dies` dies in a superblock that is
/// written in order programs `dies / (dies - pages)` units for each one of the host, and no die
/// holds more of them than another.
#[test]
fn parity_takes_its_share_and_is_spread_over_the_dies() {
    for (dies, pages) in [(2u32, 1), (4, 1), (4, 2)] {
        let width = format!("ftl.superblock_dies={dies}");
        let of_parity = format!("parity.pages={pages}");
        let blocks = "chip.geometry.blocks_per_plane=40";
        let given = [width.as_str(), &of_parity, "ftl.overprovisioning=3", blocks];
        let sets = [&PARITY[..], &given].concat();
        let geometry = ssd::build::chips(&drive::config(&sets)).unwrap().geometry.clone();
        let mut ssd = drive::small(&sets);
        let per_superblock = dies * geometry.planes_per_die * geometry.units_per_block();
        let data = per_superblock / dies * (dies - pages);
        // Whole superblocks on all spans, in which each die is the last as often.
        let spans = geometry.dies / dies;
        let units = 8 * spans * data;
        let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
        let ftl = ssd.ftl_mut();
        ftl.write_untimed(&lpns, &mut Untimed::new(geometry.dies)).unwrap();
        let counts = ftl.counts();
        let row = geometry.planes_per_die * geometry.units_per_page;
        // The last parity of a span is in memory until the next row comes.
        let due = u64::from(units / (dies - pages) * pages);
        let waiting = due - counts.stripes.units;
        assert!(waiting <= u64::from(spans * row * pages), "{due}: {counts:?}");
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

/// In every stripe that is whole as many rows are parity as the key says: at each page of a full
/// superblock so many dies hold no data.
#[test]
fn each_stripe_has_its_pages_of_parity() {
    for pages in [1, 2] {
        stripes_of_a_superblock(pages);
    }
}

fn stripes_of_a_superblock(pages: u32) {
    let of_parity = format!("parity.pages={pages}");
    let sets = [&PARITY[..], &TWO, &[of_parity.as_str()]].concat();
    let geometry = ssd::build::chips(&drive::config(&sets)).unwrap().geometry.clone();
    let mut ssd = drive::small(&sets);
    let per_superblock = geometry.planes() * geometry.units_per_block();
    let units = per_superblock / 4 * (4 - pages);
    let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
    let ftl = ssd.ftl_mut();
    ftl.write_untimed(&lpns, &mut Untimed::new(geometry.dies)).unwrap();
    let mut dies_at = vec![std::collections::BTreeSet::new(); geometry.pages_per_block as usize];
    for lpn in lpns {
        let place = ftl.lookup(lpn).unwrap();
        let (block, page) = geometry.page_of(place);
        dies_at[page as usize].insert(geometry.die_of(block).0);
    }
    let of_data = 4 - pages as usize;
    assert!(dies_at.iter().all(|dies| dies.len() == of_data), "{dies_at:?}");
}

/// Superblocks of as many dies as there are channels have one die on each: no two pages of a stripe
/// share a bus. With fewer dies they are on different channels too.
#[test]
fn stripes_lie_over_the_channels() {
    for (channels, rows, dies) in [(2u32, 2u32, 2u32), (4, 1, 4), (4, 2, 4), (4, 1, 2)] {
        let shape = [
            format!("drive.channels={channels}"),
            format!("drive.dies_per_channel={rows}"),
            format!("ftl.superblock_dies={dies}"),
        ];
        let more = ["ftl.overprovisioning=3", "chip.geometry.blocks_per_plane=40"];
        let sets: Vec<&str> =
            PARITY.into_iter().chain(more).chain(shape.iter().map(String::as_str)).collect();
        let geometry = ssd::build::chips(&drive::config(&sets)).unwrap().geometry.clone();
        let mut ssd = drive::small(&sets);
        let units = 2 * geometry.planes() * geometry.units_per_block();
        let lpns: Vec<Lpn> = (0..units).map(Lpn).collect();
        let ftl = ssd.ftl_mut();
        ftl.write_untimed(&lpns, &mut Untimed::new(geometry.dies)).unwrap();
        let mut of_stripes = 0;
        for &lpn in &lpns {
            let (place, mut pages) = (ftl.lookup(lpn).unwrap(), Vec::new());
            ftl.parity().unwrap().others(place, &mut pages);
            // The parity of the last rows is in memory.
            of_stripes += u32::from(!pages.is_empty());
            pages.push(place);
            let mut on = vec![0; channels as usize];
            for &page in &pages {
                let die = geometry.die_of(geometry.page_of(page).0).0;
                on[(die % channels) as usize] += 1;
            }
            assert!(on.iter().all(|&pages| pages <= 1), "{shape:?}: {on:?} at {lpn:?}");
        }
        assert!(of_stripes > lpns.len() as u32 / 2, "{shape:?}: {of_stripes} units in stripes");
    }
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
    // Three pages of four hold data, or two: as many logical units on four thirds of the blocks, or
    // on twice as many. Of a superblock that is kept free as large a share is room for data.
    let base = ["ftl.superblock_dies=0", "ftl.gc_reserve_blocks=2", "ftl.static_wear_delta=0"];
    let of = |blocks: u32, overprovisioning: f64, pages: u32, seed| {
        let given = [
            format!("chip.geometry.blocks_per_plane={blocks}"),
            format!("ftl.overprovisioning={overprovisioning}"),
            format!("parity.pages={pages}"),
        ];
        let given = given.iter().map(String::as_str);
        amplification(&base.into_iter().chain(given).collect::<Vec<_>>(), seed)
    };
    let drives = [(1, (160, 0.8), (121, 0.36125)), (2, (240, 1.7), (122, 0.3725))];
    for (pages, with, without) in drives {
        let ratios: Vec<f64> = (0..3)
            .map(|seed| {
                let with = of(with.0, with.1, pages, seed);
                with / of(without.0, without.1, 0, seed)
            })
            .collect();
        let ((mean, half), expected) = (interval(&ratios), 4.0 / f64::from(4 - pages));
        println!(
            "validation | parity over dies: write amplification over that without, {pages} of 4 \
             pages, +- {half:.4} | {mean:.4} | {expected:.4} | 0.05 | (k + m) / k"
        );
        let is_near = |ratio: f64| (ratio / expected - 1.0).abs() < 0.05;
        assert!(ratios.iter().all(|&ratio| is_near(ratio)), "{pages}: {ratios:?}");
        assert!(is_near(mean - half) && is_near(mean + half), "{pages}: {mean} +- {half}");
    }
}

/// Writes a unit and flushes, `times` times. Returns the units that were programmed for that, and
/// those of parity.
fn flush_each_unit(sets: &[&str], times: u64) -> (u64, u64) {
    let mut ssd = drive::small(&[&PARITY[..], sets].concat());
    ssd.start(0);
    for unit in 0..times {
        for request in [Request::new(Op::Write, 4096 * unit, 4096), Request::FLUSH] {
            ssd.submit(request, 0, ssd.now());
            while !matches!(ssd.step(), Step::Completed(_)) {}
        }
    }
    let counts = ssd.ftl_counts();
    (counts.host_units + counts.padding_units, counts.stripes.units)
}

/// A flush after each unit writes a whole stripe, if parity is written early: a row on each die,
/// one or two of them parity. Otherwise parity comes when the rows of all dies are there.
#[test]
fn a_flush_makes_stripes_whole_where_parity_is_written_early() {
    let geometry = geometry();
    let row = u64::from(geometry.planes_per_die * geometry.units_per_page);
    let (dies, times) = (u64::from(geometry.dies), 30);
    for pages in [1, 2] {
        let of_parity = format!("parity.pages={pages}");
        let sets = [of_parity.as_str(), "ftl.overprovisioning=12", "buffer.bytes=65536"];
        let early = flush_each_unit(&[&sets[..], &["parity.partial=written"]].concat(), times);
        assert_eq!(early, (times * dies * row, times * pages * row), "{pages} pages");
        let (programmed, parity) = flush_each_unit(&sets, times);
        assert!(parity <= (times * row * pages).div_ceil(dies - pages), "{parity}");
        assert_eq!(programmed, times * row + parity, "{pages} pages");
    }
}

/// Settings of a drive that cannot correct this share of its codewords.
pub fn losing(lost: f64) -> [String; 3] {
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
    let failing: &[&str] = &["chip.fault.program_failure_chance=0.0005", "parity.xor_mb_s=100"];
    let (of_two, of_failing) = (TWO.to_vec(), [&TWO[..], failing].concat());
    let modes: [&[&str]; 7] = [
        &[],
        &of_two,
        &of_failing,
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
            assert!(parity.lost_reads * 8 < parity.rebuilt_reads, "{sets:?}: {parity:?}");
        }
    }
}

/// A page that was given up comes later by the time that the engine of parity takes for the pages
/// that it follows from.
#[test]
fn rebuilding_takes_the_time_of_the_engine() {
    let ended = |rate: &str| {
        let losing = losing(0.02);
        let rate = format!("parity.xor_mb_s={rate}");
        let given =
            ["ftl.overprovisioning=3", "drive.queue_depth=1", "retry.retire_after=0", &rate];
        let losing: Vec<&str> = losing.iter().map(String::as_str).collect();
        let mut ssd = drive::small(&[&PARITY[..], &losing, &given].concat());
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        for unit in 0..units {
            ssd.submit(Request::new(Op::Read, unit * 4096, 4096), 0, ssd.now());
            while !matches!(ssd.step(), Step::Completed(_)) {}
        }
        (ssd.now().us(), ssd.counts().parity)
    };
    let (without, parity) = ended("0");
    let (with, same) = ended("8");
    assert_eq!(parity, same);
    assert!(parity.rebuilt_reads > 20 && parity.lost_reads < 10, "{parity:?}");
    // A unit of each of the pages read: 4096 bytes take 512 us. Of stripes that are lost nothing is
    // computed.
    let expected = 512.0 * parity.page_reads as f64;
    let most_lost = 512.0 * 3.0 * parity.lost_reads as f64;
    let found = with - without;
    assert!(found <= expected * 1.001 && found >= (expected - most_lost) * 0.999, "{found}");
}

/// When the host changes the reclaim unit of a handle, the rows that were begun get their parity
/// before the next data: every page of the old superblock follows from others on flash.
#[test]
fn superblocks_that_end_early_have_their_parity() {
    for pages in [1u32, 2] {
        let of_parity = format!("parity.pages={pages}");
        let streams = ["ftl.host_streams=2", PERSISTENT, of_parity.as_str()];
        let mut ssd = drive::small(&[&PARITY[..], &TWO, &streams].concat());
        let geometry = geometry();
        ssd.start(0);
        let mut written = 0;
        let mut write = |ssd: &mut ssd::Ssd, rows: u32| {
            let units = rows * geometry.planes_per_die * geometry.units_per_page;
            for unit in written..written + units {
                let write = Request::new(Op::Write, u64::from(unit) * 4096, 4096);
                while !ssd.has_room() {
                    ssd.step();
                }
                ssd.submit(Request { stream: 1, ..write }, 0, ssd.now());
            }
            while !matches!(ssd.step(), Step::Idle) {}
            ssd.submit(Request::FLUSH, 0, ssd.now());
            while !matches!(ssd.step(), Step::Idle) {}
            written += units;
            written
        };
        for rows in [1, 4, 5, 7] {
            let first = write(&mut ssd, 0);
            let last = write(&mut ssd, rows);
            let old = ssd.open_blocks(1);
            assert_eq!(ssd.renew(1), ssd::drive::Renewed::Closed);
            assert_eq!(ssd.open_blocks(1), []);
            write(&mut ssd, 1);
            assert!(ssd.open_blocks(1).iter().all(|block| !old.contains(block)));
            let ftl = ssd.ftl_mut();
            for lpn in first..last {
                let mut others = Vec::new();
                let place = ftl.lookup(Lpn(lpn)).unwrap();
                assert_eq!(ftl.parity().unwrap().others(place, &mut others), pages, "{rows}");
                assert_eq!(others.len(), 3, "{rows} rows, unit {lpn}");
            }
        }
        ssd.fault().unwrap();
    }
}

/// A die fails under load: every read is answered, with the newest version, and its data come to
/// the other dies. What is written later has stripes of the dies that are left.
#[test]
fn a_die_that_fails_loses_nothing() {
    let modes: [&[&str]; 9] = [
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
        &["ftl.name=slc_cache", "ftl.overprovisioning=4", "ftl.keep_share=1"],
        &["ftl.name=slc_cache", "ftl.overprovisioning=4", "ftl.when_full=fold"],
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

/// Two dies of a superblock fail at once: with two pages of parity nothing is lost, and
/// new stripes are copies on the dies that are left.
#[test]
fn two_dies_that_fail_at_once_lose_nothing() {
    let modes: [&[&str]; 3] = [
        &[],
        &["buffer.bytes=0", "chip.features.cache_read=true", "parity.xor_mb_s=400"],
        &["ftl.host_streams=2", PERSISTENT, "ftl.overprovisioning=8"],
    ];
    for mode in modes {
        for (seed, dies) in [(0, [2, 0]), (1, [1, 3])] {
            let sets = [&PARITY[..], &TWO, &["ftl.overprovisioning=6"], mode].concat();
            let mut storm = Storm::new(drive::small(&sets), seed);
            let run = |storm: &mut Storm, requests: u64| {
                storm.run(requests).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
            };
            run(&mut storm, 4_000);
            for die in dies {
                storm.ssd.fail_die(Die(die)).unwrap();
            }
            run(&mut storm, 20_000);
            let failed = storm.ssd.failed_dies();
            assert!(failed.iter().all(|failed| failed.rebuilt_at.is_some()), "{failed:?}");
            let parity = storm.ssd.counts().parity;
            assert!(parity.rebuilt_reads > 20 && parity.lost_reads == 0, "{sets:?}: {parity:?}");
        }
    }
}

/// Data leave a failed die at the rate that the key says. Those of open superblocks wait until
/// these are full, which they are not here.
#[test]
fn a_failed_die_is_rebuilt_at_its_pace() {
    let took = |rate: f64| {
        let rate = format!("parity.rebuild_mb_s={rate}");
        let mut ssd = drive::small(&[&PARITY[..], &["ftl.overprovisioning=3", &rate]].concat());
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        ssd.fail_die(Die(1)).unwrap();
        while !matches!(ssd.step(), Step::Idle) {}
        (ssd.now().us(), ssd.ftl_counts().moved_units)
    };
    let (free, units) = took(0.0);
    assert!(units > 500, "{units} units moved");
    for rate in [2.0, 4.0] {
        let (time, moved) = took(rate);
        assert_eq!(moved, units);
        // Bytes a microsecond are 10^6 bytes a second. The last step pays for no other.
        let expected = 4096.0 * units as f64 / rate;
        assert!(free < 0.5 * expected, "{units} units in {free} us without a pace");
        assert!((time / expected - 1.0).abs() < 0.05, "{rate}: {units} units in {time} us");
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
    // The other die of its superblocks has no die to move its data to.
    let pairs = [&PARITY[..], &["ftl.superblock_dies=2", "ftl.overprovisioning=9"]].concat();
    let mut ssd = drive::small(&pairs);
    ssd.fail_die(Die(1)).unwrap();
    let error = ssd.fail_die(Die(0)).unwrap_err();
    assert_carries(error, &["die 0", "superblocks"]);
    ssd.fail_die(Die(2)).unwrap();
}

/// Settings that no stripe can have are refused by name.
#[test]
fn what_cannot_be_is_refused() {
    let refused = |sets: &[&str]| match drive::built(sets) {
        Ok(_) => panic!("{sets:?}: not refused"),
        Err(error) => error,
    };
    let error = refused(&["parity.pages=3", "ftl.superblock_dies=0"]);
    assert_eq!(error.place, "parity.pages");
    assert_carries(&error.problem, &["3"]);
    let error = refused(&["parity.pages=2", "ftl.superblock_dies=2", "ftl.gc_reserve_blocks=2"]);
    assert_carries(error, &["parity.pages", "2 pages", "2 dies", "ftl.superblock_dies"]);
    for key in ["xor_mb_s", "rebuild_mb_s"] {
        let error = refused(&[&format!("parity.{key}=10")]);
        assert_carries(error, &["parity.pages", key]);
        let error = refused(&[&format!("parity.{key}=-1"), "parity.pages=1"]);
        assert_carries(error, &["out of range", key]);
    }
    let error = refused(&["parity.pages=1"]);
    assert_carries(error, &["parity.pages", "ftl.superblock_dies"]);
    let error = refused(&["parity.pages=1", "ftl.superblock_dies=0", "ftl.overprovisioning=1.2"]);
    assert_carries(error, &["ftl.gc_reserve_blocks", "at least 2"]);
}
