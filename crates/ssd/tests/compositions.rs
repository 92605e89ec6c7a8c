//! Compositions of page-mapped FTLs: each mapping over each layout, and hooks over each, holds all
//! promises: in batches, in any order of what is under way, in storms, on drives that wear out, and
//! across power cuts.

use crate::drive;

use base::params::Table;
use base::rng::{Rng, turn};
use base::{Error, Result};
use ssd::config::SsdConfig;
use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::power::Cuts;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::Lpn;
use ssd::ftl::contract::{Account, parts};
use ssd::ftl::own::{Candidate, HookFacts, Hooks, OwnFtl};
use ssd::precondition::Precondition;
use ssd::recovery;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Urgent data leave slow pages empty, which no recovery reads.
const SKIPPING: &[&str] = &["ftl.fast_pages=true", "ftl.skip_slow_pages=true"];

/// Writes of the second stream go to blocks with reduced levels.
const REDUCED: &[&str] = &[
    "chip.reduced={t_program_us=250, rber_factor=2}",
    "ftl.host_streams=2",
    "ftl.reduced_streams=[1]",
    "ftl.separate_gc_stream=true",
];
const REDUCED_IN_SUPERBLOCKS: &[&str] =
    &[REDUCED[0], REDUCED[1], REDUCED[2], REDUCED[3], "ftl.superblock_dies=2"];
const REDUCED_LEARNED: &[&str] =
    &[REDUCED[0], REDUCED[1], REDUCED[2], REDUCED[3], "ftl.name=learned"];
const REDUCED_CACHED: &[&str] =
    &[REDUCED[0], REDUCED[1], REDUCED[2], REDUCED[3], "ftl.name=dftl", "ftl.map_cache_bytes=512"];

/// Collection keeps the data of each of two streams in blocks of their own.
const KEPT: &[&str] = &[
    "ftl.isolation=persistent",
    "ftl.host_streams=2",
    "ftl.separate_gc_stream=true",
    "chip.geometry.blocks_per_plane=28",
];
const KEPT_IN_SUPERBLOCKS: &[&str] = &[KEPT[0], KEPT[1], KEPT[2], KEPT[3], "ftl.superblock_dies=2"];
const KEPT_LEARNED: &[&str] = &[KEPT[0], KEPT[1], KEPT[2], KEPT[3], "ftl.name=learned"];
const KEPT_CACHED: &[&str] =
    &[KEPT[0], KEPT[1], KEPT[2], KEPT[3], "ftl.name=dftl", "ftl.map_cache_bytes=512"];

/// Each of two streams may use half of the spare.
const QUOTAS: &[&str] = &[
    KEPT[0],
    KEPT[1],
    KEPT[2],
    "chip.geometry.blocks_per_plane=48",
    "ftl.handle_quota=[0.5, 0.5]",
];
const QUOTAS_IN_SUPERBLOCKS: &[&str] =
    &[QUOTAS[0], QUOTAS[1], QUOTAS[2], QUOTAS[3], QUOTAS[4], "ftl.superblock_dies=2"];
const QUOTAS_CACHED: &[&str] = &[
    QUOTAS[0],
    QUOTAS[1],
    QUOTAS[2],
    QUOTAS[3],
    QUOTAS[4],
    "ftl.name=dftl",
    "ftl.map_cache_bytes=512",
];

/// Parity over the dies of superblocks.
const PARITY: &[&str] = &[
    "parity.pages=1",
    "ftl.superblock_dies=0",
    "ftl.gc_reserve_blocks=2",
    "gc.start_free_blocks=4",
    "chip.geometry.blocks_per_plane=40",
];
const PARITY_LEARNED: &[&str] =
    &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], PARITY[4], "ftl.name=learned", "ftl.gamma=16"];
const PARITY_CACHED: &[&str] = &[
    PARITY[0],
    PARITY[1],
    PARITY[2],
    PARITY[3],
    PARITY[4],
    "ftl.name=dftl",
    "ftl.map_cache_bytes=512",
];

