//! Costs of a map on flash (`dftl`) against closed forms; a map that fits its cache costs nothing.

#![allow(clippy::print_stdout)]

use base::family::Choice;
use base::rng::Rng;
use nand::geometry::{Geometry, GeometryConfig};
use ssd::ftl::{self, Access, Context, Ftl, FtlConfig, FtlCounts, Known, Lpn, Untimed};
use ssd::gc::{self, GcConfig, Policy, contract::Shape};

const PAGES_PER_BLOCK: u32 = 64;
/// Entries of a page of the map, 4 bytes each in a unit of 4096.
const ENTRIES: u32 = 1024;

/// One plane of `blocks` blocks of 64 pages of one unit, half of them spare.
fn context(blocks: u32) -> Context {
    let geometry = GeometryConfig {
        planes_per_die: 1,
        blocks_per_plane: blocks,
        pages_per_block: PAGES_PER_BLOCK,
        page_bytes: 4096,
        spare_bytes: 0,
        bad_block_fraction: 0.0,
    };
    let geometry = Geometry::new(&geometry, 1, 4096).unwrap();
    let shape = Shape { planes: 1, blocks_per_plane: blocks, units_per_block: PAGES_PER_BLOCK };
    let mut choice = Choice::named("greedy");
    let member = choice.resolve(gc::ROSTER, "gc").unwrap();
    let policy = Policy::new(member.build, choice.params, Rng::stream(1, "gc"));
    let victims = policy.victims(&shape).unwrap();
    Context {
        kinds: Vec::new(),
        kind_of_die: Vec::new(),
        bad: vec![false; blocks as usize],
        failed: Vec::new(),
        geometry,
        planes_per_program: 1,
        pages_per_program: 1,
        single_level_pages: PAGES_PER_BLOCK,
        fast_pages: vec![true; PAGES_PER_BLOCK as usize],
        code_stages: Vec::new(),
        parity_pages: 0,
        writes_partial_stripes: false,
        config: FtlConfig { unit_bytes: 4096, overprovisioning: 1.0, ..FtlConfig::default() },
        gc: GcConfig { start_free_blocks: 2, ..GcConfig::default() },
        victims,
        policy,
        pe_cycles: 0,
        is_start_up: false,
    }
}

/// An FTL on a drive of `blocks` blocks.
fn drive(name: &str, params: &[(&str, i64)], blocks: u32) -> Box<dyn Ftl> {
    let mut choice = Choice::named(name);
    choice.params.insert("static_wear_delta".into(), 0.into());
    for &(key, value) in params {
        match key {
            "map_batch" => choice.params.insert(key.into(), (value != 0).into()),
            "map_cache_policy" => {
                let policy = ["lru", "segmented_lru", "tpftl"][value as usize];
                choice.params.insert(key.into(), policy.into())
            }
            _ => choice.params.insert(key.into(), value.into()),
        };
    }
    let member = choice.resolve(ftl::ROSTER, "ftl").unwrap();
    (member.build)(context(blocks), &choice.params).unwrap()
}

/// Fills an FTL and overwrites it at random. Returns the counts of the last four drive writes.
fn overwritten(ftl: &mut dyn Ftl) -> FtlCounts {
    let units = u64::from(ftl.facts().logical_units);
    let mut untimed = Untimed::new(1);
    let mut rng = Rng::stream(2, "addresses");
    let all: Vec<Lpn> = (0..units as u32).map(Lpn).collect();
    ftl.write_untimed(&all, &mut untimed).unwrap();
    let mut draw = || Lpn(rng.below(units) as u32);
    ftl.overwrite_untimed(6 * units, &mut draw, &mut untimed).unwrap();
    ftl.start_run(Some(0));
    ftl.overwrite_untimed(4 * units, &mut draw, &mut untimed).unwrap();
    ftl.counts()
}

/// Prints a row of docs/validation.md, then holds it to its tolerance.
fn validate(what: &str, ours: f64, reference: f64, tolerance: f64) {
    let source = "(1 - C/N) (2 reads + 1 program) a write, and T (1 - (1 - 1/T)^v) of both a \
                  victim with v valid pages and a map of T (derived from the rules of gupta2009)";
    println!("validation | {what} | {ours} | {reference} | {tolerance:.2e} | {source}");
    assert!(
        (ours - reference).abs() <= tolerance * reference.abs(),
        "{what}: {ours} against {reference}"
    );
}

