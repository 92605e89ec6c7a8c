//! Start-ups in closed form: the time to ready, and what it costs while the drive runs.

#![allow(clippy::print_stdout)]

use crate::drive;

use base::Time;
use ssd::config::SsdConfig;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{PowerCounts, Ssd, Started, Step};

/// The drive of Desnoyers 2013, a 64th of it: eight dies of one plane on a bus of their own, pages
/// of 4 KiB, blocks of 128 pages, 50 us a read, and nothing else that takes time.
const DESNOYERS: &[&str] = &[
    "drive.channels=8",
    "drive.dies_per_channel=1",
    "controller.command_us=0",
    "chip.geometry.planes_per_die=1",
    "chip.geometry.blocks_per_plane=477",
    "chip.geometry.pages_per_block=128",
    "chip.geometry.page_bytes=4096",
    "chip.timing.t_read_us=50",
    "chip.timing.t_command_us=0",
    "chip.timing.t_transfer_us=0",
    "chip.timing.bus_mt_s=100000",
    "ecc.t_decode_us=0",
    "chip.fault.paired_page_loss=0",
];

fn config(sets: &[&str]) -> SsdConfig {
    drive::config(&[DESNOYERS, sets].concat())
}

/// Fills a drive, cuts its power, and starts it up.
fn start_up(config: &SsdConfig) -> (Ssd, Started) {
    let mut ssd = Ssd::new(config, 1 << 32).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let cut = ssd.cut().unwrap();
    assert_eq!((cut.requests, cut.losses.torn_programs), (0, 0));
    let started = ready(&mut ssd, config);
    (ssd, started)
}

fn ready(ssd: &mut Ssd, config: &SsdConfig) -> Started {
    ssd.power_on(config).unwrap();
    loop {
        if let Some(started) = ssd.advance_start_up(1 << 20).unwrap() {
            return started;
        }
    }
}

fn assert_close(what: &str, found: f64, expected: f64, tolerance: f64, source: &str) {
    println!("validation | {what} | {found:.4} | {expected:.4} | {tolerance} | {source}");
    let error = (found / expected - 1.0).abs();
    assert!(error <= tolerance, "{what}: {found}, not {expected}");
}

/// All pages of a full drive, or one page of each block: reads over dies, times 50 us.
#[test]
fn scans_take_their_reads_over_the_dies() {
    let blocks = 477.0;
    let read_s = 50e-6;
    let (ssd, all) = start_up(&config(&["recovery.name=scan_pages", "ftl.overprovisioning=0.05"]));
    assert_eq!(all.mapped_units, ssd.capacity_bytes() / 4096);
    // The log of each die is no part of the scan, and what is free is one read a block.
    let used = all.mapped_units as f64 / 8.0;
    let free = blocks - (used / 128.0).ceil();
    let what = "start-up, scan of all pages: time in s";
    assert_close(what, all.time.s(), (used + free) * read_s, 0.02, "reads / dies x 50 us");
    let sets = ["recovery.name=scan_blocks", "ftl.overprovisioning=0.05"];
    let (_, summaries) = start_up(&config(&sets));
    // The block of each die that is still open has no summary: its pages are read.
    let open = (summaries.mapped_units as f64 / 8.0) % 127.0;
    let what = "start-up, scan of a summary of each block: time in s";
    let source = "(blocks + pages of open blocks) / dies x 50 us";
    assert_close(what, summaries.time.s(), (blocks + open) * read_s, 0.02, source);
    assert!(all.time > Time(60 * summaries.time.0), "{all:?}, {summaries:?}");
}

/// A checkpoint reads what was opened since, whatever the drive holds.
#[test]
fn a_checkpoint_bounds_the_start_up() {
    let sets = [
        "recovery.name=checkpoint",
        "recovery.checkpoint_units=4000",
        "ftl.overprovisioning=0.2",
        "buffer.bytes=262144",
    ];
    let config = config(&sets);
    let mut ssd = Ssd::new(&config, 1 << 32).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let counts = overwrite(&mut ssd, 40_000);
    let host = ssd.ftl_counts().host_units;
    // The tables of the FTL and a bit a unit, in pages, once in 4,000 units.
    let bytes: u64 = ssd.ftl_ram().iter().map(|ram| ram.bytes).sum();
    let bytes = bytes + ssd.capacity_bytes() / 4096 / 8;
    let tables = (host / 4000) as f64;
    let expected = tables * bytes.div_ceil(4096) as f64;
    assert_eq!(counts.tables, host / 4000);
    let what = "checkpoints: pages of tables";
    assert_close(what, counts.table_pages as f64, expected, 0.02, "bytes / page, each interval");
    // A page notes each opened block, here of one plane.
    let opened = ssd.ftl_counts().programmed_units() as f64 / 128.0;
    let what = "checkpoints: pages that note opened blocks";
    assert_close(what, counts.opened_pages as f64, opened, 0.05, "programs / pages of a block");
    ssd.cut().unwrap();
    let started = ready(&mut ssd, &config);
    // At most the blocks of two intervals, and the two that each die had open.
    let most = 2.0 * 4000.0 * ssd.ftl_counts().write_amplification() + 2.0 * 8.0 * 128.0;
    assert!((started.page_reads as f64) < most, "{started:?}: {most}");
    assert!(started.mapped_units == ssd.capacity_bytes() / 4096, "{started:?}");
}

