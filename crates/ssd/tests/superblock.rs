//! `superblock` against its closed forms: write amplification, erases and kinds of merges; against
//! `bast` where superblocks have hot units; and a timed run against the same writes without time.

use crate::drive;
use crate::one_plane;

use base::rng::Rng;
use one_plane::{BLOCKS, PAGES, fill, ftl_in, ftl_of, overwrite, validate};
use ssd::ftl::contract::Merges;
use ssd::ftl::{Ftl, FtlCounts, Lpn, Untimed};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// One plane with so many update blocks, superblocks of N logical blocks and up to M update blocks.
fn drive_of(log_blocks: u32, logical: u32, updates: u32) -> Box<dyn Ftl> {
    let params =
        [("log_blocks", log_blocks), ("superblock_blocks", logical), ("update_blocks", updates)];
    ftl_of("superblock", log_blocks, &params)
}

/// A superblock that has given its update block back has only blocks that are valid throughout.
/// With one it keeps it for w writes, w = 1, 2, ... with chance (1 - h) h^(w - 1), as the update
/// block that has rested longest is taken, and the writes hit k = 1 / (1 - h (1 - 1/N)) of the N
/// blocks on average. All that is valid in these, k P - w, is copied behind the w units.
#[test]
fn uniform_overwrites_with_few_update_blocks_are_the_closed_form() {
    for (superblock, log_blocks) in [(1, 128), (2, 64), (4, 13), (4, 64), (8, 32)] {
        let mut ftl = drive_of(log_blocks, superblock, 1);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 5_000, 20_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        let n = f64::from(superblock);
        let h = f64::from(log_blocks) * n / f64::from(BLOCKS);
        let theory = f64::from(PAGES) * (1.0 - h) / (1.0 - h * (1.0 - 1.0 / n));
        validate(
            &format!("write amplification, superblock of {superblock}, {log_blocks} update blocks"),
            counts.write_amplification(),
            theory,
            0.02,
            "P (1 - h) / (1 - h (1 - 1/N)), h = L N/U, P = 64 pages, U = 512",
        );
        let merges = counts.merges;
        assert!(merges.full > 50 * (merges.switch + merges.partial), "{counts:?}");
    }
}

/// Write amplification of N + M blocks of very many units that are emptied in turn, N of them
/// valid: x of a victim is valid, 1 - x of a block is written by the host between two victims.
fn of_a_ring(n: f64, m: f64) -> f64 {
    let valid = |x: f64| {
        let g = (1.0 - x) / n;
        let ring = (1.0 - (-g).exp()) / (1.0 - (-(n + m) * g).exp());
        n * ring * (-(n + m - 1.0) * g).exp()
    };
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if valid(middle) > middle { low = middle } else { high = middle }
    }
    1.0 / (1.0 - low)
}

/// With as many update blocks as all superblocks may have, each is collected by itself. Blocks of
/// many pages lose their valid units evenly, so the one with the fewest is the oldest one.
#[test]
fn uniform_overwrites_with_many_update_blocks_are_the_closed_form() {
    const LOGICAL: u32 = 16;
    const LONG: u32 = 2048;
    for (superblock, updates) in [(4, 1), (4, 2), (4, 4), (8, 4), (2, 1)] {
        let log_blocks = LOGICAL / superblock * updates;
        let params = [("superblock_blocks", superblock), ("update_blocks", updates)];
        let mut ftl = ftl_in("superblock", LOGICAL, LONG, log_blocks, &params);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 400_000, 400_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        validate(
            &format!("write amplification, superblock of {superblock} + {updates}, each by itself"),
            counts.write_amplification(),
            of_a_ring(superblock.into(), updates.into()),
            0.02,
            "1 / (1 - x), x = N exp(-(B-1) g) (1 - exp(-g)) / (1 - exp(-B g)), g = (1 - x)/N, \
             B = N + M",
        );
        let Merges { switch, partial, full } = counts.merges;
        assert!(partial > 0 && switch + full == 0, "{counts:?}");
    }
}

#[test]
fn writes_in_order_switch() {
    let mut ftl = drive_of(51, 4, 4);
    fill(&mut *ftl);
    ftl.start_run(Some(0));
    (0..3).for_each(|_| fill(&mut *ftl));
    let counts = ftl.counts();
    let blocks = u64::from(3 * BLOCKS);
    assert_eq!(counts.merges, Merges { switch: blocks, ..Merges::default() });
    let source = "a block with nothing valid is erased without a copy";
    let what = "write amplification, superblock, overwrites in order";
    validate(what, counts.write_amplification(), 1.0, 1e-3, source);
    let what = "pages written for each erase, superblock, overwrites in order";
    let pages = counts.host_units as f64 / counts.reclaimed_blocks as f64;
    validate(what, pages, f64::from(PAGES), 1e-3, "P: each block is written once and erased once");
}