/// Moved data of several streams in superblocks.
const SORTED_IN_SUPERBLOCKS: &[&str] =
    &["ftl.superblock_dies=0", "ftl.separate_gc_stream=true", "chip.geometry.blocks_per_plane=28"];
const SORTED_IN_PAIRS: &[&str] =
    &["ftl.superblock_dies=2", SORTED_IN_SUPERBLOCKS[1], SORTED_IN_SUPERBLOCKS[2]];
const SEPBIT: &[&str] =
    &["ftl.name=sepbit", "ftl.superblock_dies=0", "chip.geometry.blocks_per_plane=28"];
const SEPBIT_IN_PAIRS: &[&str] = &[SEPBIT[0], "ftl.superblock_dies=2", SEPBIT[2]];
const PARITY_SORTED: &[&str] =
    &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], PARITY[4], "ftl.separate_gc_stream=true"];
const PARITY_SEPBIT: &[&str] =
    &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], PARITY[4], "ftl.name=sepbit"];
const PARITY_WRITTEN: &[&str] = &[
    PARITY[0],
    PARITY[1],
    PARITY[2],
    PARITY[3],
    "chip.geometry.blocks_per_plane=44",
    "parity.partial=written",
];
const PARITY_OF_CACHE: &[&str] = &[
    PARITY[0],
    PARITY[1],
    PARITY[2],
    PARITY[3],
    PARITY[4],
    "ftl.name=slc_cache",
    "ftl.when_full=fold",
];
const PARITY_OF_CACHE_AND_MAP: &[&str] = &[
    PARITY[0],
    PARITY[1],
    PARITY[2],
    PARITY[3],
    PARITY[4],
    "ftl.name=slc_cache",
    "ftl.map_cache_bytes=512",
];

/// Copies of one map page, or of three, lie in the memory of the host.
const IN_HOST_MEMORY: &[&str] = &[
    "ftl.name=dftl",
    "ftl.map_cache_bytes=512",
    "ftl.host_memory_bytes=12288",
    "host.memory_latency_us=1",
];
const CACHE_IN_HOST_MEMORY: &[&str] =
    &["ftl.name=slc_cache", "ftl.map_cache_bytes=512", "ftl.host_memory_bytes=4096"];

/// Compositions that are not members of the roster by themselves: parameters, and the streams of
/// moved data where hooks decide, else 0.
const COMPOSED: &[(&[&str], u32)] = &[
    (&["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.superblock_dies=0"], 0),
    (&["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.superblock_dies=2"], 0),
    (&["ftl.name=learned", "ftl.gamma=16", "ftl.superblock_dies=0"], 0),
    (&["ftl.name=learned", "ftl.gamma=16", "ftl.superblock_dies=2"], 0),
    (&["ftl.fast_pages=true", "ftl.superblock_dies=0"], 0),
    (&["ftl.fast_pages=true", "ftl.fast_region=[0, 16384]"], 0),
    (&["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.fast_pages=true"], 0),
    (&["ftl.name=learned", "ftl.gamma=16", "ftl.fast_pages=true", "ftl.superblock_dies=2"], 0),
    (&["ftl.superblock_dies=0"], 0),
    (SKIPPING, 0),
    (&["ftl.name=slc_cache", "ftl.map_cache_bytes=512"], 0),
    (IN_HOST_MEMORY, 0),
    (CACHE_IN_HOST_MEMORY, 0),
    (&["ftl.name=slc_cache", "ftl.map_cache_bytes=512", "ftl.when_full=fold"], 0),
    (&["ftl.name=slc_cache", "ftl.superblock_dies=0", "ftl.keep_share=0.5"], 0),
    (&["ftl.name=slc_cache", "ftl.superblock_dies=2", "ftl.when_full=fold"], 0),
    (PARITY_OF_CACHE, 0),
    (PARITY_OF_CACHE_AND_MAP, 0),
    (&["ftl.superblock_dies=2"], 1),
    (&["ftl.superblock_dies=0"], 1),
    (&[], 1),
    (&["ftl.separate_gc_stream=true"], 2),
    (SORTED_IN_SUPERBLOCKS, 2),
    (SORTED_IN_PAIRS, 3),
    (SEPBIT, 0),
    (SEPBIT_IN_PAIRS, 0),
    (QUOTAS, 0),
    (QUOTAS_IN_SUPERBLOCKS, 0),
    (QUOTAS_CACHED, 0),
    (PARITY, 0),
    (PARITY, 1),
    (PARITY_LEARNED, 0),
    (PARITY_CACHED, 0),
    (PARITY_SORTED, 2),
    (PARITY_SEPBIT, 0),
    (PARITY_WRITTEN, 0),
    (REDUCED, 0),
    (REDUCED, 1),
    (REDUCED_IN_SUPERBLOCKS, 0),
    (REDUCED_LEARNED, 0),
    (REDUCED_CACHED, 0),
    (KEPT, 0),
    (KEPT_IN_SUPERBLOCKS, 0),
    (KEPT_LEARNED, 0),
    (KEPT_CACHED, 0),
];

