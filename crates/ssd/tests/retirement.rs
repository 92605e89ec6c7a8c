//! Blocks whose pages cannot be read any more, or a program or the erase of which has failed, leave
//! the drive; data and spare are accounted for.

use crate::drive;

use base::error::assert_carries;
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

/// Sends as many requests as `next` gives, without a pause. Returns how many were done, and how
/// many failed.
fn send(ssd: &mut Ssd, mut next: impl FnMut(&Ssd) -> Option<(Op, u64)>) -> (u64, u64) {
    let (mut sent, mut done, mut failed) = (0, 0, 0);
    loop {
        while ssd.has_room()
            && let Some((op, unit)) = next(ssd)
        {
            let now = ssd.now();
            ssd.submit(Request::new(op, 4096 * unit, 4096), 0, now);
            sent += 1;
        }
        match ssd.step() {
            Step::Completed(slot) if ssd.completed(slot).failed => failed += 1,
            Step::Completed(_) => done += 1,
            Step::Wake(_) | Step::Ready => unreachable!("nobody asked"),
            Step::Idle => break,
        }
    }
    assert_eq!((ssd.outstanding(), done + failed), (0, sent));
    ssd.fault().unwrap();
    (done, failed)
}

/// Sends one request for each unit. Returns how many failed.
fn send_all(ssd: &mut Ssd, op: Op, mut units: std::ops::Range<u64>) -> u64 {
    send(ssd, |_| units.next().map(|unit| (op, unit))).1
}

