//! Tests of wear levelling, with it and without it.

use crate::drive;

use base::rng::Rng;
use ssd::ftl::{FtlCounts, Lpn, Untimed};

/// Overwrites one part in `parts` of the drive only, so that most blocks would never be erased.
/// Returns the least and most cycles after `rounds` overwrites of that part, and the counts of the
/// FTL.
fn spread(sets: &[&str], parts: u64, rounds: u64) -> (u32, u32, FtlCounts) {
    let mut ssd = drive::small(sets);
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.facts().logical_units);
    let mut untimed = Untimed::new(dies);
    let row = ftl.facts().row_units;
    for first in (0..units).step_by(row as usize) {
        let lpns: Vec<Lpn> =
            (first..units.min(first + u64::from(row))).map(|unit| Lpn(unit as u32)).collect();
        ftl.write_untimed(&lpns, &mut untimed).unwrap();
    }
    ftl.start_run(Some(0));
    let mut rng = Rng::stream(4, "hot");
    let hot = units / parts;
    ftl.overwrite_untimed(hot * rounds, &mut || Lpn(rng.below(hot) as u32), &mut untimed).unwrap();
    let wear = ftl.wear();
    (wear.min, wear.max, ftl.counts())
}

#[test]
fn static_levelling_bounds_the_spread() {
    levels("ftl.superblock_dies=1");
}

/// Static levelling bounds the spread of blocks of all dies together.
#[test]
fn static_levelling_bounds_the_spread_of_superblocks() {
    levels("ftl.superblock_dies=0");
}

/// Without static levelling cold blocks are never erased; with it, the spread stays near what was
/// asked for, and the most worn block is less worn, at a price in write amplification that is
/// small: one block set is moved in about as many collections as cycles may lie apart.
fn levels(dies: &str) {
    for (blocks, parts, rounds) in [(23, 20, 4000), (23, 5, 1000), (128, 20, 800)] {
        let blocks = format!("chip.geometry.blocks_per_plane={blocks}");
        let (min, worst, plain) =
            spread(&[dies, &blocks, "ftl.static_wear_delta=0"], parts, rounds);
        assert!(min == 0 && worst > 100, "{min} to {worst}");
        let (min, max, levelled) =
            spread(&[dies, &blocks, "ftl.static_wear_delta=20"], parts, rounds);
        assert!(max - min < 3 * 20, "{blocks}, 1/{parts}: {min} to {max}");
        assert!(3 * max < 2 * worst, "{blocks}, 1/{parts}: up to {max} against {worst}");
        assert!(plain.levelled_blocks == 0, "{plain:?}");
        // Few of the blocks, and enough that the least worn have had their turns.
        let of_all = 1..levelled.reclaimed_blocks / 10;
        assert!(of_all.contains(&levelled.levelled_blocks), "{levelled:?}");
        let (levelled, plain) = (levelled.write_amplification(), plain.write_amplification());
        assert!(levelled < 1.15 * plain, "{blocks}, 1/{parts}: {levelled} against {plain}");
    }
}

/// Dynamic levelling: among free blocks the least worn is opened first, so that without cold data
/// the blocks wear evenly.
#[test]
fn dynamic_levelling_spreads_uniform_traffic() {
    let mut ssd = drive::small(&["ftl.static_wear_delta=0"]);
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.facts().logical_units);
    let mut rng = Rng::stream(5, "uniform");
    let mut untimed = Untimed::new(dies);
    ftl.overwrite_untimed(units * 300, &mut || Lpn(rng.below(units) as u32), &mut untimed).unwrap();
    let wear = ftl.wear();
    assert!(wear.mean > 150.0, "{wear:?}");
    assert!(f64::from(wear.max - wear.min) < 0.25 * wear.mean, "{wear:?}");
}

/// Fewest and most cycles after a few hot units have been written over and over, on a drive that
/// collects dead blocks soon, so that most of its blocks are free.
fn worn_by(reuse: &str, more: &[&str]) -> (u32, u32) {
    let roomy = [
        "ftl.overprovisioning=4",
        "ftl.static_wear_delta=0",
        "ftl.gc_reserve_blocks=13",
        "gc.start_free_blocks=14",
        "gc.name=fifo",
    ];
    let mut ssd = drive::small(&[&roomy[..], &[reuse], more].concat());
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let row = ftl.facts().row_units;
    let mut untimed = Untimed::new(dies);
    let mut next = 0;
    let mut hot = || {
        next = (next + 1) % (8 * row);
        Lpn(next)
    };
    ftl.overwrite_untimed(u64::from(row) * 20_000, &mut hot, &mut untimed).unwrap();
    (ftl.wear().min, ftl.wear().max)
}

/// A stack wears the few blocks that the data need, and leaves the others alone; the order of wear
/// uses all of them alike, and a queue leaves none out.
#[test]
fn a_stack_of_free_blocks_wears_few_of_them() {
    for more in [&[][..], &["ftl.superblock_dies=0"]] {
        let [(least, most), (queued, _), (rested, stacked)] =
            ["least_worn", "fifo", "lifo"].map(|reuse| worn_by(&format!("gc.reuse={reuse}"), more));
        assert!(2 * least > most, "{least} to {most}");
        assert!(queued > 0, "{queued}");
        assert!(rested == 0 && stacked > 2 * most, "{rested} to {stacked}, {most} by wear");
    }
}