/// Compositions that can be rebuilt after a power cut.
fn recovering() -> impl Iterator<Item = &'static (&'static [&'static str], u32)> {
    COMPOSED.iter().filter(|composition| composition.0 != SKIPPING)
}

/// Shapes of the drives that they are tried on.
const SHAPES: &[&[&str]] = &[
    &[],
    &["chip.features.multi_plane_program=false", "buffer.bytes=0"],
    &["ftl.separate_gc_stream=false", "ftl.static_wear_delta=3"],
    &["chip.fault.program_failure_chance=0.0005", "ftl.gc_reserve_blocks=2"],
    &["chip.geometry.bad_block_fraction=0.05", "gc.background_free_blocks=6"],
];

/// Hooks that pick the emptiest block and keep their own account of where units are: they know
/// after a power cut too.
#[derive(Clone, Default)]
struct Greedy {
    held: BTreeMap<u32, u32>,
    move_streams: u32,
}

impl Hooks for Greedy {
    fn facts(&self) -> HookFacts {
        HookFacts {
            streams: 2,
            move_streams: self.move_streams,
            has_stream: true,
            is_told: true,
            has_victim: true,
            has_collect: true,
        }
    }

    fn stream(&mut self, unit: Lpn, _: u8) -> Result<u32> {
        Ok(unit.0 % 2)
    }

    fn stream_moves(&mut self, unit: Lpn) -> Result<u32> {
        Ok(unit.0 % self.move_streams)
    }

    fn victim(&mut self, _: u32, candidates: &[Candidate]) -> Result<u32> {
        for candidate in candidates {
            let told = self.held.values().filter(|&&block| block == candidate.block).count();
            if told != candidate.valid as usize {
                let problem = format!("{candidate:?} is told to hold {told} units");
                return Err(Error::new("", problem));
            }
        }
        let least = candidates.iter().min_by_key(|candidate| candidate.valid);
        Ok(least.map_or(u32::MAX, |least| least.block))
    }

    fn collect(&mut self, _: u32, free_blocks: u32, is_idle: bool) -> Result<bool> {
        Ok(free_blocks < if is_idle { 5 } else { 3 })
    }

    fn programmed(&mut self, block: u32, units: &[Lpn], _: bool) -> Result<()> {
        self.held.extend(units.iter().map(|unit| (unit.0, block)));
        Ok(())
    }

    fn erased(&mut self, block: u32) -> Result<()> {
        match self.held.iter().find(|(_, held)| **held == block) {
            Some((unit, _)) => Err(Error::new("", format!("block {block} holds unit {unit}"))),
            None => Ok(()),
        }
    }

    fn trimmed(&mut self, unit: Lpn) -> Result<()> {
        self.held.remove(&unit.0);
        Ok(())
    }

    fn twin(&self) -> Result<Box<dyn Hooks>> {
        Ok(Box::new(self.clone()))
    }
}

