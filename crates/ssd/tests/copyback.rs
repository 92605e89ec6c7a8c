//! Tests of `gc.copyback`: data that stay on the chip, bus time that this saves, and errors that it
//! costs.

use crate::drive;

use base::error::assert_carries;
use base::rng::Rng;
use ssd::conformance::power::Cuts;
use ssd::conformance::storm::Storm;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// Bytes of a page of the small drive, which is a unit here.
const PAGE: u64 = 8192;
/// The law of errors of these tests: the same rate everywhere.
const RBER: f64 = 1e-4;

fn sets<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = [
        "chip.features.copyback=true",
        "ftl.unit_bytes=8192",
        "chip.energy.icc_bus_ma=5.0",
        "ftl.overprovisioning=0.9",
        "chip.array={name='power_law',epsilon=1e-4}",
        "ecc={model='threshold',payload_bytes=1024,t=72}",
    ];
    [&base[..], more].concat()
}

/// A full drive in the steady state.
fn steady(more: &[&str]) -> Ssd {
    let mut ssd = drive::small(&sets(more));
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    ssd
}

/// Sends requests of a page each, four at a time.
fn send(ssd: &mut Ssd, op: Op, pages: impl Iterator<Item = u64>) {
    let mut pages = pages.fuse();
    let mut flying = 0;
    loop {
        while flying < 4
            && let Some(page) = pages.next()
        {
            let now = ssd.now();
            ssd.submit(Request::new(op, PAGE * page, PAGE), 0, now);
            flying += 1;
        }
        if flying == 0 {
            break;
        }
        while !matches!(ssd.step(), Step::Completed(_)) {}
        flying -= 1;
    }
    ssd.settle().unwrap();
}

fn write(ssd: &mut Ssd, writes: u32) {
    let (mut rng, pages) = (Rng::stream(3, "pages"), ssd.capacity_bytes() / PAGE);
    let drawn: Vec<u64> = (0..writes).map(|_| rng.below(pages)).collect();
    send(ssd, Op::Write, drawn.into_iter());
}

/// Page transfers on the bus, by their energy.
fn transfers(ssd: &Ssd, page_uj: f64) -> f64 {
    ssd.energy().bus_uj / page_uj
}

/// Without copies each page that is moved crosses the bus twice, besides those of the host once.
/// Unchecked ones do not cross it at all; checked ones cross it once, and errors go back by words.
#[test]
fn the_bus_carries_what_does_not_stay() {
    // A page of eight words of 1 KiB and their parity.
    let one_plane = "chip.geometry.planes_per_die=1";
    let mut off = steady(&[one_plane]);
    write(&mut off, 6000);
    let counts = off.ftl_counts();
    let pages = (counts.host_units + 2 * counts.moved_units) as f64;
    let page_uj = off.energy().bus_uj / pages;
    assert_eq!(off.flash_counts().copybacks, 0);
    assert!(page_uj > 0.0 && counts.moved_units > 2000, "{page_uj} uJ, {counts:?}");

    let mut kept = steady(&[one_plane, "gc.copyback=unchecked", "gc.copyback_most=255"]);
    write(&mut kept, 6000);
    let (counts, flash) = (kept.ftl_counts(), kept.flash_counts());
    let stay = flash.copybacks;
    // All but the first page of each block, whose place is not known before.
    let share = stay as f64 / counts.moved_units as f64;
    assert!(share > 0.9 && share < 1.0, "{share}");
    let expected = (counts.host_units + 2 * (counts.moved_units - stay)) as f64;
    let found = transfers(&kept, page_uj);
    assert!((found / expected - 1.0).abs() < 0.001, "{found} transfers, not {expected}");
    assert_eq!(kept.counts().codes.codewords, 8 * (counts.moved_units - stay));

    let mut checked = steady(&[one_plane, "gc.copyback=checked"]);
    write(&mut checked, 6000);
    let (counts, stay) = (checked.ftl_counts(), checked.flash_counts().copybacks);
    assert!(stay as f64 > 0.8 * counts.moved_units as f64, "{stay} of {counts:?}");
    // A word of 8192 bits and its parity has an error with this chance.
    let bits = f64::from(8 * 1024 + checked_parity_bits());
    let dirty = 1.0 - (1.0 - RBER).powf(bits);
    let expected =
        (counts.host_units + 2 * counts.moved_units) as f64 - (1.0 - dirty) * stay as f64;
    let found = transfers(&checked, page_uj);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} transfers, not {expected}");
    assert!(found < 0.95 * transfers(&off, page_uj));
}

