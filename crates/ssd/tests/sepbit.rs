//! `sepbit` against page-level mapping without and with separate blocks for moved data: what its
//! paper says of skewed and of uniform writes, on one die and in superblocks.

#![allow(clippy::print_stdout)]

use crate::drive;
use crate::one_plane::validate;

use base::rng::Rng;
use ssd::ftl::{Lpn, Untimed};

/// Settings of a drive of one die of 1,024 blocks.
const ONE_DIE: &[&str] = &[
    "drive.channels=1",
    "drive.dies_per_channel=1",
    "chip.geometry.planes_per_die=1",
    "chip.geometry.blocks_per_plane=1024",
    "chip.geometry.pages_per_block=64",
    "chip.geometry.page_bytes=4096",
    "ftl.unit_bytes=4096",
    "ftl.overprovisioning=0.2",
    "ftl.static_wear_delta=0",
];

/// Write amplification of a drive of which `draw` chooses the units.
fn amplification(sets: &[&str], draw: impl Fn(&mut Rng, u64) -> u64) -> f64 {
    let mut ssd = drive::small(sets);
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.facts().logical_units);
    let dies = ftl.facts().jobs;
    let (mut rng, mut untimed) = (Rng::stream(7, "addresses"), Untimed::new(dies));
    let all: Vec<Lpn> = (0..units as u32).map(Lpn).collect();
    ftl.write_untimed(&all, &mut untimed).unwrap();
    let mut next = || Lpn(draw(&mut rng, units) as u32);
    ftl.overwrite_untimed(6 * units, &mut next, &mut untimed).unwrap();
    ftl.start_run(None);
    ftl.overwrite_untimed(4 * units, &mut next, &mut untimed).unwrap();
    ftl.counts().write_amplification()
}

/// Ranks with probabilities in proportion to 1 / (rank + 1), spread over the drive: Zipf's law with
/// exponent 1, by inversion of its integral.
fn zipf(rng: &mut Rng, units: u64) -> u64 {
    let rank = ((units as f64).powf(rng.unit()) - 1.0) as u64;
    rank.wrapping_mul(2_654_435_761) % units
}

/// Kept apart, skewed data move less: less than with all data mixed, and less than with moved data
/// alone apart. Uniform data gain nothing.
#[test]
fn skewed_writes_gain_and_uniform_ones_do_not() {
    let uniform = |rng: &mut Rng, units| rng.below(units);
    for gc in ["greedy", "cost_benefit"] {
        let gc = format!("gc.name={gc}");
        let mixed = ["ftl.name=page", "ftl.separate_gc_stream=false", &gc];
        let apart = ["ftl.name=page", "ftl.separate_gc_stream=true", &gc];
        let sorted = ["ftl.name=sepbit", &gc];
        let of = |sets: &[&str], draw: fn(&mut Rng, u64) -> u64| {
            amplification(&[ONE_DIE, sets].concat(), draw)
        };
        let gain = of(&sorted, uniform) / of(&mixed, uniform);
        let [mixed, apart, sorted] = [&mixed, &apart, &sorted[..]].map(|sets| of(sets, zipf));
        println!("{gc}, zipf: {mixed:.2} mixed, {apart:.2} apart, {sorted:.2} by inferred life");
        println!(
            "validation | write amplification, sepbit over moved data separate, Zipf 1, {gc} \
             | {:.4} | 1 | at most | Wang, FAST'22: less than with moved data separate",
            sorted / apart,
        );
        assert!(apart < 0.9 * mixed && sorted < 0.9 * apart, "{gc}: {mixed} {apart} {sorted}");
        validate(
            &format!("write amplification, sepbit over page, uniform writes, {gc}"),
            gain,
            1.0,
            0.02,
            "no unit is likelier to be overwritten than another: nothing is gained",
        );
    }
}

/// In superblocks of four dies, with 1,024 of them and the same space, `sepbit` gains as much as on
/// one die; with parity it writes as much as without, and the parity of that.
#[test]
fn superblocks_gain_as_a_die_does() {
    let four_dies = [
        "drive.channels=2",
        "drive.dies_per_channel=2",
        "chip.geometry.pages_per_block=16",
        "ftl.gc_reserve_blocks=2",
    ];
    let of = |sets: &[&str]| amplification(&[ONE_DIE, &four_dies, sets].concat(), zipf);
    let one_die = |name| amplification(&[ONE_DIE, &[name]].concat(), zipf);
    let in_superblocks = |name| of(&["ftl.superblock_dies=0", name]);
    let apart = in_superblocks("ftl.separate_gc_stream=true");
    let sorted = in_superblocks("ftl.name=sepbit");
    let gained = one_die("ftl.name=sepbit") / one_die("ftl.separate_gc_stream=true");
    println!("{sorted:.3} sorted, {apart:.3} apart, {gained:.3} of it on one die");
    assert!((sorted / apart / gained - 1.0).abs() < 0.03, "{sorted}, {apart}, {gained}");
    // Three pages of four hold data: as many logical units on four thirds of the superblocks.
    let with_parity = of(&[
        "ftl.superblock_dies=0",
        "ftl.name=sepbit",
        "parity.pages=1",
        "chip.geometry.blocks_per_plane=1365",
        "ftl.overprovisioning=0.6",
    ]);
    println!("{with_parity:.3} with parity");
    assert!((with_parity / sorted / (4.0 / 3.0) - 1.0).abs() < 0.05, "{with_parity}, {sorted}");
}