fn hooks(move_streams: u32) -> OwnFtl {
    OwnFtl::hooks("Greedy", Table::new(), move || {
        Ok(Box::new(Greedy { move_streams, ..Greedy::default() }))
    })
}

/// Configuration of the small drive with a composition and `more` laid over it. One that is too
/// small has more spare.
fn config(&(sets, move_streams): &(&[&str], u32), more: &[&str]) -> SsdConfig {
    let spares = ["0.3", "0.5", "0.8", "1.2", "2.0", "4.0"]
        .map(|spare| format!("ftl.overprovisioning={spare}"));
    let configs = spares.iter().map(|spare| {
        let all = [&[spare.as_str()], more, sets].concat();
        composed(&all, move_streams).unwrap()
    });
    // One step more than the least: blocks may fail.
    let mut enough = configs.filter(|config| Ssd::new(config, 1 << 30).is_ok()).skip(1);
    enough.next().expect("a drive with so much spare")
}

/// Configuration with these assignments, without parameters that its FTL does not have.
fn composed(sets: &[&str], move_streams: u32) -> Result<SsdConfig> {
    let name = sets.iter().rev().find_map(|set| set.strip_prefix("ftl.name=")).unwrap_or("page");
    let member = ssd::ftl::ROSTER.iter().find(|member| member.name == name).expect("a member");
    // Hooks say their streams, and data that go by speed have none.
    let has_own = move_streams > 0 || sets.contains(&"ftl.fast_pages=true");
    let is_there = |set: &&str| !has_own || !set.contains("host_streams");
    let sets: Vec<&str> = sets.iter().copied().filter(is_there).collect();
    let config = small_config(&drive::those_of_ftl(member, &sets))?;
    if move_streams > 0 { config.with_own_ftl(hooks(move_streams)) } else { Ok(config) }
}

/// Calls `hold` for each composition on some of the shapes, by turns: all of them in the long run.
fn for_all(every: usize, hold: impl Fn(&SsdConfig, u64) -> Result<()>) {
    for (i, composition) in COMPOSED.iter().enumerate() {
        for (j, shape) in SHAPES.iter().enumerate() {
            if turn::is_tried(i + j, every) {
                let config = config(composition, shape);
                let seed = (i * SHAPES.len() + j) as u64;
                hold(&config, seed)
                    .unwrap_or_else(|error| panic!("{composition:?} on {shape:?}: {error}"));
            }
        }
    }
}

#[test]
fn every_composition_passes_conformance() {
    for_all(3, |config, seed| {
        let mut trial = Batches::new(Tally::new(config)?, seed);
        trial.rounds(turn::few_or_all(320, 400))?;
        assert!(trial.ftl.counts().reclaimed_blocks > 0, "no collection, seed {seed}");
        trial.ftl.start_run(Some(70));
        trial.check()?;
        trial.rounds(100)?;
        trial.retire()?;
        trial.ftl.fail_erases(0.1);
        trial.rounds(100)
    });
}

#[test]
fn any_order_of_what_is_under_way_is_safe() {
    // Drives that are drawn have too little spare for quotas and for stripes that are filled early.
    let needs_spare =
        |set: &&str| set.starts_with("ftl.handle_quota") || set.starts_with("parity.partial");
    for composition in COMPOSED.iter().filter(|of| !of.0.iter().any(needs_spare)) {
        let (mut ran, mut erases) = (0, 0);
        for seed in turn::few_or_all(0..12, 0..400) {
            let build = |sets: &[String]| {
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                // Drives of one die have no superblocks of two.
                let of = composition.0.iter().map(|set| set.replace("dies=2", "dies=0"));
                let of: Vec<String> = of.collect();
                let all: Vec<&str> =
                    sets.into_iter().chain(of.iter().map(String::as_str)).collect();
                Tally::new(&composed(&all, composition.1)?)
            };
            let is_whole = |error: &Error| {
                ["ftl.fast_pages", "ftl.fast_region", "parity.pages"].contains(&&*error.place)
            };
            let trial = match Interleaving::new(seed, build) {
                // A chip whose pages are all alike, a drive smaller than the region, or one die.
                Err(error) if is_whole(&error) => Ok(None),
                trial => trial,
            };
            let trial = trial.and_then(|trial| trial.map(|trial| trial.run(2000)).transpose());
            match trial {
                Ok(Some((outcome, _))) => {
                    ran += 1;
                    erases += outcome.erases;
                }
                Ok(None) => {}
                Err(error) => panic!("{composition:?}, seed {seed}: {error}"),
            }
        }
        assert!(ran > 5 && erases > 30 * ran, "{composition:?}: {ran} ran, {erases} erases");
    }
}

