//! A storm of random requests against a plain map: every read returns the newest version, for
//! every FTL, garbage collection policy and scheduler, in every way the buffer can work.

use crate::drive;

use base::error::assert_carries;
use base::family::Member;
use base::rng::turn;
use ssd::Step;
use ssd::conformance::storm::Storm;
use ssd::ftl::{Build, Lpn};
use ssd::request::{Op, Request};

const UNIT: u64 = 4096;

fn storm(sets: &[&str], seed: u64) -> Storm {
    Storm::new(drive::small(sets), seed)
}

/// A trim of a unit that was rewritten while it was on its way to the flash: both versions are
/// gone.
#[test]
fn a_trim_leaves_nothing_of_data_in_flight() {
    let mut ssd = drive::small(&[]);
    ssd.keep_payload();
    ssd.start(0);
    let row = 8 * UNIT;
    for request in [
        Request::new(Op::Write, 0, row),
        Request::new(Op::Write, 0, UNIT),
        Request::new(Op::Trim, 0, UNIT),
    ] {
        let now = ssd.now();
        ssd.submit(request, 0, now);
        let Step::Completed(_) = ssd.step() else { panic!("lost") };
    }
    for flush in [false, true] {
        if flush {
            let now = ssd.now();
            ssd.submit(Request::FLUSH, 0, now);
            let Step::Completed(_) = ssd.step() else { panic!("lost") };
        }
        let now = ssd.now();
        ssd.submit(Request::new(Op::Read, 0, 2 * UNIT), 0, now);
        let Step::Completed(slot) = ssd.step() else { panic!("lost") };
        let found = ssd.found(slot).to_vec();
        assert!(found.contains(&(0, 0)), "after a flush: {flush}: {found:?}");
        assert!(found.contains(&(1, 1)), "after a flush: {flush}: {found:?}");
    }
}

/// Data that are rewritten in the buffer: they are never programmed, or take room all the same.
#[test]
fn a_buffer_that_is_a_log_programs_what_was_rewritten() {
    let of_one_unit = ["chip.features.multi_plane_program=false", "ftl.unit_bytes=8192"];
    for (sets, why) in [(&["ftl.fast_pages=true"][..], "stale data"), (&of_one_unit, "one unit")] {
        let sets = [sets, &["buffer.coalesces=false"]].concat();
        let error = drive::built(&sets).err().unwrap();
        assert_eq!(error.place, "buffer.coalesces", "{error}");
        assert_carries(&error.problem, &[why]);
    }
    for (coalesces, stale_units) in [(true, 0), (false, 2)] {
        let mut ssd = drive::small(&[&format!("buffer.coalesces={coalesces}")]);
        ssd.keep_payload();
        ssd.start(0);
        // Half a row, twice.
        let write = Request::new(Op::Write, 0, 2 * UNIT);
        for request in [write, write, Request::new(Op::Read, 0, UNIT)] {
            let now = ssd.now();
            ssd.submit(request, 0, now);
            let Step::Completed(slot) = ssd.step() else { panic!("lost") };
            assert!(request.op == Op::Write || ssd.found(slot) == [(0, 2)]);
        }
        while !matches!(ssd.step(), Step::Idle) {}
        let counts = ssd.ftl_counts();
        let found = (counts.host_units, counts.padding_units);
        assert_eq!(found, (stale_units, stale_units), "{coalesces}");
    }
}

