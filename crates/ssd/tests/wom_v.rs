//! Tests of `wom` with WOM-v codes: bits for each erase against the closed form, promises of an FTL
//! in all generations, times, and what is refused.

use crate::drive;

use base::error::assert_carries;
use base::rng::{Rng, turn};
use nand::chip::BlockMode;
use nand::geometry::Block;
use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::{Lpn, Untimed};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// A small drive of QLC, 64 pages a block.
const QLC: [&str; 9] = [
    "ftl.name=wom",
    "ftl.code=wom_v",
    "chip.cell_bits=4",
    "chip.page_order=one_shot",
    "chip.geometry.pages_per_block=64",
    "chip.geometry.blocks_per_plane=26",
    "chip.timing.t_read_us=[50.0, 60.0, 70.0, 80.0]",
    "chip.timing.t_program_us=2000",
    "ftl.overprovisioning=0.9",
];

/// Bits of data of a cell, and generations.
const CODES: [(u32, u32); 3] = [(3, 2), (2, 5), (1, 15)];

fn with(bits: u32, more: &[&str]) -> Vec<String> {
    let own = format!("ftl.bits_per_cell={bits}");
    QLC.iter().chain(more).map(ToString::to_string).chain([own]).collect()
}

fn small(bits: u32, more: &[&str]) -> Ssd {
    Ssd::new(&drive::config(&with(bits, more)), 1 << 30).unwrap()
}

/// A cycle takes k bits in each generation, whatever policy collects: k times the generations over
/// the four bits of the plain cell.
#[test]
fn a_cycle_takes_as_many_bits_as_the_closed_form_says() {
    for (bits, generations) in CODES {
        for policy in ["greedy", "fifo", "cost_benefit"] {
            let policy = format!("gc.name={policy}");
            let mut ssd = small(bits, &[&policy]);
            drive::prepare(&mut ssd, Precondition::Fill);
            ssd.start(0);
            let units = u64::from(ssd.ftl_mut().facts().logical_units);
            let mut rng = Rng::stream(1, "overwrites");
            let mut untimed = Untimed::new(ssd.dies());
            let ftl = ssd.ftl_mut();
            let mut draw = || Lpn(rng.below(units) as u32);
            ftl.overwrite_untimed(30 * units, &mut draw, &mut untimed).unwrap();
            let before = ftl.counts();
            ftl.overwrite_untimed(turn::few_or_all(200, 400) * units, &mut draw, &mut untimed)
                .unwrap();
            let counts = ftl.counts();
            let written = counts.host_units + counts.moved_units;
            let written = written - before.host_units - before.moved_units;
            let erased = (counts.reclaimed_blocks - before.reclaimed_blocks) * 64 * 2;
            let measured = written as f64 / erased as f64;
            let expected = f64::from(bits * generations) / 4.0;
            assert!((measured / expected - 1.0).abs() < 0.02, "{bits}, {policy}: {measured}");
        }
    }
}

#[test]
fn capacity_goes_by_the_bits_that_a_cell_holds() {
    let plain = ["ftl.name=page"].iter().chain(&QLC[2..]).copied().collect::<Vec<_>>();
    let plain = f64::from(drive::small(&plain).ftl_mut().facts().logical_units);
    for (bits, _) in CODES {
        let share = f64::from(small(bits, &[]).ftl_mut().facts().logical_units) / plain;
        assert!((share / (f64::from(bits) / 4.0) - 1.0).abs() < 1e-3, "{bits}: {share}");
    }
}

#[test]
fn it_keeps_its_promises_without_time() {
    for (bits, _) in CODES {
        for more in [&[][..], &["buffer.bytes=0", "chip.geometry.bad_block_fraction=0.05"]] {
            let mut trial = Batches::new(Tally::new(&drive::config(&with(bits, more))).unwrap(), 9);
            trial.rounds(600).unwrap_or_else(|error| panic!("{bits} {more:?}: {error}"));
        }
    }
}

