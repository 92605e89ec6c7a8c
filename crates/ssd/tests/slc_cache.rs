//! Tests of `slc_cache` against closed forms: its size, when it is emptied, what that costs, and
//! how fast it is.

use crate::drive;

use base::Time;
use base::rng::Rng;
use nand::geometry::Die;
use ssd::conformance::storm::Storm;
use ssd::ftl::{Job, Lpn, Untimed, Urgency};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Bytes of a set of single-level blocks, one in each of the 8 planes of the small drive.
const SET: u64 = 8 * 9 * 8192;

fn small(sets: &[&str]) -> Ssd {
    let base = ["ftl.name=slc_cache", "ftl.overprovisioning=1.0", "buffer.bytes=65536"];
    drive::small(&[&base, sets].concat())
}

/// Units of a row of the cache.
const ROW: u32 = 4;

/// Writes units in order, row by row, without time.
fn write(ssd: &mut Ssd, units: std::ops::Range<u32>) {
    let mut untimed = Untimed::new(ssd.dies());
    for first in units.step_by(ROW as usize) {
        let row = [0, 1, 2, 3].map(|i| Lpn(first + i));
        ssd.ftl_mut().write_untimed(&row, &mut untimed).unwrap();
    }
}

fn used(ssd: &Ssd) -> u64 {
    ssd.cache().unwrap().used_units * 4096
}

/// Writes 8 KiB at a time in order, as fast as the drive takes them: bytes a second.
fn write_in_order(ssd: &mut Ssd, from: u64, requests: u64) -> f64 {
    let start = ssd.now();
    let mut sent = 0;
    let mut done = start;
    loop {
        while sent < requests && ssd.has_room() {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Write, from + 8192 * sent, 8192), 0, now);
            sent += 1;
        }
        match ssd.step() {
            Step::Completed(_) => done = ssd.now(),
            Step::Idle => break,
            Step::Wake(_) | Step::Ready => {}
        }
        if sent == requests && ssd.outstanding() == 0 {
            break;
        }
    }
    ssd.fault().unwrap();
    (8192 * requests) as f64 / done.since(start).s()
}

/// The dynamic part shrinks in proportion to what the drive holds: writes of new data in order
/// fill the cache to `(S + D) / (1 + D / (T L))`, with static and dynamic bytes S and D, L logical
/// bytes, and the share T at which the dynamic part is gone.
#[test]
fn it_takes_what_its_size_says() {
    for (fixed, dynamic, end) in [(2, 0, 1.0), (1, 6, 1.0), (1, 6, 0.5), (2, 3, 0.8)] {
        let sets = [
            format!("ftl.static_bytes={}", fixed * SET),
            format!("ftl.dynamic_bytes={}", dynamic * SET),
            format!("ftl.shrink_to={end}"),
            "ftl.keep_share=1".to_owned(),
        ];
        let mut ssd = small(&sets.each_ref().map(String::as_str));
        let all = ssd.capacity_bytes();
        let (s, d) = ((fixed * SET) as f64, (dynamic * SET) as f64);
        let expected = (s + d) / (1.0 + d / (end * all as f64));
        let units = (2.0 * (s + d) / 4096.0) as u32;
        let mut cached = 0;
        for unit in (0..units).step_by(ROW as usize) {
            write(&mut ssd, unit..unit + ROW);
            let counts = ssd.ftl_counts().cache;
            if counts.host_units < u64::from(unit + ROW) {
                break;
            }
            cached = counts.host_units * 4096;
        }
        // The frontiers of dies shrink set by set.
        assert!(cached.abs_diff(expected as u64) <= SET + SET / 4, "{cached} of {expected}");
        assert_eq!(ssd.ftl_counts().cache.folded_units, 0);
    }
}