/// A map on flash, with room for 64 entries in memory: reads, writes, trims and collection all wait
/// for its pages.
#[test]
fn reads_return_the_newest_version_with_the_map_on_flash() {
    let dftl = ["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.overprovisioning=2.5"];
    let modes: [&[&str]; 16] = [
        &[],
        &["ftl.host_memory_bytes=4096", "host.memory_latency_us=1"],
        &["ftl.host_memory_bytes=65536", "host.link_mb_s=5", "ftl.map_cache_policy=tpftl"],
        &["ftl.map_cache_policy=segmented_lru"],
        &["ftl.map_cache_policy=segmented_lru", "buffer.bytes=0", "ftl.map_batch=false"],
        &["ftl.map_cache_policy=segmented_lru", "chip.fault.program_failure_chance=0.002"],
        &["ftl.map_cache_policy=tpftl"],
        &["ftl.map_cache_policy=tpftl", "buffer.bytes=0", "gc.background_free_blocks=6"],
        &["ftl.map_cache_policy=tpftl", "chip.fault.program_failure_chance=0.002"],
        &["buffer.bytes=0", "ftl.map_batch=false"],
        &["chip.features.multi_plane_program=false", "ftl.separate_gc_stream=false"],
        &[
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "scheduler.name=in_order",
        ],
        &["gc.background_free_blocks=6", "gc.name=fifo"],
        &["chip.fault.program_failure_chance=0.002", "ftl.gc_reserve_blocks=2"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=20", "ftl.host_streams=3"],
    ];
    for mode in modes {
        for seed in 0..turn::few_or_all(1, 3) {
            let mut storm = storm(&[&dftl, mode].concat(), seed);
            storm.run(8_000).unwrap();
            let counts = storm.ssd.ftl_counts();
            assert!(counts.reclaimed_blocks > 0, "{mode:?}: no collection");
            assert!(counts.map.reads > 100 && counts.map.writes > 100, "{mode:?}: {counts:?}");
        }
    }
}

/// Learned segments: sorted rows, wrong predictions that are read, and blocks erased beside those
/// that they lead to.
#[test]
fn reads_return_the_newest_version_from_a_learned_map() {
    let modes: [&[&str]; 10] = [
        &[],
        &["ftl.gamma=0", "ftl.compaction_units=500"],
        &["ftl.gamma=32", "buffer.bytes=0"],
        &["ftl.gamma=16", "ftl.unit_bytes=4096", "ftl.compaction_units=2000"],
        &["chip.features.multi_plane_program=false", "ftl.separate_gc_stream=false"],
        &[
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "scheduler.name=in_order",
        ],
        &["gc.background_free_blocks=6", "gc.name=fifo", "ftl.static_wear_delta=2"],
        &["chip.fault.program_failure_chance=0.002", "ftl.gc_reserve_blocks=2"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=20", "ftl.host_streams=3"],
        &[
            "chip.array.name=power_law",
            "chip.array.epsilon=0.001",
            "ecc.model=shares",
            "ecc.failures=[0.9, 0.3, 0.0]",
            "retry.name=soft_decision",
            "retry.in_turn=true",
        ],
    ];
    for mode in modes {
        for seed in 0..turn::few_or_all(1, 3) {
            let learned = ["ftl.name=learned", "ftl.overprovisioning=0.9"];
            let mut storm = storm(&[&learned, mode].concat(), seed);
            storm.run(12_000).unwrap();
            let counts = storm.ssd.ftl_counts();
            assert!(counts.reclaimed_blocks > 0, "{mode:?}: no collection");
            let is_exact = mode.contains(&"ftl.gamma=0");
            let mispredictions = counts.map.mispredictions;
            // In rows of a single page nothing is in another one.
            let is_page = mode.contains(&"chip.features.multi_plane_program=false");
            assert_eq!(mispredictions > 100, !is_exact && !is_page, "{mode:?}: {counts:?}");
            assert!(mispredictions == 0 || !is_exact && !is_page, "{mode:?}: {counts:?}");
        }
    }
}

/// The out-of-band area of each mapped unit names its owner, for every FTL.
#[test]
fn out_of_band_areas_say_whose_each_unit_is() {
    for member in drive::members_that(|ftl| ftl.recovery().is_some()) {
        for shape in [
            &[][..],
            &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
            &["chip.fault.program_failure_chance=0.002", "ftl.gc_reserve_blocks=2"],
        ] {
            let sets = drive::of_ftl(
                member,
                &[&["ftl.overprovisioning=2.5", "recovery.name=scan_pages"], shape].concat(),
            );
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let mut storm = storm(&sets, 5);
            storm.run(6_000).unwrap();
            let mut found = 0;
            for lpn in 0..storm.units() {
                if let Some(ppn) = storm.ssd.lookup(Lpn(lpn)) {
                    let oob = storm.ssd.oob(ppn).expect("a page that was programmed");
                    assert_eq!(oob.unit.owner, lpn, "{sets:?}");
                    found += 1;
                }
            }
            assert!(found > 100, "{sets:?}: {found} units mapped");
        }
    }
}

/// Blocks fail at the erase until the drive takes no more writes: those that it has taken are
/// there, and of the others nothing is.
#[test]
fn reads_return_the_newest_version_on_a_drive_that_wears_out() {
    let fault = ["chip.rated_pe_cycles=5", "chip.fault={median_ratings=1,spread=0.3}"];
    let modes: [&[&str]; 11] = [
        &[],
        &["ftl.fast_pages=true", "ftl.overprovisioning=0.9"],
        &["ftl.name=slc_cache", "ftl.overprovisioning=0.9"],
        &["ftl.name=learned", "ftl.gamma=16"],
        &["chip.features.multi_plane_program=false", "ftl.static_wear_delta=2"],
        &["ftl.separate_gc_stream=false", "gc.name=fifo", "buffer.bytes=0"],
        &["gc.background_free_blocks=6", "ftl.host_streams=3", "ftl.overprovisioning=0.9"],
        &["ftl.name=bast"],
        &["ftl.name=bast", "ftl.stripe=8", "ftl.overprovisioning=0.9"],
        &["ftl.name=superblock"],
        &["ftl.name=superblock", "ftl.stripe=8", "ftl.overprovisioning=0.9"],
    ];
    for mode in modes {
        for seed in 0..5 {
            let mut storm = storm(&[&fault, mode].concat(), seed);
            storm.run(12_000).unwrap();
            assert!(storm.ssd.ftl_counts().retired_blocks > 0, "{mode:?}");
            assert!(storm.ssd.read_only_at().is_some(), "{mode:?}");
        }
    }
}

/// Programs fail by chance: what they carried is written elsewhere, in whatever state it is then.
#[test]
fn reads_return_the_newest_version_where_programs_fail() {
    let modes: [&[&str]; 15] = [
        &[],
        &["buffer.coalesces=false"],
        &["drive.single_level=true", "ftl.overprovisioning=1.5"],
        &["ftl.fast_pages=true"],
        &["ftl.fast_pages=true", "ftl.skip_slow_pages=true", "ftl.overprovisioning=0.9"],
        &["ftl.fast_pages=true", "ftl.fast_region=[4096, 65536]"],
        &["ftl.name=slc_cache", "ftl.keep_share=0.5"],
        &["ftl.name=slc_cache", "ftl.when_full=fold", "gc.reclaim_reads=8"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=20"],
        &["buffer.bytes=0"],
        &["chip.features.multi_plane_program=false", "ftl.static_wear_delta=2"],
        &["ftl.separate_gc_stream=false", "gc.name=fifo", "ftl.host_streams=3"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &["ecc.t_encode_us=300", "ecc.decoders=1", "gc.background_free_blocks=6"],
    ];
    for mode in modes {
        for (chance, seed) in [(0.0005, 0), (0.008, 2), (0.05, 3)] {
            let fault = format!("chip.fault.program_failure_chance={chance}");
            let mut storm =
                storm(&[&[fault.as_str(), "ftl.gc_reserve_blocks=2"], mode].concat(), seed);
            storm.run(12_000).unwrap();
            let failed = storm.ssd.flash_counts().failed_programs;
            let retired = storm.ssd.ftl_counts().retired_blocks;
            assert!(failed > 0, "{mode:?}: {chance}");
            // Where many fail at once, the drive takes no more writes before the first has left.
            assert!(retired > 0 || chance > 0.001, "{mode:?}: {failed} failed, none retired");
            assert!(storm.ssd.read_only_at().is_some() || chance < 0.001, "{mode:?}");
        }
    }
}

/// FTLs with a coarse map, in every shape of their blocks, with few logs, and with programs that
/// fail.
#[test]
fn reads_return_the_newest_version_from_log_blocks() {
    let modes: [&[&str]; 15] = [
        &[],
        &["ftl.log_blocks=1", "ftl.open_blocks=1"],
        &["ftl.log_blocks=2", "ftl.open_blocks=2", "buffer.bytes=0", "ftl.superblock_blocks=3"],
        &["ftl.stripe=1", "ftl.sequential_logs=0", "ftl.group_blocks=3"],
        &["ftl.stripe=1", "ftl.log_blocks=3", "buffer.bytes=0", "ftl.superblock_blocks=1"],
        &["ftl.stripe=4", "ftl.log_blocks=5", "ftl.open_blocks=6", "ftl.merges_ahead=true"],
        &["ftl.stripe=8", "ftl.log_blocks=2", "ftl.superblock_blocks=2"],
        &["ftl.stripe=8", "ftl.group_blocks=1000", "buffer.bytes=0", "ftl.update_blocks=4"],
        &[
            "chip.features.multi_plane_program=false",
            "ftl.sequential_logs=3",
            "ftl.merges_ahead=true",
        ],
        &["chip.features.multi_plane_program=false", "ftl.stripe=4", "buffer.bytes=65536"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36", "ftl.stripe=8"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=3"],
        &["chip.geometry.bad_block_fraction=0.05", "chip.timing.suspends_max=3"],
        &["chip.geometry.page_bytes=4096", "ftl.group_logs=4", "ftl.update_blocks=4"],
    ];
    for (i, member) in ssd::ftl::ROSTER.iter().filter(|member| has(member, "stripe")).enumerate() {
        for (j, mode) in modes.into_iter().enumerate() {
            if !turn::is_tried(i + j, 3) {
                continue;
            }
            let all = [(0.0, 0), (0.0005, 2), (0.02, 3), (0.0, 1)];
            // By default programs fail with every second mode of an FTL.
            for &(chance, seed) in turn::few_or_all(&all[j / 2 % 2..][..1], &all) {
                let fault = format!("chip.fault.program_failure_chance={chance}");
                let sets = [&["ftl.overprovisioning=1.0", fault.as_str()], mode].concat();
                let sets = drive::of_ftl(member, &sets);
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                let mut storm = storm(&sets, seed);
                storm.run(requests_of(member)).unwrap();
                let counts = storm.ssd.ftl_counts();
                assert!(counts.reclaimed_blocks > 0, "{sets:?}: {counts:?}");
                let merges = counts.merges;
                let has_merged = if has(member, "open_blocks") {
                    // Written in order: the rest is copied behind.
                    merges.partial > 0
                } else {
                    // Superblocks merge when there is no spare left, whole or in part: not on a
                    // drive that has failed before.
                    let has_failed = storm.ssd.read_only_at().is_some();
                    let of_superblocks = merges.partial > 0 || has_failed;
                    merges.full > 0 || (has(member, "update_blocks") && of_superblocks)
                };
                assert!(has_merged, "{sets:?}: {counts:?}");
                let failed = storm.ssd.flash_counts().failed_programs;
                assert_eq!(failed > 0, chance > 0.0, "{sets:?}");
                let reclaims = mode.iter().any(|set| set.starts_with("gc.reclaim"));
                let least = if chance == 0.0 { requests_of(member) / 600 } else { 0 };
                assert_eq!(counts.read_reclaims > least, reclaims, "{sets:?}: {counts:?}");
            }
        }
    }
}

/// Every combination of the rosters.
#[test]
fn reads_return_the_newest_version_for_every_member() {
    for (i, ftl) in ssd::ftl::ROSTER.iter().enumerate() {
        for (j, gc) in ssd::gc::ROSTER.iter().enumerate() {
            for (k, scheduler) in ssd::scheduler::ROSTER.iter().enumerate() {
                // Pairs by default: each two of the three rosters meet.
                if !turn::is_tried(i + j + k, 3) {
                    continue;
                }
                let sets =
                    [format!("gc.name={}", gc.name), format!("scheduler.name={}", scheduler.name)];
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                let sets = drive::of_ftl(ftl, &sets);
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                let share = turn::few_or_all(2, 1);
                storm(&sets, 11).run(requests_of(ftl) / share).unwrap();
            }
        }
    }
}

/// Requests of a storm: few where a write costs a whole logical block.
fn requests_of(ftl: &Member<Build>) -> u64 {
    if has(ftl, "open_blocks") { 1200 } else { 12_000 }
}

/// Whether an FTL has a parameter.
fn has(ftl: &Member<Build>, parameter: &str) -> bool {
    (ftl.schema)()["properties"][parameter].is_object()
}

/// Every way the parts can work.
#[test]
fn reads_return_the_newest_version_in_every_mode() {
    // Nine words in ten fail at first, the last of them need two soft reads.
    let law = ["chip.array.name=power_law", "chip.array.epsilon=0.001"];
    let soft = ["ecc.model=shares", "ecc.failures=[0.9, 0.3, 0.0]"];
    let failing = |more: &[&'static str]| [&law[..], &soft, more].concat();
    // One in five hundred is lost; its block is retired, with the newest version of all others.
    let lost = ["ecc.failures=[0.9, 0.3, 0.002]", "retry.retire_after=1"];
    let losing = |more: &[&'static str]| failing(&[&lost, more].concat());
    // Only a cell has references to read again at.
    let cell = [
        "chip.array.name=table",
        "chip.cell.levels={vth_mean_v=[-2.3, 1.3, 2.6, 4.0], vth_sigma_v=[0.4, 0.12, 0.12, 0.12]}",
        "chip.cell.wear.widen_v=1e-5",
        "age.pe_cycles=9000",
    ];
    let moving = |more: &[&'static str]| [&cell[..], &["retry.name=read_retry"], more].concat();
    let modes: [&[&str]; 31] = [
        &["buffer.bytes=0"],
        &["buffer.bytes=65536"],
        &["buffer.bytes=65536", "buffer.coalesces=false"],
        &["buffer.coalesces=false", "ftl.unit_bytes=512", "ftl.overprovisioning=0.9"],
        &["buffer.coalesces=false", "ftl.superblock_dies=4", "ftl.overprovisioning=1.5"],
        &["chip.features.cache_read=true"],
        &["chip.features.multi_plane_read=independent", "chip.features.cache_read=true"],
        &["chip.features.multi_plane_program=false"],
        &["ftl.separate_gc_stream=false", "gc.name=fifo"],
        &["ftl.host_streams=3", "ftl.overprovisioning=0.9"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &[
            "chip.timing.suspends_max=3",
            "chip.timing.t_program_suspend_us=20",
            "chip.timing.t_program_pulse_us=90",
            "chip.features.cache_read=true",
        ],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.geometry.bad_block_fraction=0.05", "ftl.overprovisioning=0.9"],
        &["gc.background_free_blocks=6"],
        &["ecc.payload_bytes=512", "ecc.t_decode_us=5000", "ecc.decoders=64"],
        &["scheduler.name=in_order", "chip.features.cache_read=true", "ftl.static_wear_delta=2"],
        &["ecc.t_encode_us=300", "ecc.decoders=1"],
        &failing(&["retry.name=soft_decision", "ecc.t_encode_us=40"]),
        &failing(&["retry.name=soft_decision", "chip.features.cache_read=true"]),
        &failing(&[
            "retry.name=nand_assisted",
            "chip.features.cache_read=true",
            "chip.timing.suspends_max=3",
            "chip.timing.t_program_suspend_us=20",
            "scheduler.starvation_us=100",
        ]),
        &failing(&[
            "retry.name=nand_assisted",
            "chip.features.multi_plane_read=independent",
            "chip.timing.t_read_us=3",
            "chip.features.cache_read=true",
            "chip.features.combined_read=output",
            "ecc.payload_bytes=512",
        ]),
        &failing(&["retry.name=soft_decision", "retry.in_turn=true", "chip.timing.bus_mt_s=4"]),
        &failing(&[
            "retry.name=soft_decision",
            "retry.in_turn=true",
            "chip.features.cache_read=true",
            "scheduler.name=in_order",
        ]),
        &moving(&[&soft[..], &lost, &["retry.in_turn=true"]].concat()),
        &moving(&[&soft[..], &["scheduler.name=in_order", "buffer.bytes=0"]].concat()),
        &losing(&["retry.name=nand_assisted", "chip.features.cache_read=true"]),
        &losing(&["retry.name=soft_decision", "chip.features.multi_plane_program=false"]),
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=100"],
        &[
            "gc.reclaim_reads=8",
            "gc.reclaim_at_once=3",
            "ftl.separate_gc_stream=false",
            "buffer.bytes=0",
        ],
        &losing(&["retry.name=soft_decision", "gc.reclaim_rounds=2", "gc.reclaim_at_once=100"]),
    ];
    for mode in modes {
        // In storm 88, with reads in turn on a slow bus, a block is erased between two of a level.
        let is_in_turn = mode.contains(&"retry.in_turn=true");
        let few = if is_in_turn { &[0, 88][..] } else { &[0] };
        for &seed in turn::few_or_all(few, &[0, 1, 88]) {
            let mut storm = storm(mode, seed);
            storm.run(12_000).unwrap();
            assert!(storm.ssd.ftl_counts().reclaimed_blocks > 0, "{mode:?}: no collection");
            let reclaims = mode.iter().any(|set| set.starts_with("gc.reclaim"));
            assert_eq!(storm.ssd.ftl_counts().read_reclaims > 20, reclaims, "{mode:?}");
            let counts = storm.ssd.counts();
            let fails = mode.contains(&"ecc.model=shares");
            assert_eq!(counts.further_reads.soft_reads[0] > 1000, fails, "{mode:?}: {counts:?}");
            assert_eq!(counts.further_reads.soft_reads[1] > 100, fails, "{mode:?}: {counts:?}");
            let loses = mode.contains(&"retry.retire_after=1");
            assert_eq!(counts.codes.uncorrectable > 0, loses, "{mode:?}: {counts:?}");
            assert_eq!(storm.ssd.ftl_counts().retired_blocks > 0, loses, "{mode:?}");
        }
    }
}
