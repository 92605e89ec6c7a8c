//! `fast` against its closed forms: write amplification, erases and kinds of merges.

use crate::one_plane;

use base::rng::Rng;
use one_plane::{BLOCKS, PAGES, fill, ftl_of, overwrite, validate};
use ssd::ftl::contract::Merges;
use ssd::ftl::{Ftl, FtlCounts, Lpn, Untimed};
use toml::Value;

/// One plane with so many log blocks of each kind.
fn drive_of(log_blocks: u32, sequential_logs: u32) -> Box<dyn Ftl> {
    let params = [("log_blocks", log_blocks), ("sequential_logs", sequential_logs)];
    ftl_of("fast", log_blocks + sequential_logs, &params)
}

/// A logical block is merged once in a cycle: U writes until it has a unit in the log blocks, and
/// L P writes until that is in the oldest one.
#[test]
fn uniform_overwrites_are_the_closed_form() {
    for log_blocks in [51, 128, 256] {
        let mut ftl = drive_of(log_blocks, 0);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 100_000, 200_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        let logs = f64::from(log_blocks * PAGES);
        let cycle = f64::from(BLOCKS) + logs;
        let theory = 1.0 + f64::from(PAGES * BLOCKS) / cycle;
        validate(
            &format!("write amplification, fast, {log_blocks} log blocks of {BLOCKS}"),
            counts.write_amplification(),
            theory,
            0.02,
            "1 + P / (1 + L P/U), P = 64 pages",
        );
        // A merge erases a data block, and each P writes fill a log block.
        let erases = f64::from(BLOCKS) / cycle + 1.0 / f64::from(PAGES);
        validate(
            &format!("blocks erased a write, fast, {log_blocks} log blocks of {BLOCKS}"),
            counts.reclaimed_blocks as f64 / counts.host_units as f64,
            erases,
            0.02,
            "1 / (U + L P) a logical block, and 1/P",
        );
    }
}

/// Emptied while the last one is filled, the oldest log block goes half a log block earlier.
#[test]
fn merges_ahead_cost_half_a_log_block() {
    let log_blocks = 51;
    let params: [(_, Value); 3] = [
        ("log_blocks", log_blocks.into()),
        ("sequential_logs", 0.into()),
        ("merges_ahead", true.into()),
    ];
    let mut ftl = ftl_of("fast", log_blocks, &params);
    fill(&mut *ftl);
    let units = u64::from(ftl.facts().logical_units);
    let mut rng = Rng::stream(2, "addresses");
    overwrite(&mut *ftl, 100_000, 200_000, &mut || Lpn(rng.below(units) as u32));
    let logs = (f64::from(log_blocks) - 0.5) * f64::from(PAGES);
    validate(
        &format!("write amplification, fast, {log_blocks} log blocks, merges ahead"),
        ftl.counts().write_amplification(),
        1.0 + f64::from(PAGES * BLOCKS) / (f64::from(BLOCKS) + logs),
        0.02,
        "1 + P / (1 + (L - 1/2) P/U), P = 64 pages",
    );
}

/// With a sequential log block, each first unit of a logical block begins a stream that ends at
/// once: a partial merge copies the other units of its block, those in random log blocks too.
#[test]
fn uniform_overwrites_with_a_sequential_log_are_the_closed_form() {
    for log_blocks in [51, 256] {
        let mut ftl = drive_of(log_blocks, 1);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 100_000, 200_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        let (blocks, pages) = (f64::from(BLOCKS), f64::from(PAGES));
        let first = 1.0 / (blocks * pages);
        let other = (pages - 1.0) * first;
        // Writes until a unit is in the oldest log block; chance of no first unit meanwhile.
        let age = f64::from(log_blocks) * pages * pages / (pages - 1.0);
        let stays = (-first * age).exp();
        let cycle = 1.0 / other + (1.0 - stays) / first;
        let theory = 1.0 + (pages - 1.0) / pages + blocks * pages * stays / cycle;
        validate(
            &format!("write amplification, fast, {log_blocks} log blocks and a sequential one"),
            counts.write_amplification(),
            theory,
            0.02,
            "1 + (P-1)/P + U P s / (1/b + (1-s)/a), a = 1/UP, b = (P-1)/UP, \
             s = exp(-a L P P/(P-1))",
        );
    }
}

#[test]
fn writes_in_order_switch() {
    let mut ftl = drive_of(51, 1);
    fill(&mut *ftl);
    ftl.start_run(Some(0));
    (0..3).for_each(|_| fill(&mut *ftl));
    let counts = ftl.counts();
    let blocks = u64::from(3 * BLOCKS);
    assert_eq!(counts.merges, Merges { switch: blocks, ..Merges::default() });
    let source = "a switch merge copies nothing";
    let what = "write amplification, fast, overwrites in order";
    validate(what, counts.write_amplification(), 1.0, 1e-3, source);
    let what = "pages written for each erase, fast, overwrites in order";
    let pages = counts.host_units as f64 / counts.reclaimed_blocks as f64;
    validate(what, pages, f64::from(PAGES), 1e-3, "P: a switch merge erases one block");
}

/// Streams beside each other, each with a sequential log block of its own, switch too; with fewer
/// log blocks than streams they do not.
#[test]
fn each_stream_needs_a_log_block() {
    for (logs, streams, switches) in [(4, 4, true), (2, 3, false)] {
        let mut ftl = drive_of(51, logs);
        fill(&mut *ftl);
        ftl.start_run(Some(0));
        let mut untimed = Untimed::new(1);
        for unit in 0..10 * PAGES {
            for stream in 0..streams {
                let first = 100 * stream * PAGES;
                ftl.write_untimed(&[Lpn(first + unit)], &mut untimed).unwrap();
            }
        }
        let Merges { switch, partial, full } = ftl.counts().merges;
        let is_all = switch == u64::from(10 * streams) && partial + full == 0;
        assert_eq!(is_all, switches, "{logs} logs, {streams} streams: {:?}", ftl.counts());
    }
}

/// A stream that breaks off after k pages gets the other pages copied behind it.
#[test]
fn a_start_in_order_is_merged_in_part() {
    let mut ftl = drive_of(8, 1);
    fill(&mut *ftl);
    let mut untimed = Untimed::new(1);
    for written in [1, 17, PAGES - 1] {
        ftl.start_run(Some(0));
        for unit in (7 * PAGES..7 * PAGES + written).chain(9 * PAGES..10 * PAGES) {
            ftl.write_untimed(&[Lpn(unit)], &mut untimed).unwrap();
        }
        let (host_units, moved_units) = ((written + PAGES).into(), (PAGES - written).into());
        let merges = Merges { switch: 1, partial: 1, full: 0 };
        let known =
            FtlCounts { host_units, moved_units, reclaimed_blocks: 2, merges, ..<_>::default() };
        assert_eq!(ftl.counts(), known);
    }
}
