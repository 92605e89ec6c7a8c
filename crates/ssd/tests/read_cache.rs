//! The read cache in a drive: its times, what it holds after writes, trims, cuts and collection,
//! and what is read ahead.

use crate::drive;

use base::Time;
use base::error::assert_carries;
use base::rng::turn;
use ssd::cache::{CachePolicy, ReadCacheCounts};
use ssd::conformance::power::Cuts;
use ssd::conformance::storm::Storm;
use ssd::ftl::ROSTER;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

const UNIT: u64 = 4096;

/// A cache of many units without further time, whose DRAM moves a unit in 4096 ns.
const CACHE: [&str; 2] = ["read_cache.bytes=1048576", "read_cache.dram_mb_s=1000"];

/// The setting of a policy.
fn policy(policy: CachePolicy) -> String {
    format!("read_cache.policy={}", format!("{policy:?}").to_lowercase())
}

/// A drive of these settings that holds `units` units on flash, and none in its cache.
fn filled(sets: &[&str], units: u64) -> Ssd {
    let mut ssd = drive::small(sets);
    ssd.start(0);
    for unit in 0..units {
        done(&mut ssd, Request::new(Op::Write, UNIT * unit, UNIT));
    }
    ssd.settle().unwrap();
    ssd
}

/// Latency of a request that is alone, of which nothing is left under way behind it.
fn done(ssd: &mut Ssd, request: Request) -> Time {
    let start = ssd.now();
    ssd.submit(request, 0, start);
    let Step::Completed(slot) = ssd.step() else { panic!("lost") };
    let (time, failed) = (ssd.now().since(start), ssd.completed(slot).failed);
    assert!(!failed);
    while !matches!(ssd.step(), Step::Idle) {}
    time
}

fn read(ssd: &mut Ssd, unit: u64, units: u64) -> Time {
    done(ssd, Request::new(Op::Read, UNIT * unit, UNIT * units))
}

fn counts(ssd: &Ssd) -> ReadCacheCounts {
    ssd.read_cache_counts().unwrap()
}

/// A hit takes the controller, a transfer for each unit, the further time and the link, to the
/// nanosecond; a miss takes what it takes without a cache.
#[test]
fn a_hit_costs_the_dram_and_the_link() {
    let sets = [&CACHE[..], &["read_cache.latency_us=2"]].concat();
    let (mut with, mut without) = (filled(&sets, 64), filled(&[], 64));
    for (units, unit) in [(1, 3), (4, 8), (3, 30)] {
        assert_eq!(read(&mut with, unit, units), read(&mut without, unit, units));
        let flash = with.flash_counts().reads;
        // The DRAM has taken in what came from flash.
        with.pass_until(with.now() + Time::from_us(100.0));
        // The link moves 3200 MB/s.
        let expected = 500 + 4096 * units + 2000 + 1280 * units + 250;
        assert_eq!(read(&mut with, unit, units), Time(expected), "{units} units");
        assert_eq!(with.flash_counts().reads, flash);
    }
    // Half of it is a hit: the flash is what takes long.
    let (part, whole) = (read(&mut with, 31, 4), read(&mut without, 31, 4));
    assert!(part <= whole && part > Time::from_us(40.0), "{part} {whole}");
    assert_eq!((counts(&with).hits, counts(&with).misses), (8 + 2, 8 + 2));
}

/// Units in the cache have the newest data: writes, trims and partial writes take units out, and a
/// partial write of a unit that is there reads no flash.
#[test]
fn what_changes_leaves_the_cache() {
    let mut ssd = filled(&CACHE, 64);
    read(&mut ssd, 0, 8);
    assert_eq!(ssd.read_cache_units(), Some((8, 256)));
    done(&mut ssd, Request::new(Op::Write, UNIT, 2 * UNIT));
    done(&mut ssd, Request::new(Op::Trim, 4 * UNIT, UNIT));
    assert_eq!((counts(&ssd).dropped_units, counts(&ssd).fills), (3, 0));
    let flash = ssd.flash_counts().reads;
    done(&mut ssd, Request::new(Op::Write, 6 * UNIT, 512));
    assert_eq!((counts(&ssd).dropped_units, counts(&ssd).fills), (4, 1));
    assert_eq!((ssd.flash_counts().reads, ssd.counts().buffer.fills), (flash, 0));
    // One that is not there costs a read.
    done(&mut ssd, Request::new(Op::Write, 20 * UNIT, 512));
    assert_eq!((ssd.flash_counts().reads, ssd.counts().buffer.fills), (flash + 1, 1));
    ssd.settle().unwrap();
    read(&mut ssd, 0, 8);
    assert_eq!((counts(&ssd).hits, counts(&ssd).misses), (4, 8 + 3));
}

