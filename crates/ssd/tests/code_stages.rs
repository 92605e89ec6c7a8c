//! Tests of `ecc.stages`: what blocks hold, reads and lives of drives whose codes grow with age.

use crate::drive;

use base::rng::Rng;
use nand::geometry::Block;
use ssd::Ssd;
use ssd::Step;
use ssd::conformance::batches::Batches;
use ssd::conformance::small_config;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::contract::Account;
use ssd::ftl::{Lpn, Untimed};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Pages of 8 KiB and 1 KiB of spare area hold two codewords of the first code.
const FIRST: [&str; 5] = [
    "chip.geometry.spare_bytes=1024",
    "ecc={model='threshold', t=40, parity_bytes=400, t_decode_us=3}",
    "ftl.gc_reserve_blocks=2",
    "gc.start_free_blocks=4",
    "chip.geometry.blocks_per_plane=40",
];

/// A code whose words leave 1 - 2 (9216 / 4996) / 2 of the page: 7.8 %, two of 18 rows.
const STAGE: &str = "ecc.stages=[{from_cycles=20, t=80, parity_bytes=900}]";

fn sets<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&FIRST[..], more].concat()
}

/// Overwrites the drive at random so many times. Returns write amplification of moved data.
fn overwrite(ssd: &mut Ssd, times: u64, seed: u64) -> f64 {
    let mut untimed = Untimed::new(ssd.dies());
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.facts().logical_units);
    let before = ftl.counts();
    let mut rng = Rng::stream(seed, "host");
    ftl.overwrite_untimed(times * units, &mut || Lpn(rng.below(units) as u32), &mut untimed)
        .unwrap();
    let (after, host) = (ftl.counts(), (times * units) as f64);
    1.0 + (after.moved_units - before.moved_units) as f64 / host
}

/// Worn blocks hold two of 18 rows less. Nothing is lost, the host has the same capacity, and
/// collection moves as much as on a drive that has so many fewer units.
#[test]
fn worn_blocks_hold_less() {
    let units = |ssd: &mut Ssd| {
        let of = ssd.ftl_mut().occupancy();
        (of.mapped + of.free + of.invalid + of.bad, of.mapped)
    };
    let mut one = drive::small(&sets(&[]));
    let mut two = drive::small(&sets(&[STAGE]));
    assert_eq!(one.capacity_bytes(), two.capacity_bytes());
    for ssd in [&mut one, &mut two] {
        overwrite(ssd, 4, 4);
    }
    let fresh = [overwrite(&mut one, 8, 1), overwrite(&mut two, 8, 1)];
    assert_eq!(fresh[0], fresh[1]);
    assert_eq!(two.blocks_by_code()[1], 0);
    overwrite(&mut one, 40, 2);
    overwrite(&mut two, 40, 2);
    assert_eq!(two.blocks_by_code()[0], 0);
    let worn = [overwrite(&mut one, 20, 3), overwrite(&mut two, 20, 3)];
    assert_eq!(units(&mut one), units(&mut two));
    // The same data in blocks of 16 rows, by over-provisioning: 1.6 x 16 / 18 = 1.42.
    let mut small = drive::small(&sets(&["ftl.overprovisioning=0.4222"]));
    overwrite(&mut small, 20, 2);
    let smaller = overwrite(&mut small, 20, 3);
    assert!((worn[0] / fresh[0] - 1.0).abs() < 0.02, "{worn:?} after {fresh:?}");
    assert!(worn[1] > 1.03 * worn[0], "{worn:?}");
    assert!((worn[1] / smaller - 1.0).abs() < 0.04, "{worn:?}, and {smaller} on a smaller drive");
    assert!(two.ftl_mut().fault(true).is_none());
    assert!(!two.ftl_mut().has_outgrown(Block(0)));
}

/// A drive without the space for the stronger code takes no more writes once its blocks need it.
#[test]
fn a_drive_without_room_outgrows_its_blocks() {
    let strong = "ecc.stages=[{from_cycles=20, t=160, parity_bytes=1700}]";
    let mut ssd = drive::small(&sets(&[strong, "ftl.overprovisioning=0.35"]));
    overwrite(&mut ssd, 8, 1);
    assert!(!ssd.ftl_mut().has_outgrown(Block(0)));
    overwrite(&mut ssd, 30, 2);
    assert!(ssd.ftl_mut().has_outgrown(Block(0)));
    assert!(ssd.blocks_by_code().iter().all(|&blocks| blocks > 0), "{:?}", ssd.blocks_by_code());
}