#[test]
fn reads_return_the_newest_version() {
    for_all(3, |config, seed| {
        let mut storm = Storm::new(Ssd::new(config, 1 << 30)?, seed);
        storm.run(turn::few_or_all(10_000, 20_000))?;
        assert!(storm.ssd.ftl_counts().reclaimed_blocks > 0, "no collection");
        Ok(())
    });
}

#[test]
fn reads_return_the_newest_version_on_a_drive_that_wears_out() {
    let fault = ["chip.rated_pe_cycles=5", "chip.fault={median_ratings=1,spread=0.3}"];
    for (composition, seed) in COMPOSED.iter().zip(0..) {
        let config = config(composition, &fault);
        let mut storm = Storm::new(Ssd::new(&config, 1 << 30).unwrap(), seed);
        for times in 1..=25 {
            storm.run(8_000 * times).unwrap_or_else(|error| panic!("{composition:?}: {error}"));
            if storm.ssd.read_only_at().is_some() {
                break;
            }
        }
        assert!(storm.ssd.read_only_at().is_some(), "{composition:?}");
    }
}

/// Flushed data are there after a power cut, and hooks are told of the right data.
#[test]
fn what_was_flushed_is_there_after_a_cut() {
    for (i, composition) in recovering().enumerate() {
        let members = recovery::ROSTER.iter().filter(|member| member.name != "none");
        for (j, member) in members.enumerate() {
            for (k, shape) in SHAPES[..4].iter().enumerate() {
                if !turn::is_tried(i + j + k, 4) {
                    continue;
                }
                let recovery = format!("recovery.name={}", member.name);
                let more = [&drive::CUT_SHAPE[..], &[recovery.as_str()], shape].concat();
                let mut cuts = Cuts::new(&config(composition, &more), 5).unwrap();
                cuts.run(turn::few_or_all(15, 200)).unwrap_or_else(|error| {
                    panic!("{composition:?}, {}, {shape:?}: {error}", member.name)
                });
            }
        }
    }
}

/// A drive that was overwritten without time, whose power is then cut, has all of its data, and its
/// FTL goes on with them: blocks of the map and superblocks are known for what they are.
#[test]
fn a_preconditioned_drive_goes_on_after_a_cut() {
    for (composition, seed) in recovering().zip(0..) {
        let config = config(composition, &["recovery.name=scan_pages"]);
        let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
        drive::prepare(&mut ssd, Precondition::Steady);
        let units = u64::from(ssd.ftl_mut().facts().logical_units);
        // Each block with pages of the map says so, full ones too.
        let geometry = ssd::build::chips(&config).unwrap().geometry.clone();
        let ftl = ssd.ftl_mut();
        let map = units as u32..units as u32 + ftl.facts().map_pages;
        let blocks = map.filter_map(|unit| Some(geometry.block_of(ftl.lookup(Lpn(unit))?)));
        let tags: BTreeSet<u64> = blocks.map(|block| ftl.tag(block)).collect();
        assert!(tags.len() <= 1 && !tags.contains(&0), "{composition:?}: {tags:?}");
        ssd.start(0);
        for _ in 0..2 {
            ssd.cut().unwrap();
            ssd.power_on(&config).unwrap();
            while ssd.advance_start_up(1 << 20).unwrap().is_none() {}
            let is_there = |unit: &u64| ssd.lookup(Lpn(*unit as u32)).is_some();
            assert_eq!((0..units).filter(is_there).count() as u64, units, "{composition:?}");
        }
        let (mut rng, mut submitted, mut completed) = (Rng::stream(seed, "addresses"), 0, 0);
        let bytes = ssd.capacity_bytes() / units;
        while completed < 4 * units {
            while ssd.has_room() && submitted < 4 * units {
                let now = ssd.now();
                ssd.submit(Request::new(Op::Write, bytes * rng.below(units), bytes), 0, now);
                submitted += 1;
            }
            match ssd.step() {
                Step::Completed(_) => completed += 1,
                Step::Idle => break,
                _ => {}
            }
        }
        ssd.fault().unwrap_or_else(|error| panic!("{composition:?}: {error}"));
        assert_eq!(completed, 4 * units, "{composition:?}");
        assert!(ssd.ftl_counts().reclaimed_blocks > 0, "{composition:?}");
    }
}