/// Data written once are programmed twice, and the cache is empty but for its open blocks; what is
/// overwritten in the cache is not folded at all.
#[test]
fn folding_moves_what_is_valid_once() {
    let mut ssd = small(&["ftl.dynamic_bytes=0", &format!("ftl.static_bytes={}", 3 * SET)]);
    let units = (2 * SET / 4096) as u32;
    write(&mut ssd, 0..units);
    let mut untimed = Untimed::new(ssd.dies());
    for die in 0..ssd.dies() {
        ssd.ftl_mut().settle_untimed(Job::of(Die(die)), Urgency::Idle, &mut untimed).unwrap();
    }
    let counts = ssd.ftl_counts();
    assert_eq!(counts.cache.host_units, u64::from(units));
    assert_eq!(counts.cache.folded_units, u64::from(units));
    assert_eq!(counts.moved_units, counts.cache.folded_units);
    assert_eq!(used(&ssd), 0);
    assert!((0..units).all(|unit| ssd.lookup(Lpn(unit)).is_some()));

    // A tenth of the cache, overwritten many times: each set is dead before it is folded.
    let mut ssd = small(&[
        "ftl.dynamic_bytes=0",
        &format!("ftl.static_bytes={}", 3 * SET),
        "ftl.keep_share=1",
        "ftl.when_full=fold",
    ]);
    let hot = units / 6;
    (0..60).for_each(|_| write(&mut ssd, 0..hot));
    let counts = ssd.ftl_counts();
    assert_eq!(counts.cache.host_units, u64::from(60 * hot), "nothing goes past the cache");
    assert_eq!(counts.cache.folded_units, 0);
    assert!(counts.cache.erased_blocks > 8 * 8, "{counts:?}");
}

/// A cache that keeps its data folds nothing in idle times; when it must be smaller, it does.
#[test]
fn it_keeps_data_until_their_room_is_needed() {
    let sets = ["ftl.keep_share=1", "ftl.shrink_to=0.4", "ftl.when_full=fold"];
    let dynamic = format!("ftl.dynamic_bytes={}", 4 * SET);
    let mut ssd = small(&[&sets[..], &[&dynamic]].concat());
    let all = (ssd.capacity_bytes() / 4096) as u32;
    write(&mut ssd, 0..all / 10);
    for die in 0..ssd.dies() {
        let is_idle_work = ssd.ftl_mut().wants(Job::of(Die(die)), Urgency::Idle);
        assert!(!is_idle_work, "die {die}");
    }
    let before = used(&ssd);
    write(&mut ssd, all / 10..all / 2);
    let state = ssd.cache().unwrap();
    assert_eq!(state.room_units * 4096, SET, "the dynamic part is gone");
    assert!(used(&ssd) <= 2 * SET && used(&ssd) < before, "{} of {before}", used(&ssd));
}

/// Throughput in the cache and after it: rows of all dies, one behind the other. In a row of the
/// cache 4 units of 4 KiB go over the bus of two dies (41 us) and are programmed in 200 us; a
/// native row of two planes takes the lower and the upper page in turn.
#[test]
fn it_is_as_fast_as_its_programs() {
    let timing = "chip.timing.single_level={t_program_us=200.0}";
    let size = format!("ftl.static_bytes={}", 40 * SET);
    let blocks = "chip.geometry.blocks_per_plane=200";
    let buffer = "buffer.bytes=1048576";
    let mut ssd =
        small(&[timing, &size, "ftl.dynamic_bytes=0", "ftl.keep_share=1", blocks, buffer]);
    ssd.start(0);
    let row = 2.0 * (8192.0 / 400e6 + 0.3e-6);
    let bytes = 4.0 * 16384.0;
    let found = write_in_order(&mut ssd, 0, 40 * SET / 8192 - 64);
    let expected = bytes / (row + 200e-6);
    assert!((found / expected - 1.0).abs() < 0.04, "{found} in the cache, not {expected}");
    write_in_order(&mut ssd, 40 * SET, 64);
    let found = write_in_order(&mut ssd, 41 * SET, 1600);
    let expected = bytes / (row + 750e-6);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} after it, not {expected}");
}

/// Settings of a drive with parity over its four dies, in the cache and behind it.
const PARITY: [&str; 5] = [
    "parity.pages=1",
    "ftl.superblock_dies=0",
    "ftl.gc_reserve_blocks=2",
    "ftl.overprovisioning=5",
    "chip.geometry.blocks_per_plane=60",
];