#[test]
fn uniform_writes_read_and_write_the_map_as_often_as_the_closed_form_says() {
    for share in [0.1, 0.3, 0.45] {
        let blocks = 2048;
        let logical = f64::from(blocks * PAGES_PER_BLOCK / 2);
        let entries = (share * logical) as i64;
        let params = [("map_cache_bytes", 8 * entries), ("map_batch", 0)];
        let mut ftl = drive("dftl", &params, blocks);
        let units = f64::from(ftl.facts().logical_units);
        let counts = overwritten(&mut *ftl);
        let host = counts.host_units as f64;
        let missed = 1.0 - entries as f64 / units;
        let hits = counts.map.hits as f64 / (counts.map.hits + counts.map.misses) as f64;
        validate(&format!("dftl: hit rate, {share} of the map cached"), hits, 1.0 - missed, 0.02);
        // Victims with data are filled by the host and by collection of data.
        let moved = (counts.moved_units - counts.map.moves) as f64;
        let victims = (host + moved) / f64::from(PAGES_PER_BLOCK);
        let valid = moved / victims;
        // An entry stays in memory for so many writes after the last use of it; what is valid in a
        // victim was written longer ago than that, so that none of its entries is there.
        let stays = -units * (1.0 - entries as f64 / units).ln();
        let age = units * (f64::from(PAGES_PER_BLOCK) / valid).ln();
        assert!(stays < age, "{stays} of {age}");
        let pages = (units / f64::from(ENTRIES)).ceil();
        let pairs = pages * (1.0 - (1.0 - 1.0 / pages).powf(valid)) * victims / host;
        let reads = counts.map.reads as f64 / host;
        let writes = counts.map.writes as f64 / host;
        let of = |what: &str| format!("dftl: map pages {what} a host write, {share} cached");
        validate(&of("read"), reads, 2.0 * missed + pairs, 0.02);
        validate(&of("written"), writes, missed + pairs, 0.02);
    }
}

/// Written in order, a page of the map is written once for all its entries.
#[test]
fn writes_in_order_write_each_page_of_the_map_once() {
    let mut ftl = drive("dftl", &[("map_cache_bytes", 8192)], 512);
    let units = ftl.facts().logical_units;
    let mut untimed = Untimed::new(1);
    let all: Vec<Lpn> = (0..units).map(Lpn).collect();
    ftl.write_untimed(&all, &mut untimed).unwrap();
    let map = ftl.counts().map;
    // Nothing is read: no page was written before. The last entries are still in memory.
    assert_eq!(map.reads, 0);
    assert!(map.writes <= u64::from(units.div_ceil(ENTRIES)), "{map:?}");
    assert!(map.writes + 8 >= u64::from(units.div_ceil(ENTRIES)), "{map:?}");
}

/// Policies of the map cache, as `drive` takes them.
const LRU: (&str, i64) = ("map_cache_policy", 0);
const SEGMENTED_LRU: (&str, i64) = ("map_cache_policy", 1);
const TPFTL: (&str, i64) = ("map_cache_policy", 2);

/// A drive of 32,768 units in 32 pages of the map, all written, with room for `entries` of them.
fn filled(policy: (&str, i64), entries: i64) -> Box<dyn Ftl> {
    let mut ftl = drive("dftl", &[policy, ("map_cache_bytes", 8 * entries)], 1024);
    let all: Vec<Lpn> = (0..ftl.facts().logical_units).map(Lpn).collect();
    ftl.write_untimed(&all, &mut Untimed::new(1)).unwrap();
    ftl
}

/// Reads single units. Returns how many of them the cache did not have.
fn misses(ftl: &mut dyn Ftl, units: impl IntoIterator<Item = u32>) -> u64 {
    let before = ftl.counts().map.misses;
    for lpn in units.into_iter().map(Lpn) {
        let map = ftl.map_on_flash_mut().unwrap();
        match map.access(lpn, 1, Access::Read) {
            Known::Units(_) => {}
            Known::Read(_) | Known::HostMemory(_) => _ = map.map_read(lpn, 1, Access::Read),
            Known::Mispredicted(_) | Known::Later => panic!("nothing is under way"),
        }
        while let Some(job) = ftl.wanted() {
            let untimed = &mut Untimed::new(1);
            ftl.settle_untimed(job, ssd::ftl::Urgency::Blocked, untimed).unwrap();
        }
    }
    ftl.counts().map.misses - before
}