/// Summaries take their pages of each block, and are programmed with it.
#[test]
fn summaries_take_a_page_of_each_block() {
    let sets = ["recovery.name=scan_blocks", "ftl.overprovisioning=0.2", "buffer.bytes=262144"];
    let config = config(&sets);
    let mut ssd = Ssd::new(&config, 1 << 32).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let counts = overwrite(&mut ssd, 20_000);
    let full = ssd.ftl_counts().programmed_units() as f64 / 127.0;
    let what = "summaries: pages";
    assert_close(what, counts.summary_pages as f64, full, 0.05, "programs / pages of a block");
}

/// Overwrites pages at random. Returns the counts of what was written for the start-up.
fn overwrite(ssd: &mut Ssd, requests: u64) -> PowerCounts {
    let units = ssd.capacity_bytes() / 4096;
    let mut rng = base::rng::Rng::stream(1, "overwrite");
    let (mut sent, mut done) = (0, 0);
    while done < requests {
        while sent < requests && ssd.has_room() {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Write, 4096 * rng.below(units), 4096), 0, now);
            sent += 1;
        }
        match ssd.step() {
            Step::Completed(_) => done += 1,
            step => panic!("{step:?}: {:?}", ssd.fault()),
        }
    }
    ssd.settle().unwrap();
    *ssd.power_counts().unwrap()
}

/// The journal takes its bytes of each unit that is programmed, and a start-up reads it in place of
/// the pages that it tells: at most the entries of one page of it, which were in memory, are looked
/// for on flash.
#[test]
fn a_journal_takes_its_bytes_and_spares_the_scan() {
    let start = |recovery: &[&str]| {
        let sets = ["ftl.overprovisioning=0.2", "buffer.bytes=262144"];
        let config = config(&[&sets, recovery].concat());
        let mut ssd = Ssd::new(&config, 1 << 32).unwrap();
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let counts = overwrite(&mut ssd, 20_000);
        let programmed = ssd.ftl_counts().programmed_units();
        ssd.cut().unwrap();
        (counts, programmed, ready(&mut ssd, &config), ready_again(&mut ssd, &config))
    };
    let checkpoint = &["recovery.name=checkpoint", "recovery.checkpoint_units=1000000"];
    let (counts, _, scanned, _) = start(checkpoint);
    assert_eq!((counts.journal_pages, counts.tables), (0, 0));
    for bytes in [8_u64, 16] {
        let entry = format!("recovery.entry_bytes={bytes}");
        let journal = ["recovery.name=journal", "recovery.checkpoint_units=1000000", &entry];
        let (counts, programmed, found, again) = start(&journal);
        let what = format!("journal of {bytes} bytes a unit: pages");
        let expected = (programmed * bytes) as f64 / 4096.0;
        assert_close(&what, counts.journal_pages as f64, expected, 0.03, "units x bytes / page");
        // A read more for each open block, and those of the first page that is not programmed.
        let in_memory = 4096 / bytes;
        let open = 2 * 8 + counts.opened_pages;
        assert!(found.page_reads < in_memory + open, "{found:?}, {in_memory} in memory");
        assert!(found.page_reads < scanned.page_reads / 4, "{found:?} {scanned:?}");
        assert!(found.log_reads > scanned.log_reads, "{found:?} {scanned:?}");
        assert_eq!(found.mapped_units, scanned.mapped_units);
        // What the cut has taken from the journal is in it by now, but for a page in memory.
        assert!(again.page_reads <= found.page_reads, "{again:?} after {found:?}");
        assert_eq!(again.mapped_units, found.mapped_units);
    }
}

/// Cuts the power of a drive that is ready, once it is idle, and starts it up.
fn ready_again(ssd: &mut Ssd, config: &SsdConfig) -> Started {
    ssd.settle().unwrap();
    ssd.cut().unwrap();
    ready(ssd, config)
}
