//! Tests of codes that kinds of chips have of their own: times, counts, soft reads, and storms.

use crate::drive;

use base::Result;
use base::counts::Counts;
use base::error::assert_carries;
use ecc::named_code::NamedCode;
use ssd::conformance::storm::Storm;
use ssd::ftl::Lpn;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{CodeCounts, Parts, Ssd, Step};

/// A kind of three bits a cell beside the chips of the small drive: the last die of each channel.
const TLC: &str = "chips.tlc={dies_per_channel=1, chip={cell_bits=3, rated_pe_cycles=500, \
    page_order=\"one_shot\", array={name=\"ideal\"}, \
    geometry={planes_per_die=2, blocks_per_plane=17, pages_per_block=27, page_bytes=8192}, \
    timing={t_read_us=90.0, t_program_us=4000.0, t_erase_us=5000.0, bus_mt_s=400.0, \
    t_command_us=0.2, t_transfer_us=0.1}, \
    energy={vcc_v=3.3, icc_read_ma=25.0, icc_program_ma=25.0, icc_erase_ma=25.0}}}";

fn mixed<'a>(sets: &[&'a str]) -> Vec<&'a str> {
    [&["ftl.name=frozen", TLC, "ftl.overprovisioning=0.9"], sets].concat()
}

/// Units on dies of MLC and of TLC, of a drive that is full.
fn units_by_kind(ssd: &Ssd) -> [Vec<u32>; 2] {
    let of_die = ssd.physical_units() / 4;
    let units = (ssd.capacity_bytes() / 4096) as u32;
    let is_tlc =
        |&unit: &u32| ssd.lookup(Lpn(unit)).is_some_and(|ppn| u64::from(ppn.0) / of_die >= 2);
    let (tlc, mlc) = (0..units).partition(is_tlc);
    [mlc, tlc]
}

/// Parts of the latency of one read of a unit, when nothing else is under way.
fn read(ssd: &mut Ssd, unit: u32) -> Parts {
    let now = ssd.now();
    ssd.submit(Request::new(Op::Read, u64::from(unit) * 4096, 4096), 0, now);
    loop {
        match ssd.step() {
            Step::Completed(slot) => return ssd.completed(slot).parts,
            Step::Idle => panic!("lost"),
            Step::Wake(_) | Step::Ready => {}
        }
    }
}

fn filled(sets: &[&str]) -> Ssd {
    let mut ssd = drive::small(&mixed(sets));
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    ssd
}

/// Each read takes the decoder of its die for the time of its own code, and moves its own parity.
#[test]
fn a_read_takes_the_time_of_the_code_of_its_die() {
    let own = [
        "ecc.t_decode_us=3",
        "ecc.parity_bytes=64",
        "chips.tlc.ecc={model=\"ideal\", t_decode_us=50, payload_bytes=2048, parity_bytes=512}",
    ];
    let mut ssd = filled(&own);
    let [mlc, tlc] = units_by_kind(&ssd);
    assert!(mlc.len() > 100 && tlc.len() > 100, "{} and {}", mlc.len(), tlc.len());
    let (mut one, mut other) = (0, 0);
    for (&fast, &dense) in mlc.iter().zip(&tlc).take(50) {
        let (fast, dense) = (read(&mut ssd, fast), read(&mut ssd, dense));
        assert_eq!((fast.ecc.us(), dense.ecc.us()), (3.0, 50.0));
        // Their parity crosses the bus with them: 400 MB/s.
        assert!((dense.bus.us() - fast.bus.us() - (1024.0 - 64.0) / 400.0).abs() < 0.01);
        (one, other) = (one + 1, other + 2);
    }
    let counts = [0, 1].map(|kind| ssd.code_counts_of_kind(kind));
    assert_eq!(counts.map(|of| of.codewords), [one, other]);
    // Two pools, of a decoder for each channel.
    let (busy, decoders) = ssd.decoders_busy();
    assert_eq!((busy.us(), decoders), (3.0 * one as f64 + 50.0 * other as f64, 4));
}

/// A kind of chips without a code of its own has that of the drive, and its decoders.
#[test]
fn without_one_the_code_of_the_drive_holds() {
    let mut ssd = filled(&["ecc.t_decode_us=3"]);
    let [mlc, tlc] = units_by_kind(&ssd);
    assert_eq!([read(&mut ssd, mlc[0]).ecc.us(), read(&mut ssd, tlc[0]).ecc.us()], [3.0, 3.0]);
    assert_eq!(ssd.decoders_busy().1, 2);
    assert_eq!([0, 1].map(|kind| ssd.code_counts_of_kind(kind).codewords), [1, 1]);
}

const WORN: [&str; 6] = [
    "chip.array={name=\"power_law\", epsilon=2e-4, alpha=0.0, beta=0.0, gamma=0.0}",
    "chips.tlc.chip.array={name=\"power_law\", epsilon=6e-3, alpha=0.0, beta=0.0, gamma=0.0}",
    "ecc={model=\"threshold\", t=40, payload_bytes=1024, parity_bytes=70}",
    "chips.tlc.ecc={model=\"threshold\", t=190, t_soft=[400, 500], payload_bytes=4096}",
    "retry.name=soft_decision",
    "retry.max_levels=2",
];

