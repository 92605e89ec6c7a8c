//! Blocks whose pages cannot be read any more leave the drive; data and spare are accounted for.

mod drive;

use base::rng::Rng;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// A drive on which one word in twenty is lost at every read.
fn failing(sets: &[&str]) -> Ssd {
    let losing = [
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=shares",
        "ecc.failures=[0.05, 0.05]",
    ];
    let mut ssd = drive::small(&[&losing, sets].concat());
    ssd.start(0);
    ssd
}

/// Random writes and reads: how many requests failed.
fn work(ssd: &mut Ssd, requests: u32) -> u32 {
    let mut rng = Rng::stream(1, "retirement");
    let units = ssd.capacity_bytes() / 4096;
    let (mut sent, mut failed) = (0, 0);
    loop {
        while sent < requests && ssd.has_room() {
            let op = if sent < units as u32 || rng.chance(0.4) { Op::Write } else { Op::Read };
            // First everything in its order, so that all reads find something.
            let unit = if u64::from(sent) < units { sent.into() } else { rng.below(units) };
            let now = ssd.now();
            ssd.submit(Request::new(op, 4096 * unit, 4096), 0, now);
            sent += 1;
        }
        match ssd.step() {
            Step::Completed(slot) => failed += u32::from(ssd.completed(slot).failed),
            Step::Wake(_) => unreachable!("nobody asked"),
            Step::Idle => break,
        }
    }
    assert_eq!(sent, requests);
    assert_eq!(ssd.outstanding(), 0);
    ssd.fault().unwrap();
    failed
}

/// Mapped, free, invalid and bad units are all that there are; those of retired blocks are bad.
fn account(ssd: &Ssd) -> u64 {
    let occupancy = ssd.occupancy();
    let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
    assert_eq!(all, ssd.physical_units(), "{occupancy:?}");
    assert_eq!(occupancy.mapped * 4096, ssd.capacity_bytes());
    let retired = ssd.ftl_counts().retired_blocks;
    // Eighteen pages of two units.
    assert_eq!(occupancy.bad, 36 * retired);
    retired
}

/// Blocks are retired until nothing can be spared, and the drive goes on with what it has.
#[test]
fn blocks_retire_as_long_as_there_is_spare() {
    let mut last = 0;
    for (limit, modes) in [
        (0, &[][..]),
        (16, &[]),
        (1, &[]),
        (1, &["gc.name=fifo", "ftl.separate_gc_stream=false"]),
        (1, &["chip.features.multi_plane_program=false"]),
        (1, &["chip.page_order=one_shot", "buffer.bytes=0"]),
        (1, &["gc.background_free_blocks=6", "chip.features.cache_read=true"]),
    ] {
        let limit = format!("retry.retire_after={limit}");
        let mut ssd = failing(&[modes, &["retry.name=nand_assisted", &limit]].concat());
        let failed = work(&mut ssd, 60_000);
        let retired = account(&ssd);
        assert!(failed > 500, "{limit} {modes:?}: {failed} failed");
        assert!(ssd.counts().uncorrectable > 0 && ssd.lost_units() > 0, "{limit} {modes:?}");
        match limit.as_str() {
            "retry.retire_after=0" => assert_eq!(retired, 0),
            // Twenty-three blocks of each of eight planes; sixteen hold the logical drive and what
            // collection needs, more or less by mode.
            _ if modes.is_empty() => assert!(retired > last, "{limit}: {retired} after {last}"),
            _ => assert!(retired >= 16, "{modes:?}: {retired}"),
        }
        assert!(retired < 8 * 8, "{modes:?}: {retired}");
        last = if modes.is_empty() { retired } else { last };
    }
}

/// Without a retry policy nothing is retired: what it does not look at it does not judge.
#[test]
fn none_retires_nothing() {
    let mut ssd = failing(&[]);
    assert!(work(&mut ssd, 20_000) > 100);
    assert_eq!(account(&ssd), 0);
}