/// A sequence is read ahead: each unit comes from flash once, and requests one after the other do
/// not wait for the array each time.
#[test]
fn a_sequence_is_read_ahead() {
    let units = 200;
    let run = |window: &str| {
        let sets = [&CACHE[..], &[window]].concat();
        let mut ssd = filled(&sets, units);
        let (start, flash) = (ssd.now(), ssd.flash_counts().reads);
        for unit in 0..units {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Read, UNIT * unit, UNIT), 0, now);
            let Step::Completed(_) = ssd.step() else { panic!("lost") };
        }
        let took = ssd.now().since(start);
        while !matches!(ssd.step(), Step::Idle) {}
        assert!(ssd.is_quiet());
        (took, ssd.flash_counts().reads - flash, counts(&ssd))
    };
    let (alone, reads, _) = run("read_cache.prefetch_units=0");
    let (ahead, fewer, counts) = run("read_cache.prefetch_units=16");
    assert_eq!(reads, units);
    // Two units of a page are one read.
    assert!(
        4 * fewer < 3 * reads && 4 * ahead.0 < alone.0,
        "{ahead} {alone}, {fewer} reads of {reads}"
    );
    assert_eq!(counts.hits + counts.misses, units);
    // The drive has more units that were never written: nothing is read beyond them.
    assert_eq!((counts.misses, counts.ahead_units), (2, units - 2));
    assert_eq!((counts.ahead_used, counts.ahead_unused), (units - 2, 0));
    assert!(counts.late_units > 0);
}

/// Modes in which a read may end otherwise than it began: a map on flash, retries in turn, losses.
const MODES: [&[&str]; 4] = [
    &[],
    &["buffer.bytes=0", "chip.features.cache_read=true", "read_cache.dram_mb_s=0"],
    &[
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=shares",
        "ecc.failures=[0.9, 0.3, 0.002]",
        "retry.name=soft_decision",
        "retry.in_turn=true",
        "retry.retire_after=1",
        "chip.timing.bus_mt_s=4",
    ],
    &["gc.background_free_blocks=6", "ecc.payload_bytes=512", "ecc.t_decode_us=5000"],
];

/// In a storm every read returns the newest version, whatever the FTL, the policy and the size of
/// the cache, and every unit of a read is counted once.
#[test]
fn reads_return_the_newest_version() {
    for (i, ftl) in ROSTER.iter().enumerate() {
        for (j, asked) in CachePolicy::ALL.into_iter().enumerate() {
            for (k, mode) in MODES.iter().enumerate() {
                if !turn::is_tried(i + j + k, 6) {
                    continue;
                }
                let size = ["16384", "262144"][(i + j) % 2];
                let own = [
                    format!("read_cache.bytes={size}"),
                    format!("read_cache.prefetch_units={}", [4, 2, 0][(j + k) % 3]),
                    policy(asked),
                ];
                let own: Vec<&str> = own.iter().map(String::as_str).collect();
                let sets = drive::of_ftl(ftl, &[&own[..], mode].concat());
                let mut storm = Storm::new(drive::built(&sets).unwrap(), 7);
                storm.follow_reads(0.4);
                let has_blocks = (ftl.schema)()["properties"]["open_blocks"].is_object();
                storm.run(if has_blocks { 1000 } else { 4000 }).unwrap_or_else(|error| {
                    panic!("{sets:?}: {error}");
                });
                check_counts(&mut storm.ssd, &sets);
            }
        }
    }
}

/// Every unit of a read is a hit, a miss, in the buffer or was never written, once nothing is under
/// way.
fn check_counts(ssd: &mut Ssd, sets: &[String]) {
    ssd.settle().unwrap();
    let (all, own) = (ssd.counts(), counts(ssd));
    let found = own.hits + own.misses + all.buffer.read_hits + all.host.read_units_unwritten;
    // A read that begins anew elsewhere asks for its units again.
    let is_in_turn = sets.iter().any(|set| set == "retry.in_turn=true");
    let is_right = found == all.host.read_units || (is_in_turn && found > all.host.read_units);
    assert!(is_right, "{sets:?}: {own:?} of {}", all.host.read_units);
    assert!(own.hits > 0 && own.dropped_units > 0, "{sets:?}: {own:?}");
    let (held, room) = ssd.read_cache_units().unwrap();
    assert!(held <= room);
}

/// After power cuts at any time, and during start-ups, reads are what flushes have promised, and a
/// cache that was filled before holds nothing.
#[test]
fn a_cut_empties_the_cache() {
    for (ftl, asked) in [("page", CachePolicy::Lru), ("dftl", CachePolicy::Arc)] {
        let member = ROSTER.iter().find(|member| member.name == ftl).unwrap();
        let own = ["read_cache.bytes=262144", "read_cache.prefetch_units=8"];
        let mut sets = drive::of_ftl(member, &[&drive::CUT_SHAPE[..], &own].concat());
        sets.extend(["recovery.name=scan_blocks".to_owned(), policy(asked)]);
        let mut cuts = Cuts::new(&drive::config(&sets), 3).unwrap();
        cuts.storm.follow_reads(0.4);
        cuts.run(12).unwrap();
        assert!(counts(&cuts.storm.ssd).hits > 0, "{sets:?}");
        assert_eq!(cuts.storm.ssd.read_cache_units().map(|units| units.0), Some(0));
    }
}

/// Caches that cannot be are refused, with the key and what would do.
#[test]
fn what_cannot_be_is_refused() {
    for (sets, key, says) in [
        (&["read_cache.bytes=100"][..], "read_cache.bytes", "4096"),
        (&["read_cache.bytes=2199023255552"], "read_cache.bytes", "0 to"),
        (&["read_cache.dram_mb_s=-1"], "read_cache.dram_mb_s", "0 to"),
        (
            &["read_cache.bytes=16384", "read_cache.prefetch_units=5"],
            "read_cache.prefetch_units",
            "at most 4",
        ),
        (&["read_cache.prefetch_units=5000"], "read_cache.prefetch_units", "4096"),
    ] {
        let error = drive::built(sets).err().unwrap();
        assert_eq!(error.place, key, "{error}");
        assert_carries(&error.expected, &[says]);
    }
}