/// Worn TLC with a code of soft decisions beside MLC with BCH: each has failures of its own.
#[test]
fn soft_reads_are_of_the_code_that_has_them() {
    let mut ssd = filled(&WORN);
    let [mlc, tlc] = units_by_kind(&ssd);
    for &unit in mlc.iter().take(200) {
        read(&mut ssd, unit);
    }
    assert_eq!(ssd.counts().further_reads.soft_reads, [0; 8]);
    for &unit in tlc.iter().take(200) {
        read(&mut ssd, unit);
    }
    let [mlc, tlc] = [0, 1].map(|kind| ssd.code_counts_of_kind(kind));
    assert_eq!((mlc.codewords, mlc.hard_failures, mlc.uncorrectable), (800, 0, 0));
    assert!(tlc.hard_failures > 100 && tlc.uncorrectable == 0, "{tlc:?}");
    assert!(ssd.counts().further_reads.soft_reads[0] >= tlc.hard_failures);
    // 8,192 bits at 2e-4, 32,768 at 6e-3.
    let mean = |of: CodeCounts| of.raw_bit_errors as f64 / of.codewords as f64;
    assert!((mean(mlc) / 1.6384 - 1.0).abs() < 0.15, "{}", mean(mlc));
    assert!((mean(tlc) / 196.6 - 1.0).abs() < 0.05, "{}", mean(tlc));
}

/// The drive of `sets` whose code is BCH, and that of TLC too where `both` have it.
fn with_bch(sets: &[&str], both: bool) -> Result<Ssd> {
    const BCH: &str = include_str!("../../../params/codes/bch_512_t40.toml");
    let code = NamedCode::read(BCH, "bch_512_t40.toml", None).unwrap();
    let mut config = drive::config(&mixed(sets));
    config.code = Some(code.clone());
    if both {
        config.chips.get_mut("tlc").unwrap().code = Some(code);
    }
    Ssd::new(&config, 1 << 30)
}

/// A code without soft decisions gives a page up where the other one reads softly.
#[test]
fn a_hard_code_is_given_up_at_once() {
    let mut sets = WORN.to_vec();
    sets[0] = "chip.array={name=\"power_law\", epsilon=2e-2, alpha=0.0, beta=0.0, gamma=0.0}";
    sets[2] =
        "ecc={model=\"threshold\", code=\"bch_512_t40\", t=40, t_soft=[40], payload_bytes=512}";
    let mut ssd = with_bch(&sets, false).unwrap();
    drive::prepare(&mut ssd, Precondition::Fill);
    ssd.start(0);
    let [mlc, tlc] = units_by_kind(&ssd);
    for &unit in mlc.iter().take(100) {
        read(&mut ssd, unit);
    }
    // 82 errors of 40 in each codeword.
    let of = ssd.code_counts_of_kind(0);
    assert!(of.uncorrectable >= 100 && of.further_decodes == 0, "{of:?}");
    assert_eq!(ssd.counts().further_reads.soft_reads, [0; 8]);
    for &unit in tlc.iter().take(100) {
        read(&mut ssd, unit);
    }
    assert!(ssd.counts().further_reads.soft_reads[0] > 0);
    assert_eq!(ssd.code_counts_of_kind(1).uncorrectable, 0);
    // Where no code reads softly, soft reads are refused.
    sets[3] = "chips.tlc.ecc={model=\"threshold\", code=\"bch_512_t40\", t=40, t_soft=[40], \
        payload_bytes=512}";
    let error = with_bch(&sets, true).err().unwrap();
    assert_eq!(error.place, "retry.max_levels");
}

/// Storms lose nothing, and what is counted by kind adds up.
#[test]
fn storms_lose_nothing_and_counts_add_up() {
    for seed in 0..3 {
        let mut sets = mixed(&WORN);
        sets.push("ecc.t_encode_us=40");
        let mut storm = Storm::new(drive::small(&sets), seed);
        storm.run(8000).unwrap();
        let (ssd, all) = (&storm.ssd, *storm.ssd.counts());
        let kinds = [0, 1].map(|kind| ssd.code_counts_of_kind(kind));
        assert_eq!(kinds[0].plus(&kinds[1]), all.codes);
        assert!(kinds.iter().all(|of| of.codewords > 0 && of.encoded > 0), "{kinds:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    let refused = |sets: &[&str]| {
        let config = ssd::conformance::small_config(&mixed(sets));
        let built = config.and_then(|config| {
            config.check_fit()?;
            Ssd::new(&config, 1 << 30)
        });
        match built {
            Err(error) => error,
            Ok(_) => panic!("{sets:?}"),
        }
    };
    let place = |ecc: &str| refused(&[&format!("chips.tlc.ecc={{{ecc}}}")]).place.clone();
    assert_eq!(place("t_decode_us=1"), "chips.tlc.ecc");
    assert_eq!(place("model=\"ideal\", payload_bytes=100"), "chips.tlc.ecc.payload_bytes");
    assert_eq!(place("model=\"ideal\", payload_bytes=16384"), "chips.tlc.ecc.payload_bytes");
    assert_eq!(place("model=\"no_such\""), "chips.tlc.ecc.model");
    assert_eq!(place("model=\"threshold\", t=1, no_such=1"), "chips.tlc.ecc.no_such");
    let error = refused(&[
        "chips.tlc.chip.geometry.spare_bytes=100",
        "chips.tlc.ecc={model=\"ideal\", payload_bytes=1024, parity_bytes=64}",
    ]);
    assert_eq!(error.place, "chips.tlc.ecc.parity_bytes");
    assert_carries(&error.expected, &["at most 100", "chips.tlc.chip.geometry.spare_bytes"]);
    // The drive's code must fit the spare area of every kind that has it.
    let spare = ["chips.tlc.chip.geometry.spare_bytes=100", "ecc.parity_bytes=64"];
    assert_eq!(refused(&spare).place, "ecc.parity_bytes");
}
