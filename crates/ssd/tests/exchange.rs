//! Exchange of a die while the drive is in use: no request is lost, the die is emptied and has a
//! new chip, and what cannot be exchanged is refused.

use crate::drive;

use base::Error;
use base::error::assert_carries;
use nand::geometry::Die;
use ssd::conformance::interleaving::{Interleaving, Outcome};
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::drive::exchange::{Exchange, Exchanged, Way};
use ssd::ftl::ROSTER;
use ssd::ftl::contract::Parts;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

const SPARE: &str = "ftl.overprovisioning=1.5";

fn order(die: u32, way: Way) -> Exchange {
    Exchange { die: Die(die), way, pe_cycles: 0 }
}

/// Writes the whole drive once, in order.
fn fill(ssd: &mut Ssd) {
    let (unit, capacity) = (ssd.unit_bytes(), ssd.capacity_bytes());
    for offset in (0..capacity).step_by(unit as usize) {
        while !ssd.has_room() {
            ssd.step();
        }
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, offset, unit), 0, now);
    }
    ssd.settle().unwrap();
}

fn exchanged(ssd: &mut Ssd, asked: Exchange) -> Exchanged {
    ssd.exchange_die(asked).unwrap();
    ssd.settle().unwrap();
    ssd.exchanged().unwrap()
}

/// Storms with exchanges among their operations, in every shape of a program and every way of the
/// buffer and of collection.
#[test]
fn storms_lose_nothing_while_dies_are_exchanged() {
    let modes: [&[&str]; 12] = [
        &[],
        &["buffer.bytes=0", "chip.features.multi_plane_program=false"],
        &[
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "scheduler.name=in_order",
        ],
        &["chip.geometry.bad_block_fraction=0.05", "ftl.unit_bytes=512"],
        &["gc.background_free_blocks=6", "ftl.gc_reserve_blocks=2"],
        &["chip.fault.program_failure_chance=0.0005", "gc.paced=false"],
        &["ftl.separate_gc_stream=false", "ftl.host_streams=3"],
        &["ftl.fast_pages=true", "ftl.static_wear_delta=2"],
        &["gc.reclaim_reads=8", "gc.reclaim_at_once=20", "gc.name=fifo"],
        &["chip.timing.suspends_max=3", "chip.timing.t_program_suspend_us=20", "gc.name=random"],
        &["ftl.separate_gc_stream=false", "chip.features.multi_plane_program=false"],
        &[
            "chip.array.name=power_law",
            "chip.array.epsilon=0.001",
            "ecc.model=shares",
            "ecc.failures=[0.9, 0.3, 0.0]",
            "retry.name=soft_decision",
        ],
    ];
    for mode in modes {
        for seed in 0..3 {
            let mut storm = Storm::new(drive::small(&[&[SPARE], mode].concat()), seed);
            storm.exchange_dies(0.002);
            storm.run(12_000).unwrap_or_else(|error| panic!("{mode:?} {seed}: {error}"));
            assert!(storm.exchanged() > 3, "{mode:?}: {} exchanges", storm.exchanged());
            let last = storm.ssd.exchanged().unwrap();
            assert!(storm.exchanged() > 1 || last.replaced_at.is_some(), "{mode:?}: {last:?}");
        }
    }
}

/// The FTL under a controller that lets everything end in any order.
#[test]
fn evacuation_keeps_its_promises_in_any_order() {
    let page = ROSTER.iter().find(|member| member.name == "page").unwrap();
    let mut all = Outcome::default();
    for seed in 0..150 {
        let build = |sets: &[String]| {
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let mut ftl = Tally::new(&drive::config(&drive::of_ftl(page, &sets)))?;
            let per_die = ftl.geometry.planes_per_die * ftl.geometry.blocks_per_plane;
            let good = vec![false; per_die as usize];
            // The least spare that is enough for one die less.
            for die in (0..ftl.geometry.dies).map(Die) {
                let part = ftl.withdrawal_mut().expect("`page` gives dies back");
                part.can_withdraw(die, &good)
                    .map_err(|_| Error::new("ftl.overprovisioning", "too little"))?;
            }
            Ok(ftl)
        };
        let Some(mut trial) = Interleaving::new(seed, build).unwrap() else { continue };
        trial.exchange_dies(12);
        let (outcome, _) = trial.run(1500).unwrap_or_else(|error| panic!("{seed}: {error}"));
        all += outcome;
    }
    assert!(all.ran > 20 && all.replaced > all.ran, "{all:?}");
}

/// Both ways of an exchange empty the die, give it a new chip with the wear that was asked for, and
/// leave every unit where it can be read.
#[test]
fn a_die_is_emptied_and_has_a_new_chip() {
    for way in Way::ALL {
        let mut ssd = drive::small(&[SPARE, "age.pe_cycles=50"]);
        ssd.start(50);
        fill(&mut ssd);
        let before = ssd.occupancy();
        let erases = ssd.flash_counts().erases;
        let done = exchanged(&mut ssd, Exchange { pe_cycles: 7, ..order(2, way) });
        let units = ssd.capacity_bytes() / ssd.unit_bytes();
        // A quarter of the data lay there.
        assert!(done.moved_units * 5 > units && done.moved_units * 3 < units, "{done:?}");
        let emptied_at = done.emptied_at.unwrap();
        assert!(done.asked_at < emptied_at && emptied_at <= done.replaced_at.unwrap());
        assert_eq!((ssd.flash_counts().erases - erases, done.lost_units), (0, 0));
        let after = ssd.occupancy();
        assert_eq!((before.mapped, after.mapped), (units, units));
        assert_eq!(after.mapped + after.free + after.invalid + after.bad, ssd.physical_units());
        let per_die = ssd.block_cycles().len() / 4;
        let cycles = ssd.block_cycles();
        assert!(cycles[2 * per_die..3 * per_die].iter().all(|&cycles| cycles == 7));
        assert!(cycles[..2 * per_die].iter().all(|&cycles| cycles >= 50));
        assert!(ssd.counts_agree());
        // The die takes data again.
        let program = |ssd: &Ssd| ssd.die_times()[2].program_ns;
        let programmed = program(&ssd);
        fill(&mut ssd);
        assert!(program(&ssd) > programmed && ssd.occupancy().mapped == units);
    }
}

