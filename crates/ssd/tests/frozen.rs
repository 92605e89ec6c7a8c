//! Tests of `frozen` on fast and dense chips: the promises of an FTL, and where data end up.

use crate::drive;

use base::error::assert_carries;
use base::rng::Rng;
use ssd::Ssd;
use ssd::conformance::batches::Batches;
use ssd::conformance::interleaving::Interleaving;
use ssd::conformance::storm::Storm;
use ssd::conformance::tally::Tally;
use ssd::ftl::{Lpn, Untimed};
use ssd::precondition::Precondition;

/// A dense kind beside the chips of the small drive: one die of each channel, with three bits a
/// cell, programmed in one shot, and blocks of another size.
const DENSE: &str = "chips.dense={dies_per_channel=1, chip={cell_bits=3, rated_pe_cycles=500, \
    page_order=\"one_shot\", array={name=\"ideal\"}, \
    geometry={planes_per_die=2, blocks_per_plane=17, pages_per_block=27, page_bytes=8192}, \
    timing={t_read_us=90.0, t_program_us=4000.0, t_erase_us=5000.0, bus_mt_s=400.0}, \
    energy={vcc_v=3.3, icc_read_ma=25.0, icc_program_ma=25.0, icc_erase_ma=25.0}}}";

fn mixed<'a>(sets: &[&'a str]) -> Vec<&'a str> {
    [&["ftl.name=frozen", DENSE, "ftl.overprovisioning=0.9"], sets].concat()
}

const POLICIES: [&[&str]; 5] = [
    &[],
    &["ftl.rounds=0"],
    &["ftl.rounds=3", "ftl.overwrite=log"],
    &["ftl.policy=cold"],
    &["ftl.policy=cold", "ftl.overwrite=log", "ftl.gc_reserve_blocks=2"],
];

#[test]
fn it_keeps_its_promises_without_time() {
    for policy in POLICIES {
        for shape in [&[][..], &["buffer.bytes=0", "chip.geometry.bad_block_fraction=0.05"]] {
            let sets = mixed(&[policy, shape].concat());
            let mut trial = Batches::new(Tally::new(&drive::config(&sets)).unwrap(), 9);
            let held = trial.rounds(600);
            held.unwrap_or_else(|error| panic!("{policy:?} {shape:?}: {error}"));
        }
    }
}