/// The account of conformance has each part that the FTL under it has: what it has can be held to
/// its promises.
#[test]
fn conformance_reaches_every_part() {
    let mut all = BTreeSet::new();
    let compositions = COMPOSED.iter().map(|composition| config(composition, &[]));
    let members = ssd::ftl::ROSTER.iter().map(|member| drive::config(&drive::of_ftl(member, &[])));
    for config in members.chain(compositions) {
        let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
        let own = parts::names(ssd.ftl_mut());
        assert_eq!(parts::names(&Tally::new(&config).unwrap()), own, "{}", config.ftl.name);
        all.extend(own);
    }
    // Each part is there in some FTL.
    assert_eq!(all.into_iter().collect::<Vec<_>>(), {
        let mut names = parts::NAMES.to_vec();
        names.sort_unstable();
        names
    });
}

/// The account of conformance has code of its own for each method of the contract: a default of the
/// contract never answers in the place of the FTL.
#[test]
fn conformance_reaches_every_method() {
    let methods = |source: &'static str, of: &str| -> Vec<&'static str> {
        let (_, body) = source.split_once(&format!("pub trait {of}")).expect("a trait");
        let body = body.split_once("\n}\n").expect("its end").0;
        let names = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        names.filter_map(|line| line.split(['(', '<']).next()).collect()
    };
    let core = include_str!("../src/ftl/contract/mod.rs");
    let account = include_str!("../src/ftl/contract/account.rs");
    let parts = include_str!("../src/ftl/contract/parts.rs");
    let zones = include_str!("../src/ftl/contract/zones.rs");
    let withdrawal = include_str!("../src/ftl/contract/withdrawal.rs");
    let mut all = methods(core, "Ftl");
    assert!(all.len() <= 16, "a core of {} methods", all.len());
    all.extend(methods(account, "Account"));
    for part in [
        "MapOnFlash",
        "BlockService",
        "Relocation",
        "Recovery",
        "Calls",
        "CopyBack",
        "Recycling",
        "Handles",
    ] {
        all.extend(methods(parts, part));
    }
    all.extend(methods(zones, "Zones"));
    all.extend(methods(withdrawal, "Withdrawal"));
    let tally = [
        include_str!("../src/conformance/tally/mod.rs"),
        include_str!("../src/conformance/tally/parts.rs"),
        include_str!("../src/conformance/withdrawn.rs"),
    ]
    .concat();
    let missing: Vec<&str> =
        all.into_iter().filter(|name| !tally.contains(&format!("    fn {name}("))).collect();
    assert!(missing.is_empty(), "the account has no code for {missing:?}");
}

/// A host that has reached the quota of its handle waits for an erase, and the victim is emptied to
/// its end: no request is lost, however few dead units are beyond the quota.
#[test]
fn a_host_at_its_quota_goes_on() {
    let more = [&drive::CUT_SHAPE[..], &["recovery.name=scan_blocks"]].concat();
    for seed in 5..7 {
        let mut cuts = Cuts::new(&config(&(QUOTAS_IN_SUPERBLOCKS, 0), &more), seed).unwrap();
        cuts.run(200).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}
