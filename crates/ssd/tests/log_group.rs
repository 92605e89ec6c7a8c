//! `log_group` against its closed forms: write amplification, erases and kinds of merges.

use crate::one_plane;

use base::rng::Rng;
use one_plane::{BLOCKS, PAGES, fill, ftl_of, overwrite, validate};
use ssd::ftl::contract::Merges;
use ssd::ftl::{Ftl, Lpn};

/// One plane with groups of `blocks` logical blocks that have up to `logs` log blocks each, and
/// `log_blocks` in all.
fn drive_of(blocks: u32, logs: u32, log_blocks: u32) -> Box<dyn Ftl> {
    let params = [("group_blocks", blocks), ("group_logs", logs), ("log_blocks", log_blocks)];
    ftl_of("log_group", log_blocks, &params)
}

/// Every group can have its K log blocks: it is merged when it has filled them, in each of its N
/// logical blocks that has a unit in them.
#[test]
fn uniform_overwrites_with_all_log_blocks_are_the_closed_form() {
    for (blocks, logs) in [(8, 1), (4, 1), (4, 2)] {
        let mut ftl = drive_of(blocks, logs, BLOCKS / blocks * logs);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 100_000, 200_000, &mut || Lpn(rng.below(units) as u32));
        let counts = ftl.counts();
        let (n, k, pages) = (f64::from(blocks), f64::from(logs), f64::from(PAGES));
        let touched = n * (1.0 - (1.0 - 1.0 / n).powf(k * pages));
        validate(
            &format!("write amplification, log_group, {blocks} to {logs}"),
            counts.write_amplification(),
            1.0 + touched / k,
            0.02,
            "1 + N (1 - (1 - 1/N)^(K P)) / K, P = 64 pages",
        );
        validate(
            &format!("blocks erased a write, log_group, {blocks} to {logs}"),
            counts.reclaimed_blocks as f64 / counts.host_units as f64,
            (touched + k) / (k * pages),
            0.02,
            "N (1 - (1 - 1/N)^(K P)) data blocks and K log blocks for K P writes",
        );
    }
}

/// Fewer log blocks than groups: the one opened first is emptied, with about 1 / (1 - L/G) units in
/// it. Beyond its first unit that is a Poisson number.
#[test]
fn uniform_overwrites_with_few_log_blocks_are_the_closed_form() {
    for (blocks, log_blocks) in [(2, 51), (4, 51), (4, 96)] {
        let mut ftl = drive_of(blocks, 1, log_blocks);
        fill(&mut *ftl);
        let units = u64::from(ftl.facts().logical_units);
        let mut rng = Rng::stream(2, "addresses");
        overwrite(&mut *ftl, 10_000, 40_000, &mut || Lpn(rng.below(units) as u32));
        let n = f64::from(blocks);
        let share = f64::from(log_blocks) * n / f64::from(BLOCKS);
        let mean = 1.0 / (1.0 - share);
        let touched = n * (1.0 - (1.0 - 1.0 / n) * (-share * mean / n).exp());
        validate(
            &format!("write amplification, log_group, {blocks} to 1, {log_blocks} log blocks"),
            ftl.counts().write_amplification(),
            1.0 + f64::from(PAGES) * touched / mean,
            0.02,
            "1 + P N (1 - (1 - 1/N) exp(-(L/G) m / N)) / m, m = 1 / (1 - L/G), G groups",
        );
    }
}

#[test]
fn writes_in_order_switch() {
    let mut ftl = drive_of(4, 2, 51);
    fill(&mut *ftl);
    ftl.start_run(Some(0));
    (0..3).for_each(|_| fill(&mut *ftl));
    let counts = ftl.counts();
    let blocks = u64::from(3 * BLOCKS);
    assert_eq!(counts.merges, Merges { switch: blocks, ..Merges::default() });
    let source = "a switch merge copies nothing";
    let what = "write amplification, log_group, overwrites in order";
    validate(what, counts.write_amplification(), 1.0, 1e-3, source);
}