/// Parity of a word of these drives: as the page transfer of the drive has it.
fn checked_parity_bits() -> u32 {
    let (ecc, _) = drive::config(&sets(&[])).ecc_parts().unwrap();
    ecc.codeword_bits() - 8 * 1024
}

/// Each copy adds the errors of its page: after `n` a page has `n + 1` times those of one reading,
/// and never more than `gc.copyback_most` allows. Checked data have those of one.
#[test]
fn errors_are_copied_along() {
    let one_plane = "chip.geometry.planes_per_die=1";
    let rate = |more: &[&str]| {
        let mut ssd = steady(&[&[one_plane], more].concat());
        write(&mut ssd, 12_000);
        let before = (ssd.counts().codes.raw_bit_errors, ssd.counts().codes.codewords);
        let pages = ssd.capacity_bytes() / PAGE;
        send(&mut ssd, Op::Read, 0..pages);
        let bits = f64::from(8 * 1024 + checked_parity_bits());
        let words = (ssd.counts().codes.codewords - before.1) as f64;
        (ssd.counts().codes.raw_bit_errors - before.0) as f64 / (words * bits) / RBER
    };
    let off = rate(&[]);
    assert!((off - 1.0).abs() < 0.03, "{off}");
    let checked = rate(&["gc.copyback=checked"]);
    assert!((checked - 1.0).abs() < 0.03, "{checked}");
    let once = rate(&["gc.copyback=unchecked", "gc.copyback_most=1"]);
    let often = rate(&["gc.copyback=unchecked", "gc.copyback_most=4"]);
    assert!(once > 1.15 && once < 2.0, "{once}");
    assert!(often > once + 0.1 && often < 5.0, "{often} after {once}");
}

/// A copy takes the time of its two array operations, and none of the bus.
#[test]
fn a_drive_whose_bus_is_slow_gains() {
    let slow = ["chip.timing.bus_mt_s=20", "chip.geometry.planes_per_die=1"];
    let time = |more: &[&str]| {
        let mut ssd = steady(&[&slow, more].concat());
        write(&mut ssd, 4000);
        ssd.now().s()
    };
    let (off, kept) = (time(&[]), time(&["gc.copyback=unchecked"]));
    assert!(kept < 0.9 * off, "{kept} s, {off} s through the controller");
}