#[test]
fn it_keeps_its_promises_in_any_order() {
    let mut drives = 0;
    for seed in 0..150 {
        let build = |sets: &[String]| {
            let value = |key: &str| {
                let set = sets.iter().find_map(|set| set.strip_prefix(key)?.strip_prefix('='));
                set.unwrap_or_default().to_owned()
            };
            let dies: u32 = value("drive.dies_per_channel").parse().unwrap();
            let dense = DENSE
                .replace(
                    "planes_per_die=2",
                    &format!("planes_per_die={}", value("chip.geometry.planes_per_die")),
                )
                .replace(
                    "page_bytes=8192",
                    &format!("page_bytes={}", value("chip.geometry.page_bytes")),
                )
                .replace(
                    "energy=",
                    &format!(
                        "features={{multi_plane_program={}}}, energy=",
                        value("chip.features.multi_plane_program")
                    ),
                );
            let member = ssd::ftl::ROSTER.iter().find(|member| member.name == "frozen").unwrap();
            let own: Vec<&str> = sets.iter().map(String::as_str).collect();
            let mut all = drive::of_ftl(member, &own);
            all.push(format!("drive.dies_per_channel={}", dies + 1));
            all.push(dense);
            Tally::new(&drive::config(&all))
        };
        let trial =
            Interleaving::new(seed, build).unwrap_or_else(|error| panic!("{seed}: {error}"));
        if let Some(trial) = trial {
            drives += 1;
            trial.run(1000).unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
    }
    assert!(drives > 100, "{drives}");
}

#[test]
fn storms_lose_nothing() {
    for policy in POLICIES {
        for (seed, shape) in (0..).zip([
            &[][..],
            &["buffer.bytes=0", "scheduler.name=in_order"],
            &["chip.fault.program_failure_chance=0.0005", "ftl.gc_reserve_blocks=2"],
            &["gc.background_free_blocks=6"],
        ]) {
            let sets = mixed(&[policy, shape].concat());
            let mut storm = Storm::new(Ssd::new(&drive::config(&sets), 1 << 30).unwrap(), seed);
            let held = storm.run(8000);
            held.unwrap_or_else(|error| panic!("{policy:?} {shape:?}: {error}"));
        }
    }
}

/// Units of the drive that lie on dense dies: the last of each channel.
fn on_dense(ssd: &Ssd, units: std::ops::Range<u32>) -> f64 {
    let of_die = ssd.physical_units() / 4;
    let is_dense =
        |&unit: &u32| ssd.lookup(Lpn(unit)).is_some_and(|ppn| u64::from(ppn.0) / of_die >= 2);
    let count = units.len() as f64;
    units.filter(is_dense).count() as f64 / count
}

/// Cold data move to the dense dies and hot ones stay, on a drive of which a tenth is written nine
/// times in ten: with screening next to no hot unit goes there, and without it more do.
#[test]
fn only_what_is_frozen_moves() {
    let mut hot = Vec::new();
    for policy in [&["ftl.rounds=2"][..], &["ftl.policy=cold"]] {
        let sets = mixed(&[policy, &["ftl.overprovisioning=0.35", "ftl.overwrite=log"]].concat());
        let mut ssd = drive::small(&sets);
        drive::prepare(&mut ssd, Precondition::Fill);
        let units = (ssd.capacity_bytes() / 4096) as u32;
        let mut rng = Rng::stream(7, "hot");
        let mut untimed = Untimed::new(ssd.dies());
        let mut draw = || {
            let (first, count) =
                if rng.chance(0.9) { (0, units / 10) } else { (units / 10, units - units / 10) };
            Lpn(first + rng.below(count.into()) as u32)
        };
        ssd.ftl_mut().overwrite_untimed(20 * u64::from(units), &mut draw, &mut untimed).unwrap();
        let (of_hot, of_cold) = (on_dense(&ssd, 0..units / 10), on_dense(&ssd, units / 10..units));
        assert!(of_cold > of_hot, "{policy:?}: {of_cold} {of_hot}");
        hot.push(of_hot);
    }
    assert!(hot[0] < hot[1], "{hot:?}");
}

/// An overwrite of data on a dense die rewrites their set, and leaves the new data on a fast die.
#[test]
fn overwritten_sets_are_rewritten() {
    let mut ssd = drive::small(&mixed(&["ftl.policy=cold", "ftl.overprovisioning=0.35"]));
    drive::prepare(&mut ssd, Precondition::Fill);
    let units = (ssd.capacity_bytes() / 4096) as u32;
    let before = on_dense(&ssd, 0..units);
    assert!(before > 0.2, "{before}");
    let mut untimed = Untimed::new(ssd.dies());
    let unit = (0..units).find(|&unit| on_dense(&ssd, unit..unit + 1) > 0.0).unwrap();
    let rewritten = ssd.ftl_mut().counts().dense.modified_sets;
    ssd.ftl_mut().write_untimed(&[Lpn(unit)], &mut untimed).unwrap();
    assert_eq!(ssd.ftl_mut().counts().dense.modified_sets, rewritten + 1);
    assert_eq!(on_dense(&ssd, unit..unit + 1), 0.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |sets: &[&str]| drive::built(&mixed(sets)).err().unwrap().to_string();
    assert_carries(refused(&["ftl.name=page"]), &["one kind", "frozen"]);
    let error = refused(&["recovery.name=scan_pages"]);
    assert!(error.contains("recovery.name"), "{error}");
    let error = refused(&["chips.dense.chip.geometry.page_bytes=4096"]);
    assert!(error.contains("page_bytes"), "{error}");
}