/// Writes in order that stay in the cache take a row of parity for each k rows of data, or two:
/// the cache programs (k + m) / k units for each one of the host.
#[test]
fn rows_of_the_cache_have_their_parity() {
    for (dies, pages) in [(2u32, 1), (4, 1), (4, 2)] {
        let width = format!("ftl.superblock_dies={dies}");
        let (parity, size) = (format!("parity.pages={pages}"), 8 * SET);
        let size = format!("ftl.static_bytes={size}");
        let cache = ["ftl.dynamic_bytes=0", "ftl.keep_share=1"];
        let sets = [&PARITY[..], &[&width, &parity, &size], &cache].concat();
        let mut ssd = small(&sets);
        // Units of data in six whole superblocks of each span.
        let units = (6 * SET / 4096) as u32 / dies * (dies - pages);
        write(&mut ssd, 0..units);
        let counts = ssd.ftl_counts();
        assert_eq!(counts.cache.host_units, u64::from(units), "nothing goes past the cache");
        let due = u64::from(units / (dies - pages) * pages);
        // The last parity of a span is in memory until the next row comes.
        let waiting = due - counts.stripes.units;
        assert!(waiting <= u64::from(4 / dies * ROW * pages), "{due}: {counts:?}");
        assert_eq!(counts.padding_units, counts.stripes.units, "{counts:?}");
        assert_eq!(used(&ssd), 6 * SET, "whole superblocks");
    }
}

/// Data written once to superblocks of the cache are programmed twice, with parity each time, and
/// those that are overwritten there are not folded at all.
#[test]
fn superblocks_of_the_cache_are_folded_whole() {
    let size = format!("ftl.static_bytes={}", 4 * SET);
    let mut ssd = small(&[&PARITY[..], &["ftl.dynamic_bytes=0", &size]].concat());
    let units = (3 * SET / 4096) as u32 / 4 * 3;
    write(&mut ssd, 0..units);
    let mut untimed = Untimed::new(ssd.dies());
    for die in 0..ssd.dies() {
        ssd.ftl_mut().settle_untimed(Job::of(Die(die)), Urgency::Idle, &mut untimed).unwrap();
    }
    // The last superblock lacks a row of parity, which waits for the next data.
    let counts = ssd.ftl_counts();
    assert_eq!(counts.cache.folded_units, u64::from(2 * units / 3));
    assert_eq!(counts.moved_units, counts.cache.folded_units);
    assert_eq!((used(&ssd), counts.cache.erased_blocks), (SET, 2 * 8));
    // Whole rows leave whole rows: nothing but parity is padding, in the cache and behind it.
    assert_eq!(counts.padding_units, counts.stripes.units, "{counts:?}");
    assert!(counts.stripes.units > u64::from(units / 3), "{counts:?}");
    assert!((0..units).all(|unit| ssd.lookup(Lpn(unit)).is_some()));

    let cache = ["ftl.dynamic_bytes=0", "ftl.keep_share=1", "ftl.when_full=fold", &size];
    let mut ssd = small(&[&PARITY[..], &cache].concat());
    let hot = units / 6;
    (0..60).for_each(|_| write(&mut ssd, 0..hot / ROW * ROW));
    let counts = ssd.ftl_counts();
    assert_eq!(counts.cache.host_units, u64::from(60 * (hot / ROW * ROW)));
    assert_eq!(counts.cache.folded_units, 0);
    assert!(counts.cache.erased_blocks > 8 * 8, "{counts:?}");
}

/// A die fails while the cache is full: every unit is read, in the cache and behind it, at once and
/// when the die is rebuilt. What was in the cache is native then.
#[test]
fn a_failed_die_loses_nothing_of_the_cache() {
    let size = format!("ftl.static_bytes={}", 4 * SET);
    let cache = ["ftl.dynamic_bytes=0", "ftl.keep_share=1", &size];
    let mut ssd = small(&[&PARITY[..], &cache].concat());
    let all = (ssd.capacity_bytes() / 4096) as u32 / ROW * ROW;
    write(&mut ssd, 0..all);
    let mut untimed = Untimed::new(ssd.dies());
    for die in 0..ssd.dies() {
        ssd.ftl_mut().settle_untimed(Job::of(Die(die)), Urgency::Due, &mut untimed).unwrap();
    }
    assert!(used(&ssd) > 3 * SET, "{} bytes in the cache", used(&ssd));
    ssd.start(0);
    ssd.fail_die(Die(1)).unwrap();
    for _ in 0..2 {
        for unit in 0..u64::from(all) {
            while !ssd.has_room() {
                ssd.step();
            }
            ssd.submit(Request::new(Op::Read, unit * 4096, 4096), 0, ssd.now());
        }
        while !matches!(ssd.step(), Step::Idle) {}
    }
    ssd.fault().unwrap();
    let parity = ssd.counts().parity;
    assert!(parity.rebuilt_reads > 20, "{parity:?}");
    assert_eq!((parity.lost_reads, ssd.counts().codes.uncorrectable), (0, 0));
    assert!(ssd.failed_dies()[0].rebuilt_at.is_some());
    assert!(ssd.ftl_counts().cache.folded_units > 0);
}

