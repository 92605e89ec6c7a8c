//! `block` against its closed forms: what a write in order, further on or back costs.

use crate::one_plane;

use base::rng::Rng;
use one_plane::{BLOCKS, PAGES, fill, ftl_of, overwrite, validate};
use ssd::ftl::contract::Merges;
use ssd::ftl::{Ftl, FtlCounts, Lpn, Untimed};

/// One plane with so many open blocks, and a block to spare.
fn drive_of(open_blocks: u32) -> Box<dyn Ftl> {
    ftl_of("block", open_blocks + 1, &[("open_blocks", open_blocks)])
}

/// A write anywhere costs a whole logical block: what lies before it, and what lies behind it.
#[test]
fn uniform_overwrites_cost_a_block_each() {
    for open_blocks in [1, 4] {
        let mut ftl = drive_of(open_blocks);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 2_000, 20_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        let pages = f64::from(PAGES);
        // A write that comes to an open block, and further on there, costs no block of its own.
        let open = f64::from(open_blocks) / f64::from(BLOCKS) / 2.0;
        validate(
            &format!("write amplification, block, {open_blocks} open of {BLOCKS}"),
            counts.write_amplification(),
            pages * (1.0 - open),
            0.01,
            "P (1 - E/2U), P = 64 pages, E open blocks",
        );
        validate(
            &format!("blocks erased a write, block, {open_blocks} open of {BLOCKS}"),
            counts.reclaimed_blocks as f64 / counts.host_units as f64,
            1.0 - open,
            0.01,
            "1 - E/2U",
        );
    }
}

#[test]
fn writes_in_order_switch() {
    let mut ftl = drive_of(1);
    fill(&mut *ftl);
    ftl.start_run(Some(0));
    (0..3).for_each(|_| fill(&mut *ftl));
    let counts = ftl.counts();
    let blocks = u64::from(3 * BLOCKS);
    assert_eq!(counts.merges, Merges { switch: blocks, ..Merges::default() });
    let source = "a switch merge copies nothing";
    let what = "write amplification, block, overwrites in order";
    validate(what, counts.write_amplification(), 1.0, 1e-3, source);
}

/// Streams in order, one in each open block, do not disturb each other; one more than there are
/// open blocks makes every write end a block.
#[test]
fn each_stream_needs_an_open_block() {
    for (streams, amplification) in [(4, 1.0), (5, f64::from(PAGES))] {
        let mut ftl = drive_of(4);
        fill(&mut *ftl);
        ftl.start_run(Some(0));
        let mut untimed = Untimed::new(1);
        for unit in 0..4 * PAGES {
            for stream in 0..streams {
                ftl.write_untimed(&[Lpn(100 * stream * PAGES + unit)], &mut untimed).unwrap();
            }
        }
        validate(
            &format!("write amplification, block, 4 open blocks and {streams} streams in order"),
            ftl.counts().write_amplification(),
            amplification,
            0.02,
            "1 while each has an open block, P from then on",
        );
    }
}

/// A step forward has the units between copied; a step back has the rest copied, and all of the
/// block once more.
#[test]
fn steps_in_a_block_cost_what_lies_between() {
    let pages = u64::from(PAGES);
    for (offsets, moved_units, reclaimed_blocks) in [
        (&[0, 1, 2][..], pages - 3, 1),
        (&[10, 20, 21], pages - 3, 1),
        (&[10, 9], 2 * (pages - 1), 2),
        (&[10, 10], 2 * (pages - 1), 2),
    ] {
        let mut ftl = drive_of(1);
        fill(&mut *ftl);
        ftl.start_run(Some(0));
        let mut untimed = Untimed::new(1);
        let first = 7 * PAGES;
        // Another logical block, written whole, takes the only open block.
        let other = 9 * PAGES..10 * PAGES;
        for unit in offsets.iter().map(|offset| first + offset).chain(other) {
            ftl.write_untimed(&[Lpn(unit)], &mut untimed).unwrap();
        }
        let FtlCounts { merges, .. } = ftl.counts();
        let known = FtlCounts {
            host_units: offsets.len() as u64 + pages,
            moved_units,
            reclaimed_blocks: reclaimed_blocks + 1,
            merges,
            ..<_>::default()
        };
        assert_eq!(ftl.counts(), known, "{offsets:?}");
        let switch_and_partial = merges.switch + merges.partial;
        assert_eq!((switch_and_partial, merges.full), (reclaimed_blocks + 1, 0), "{offsets:?}");
    }
}