/// Data in worn blocks cross the bus with the parity of their code.
#[test]
fn reads_take_the_code_of_their_block() {
    let read = |sets: &[&str]| {
        let mut ssd = drive::small(sets);
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let mut sum = 0.0;
        for unit in 0..64 {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Read, 4096 * unit, 4096), 0, now);
            sum += loop {
                if let Step::Completed(slot) = ssd.step() {
                    break ssd.completed(slot).parts.bus.us();
                }
            };
        }
        sum / 64.0
    };
    let fresh = read(&sets(&[STAGE]));
    let [one, two] =
        [&[][..], &[STAGE]].map(|more| read(&sets(&[more, &["age.pe_cycles=100"]].concat())));
    assert!((fresh - one).abs() < 1e-9, "{fresh} and {one} us");
    // 500 bytes at 400 MB/s.
    assert!((two - one - 1.25).abs() < 1e-6, "{one} and {two} us");
}

/// Modes of drives with stages.
const MODES: [&[&str]; 8] = [
    &[],
    &["chip.features.multi_plane_program=false", "buffer.bytes=0"],
    &["ftl.separate_gc_stream=false", "gc.name=fifo", "ftl.static_wear_delta=3"],
    &["gc.name=random", "gc.background_free_blocks=6"],
    &["ftl.fast_pages=true", "ftl.host_streams=1"],
    &["ftl.fast_pages=true", "ftl.skip_slow_pages=true"],
    &["ftl.metadata_share=0.1", "ftl.host_streams=2"],
    &["chip.fault.program_failure_chance=0.0005", "buffer.coalesces=false"],
];

/// Three codes, the last with a fifth of the data less, in use after a few cycles.
const EARLY: &str = "ecc.stages=[{from_cycles=2, t=80, parity_bytes=900}, \
    {from_cycles=4, t=120, parity_bytes=1600}]";

/// Storms over blocks of three stages: each read returns what was written.
#[test]
fn reads_return_the_newest_version() {
    let (mut changed, mut short) = (0, 0);
    for mode in MODES {
        for (seed, spare) in [(1, "0.9"), (2, "0.5"), (3, "1.3")] {
            let spare = format!("ftl.overprovisioning={spare}");
            let all = sets(
                &[&[EARLY, spare.as_str(), "chip.geometry.blocks_per_plane=23"], mode].concat(),
            );
            let mut config = all.clone();
            if drive::built(&config).is_err() {
                config.push("ftl.overprovisioning=2.0");
            }
            let mut storm = Storm::new(drive::small(&config), seed);
            storm.run(12_000).unwrap_or_else(|error| panic!("{config:?}: {error}"));
            let by_code = storm.ssd.blocks_by_code();
            // The least spare space has no room for any stronger code, or for failed blocks.
            let is_short = storm.ssd.ftl_mut().has_outgrown(Block(0));
            let is_read_only = storm.ssd.read_only_at().is_some();
            assert!(by_code[1] + by_code[2] > 0 || is_read_only, "{by_code:?} {config:?}");
            assert!(is_read_only || !is_short, "{config:?}");
            (changed, short) = (changed + by_code[2], short + u32::from(is_short));
        }
    }
    assert!(changed > 0 && short > 0, "{changed} blocks, {short} drives");
}

/// The FTL keeps its promises while its blocks change their codes.
#[test]
fn it_passes_conformance() {
    for mode in MODES {
        let all = sets(&[&[EARLY, "ftl.overprovisioning=1.3"], mode].concat());
        let config = small_config(&all).unwrap();
        let mut trial = Batches::new(Tally::new(&config).unwrap(), 5);
        trial.rounds(400).unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        assert!(trial.ftl.counts().reclaimed_blocks > 0);
        trial.check().unwrap();
    }
}

/// Stages that are no stronger codes, take too much, or of a code without a limit are refused.
#[test]
fn it_refuses_what_cannot_be() {
    let refused = |more: &[&str]| match drive::built(&sets(more)) {
        Ok(_) => panic!("{more:?}"),
        Err(error) => error.to_string(),
    };
    for stages in [
        "[{from_cycles=0, t=80, parity_bytes=900}]",
        "[{from_cycles=20, t=40, parity_bytes=900}]",
        "[{from_cycles=20, t=80, parity_bytes=300}]",
        "[{from_cycles=20, t=80, parity_bytes=4000}]",
        "[{from_cycles=20, t=80, parity_bytes=900}, {from_cycles=20, t=90, parity_bytes=900}]",
    ] {
        assert!(refused(&[&format!("ecc.stages={stages}")]).contains("ecc.stages"));
    }
    assert!(refused(&[STAGE, "ecc.model=ideal", "ecc.t=40"]).contains("ecc"));
    assert!(refused(&[STAGE, "chip.geometry.spare_bytes=0"]).contains("spare_bytes"));
    assert!(refused(&[STAGE, "ftl.gc_reserve_blocks=1"]).contains("ecc.stages"));
    assert!(refused(&[STAGE, "ftl.superblock_dies=2"]).contains("ecc.stages"));
}