/// Storms on superblocks of the cache, with programs that fail and blocks that wear out.
#[test]
fn storms_on_superblocks_of_the_cache() {
    let modes: [&[&str]; 6] = [
        &["ftl.superblock_dies=0"],
        &["ftl.superblock_dies=2", "ftl.when_full=fold", "ftl.keep_share=0.5"],
        &["ftl.superblock_dies=0", "ftl.when_full=fold", "ftl.dynamic_bytes=0", "buffer.bytes=0"],
        &["ftl.superblock_dies=0", "chip.fault.program_failure_chance=0.0005", "gc.rotation=all"],
        &["ftl.superblock_dies=0", "gc.reclaim_reads=8", "chip.geometry.bad_block_fraction=0.05"],
        &[
            "ftl.superblock_dies=2",
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "ftl.separate_gc_stream=false",
            "ftl.static_wear_delta=2",
        ],
    ];
    for (seed, mode) in (0..).zip(modes) {
        let base = ["ftl.name=slc_cache", "ftl.overprovisioning=1.2", "ftl.gc_reserve_blocks=2"];
        let sets = [&base[..], mode].concat();
        let mut storm = Storm::new(drive::small(&sets), seed);
        storm.run(12_000).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        let counts = storm.ssd.ftl_counts();
        assert!(counts.cache.folded_units > 0 && counts.reclaimed_blocks > 0, "{sets:?}");
    }
}

/// With `gc.background_after_us`, pauses of a burst are no idle time, and longer ones are.
#[test]
fn folding_waits_for_an_idle_time() {
    for (pause_us, folds) in [(800.0, false), (3000.0, true)] {
        let size = format!("ftl.static_bytes={}", 4 * SET);
        let mut ssd = small(&[&size, "ftl.dynamic_bytes=0", "gc.background_after_us=1000.0"]);
        ssd.start(0);
        let mut rng = Rng::stream(1, "pauses");
        let mut sent = 0;
        ssd.wake_at(Time::ZERO, 0);
        while sent < 200 {
            match ssd.step() {
                Step::Wake(_) => {
                    let (now, unit) = (ssd.now(), rng.below(ssd.capacity_bytes() / 8192));
                    ssd.submit(Request::new(Op::Write, 8192 * unit, 8192), 0, now);
                    sent += 1;
                    ssd.wake_at(now + Time::from_us(pause_us), 0);
                }
                Step::Idle => break,
                Step::Completed(_) | Step::Ready => {}
            }
        }
        let folded = ssd.ftl_counts().cache.folded_units;
        assert_eq!(folded > 0, folds, "{folded} units folded at pauses of {pause_us} us");
        ssd.settle().unwrap();
        assert!(ssd.ftl_counts().cache.folded_units > 0, "in the end there is time");
    }
}

/// Cells and parameters that allow no cache are refused.
#[test]
fn it_refuses_what_cannot_be() {
    let refused = |sets: &[&str]| {
        let all = [&["ftl.name=slc_cache", "ftl.overprovisioning=1.0"], sets].concat();
        let config = ssd::conformance::small_config(&all);
        let built = config.and_then(|config| Ssd::new(&config, 1 << 30).map(|_| ()));
        built.unwrap_err().to_string()
    };
    let one_bit = ["chip.cell_bits=1", "chip.timing.t_read_us=25", "chip.timing.t_program_us=200"];
    assert!(refused(&one_bit).contains("chip.cell_bits"));
    assert!(refused(&["ftl.shrink_from=0.9", "ftl.shrink_to=0.5"]).contains("ftl.shrink_from"));
    assert!(refused(&["ftl.shrink_to=1.5"]).contains("ftl.shrink_to"));
    assert!(refused(&["ftl.static_bytes=100000000"]).contains("blocks"));
    let set = "gc.background_after_us=5.0";
    let error = ssd::conformance::small_config(&[set])
        .and_then(|config| Ssd::new(&config, 1 << 30).map(|_| ()))
        .unwrap_err();
    assert!(error.to_string().contains("background_after_us"), "{error}");
}