/// A cache with room for C of N units that are read equally often has C / N of the hits, whatever
/// its policy.
#[test]
fn uniform_reads_hit_as_often_as_the_cache_is_large() {
    for policy in [LRU, SEGMENTED_LRU, TPFTL] {
        let mut ftl = filled(policy, 8192);
        let mut rng = Rng::stream(3, "reads");
        let units = ftl.facts().logical_units;
        let mut draw = |count: u32| (0..count).map(|_| rng.below(units.into()) as u32).collect();
        let (warm, asked): (Vec<u32>, Vec<u32>) = (draw(100_000), draw(200_000));
        misses(&mut *ftl, warm);
        let hits = 1.0 - misses(&mut *ftl, asked) as f64 / 200_000.0;
        let expected = 8192.0 / f64::from(units);
        assert!((hits / expected - 1.0).abs() < 0.02, "{policy:?}: {hits} against {expected}");
    }
}

/// A scan of units that are asked for once pushes out what `lru` has, and nothing that
/// `segmented_lru` protects.
#[test]
fn a_scan_leaves_protected_entries_alone() {
    for (policy, lost) in [(LRU, 500), (SEGMENTED_LRU, 0)] {
        let mut ftl = filled(policy, 1000);
        let hot = || (0..500).map(|i| 7 * i);
        misses(&mut *ftl, hot());
        assert_eq!(misses(&mut *ftl, hot()), 0, "{policy:?}");
        assert_eq!(misses(&mut *ftl, 10_000..20_000), 10_000, "{policy:?}");
        assert_eq!(misses(&mut *ftl, hot()), lost, "{policy:?}");
    }
    // What is protected has room for 80 % of the entries: the oldest of the others go.
    let mut ftl = filled(SEGMENTED_LRU, 1000);
    let hot = || (0..900).map(|i| 7 * i);
    misses(&mut *ftl, hot());
    misses(&mut *ftl, hot());
    misses(&mut *ftl, 10_000..20_000);
    assert_eq!(misses(&mut *ftl, (100..900).map(|i| 7 * i)), 0);
    assert_eq!(misses(&mut *ftl, (0..100).map(|i| 7 * i)), 100);
}

/// One dirty entry that leaves cleans the others of its page: m pages with k dirty entries each
/// are written m times.
#[test]
fn tpftl_writes_each_page_once_for_all_its_entries() {
    for (pages, each) in [(8u32, 128u32), (16, 64)] {
        let mut ftl = filled(TPFTL, 1024);
        misses(&mut *ftl, 0..2048);
        ftl.start_run(None);
        let dirty = (0..pages * each).map(|i| Lpn((i % pages) * ENTRIES + 5 * (i / pages)));
        ftl.write_untimed(&dirty.collect::<Vec<_>>(), &mut Untimed::new(1)).unwrap();
        let before = ftl.counts().map.writes;
        misses(&mut *ftl, 20 * ENTRIES..20 * ENTRIES + 1024);
        misses(&mut *ftl, 22 * ENTRIES..22 * ENTRIES + 1024);
        assert_eq!(ftl.counts().map.writes - before, u64::from(pages));
    }
}

/// In order, each miss reads as many entries ahead as there are before it: 1, 2, 4, ..., so that a
/// page of 1,024 is read 11 times. `lru` reads it for every unit.
#[test]
fn tpftl_reads_ahead_in_order() {
    for (policy, expected) in [(LRU, 1024), (TPFTL, 11)] {
        let mut ftl = filled(policy, 4096);
        let mut rng = Rng::stream(4, "reads");
        // Single entries of many pages first: these make way for few pages with many.
        let units = u64::from(ftl.facts().logical_units);
        misses(&mut *ftl, (0..20_000).map(|_| rng.below(units) as u32));
        misses(&mut *ftl, 0..8 * ENTRIES);
        for page in 8..16 {
            let missed = misses(&mut *ftl, page * ENTRIES..(page + 1) * ENTRIES);
            assert_eq!(missed, expected, "{policy:?}, page {page}");
        }
    }
}

#[test]
fn a_map_that_fits_its_cache_is_that_of_page() {
    let counts = |name: &str, params: &[(&str, i64)]| overwritten(&mut *drive(name, params, 128));
    let page = counts("page", &[]);
    assert_eq!(page, counts("dftl", &[("map_cache_bytes", 4 * 128 * 64)]));
    assert_ne!(page, counts("dftl", &[("map_cache_bytes", 4096)]));
}

/// Share of requests that an LRU cache of `room` pages answers, by Che's approximation, where each
/// request asks for page `i` with chance `chances[i]`.
fn che(chances: &[f64], room: f64) -> f64 {
    let held = |age: f64| chances.iter().map(|chance| -(-chance * age).exp_m1()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        *(if held(middle) < room { &mut low } else { &mut high }) = middle;
    }
    chances.iter().map(|chance| -chance * (-chance * low).exp_m1()).sum()
}

