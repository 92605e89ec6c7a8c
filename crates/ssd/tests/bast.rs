//! `bast` against its closed forms: write amplification, erases and kinds of merges; and a timed
//! run against the same writes without time.

use crate::drive;
use crate::one_plane;

use base::rng::Rng;
use one_plane::{BLOCKS, PAGES, fill, ftl_of, validate};
use ssd::ftl::contract::Merges;
use ssd::ftl::{Ftl, FtlCounts, Lpn, Untimed};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// One plane with so many log blocks.
fn drive_of(log_blocks: u32) -> Box<dyn Ftl> {
    ftl_of("bast", log_blocks, &[("log_blocks", log_blocks)])
}

/// Each log block takes U / (U - L) pages before it is the oldest, and all P pages of its logical
/// block are copied then.
#[test]
fn uniform_overwrites_are_the_closed_form() {
    for log_blocks in [51, 128, 256] {
        let mut ftl = drive_of(log_blocks);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        let mut draw = || Lpn(rng.below(units) as u32);
        let mut untimed = Untimed::new(1);
        ftl.overwrite_untimed(10_000, &mut draw, &mut untimed).unwrap();
        ftl.start_run(Some(0));
        // Each by itself: what comes in a batch is sorted by logical block.
        for _ in 0..40_000 {
            ftl.write_untimed(&[draw()], &mut untimed).unwrap();
        }
        let share = f64::from(log_blocks) / f64::from(BLOCKS);
        let theory = 1.0 + f64::from(PAGES) * (1.0 - share);
        let counts = ftl.counts();
        let Merges { switch, partial, full } = counts.merges;
        assert!(full > 50 * (switch + partial), "{counts:?}");
        validate(
            &format!("write amplification, bast, {log_blocks} log blocks of {BLOCKS}"),
            counts.write_amplification(),
            theory,
            0.02,
            "1 + P (1 - L/U), P = 64 pages",
        );
    }
}

#[test]
fn writes_in_order_switch() {
    let mut ftl = drive_of(51);
    fill(&mut *ftl);
    ftl.start_run(Some(0));
    (0..3).for_each(|_| fill(&mut *ftl));
    let counts = ftl.counts();
    let blocks = u64::from(3 * BLOCKS);
    assert_eq!(counts.merges, Merges { switch: blocks, ..Merges::default() });
    let source = "a switch merge copies nothing";
    let what = "write amplification, bast, overwrites in order";
    validate(what, counts.write_amplification(), 1.0, 1e-3, source);
    let what = "pages written for each erase, bast, overwrites in order";
    let pages = counts.host_units as f64 / counts.reclaimed_blocks as f64;
    validate(what, pages, f64::from(PAGES), 1e-3, "P: a switch merge erases one block");
}

/// A log in order up to page k gets the other pages copied behind it, and one block is erased.
#[test]
fn a_start_in_order_is_merged_in_part() {
    let mut ftl = drive_of(1);
    fill(&mut *ftl);
    let mut untimed = Untimed::new(1);
    for written in [1, 17, PAGES - 1] {
        ftl.start_run(Some(0));
        for unit in 0..written {
            ftl.write_untimed(&[Lpn(7 * PAGES + unit)], &mut untimed).unwrap();
        }
        // Another logical block takes the only log; all of it is merged whole.
        for unit in 0..PAGES {
            ftl.write_untimed(&[Lpn(9 * PAGES + unit)], &mut untimed).unwrap();
        }
        let (host_units, moved_units) = ((written + PAGES).into(), (PAGES - written).into());
        let merges = Merges { switch: 1, partial: 1, full: 0 };
        let known =
            FtlCounts { host_units, moved_units, reclaimed_blocks: 2, merges, ..<_>::default() };
        assert_eq!(ftl.counts(), known);
    }
}

/// A log that begins anywhere else is merged in full: two erases.
#[test]
fn a_log_out_of_order_is_merged_in_full() {
    let mut ftl = drive_of(1);
    fill(&mut *ftl);
    let mut untimed = Untimed::new(1);
    ftl.start_run(Some(0));
    ftl.write_untimed(&[Lpn(7 * PAGES + 1)], &mut untimed).unwrap();
    for unit in 0..PAGES {
        ftl.write_untimed(&[Lpn(9 * PAGES + unit)], &mut untimed).unwrap();
    }
    let (host_units, moved_units) = ((1 + PAGES).into(), PAGES.into());
    let merges = Merges { switch: 1, partial: 0, full: 1 };
    let known =
        FtlCounts { host_units, moved_units, reclaimed_blocks: 3, merges, ..<_>::default() };
    assert_eq!(ftl.counts(), known);
}

/// One write at a time: with time, the same is done as without.
#[test]
fn a_timed_run_does_what_the_untimed_way_does() {
    for sets in [&["ftl.stripe=2"][..], &["ftl.stripe=8"], &["ftl.stripe=1", "ftl.log_blocks=3"]] {
        let sets =
            [sets, &["ftl.name=bast", "ftl.overprovisioning=1.5", "buffer.bytes=0"]].concat();
        let (mut timed, mut untimed) = (drive::small(&sets), drive::small(&sets));
        timed.start(0);
        let mut space = Untimed::new(untimed.dies());
        let mut rng = Rng::stream(4, "addresses");
        let units = timed.capacity_bytes() / 4096;
        let mut unit = 0;
        for i in 0..6000 {
            // In order, then anywhere.
            unit = if i < 2500 { (unit + 1) % units } else { rng.below(units) };
            let now = timed.now();
            timed.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, now);
            let Step::Completed(_) = timed.step() else { panic!("lost") };
            untimed.ftl_mut().write_untimed(&[Lpn(unit as u32)], &mut space).unwrap();
        }
        finish(&mut timed);
        assert_eq!(timed.ftl_counts(), untimed.ftl_counts(), "{sets:?}");
        assert!(timed.ftl_counts().merges.full > 0, "{:?}", timed.ftl_counts());
    }
}

/// Lets a drive come to rest.
fn finish(ssd: &mut Ssd) {
    let Step::Idle = ssd.step() else { panic!("nothing was asked") };
}