/// Sends random writes and reads. Returns how many requests failed.
fn work(ssd: &mut Ssd, requests: u64) -> u64 {
    let mut rng = Rng::stream(1, "retirement");
    let units = ssd.capacity_bytes() / 4096;
    let mut numbers = 0..requests;
    let (_, failed) = send(ssd, |_| {
        let number = numbers.next()?;
        let op = if number < units || rng.chance(0.4) { Op::Write } else { Op::Read };
        // First everything in its order, so that all reads find something.
        Some((op, if number < units { number } else { rng.below(units) }))
    });
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
        assert!(ssd.counts().codes.uncorrectable > 0 && ssd.lost_units() > 0, "{limit} {modes:?}");
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

/// Without a retry policy no block is retired: uncorrectable pages are not counted.
#[test]
fn none_retires_nothing() {
    let mut ssd = failing(&[]);
    assert!(work(&mut ssd, 20_000) > 100);
    assert_eq!(account(&ssd), 0);
}

/// A drive of blocks that are rated for thirty cycles, and stand about as many.
fn wearing(sets: &[&str]) -> Ssd {
    let standing = ["chip.rated_pe_cycles=30", "ftl.static_wear_delta=2"];
    let mut ssd = drive::small(&[&standing, sets].concat());
    ssd.start(0);
    ssd
}

/// Fills the drive, and overwrites it at random without a pause until it takes no more: how many
/// writes that were, and how many blocks were erased after it.
fn wear_out(ssd: &mut Ssd) -> (u64, u64) {
    let mut rng = Rng::stream(1, "wear out");
    let units = ssd.capacity_bytes() / 4096;
    let (mut sent, mut erases) = (0, 0);
    let (written, _) = send(ssd, |ssd| {
        if ssd.read_only_at().is_some() {
            return None;
        }
        assert!(sent < 200 * units, "it lives for ever");
        let unit = if sent < units { sent } else { rng.below(units) };
        (sent, erases) = (sent + 1, ssd.flash_counts().erases);
        Some((Op::Write, unit))
    });
    (written, ssd.flash_counts().erases - erases)
}

/// Blocks fail one after another and leave, until there is none to spare. Then writes fail, and
/// what was written is still there.
#[test]
fn blocks_whose_erase_fails_leave_until_the_drive_is_read_only() {
    for modes in [
        &[][..],
        &["gc.name=fifo", "ftl.separate_gc_stream=false"],
        &["ftl.separate_gc_stream=false", "ftl.overprovisioning=0.25"],
        &["chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot", "buffer.bytes=0"],
        &["gc.background_free_blocks=6", "chip.features.cache_read=true"],
    ] {
        let fault = "chip.fault={median_ratings=1,spread=0.2}";
        let mut ssd = wearing(&[&[fault, "chip.geometry.blocks_per_plane=64"], modes].concat());
        let (_, later) = wear_out(&mut ssd);
        let retired = account(&ssd);
        assert!(ssd.counts_agree(), "{modes:?}");
        assert!(retired >= 8, "{modes:?}: {retired}");
        let failed = ssd.flash_counts().failed_erases;
        assert!(failed > retired, "{modes:?}: the last one stays");
        // What was under way comes to its end, and no more.
        assert!(later <= 32, "{modes:?}: {later} blocks erased later");
        let units = ssd.capacity_bytes() / 4096;
        assert_eq!(send_all(&mut ssd, Op::Write, 0..100), 100, "{modes:?}");
        assert_eq!(send_all(&mut ssd, Op::Flush, 0..1), 0, "{modes:?}");
        assert_eq!(send_all(&mut ssd, Op::Read, 0..units), 0, "{modes:?}");
        assert_eq!(account(&ssd), retired, "{modes:?}");
    }
}

/// Where all blocks stand the same cycles, and wear is level, the drive lives as long as that:
/// cycles x flash over write amplification, and what it holds at the end.
#[test]
fn a_drive_lives_as_long_as_its_blocks() {
    for ratings in [1, 3] {
        let fault = format!("chip.fault={{median_ratings={ratings},spread=0}}");
        let mut ssd = wearing(&[&fault]);
        let (written, _) = wear_out(&mut ssd);
        let cycles = 30.0 * f64::from(ratings);
        let amplification = ssd.ftl_counts().write_amplification();
        let most = cycles * ssd.physical_units() as f64 / amplification;
        let share = written as f64 / most;
        println!(
            "validation | life of a drive whose blocks stand {cycles} cycles, units written | \
             {written} | {most:.0} | 0.05 | cycles x flash / write amplification of the run"
        );
        assert!((0.95..1.0 + 1.0 / cycles).contains(&share), "{share} of {most} units");
    }
}

/// Blocks that have failed before the run are gone from the spare of a drive and not from its
/// capacity; a drive that has lost too many is refused.
#[test]
fn an_old_drive_has_less_spare_and_the_same_capacity() {
    let at = |cycles: u32| {
        let age = format!("age.pe_cycles={cycles}");
        let fault = "chip.fault={median_ratings=1,spread=0.2}";
        Ssd::new(&drive::config(&["ftl.overprovisioning=1.5", fault, &age]), 1 << 30)
    };
    let (fresh, old) = (at(0).unwrap(), at(2400).unwrap());
    assert_eq!(fresh.capacity_bytes(), old.capacity_bytes());
    assert_eq!(fresh.occupancy().bad, 0);
    // One of 7.5 has failed: 24.5 of 184, give or take 4.6.
    let failed = old.occupancy().bad / 36;
    assert!((10..40).contains(&failed), "{failed}");
    // 10 for the capacity, 3 free ones, 2 open ones, and one to gain.
    assert_carries(at(3000).map(drop).unwrap_err(), &["age.pe_cycles", "16 blocks"]);
}

/// As many programs fail as should, each takes a block, and the drive goes on as long as there is
/// spare; before the run as many have.
#[test]
fn blocks_leave_where_programs_fail() {
    const CHANCE: f64 = 3e-4;
    let at = |cycles: u32| {
        let age = format!("age.pe_cycles={cycles}");
        let fault = "chip.fault.program_failure_chance=3e-4";
        drive::small(&[
            "ftl.overprovisioning=2.0",
            "chip.geometry.blocks_per_plane=46",
            fault,
            &age,
        ])
    };
    let mut ssd = at(0);
    ssd.start(0);
    assert_eq!(work(&mut ssd, 1_000_000), 0);
    let retired = account(&ssd);
    assert!(ssd.counts_agree());
    let programs = ssd.flash_counts().programs as f64;
    let (failed, expected) = (ssd.flash_counts().failed_programs, CHANCE * programs);
    println!(
        "validation | programs that failed, of {programs} with a chance of 3e-4 | {failed} | \
         {expected:.1} | {:.2} | binomial: three standard deviations",
        3.0 / expected.sqrt()
    );
    assert!((failed as f64 - expected).abs() < 3.0 * expected.sqrt(), "{failed} for {expected}");
    // Some fail twice before they leave, and the last have not left yet.
    assert!(retired <= failed && retired + 8 >= failed, "{retired} left, {failed} failed");
    assert!(ssd.read_only_at().is_none() && retired > 30, "{retired}");
    // Of 368 blocks of eighteen pages fifty cycles take 23.7 %: 87, give or take eight.
    let old = at(50).occupancy().bad / 36;
    assert!((46..128).contains(&old), "{old}");
}

/// A write that must be durable, and a flush, wait until a program has not failed.
#[test]
fn durable_means_programmed() {
    let chance = "chip.fault.program_failure_chance=0.1";
    for write_through in [false, true] {
        let buffer = if write_through { "buffer.bytes=0" } else { "buffer.bytes=65536" };
        let mut ssd = drive::small(&[chance, buffer, "ftl.overprovisioning=1.5"]);
        ssd.start(0);
        for unit in 0..60 {
            let mut request = Request::new(Op::Write, 4096 * unit, 4096);
            request.fua = !write_through && unit % 2 == 0;
            for request in [request, Request::FLUSH] {
                let now = ssd.now();
                ssd.submit(request, 0, now);
                let Step::Completed(slot) = ssd.step() else { panic!("lost") };
                if ssd.completed(slot).failed {
                    assert!(ssd.read_only_at().is_some());
                    break;
                }
                if request.fua || write_through || request.op == Op::Flush {
                    let counts = ssd.flash_counts();
                    assert_eq!(counts.programs - counts.failed_programs, unit + 1);
                }
            }
        }
        assert!(ssd.flash_counts().failed_programs > 1, "{buffer}");
        assert!(ssd.flash_counts().programs > 20, "{buffer}");
        ssd.fault().unwrap();
    }
}

/// Where one program in ten fails, rows that failed may take all that collection has, once the
/// drive is read-only and writes its buffer out: then the run ends, and says why.
#[test]
fn more_failed_programs_than_room_end_the_run() {
    let sets = [
        "chip.fault.program_failure_chance=0.1",
        "chip.page_order=one_shot",
        "chip.geometry.pages_per_block=4",
        "chip.geometry.blocks_per_plane=100",
        "ftl.overprovisioning=0.9",
        "gc.name=fifo",
    ];
    let ends = (0..20).filter_map(|seed| {
        let mut ssd = drive::small(&[&sets[..], &[&format!("seed={seed}")]].concat());
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        let mut rng = Rng::stream(seed, "room");
        let mut next = 0;
        loop {
            while ssd.has_room() && next < 20_000 {
                let unit = if next < units { next } else { rng.below(units) };
                let now = ssd.now();
                ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, now);
                next += 1;
            }
            if matches!(ssd.step(), Step::Idle) {
                assert!(ssd.read_only_at().is_some(), "{seed}");
                let end = ssd.fault().err().map(|error| error.to_string());
                let is_done = ssd.outstanding() == 0 && next == 20_000;
                assert!(is_done || end.is_some(), "seed {seed}: lost, and nobody says why");
                return end;
            }
        }
    });
    let ends: Vec<String> = ends.collect();
    assert!(!ends.is_empty());
    for end in ends {
        assert_carries(
            end,
            &["chip.fault.program_failure_chance", "free blocks", "ftl.gc_reserve_blocks"],
        );
    }
}