/// Reads of units of map pages that are not asked for equally often find their pages in the host's
/// memory as often as an LRU cache of pages has them.
#[test]
fn the_memory_of_the_host_hits_as_often_as_an_lru_cache_of_map_pages() {
    for (room, skew) in [(32, 0.6), (64, 0.9), (128, 0.0)] {
        let memory = ("host_memory_bytes", i64::from(room) * 4096);
        let mut ftl = drive("dftl", &[LRU, ("map_cache_bytes", 512), memory], 8192);
        let units = ftl.facts().logical_units;
        let all: Vec<Lpn> = (0..units).map(Lpn).collect();
        ftl.write_untimed(&all, &mut Untimed::new(1)).unwrap();
        let pages = units.div_ceil(ENTRIES);
        let weights: Vec<f64> = (1..=pages).map(|rank| f64::from(rank).powf(-skew)).collect();
        let sum: f64 = weights.iter().sum();
        let chances: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let mut ends = chances.clone();
        (1..ends.len()).for_each(|i| ends[i] += ends[i - 1]);
        let mut rng = Rng::stream(4, "reads");
        let mut draw = |count: u32| -> Vec<u32> {
            let page = |at: f64| ends.partition_point(|&end| end < at).min(ends.len() - 1) as u32;
            let one = |_| page(rng.unit()) * ENTRIES + rng.below(ENTRIES.into()) as u32;
            (0..count).map(one).map(|unit| unit.min(units - 1)).collect()
        };
        let (warm, asked) = (draw(20_000), draw(400_000));
        misses(&mut *ftl, warm);
        ftl.start_run(None);
        let missed = misses(&mut *ftl, asked) as f64;
        let map = ftl.counts().map;
        let found = map.host_memory_hits as f64 / missed;
        let expected = che(&chances, room.into());
        println!(
            "validation | dftl: map pages found in the host's memory, room for {room} of {pages}, \
             Zipf {skew} | {found} | {expected} | 1.00e-2 | Che's approximation of an LRU cache"
        );
        assert!((found / expected - 1.0).abs() < 0.01, "{room}, {skew}: {found}, {expected}");
        // Each of the others has read its page from flash.
        assert_eq!(map.reads, map.misses - map.host_memory_hits);
    }
}

/// Memory of the host that holds the whole map costs one read of flash for each page, ever.
#[test]
fn pages_in_the_memory_of_the_host_are_read_once() {
    let memory = ("host_memory_bytes", 1 << 20);
    let mut ftl = drive("dftl", &[LRU, ("map_cache_bytes", 512), memory], 1024);
    let units = ftl.facts().logical_units;
    let all: Vec<Lpn> = (0..units).map(Lpn).collect();
    ftl.write_untimed(&all, &mut Untimed::new(1)).unwrap();
    let all = || (0..units).step_by(97);
    misses(&mut *ftl, all());
    let copies = ftl.map_on_flash_mut().unwrap().copied_to_host();
    assert!(copies >= units.div_ceil(ENTRIES), "{copies}");
    ftl.start_run(None);
    let missed = misses(&mut *ftl, all().chain(all()));
    let map = ftl.counts().map;
    assert_eq!((map.reads, map.host_memory_hits), (0, missed), "{map:?}");
    // Each page crosses the link once, and again with each new version.
    assert_eq!(ftl.map_on_flash_mut().unwrap().copied_to_host(), 0);
    let writes = map.writes;
    let mut rng = Rng::stream(5, "writes");
    let some: Vec<Lpn> = (0..20_000).map(|_| Lpn(rng.below(units.into()) as u32)).collect();
    ftl.write_untimed(&some, &mut Untimed::new(1)).unwrap();
    let written = ftl.counts().map.writes - writes;
    assert!(written > 1000, "{written}");
    assert_eq!(u64::from(ftl.map_on_flash_mut().unwrap().copied_to_host()), written);
    let mut choice = Choice::named("dftl");
    choice.params.insert("map_cache_bytes".into(), 512.into());
    choice.params.insert("host_memory_bytes".into(), 4095.into());
    let member = choice.resolve(ftl::ROSTER, "ftl").unwrap();
    let error = (member.build)(context(1024), &choice.params).err().unwrap().to_string();
    assert!(error.contains("4095 bytes"), "{error}");
}