/// A suspended drive takes no request until the chip is replaced; one in service goes on.
#[test]
fn only_a_suspended_drive_takes_no_requests() {
    for way in Way::ALL {
        let mut ssd = drive::small(&[SPARE]);
        ssd.start(0);
        fill(&mut ssd);
        ssd.exchange_die(order(0, way)).unwrap();
        assert_eq!(ssd.has_room(), way == Way::InService);
        let mut completed = 0;
        loop {
            if ssd.has_room() && ssd.is_exchanging() {
                let now = ssd.now();
                ssd.submit(Request::new(Op::Read, 4096 * (completed % 100), 4096), 0, now);
            }
            match ssd.step() {
                Step::Completed(_) => completed += 1,
                Step::Ready => {
                    assert!(way == Way::Suspended && ssd.has_room());
                    break;
                }
                _ => {}
            }
            if !ssd.is_exchanging() && way == Way::InService {
                break;
            }
        }
        assert_eq!(completed > 0, way == Way::InService);
        assert!(ssd.exchanged().unwrap().replaced_at.is_some());
    }
}

/// Data that the host rewrites meanwhile need no move.
#[test]
fn overwrites_empty_a_die_too() {
    let moved = |writes: u64| {
        let mut ssd = drive::small(&[SPARE]);
        ssd.start(0);
        fill(&mut ssd);
        ssd.exchange_die(order(1, Way::InService)).unwrap();
        for unit in 0..writes {
            while !ssd.has_room() {
                ssd.step();
            }
            let now = ssd.now();
            let offset = unit * 4096 % ssd.capacity_bytes();
            ssd.submit(Request::new(Op::Write, offset, 4096), 0, now);
        }
        ssd.settle().unwrap();
        ssd.exchanged().unwrap().moved_units
    };
    let (alone, beside) = (moved(0), moved(4000));
    assert!(beside > 0 && beside * 4 < alone * 3, "{beside} of {alone}");
}

/// A die whose reads fail: its units are lost and counted, and it is exchanged all the same.
#[test]
fn a_die_that_cannot_be_read_is_exchanged() {
    let mut ssd = drive::small(&[
        SPARE,
        "chip.array.name=power_law",
        "chip.array.epsilon=0.001",
        "ecc.model=shares",
        "ecc.failures=[1.0, 1.0]",
        "retry.name=soft_decision",
    ]);
    ssd.start(0);
    fill(&mut ssd);
    let done = exchanged(&mut ssd, order(3, Way::InService));
    assert!(done.replaced_at.is_some() && done.moved_units > 100, "{done:?}");
    assert_eq!(done.lost_units, done.moved_units, "{done:?}");
    assert_eq!(ssd.lost_units(), done.lost_units);
    // The new chip holds good data again; lost units are found again when they are rewritten.
    fill(&mut ssd);
    assert_eq!(ssd.lost_units(), 0);
}

/// A new chip has other bad blocks, other pages and other faults.
#[test]
fn a_new_chip_is_another_one() {
    let mut ssd = drive::small(&[
        SPARE,
        "chip.geometry.bad_block_fraction=0.1",
        "chip.geometry.blocks_per_plane=60",
        "ftl.overprovisioning=2.5",
    ]);
    ssd.start(0);
    fill(&mut ssd);
    let bad = ssd.occupancy().bad;
    let mut seen = vec![bad];
    for _ in 0..4 {
        exchanged(&mut ssd, order(1, Way::Suspended));
        seen.push(ssd.occupancy().bad);
        fill(&mut ssd);
    }
    assert!(seen.iter().any(|&other| other != bad), "{seen:?}");
}

/// Refusals name what is wrong.
#[test]
fn what_cannot_be_exchanged_is_refused() {
    let refused = |sets: &[&str], die: u32| {
        let mut ssd = drive::small(sets);
        ssd.start(0);
        ssd.exchange_die(order(die, Way::InService)).unwrap_err().to_string()
    };
    assert_carries(refused(&[SPARE], 4), &["die 4", "0 to 3"]);
    assert_carries(refused(&["ftl.overprovisioning=0.4"], 0), &["other dies", "logical units"]);
    let dftl = ["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.overprovisioning=2.5"];
    assert_carries(refused(&dftl, 0), &["exchange", "ftl.name", "dftl"]);
    assert_carries(refused(&[SPARE, "recovery.name=scan_pages"], 0), &["recovery"]);
    let mut ssd = drive::small(&[SPARE]);
    ssd.start(0);
    fill(&mut ssd);
    ssd.exchange_die(order(0, Way::InService)).unwrap();
    let twice = ssd.exchange_die(order(1, Way::InService)).unwrap_err();
    assert_carries(twice, &["die 0", "already"]);
}