/// Writes to one superblock, then to another while the drive has one update block: the first gives
/// it back, and the valid units of the blocks that it has written to are copied behind it.
#[test]
fn a_full_merge_copies_what_is_valid_beside_the_written_units() {
    let mut untimed = Untimed::new(1);
    for (written, hit) in [(1, 1), (17, 1), (2, 2), (40, 4)] {
        let mut ftl = ftl_of("superblock", 2, &[("log_blocks", 1)]);
        fill(&mut *ftl);
        ftl.start_run(Some(0));
        for unit in 0..written {
            let (block, offset) = (unit % hit, unit / hit);
            ftl.write_untimed(&[Lpn((28 + block) * PAGES + offset)], &mut untimed).unwrap();
        }
        for unit in 0..PAGES {
            ftl.write_untimed(&[Lpn(9 * PAGES + unit)], &mut untimed).unwrap();
        }
        let (host_units, moved_units) = ((written + PAGES).into(), (hit * PAGES - written).into());
        let merges = Merges { switch: 1, partial: 0, full: 1 };
        let reclaimed_blocks = u64::from(hit) + 1;
        let known =
            FtlCounts { host_units, moved_units, reclaimed_blocks, merges, ..<_>::default() };
        assert_eq!(ftl.counts(), known);
    }
}

/// Where an eighth of each logical block is hot, its units gather in the update blocks of their
/// superblock, and little is copied. With a log block for each logical block they do not.
#[test]
fn hot_units_gather() {
    let hot = PAGES / 8;
    let copies = |mut ftl: Box<dyn Ftl>| {
        fill(&mut *ftl);
        let mut rng = Rng::stream(3, "addresses");
        let blocks = u64::from(BLOCKS);
        overwrite(&mut *ftl, 50_000, 100_000, &mut || {
            let block = rng.below(blocks) as u32;
            Lpn(block * PAGES + rng.below(hot.into()) as u32)
        });
        let counts = ftl.counts();
        counts.moved_units as f64 / counts.host_units as f64
    };
    let logs = BLOCKS / 2;
    let of_superblocks = copies(drive_of(logs, 4, 2));
    let of_bast = copies(ftl_of("bast", logs, &[("log_blocks", logs)]));
    assert!(of_superblocks < 0.01 * of_bast, "{of_superblocks} and {of_bast} copies a write");
    // As many spare blocks, and all units hot: most blocks hold valid units.
    let mut uniform = drive_of(logs, 4, 2);
    fill(&mut *uniform);
    let units = u64::from(uniform.facts().logical_units);
    let mut rng = Rng::stream(3, "addresses");
    overwrite(&mut *uniform, 50_000, 100_000, &mut || Lpn(rng.below(units) as u32));
    let counts = uniform.counts();
    let of_uniform = counts.moved_units as f64 / counts.host_units as f64;
    assert!(of_superblocks < 0.1 * of_uniform, "{of_superblocks} and {of_uniform} copies a write");
}

/// One write at a time: with time, the same is done as without.
#[test]
fn a_timed_run_does_what_the_untimed_way_does() {
    for sets in [
        &["ftl.stripe=2"][..],
        &["ftl.stripe=8", "ftl.superblock_blocks=2"],
        &["ftl.stripe=1", "ftl.log_blocks=3"],
        &["ftl.stripe=1", "ftl.update_blocks=1", "ftl.superblock_blocks=3"],
    ] {
        let sets =
            [sets, &["ftl.name=superblock", "ftl.overprovisioning=1.5", "buffer.bytes=0"]].concat();
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
        let Merges { partial, full, .. } = timed.ftl_counts().merges;
        assert!(partial + full > 0, "{sets:?}: {:?}", timed.ftl_counts());
    }
}

/// The memory of the map grows with the superblock.
#[test]
fn places_take_as_many_bytes_as_their_superblock_needs() {
    // Places among 3, 9 and 10 blocks of 64 units.
    for (superblock, updates, bytes) in [(1, 1, 1), (4, 4, 2), (8, 1, 2)] {
        let ftl = drive_of(51, superblock, updates);
        let ram = ftl.ram();
        let maps = ram.iter().find(|ram| ram.name == "superblock_maps").unwrap();
        assert_eq!(maps.bytes, bytes * u64::from(BLOCKS * PAGES));
        assert_eq!(ftl.facts().spare_bytes, 12);
    }
}

/// Lets a drive come to rest.
fn finish(ssd: &mut Ssd) {
    let Step::Idle = ssd.step() else { panic!("nothing was asked") };
}