/// Planes that are programmed together copy together, in whatever order their pages come.
#[test]
fn planes_copy_together() {
    for shape in [
        &[][..],
        &["chip.features.multi_plane_read=none"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
    ] {
        let mut ssd = steady(&[&["gc.copyback=unchecked"], shape].concat());
        write(&mut ssd, 6000);
        let (moved, stay) = (ssd.ftl_counts().moved_units, ssd.flash_counts().copybacks);
        assert!(stay > moved / 10 && stay < moved, "{shape:?}: {stay} of {moved}");
    }
}

/// Pages of the cache in single-level mode are folded into native ones on the chip.
#[test]
fn folding_stays_on_the_chip() {
    let cache = ["ftl.name=slc_cache", "chip.geometry.planes_per_die=1"];
    for way in ["gc.copyback=unchecked", "gc.copyback=checked"] {
        let mut ssd = drive::small(&sets(&[&cache[..], &[way]].concat()));
        ssd.start(0);
        write(&mut ssd, 4000);
        let (cached, stay) = (ssd.ftl_counts().cache, ssd.flash_counts().copybacks);
        assert!(cached.folded_units > 300, "{way}: {cached:?}");
        assert!(stay > cached.folded_units / 2, "{way}: {stay} of {cached:?}");
    }
}

/// Every read returns the newest version, whatever happens between.
#[test]
fn reads_return_the_newest_version() {
    let modes: [&[&str]; 14] = [
        &[],
        &["buffer.bytes=0"],
        &["ftl.unit_bytes=4096"],
        &["chip.features.multi_plane_program=false"],
        &["chip.features.multi_plane_read=independent", "chip.features.cache_read=true"],
        &[
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "scheduler.name=in_order",
        ],
        &["ftl.separate_gc_stream=false", "gc.name=fifo"],
        &["ftl.fast_pages=true", "ftl.static_wear_delta=2"],
        &["ftl.name=slc_cache", "ftl.when_full=fold"],
        &["ftl.name=slc_cache", "chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20"],
        &["gc.background_free_blocks=6", "gc.reclaim_reads=8", "gc.reclaim_at_once=20"],
        &["chip.fault.program_failure_chance=0.002", "ftl.gc_reserve_blocks=2"],
        &["recovery.name=scan_pages", "chip.fault.program_failure_chance=0.001"],
    ];
    for mode in modes {
        for way in ["unchecked", "checked"] {
            let way = format!("gc.copyback={way}");
            let given = sets(&[&[way.as_str()], mode].concat());
            let mut storm = Storm::new(drive::small(&given), 7);
            storm.run(10_000).unwrap();
            assert!(storm.ssd.counts_agree(), "{given:?}");
            let is_wordline = mode.contains(&"chip.page_order=one_shot");
            // Of the pages of a wordline the registers hold one.
            let is_certain = !is_wordline || way.ends_with("=unchecked");
            assert!(storm.ssd.flash_counts().copybacks > 0 || !is_certain, "{given:?}");
        }
    }
}

/// Flushed data are there after any power cut.
#[test]
fn power_cuts_lose_nothing_that_was_flushed() {
    for recovery in ["scan_pages", "scan_blocks", "checkpoint"] {
        for way in ["unchecked", "checked"] {
            for ftl in ["page", "slc_cache"] {
                let own = [
                    format!("recovery.name={recovery}"),
                    format!("gc.copyback={way}"),
                    format!("ftl.name={ftl}"),
                ];
                let shape = [
                    "chip.geometry.blocks_per_plane=20",
                    "chip.geometry.pages_per_block=16",
                    "ftl.overprovisioning=2.5",
                ];
                let own = own.iter().map(String::as_str);
                let given = sets(&shape.into_iter().chain(own).collect::<Vec<_>>());
                let mut cuts = Cuts::new(&drive::config(&given), 3).unwrap();
                cuts.run(60).unwrap_or_else(|error| panic!("{given:?}: {error}"));
            }
        }
    }
}

/// Copies are refused where chip, FTL or decoder cannot make them, and with values out of range.
#[test]
fn it_refuses_what_cannot_be() {
    let refused = |more: &[&str]| {
        let config = ssd::conformance::small_config(&sets(more));
        let built = config.and_then(|config| Ssd::new(&config, 1 << 30).map(|_| ()));
        built.expect_err(&format!("{more:?}")).to_string()
    };
    for (more, words) in [
        (&["gc.copyback=unchecked", "chip.features.copyback=false"][..], "chip.features.copyback"),
        (&["gc.copyback=checked", "ftl.name=dftl", "ftl.map_cache_bytes=512"], "slc_cache"),
        (&["gc.copyback=unchecked", "gc.copyback_most=0"], "1 to 255"),
        (&["gc.copyback=sometimes"], "unchecked"),
    ] {
        let error = refused(more);
        assert!(error.contains(words), "{more:?}: {error}");
    }
    // The decoder of the small drive is ideal.
    let law = "chip.array={name='power_law',epsilon=1e-4}";
    let given = ["chip.features.copyback=true", "gc.copyback=checked", law];
    let built = Ssd::new(&drive::config(&given), 1 << 30).map(|_| ());
    assert_carries(built.expect_err("refused"), &["gc.copyback", "checked", "ideal"]);
}