#[test]
fn it_keeps_its_promises_in_any_order() {
    let mut drives = 0;
    for seed in 0..60 {
        let (bits, _) = CODES[seed as usize % 3];
        let build = |sets: &[String]| {
            let own = [
                "ftl.name=wom".to_owned(),
                "ftl.code=wom_v".to_owned(),
                format!("ftl.bits_per_cell={bits}"),
                "chip.cell_bits=4".to_owned(),
                "chip.page_order=one_shot".to_owned(),
                "chip.geometry.pages_per_block=24".to_owned(),
            ];
            let ours = ["chip.cell_bits", "chip.page_order", "chip.geometry.pages_per_block"];
            let is_other = |set: &&String| {
                set.split('=').next().is_none_or(|key| !ours.contains(&key))
                    && (!set.starts_with("ftl.")
                        || set.starts_with("ftl.overprovisioning")
                        || set.starts_with("ftl.unit")
                        || set.starts_with("ftl.gc_"))
            };
            let all: Vec<String> = sets.iter().filter(is_other).cloned().chain(own).collect();
            Tally::new(&small_config(&all)?)
        };
        let trial =
            Interleaving::new(seed, build).unwrap_or_else(|error| panic!("{seed}: {error}"));
        if let Some(trial) = trial {
            drives += 1;
            trial.run(1000).unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
    }
    assert!(drives > 30, "{drives}");
}

/// Every read returns the newest version, with programs that fail and words that do not decode.
#[test]
fn reads_return_the_newest_version() {
    let modes: [&[&str]; 4] = [
        &[],
        &["buffer.bytes=0", "scheduler.name=in_order", "ftl.gc_reserve_blocks=2"],
        &["gc.background_free_blocks=6", "chip.geometry.bad_block_fraction=0.05"],
        &[
            "chip.array.name=power_law",
            "chip.array.epsilon=0.001",
            "ecc.model=shares",
            "ecc.failures=[0.9, 0.3, 0.0]",
            "retry.name=soft_decision",
        ],
    ];
    for (bits, _) in CODES {
        for (seed, mode) in (0..).zip(modes) {
            let mut storm = Storm::new(small(bits, mode), seed);
            storm.run(15_000).unwrap();
            let counts = storm.ssd.ftl_counts();
            assert!(storm.ssd.counts_agree(), "{bits} {mode:?}: {counts:?}");
        }
    }
}

fn completed(ssd: &mut Ssd, request: Request) -> f64 {
    let start = ssd.now();
    ssd.submit(request, 0, start);
    loop {
        match ssd.step() {
            Step::Completed(_) => return ssd.now().since(start).us(),
            Step::Idle => panic!("lost"),
            Step::Wake(_) | Step::Ready => {}
        }
    }
}

/// A read senses the whole wordline and moves 4 / k times its data; one command programs it, and
/// behind the first generation it is read before.
#[test]
fn times_are_those_of_whole_wordlines() {
    for (bits, _) in CODES {
        let mut ssd = small(bits, &["buffer.bytes=0", "chip.geometry.page_bytes=4096"]);
        let mut untimed = Untimed::new(ssd.dies());
        let units: Vec<Lpn> = (0..bits).map(Lpn).collect();
        ssd.ftl_mut().write_untimed(&units, &mut untimed).unwrap();
        ssd.start(0);
        let time = completed(&mut ssd, Request::new(Op::Read, 0, 4096));
        let expected = 260.0 + 4096.0 * 4.0 / f64::from(bits) / 400.0;
        assert!((expected..expected + 10.0).contains(&time), "{bits}: {time} us");
        assert_eq!(ssd.flash_counts().reads, 4);
        let write = Request::new(Op::Write, 0, u64::from(bits) * 4096);
        let time = completed(&mut ssd, write);
        assert_eq!(ssd.flash_counts().programs, 4);
        let expected = 2000.0 + 4.0 * 4096.0 / 400.0;
        assert!((expected..expected + 12.0).contains(&time), "{bits}: {time} us");
    }
    // The longest program is one that reads four pages before.
    let mut ssd = small(2, &["buffer.bytes=0"]);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let mut rng = Rng::stream(3, "writes");
    for _ in 0..2000 {
        let unit = rng.below(ssd.capacity_bytes() / 16384);
        completed(&mut ssd, Request::new(Op::Write, unit * 16384, 16384));
    }
    assert_eq!(ssd.flash_counts().coded_time.1.0.us(), 2260.0);
}

/// Errors of data are those of the four pages together, over the bits that the cell holds.
#[test]
fn errors_go_by_the_bits_that_a_cell_holds() {
    for (bits, _) in CODES {
        let law = "chip.array={name=\"power_law\", epsilon=1e-3, alpha=0.0, beta=0.0, gamma=0.0}";
        let mut ssd = small(bits, &[law, "ecc={model=\"threshold\", t=4000}"]);
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let mut rng = Rng::stream(5, "reads");
        for _ in 0..400 {
            let unit = rng.below(ssd.capacity_bytes() / 4096);
            completed(&mut ssd, Request::new(Op::Read, unit * 4096, 4096));
        }
        let counts = ssd.counts();
        let rate = counts.codes.raw_bit_errors as f64 / (counts.codes.codewords as f64 * 32768.0);
        let expected = 1e-3 * 4.0 / f64::from(bits);
        assert!((rate / expected - 1.0).abs() < 0.05, "{bits}: {rate}");
    }
}

/// Blocks of a drive that is long in use are in several generations, and the last one is reached.
#[test]
fn blocks_are_in_several_generations() {
    let mut ssd = small(2, &[]);
    drive::prepare(&mut ssd, Precondition::Steady);
    let blocks = (ssd.physical_units() / 128) as u32;
    let ftl = ssd.ftl_mut();
    let mut seen = [0; 5];
    for block in (0..blocks).map(Block) {
        let again = ftl.rewritten_groups(block);
        assert_eq!(again > 0, ftl.mode(block) == BlockMode::Recoded);
        seen[again.div_ceil(16) as usize] += 1;
    }
    assert!([0, 3, 4].iter().all(|&generation| seen[generation] > 5), "{seen:?}");
}

#[test]
fn what_cannot_be_coded_is_refused() {
    let refused = |sets: &[&str]| match drive::built(sets) {
        Err(error) => error,
        Ok(_) => panic!("{sets:?}"),
    };
    let qlc = |more: &[&'static str]| [&QLC[..], more].concat();
    for error in [refused(&QLC), refused(&qlc(&["ftl.bits_per_cell=4"]))] {
        assert_eq!(error.place, "ftl.bits_per_cell");
        assert_carries(&error.expected, &["1 to 3"]);
    }
    const EVEN: &str = "chip.geometry.pages_per_block=24";
    let plain = ["ftl.name=wom", "ftl.bits_per_cell=1", EVEN, "chip.page_order=even_odd"];
    assert_eq!(refused(&plain).place, "ftl.bits_per_cell");
    let pages = ["ftl.name=wom", "ftl.code=wom_v", "ftl.bits_per_cell=1"];
    assert_eq!(refused(&pages).place, "chip.page_order");
    let recovery = qlc(&["ftl.bits_per_cell=1", "recovery.name=scan_pages"]);
    assert_eq!(refused(&recovery).place, "recovery.name");
}

/// Random writes under load copy about as much as without time: host data do not gather in the
/// planes in which collection has just made room.
#[test]
fn load_leaves_planes_alike() {
    for (bits, _) in CODES {
        let tight = ["ftl.overprovisioning=0.35", "chip.geometry.blocks_per_plane=48"];
        let mut ssd = small(bits, &[&tight[..], &["chip.geometry.planes_per_die=4"]].concat());
        drive::prepare(&mut ssd, Precondition::Steady);
        let before = ssd.ftl_counts();
        let copies =
            |counts: ssd::ftl::FtlCounts| counts.moved_units as f64 / counts.host_units as f64;
        ssd.start(0);
        let units = ssd.capacity_bytes() / 4096;
        let mut rng = Rng::stream(5, "load");
        let mut next = 0;
        while next < 6 * units || ssd.outstanding() > 0 {
            while next < 6 * units && ssd.has_room() && ssd.outstanding() < 32 {
                let (now, unit) = (ssd.now(), rng.below(units));
                ssd.submit(Request::new(Op::Write, unit * 4096, 4096), 0, now);
                next += 1;
            }
            ssd.step();
        }
        ssd.fault().unwrap();
        let (timed, untimed) = (copies(ssd.ftl_counts()), copies(before));
        // The fill, which copies nothing, is among those without time.
        assert!(timed < 1.5 * untimed, "{bits}: {timed} copies a unit, {untimed} without time");
    }
}
