//! A small drive for tests, with any of its parameters changed, and what tests of speed share.

use base::Result;
use base::family::{Member, schema};
use base::rng::Rng;
use base::tails::student_quantile;
use ssd::config::SsdConfig;
use ssd::conformance::small_config;
use ssd::ftl::{Build, Ftl, FtlConfig, ROSTER};
use ssd::precondition::{Precondition, Preconditioning};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// The configuration of the small drive with `sets` laid over it.
pub fn config<S: AsRef<str>>(sets: &[S]) -> SsdConfig {
    small_config(sets).unwrap()
}

/// Builds the small drive with `sets` laid over it, if it can be.
pub fn built<S: AsRef<str>>(sets: &[S]) -> Result<Ssd> {
    small_config(sets).and_then(|config| Ssd::new(&config, 1 << 30))
}

/// The choice of an FTL, and the assignments of `sets` that a drive with it has: a parameter of one
/// FTL is none of others. An FTL with many frontiers has more spare, if there is no drive without.
pub fn of_ftl(member: &Member<Build>, sets: &[&str]) -> Vec<String> {
    let mut all = those_of_ftl(member, sets);
    if (member.schema)()["properties"]["map_cache_bytes"]["default"].is_number() {
        // The whole map of so small a drive would fit.
        all.push("ftl.map_cache_bytes=512".to_owned());
    }
    if matches!(built(&all), Err(error) if error.place == "chip.page_order") {
        // It needs pages in pairs that can be programmed again.
        all.push("chip.page_order=even_odd".to_owned());
        all.push("chip.geometry.pages_per_block=24".to_owned());
    }
    let is_said = sets.iter().any(|set| set.starts_with("ftl.overprovisioning="));
    if !is_said && built(&all).is_err() {
        all.push("ftl.overprovisioning=2.5".to_owned());
    }
    all
}

/// The choice of an FTL, and the assignments of `sets` that a drive with it has.
pub fn those_of_ftl(member: &Member<Build>, sets: &[&str]) -> Vec<String> {
    let schemas = [(member.schema)(), schema::<FtlConfig>()];
    let has_superblocks = schemas[0]["properties"]["superblock_dies"].is_object();
    let is_there = |set: &&&str| {
        if set.starts_with("parity.") {
            return has_superblocks;
        }
        let key = set.strip_prefix("ftl.").and_then(|set| set.split('=').next());
        key.is_none_or(|key| {
            key != "name" && schemas.iter().any(|schema| schema["properties"][key].is_object())
        })
    };
    let name = format!("ftl.name={}", member.name);
    [name].into_iter().chain(sets.iter().filter(is_there).map(ToString::to_string)).collect()
}

/// Members whose FTL can do something that its contract leaves open.
pub fn members_that(
    can: impl Fn(&dyn Ftl) -> bool,
) -> impl Iterator<Item = &'static Member<Build>> {
    ROSTER.iter().filter(move |member| {
        let mut ssd = Ssd::new(&config(&of_ftl(member, &[])), 1 << 30).unwrap();
        can(ssd.ftl_mut())
    })
}

/// Shape of drives for many power cuts: few blocks, and no pages that a cut takes with it.
pub const CUT_SHAPE: [&str; 4] = [
    "chip.geometry.blocks_per_plane=24",
    "chip.geometry.pages_per_block=16",
    "chip.fault.paired_page_loss=0",
    "ftl.overprovisioning=2.5",
];

/// The small drive with `sets` laid over it.
pub fn small(sets: &[&str]) -> Ssd {
    Ssd::new(&config(sets), 1 << 30).unwrap()
}

/// Brings a drive into the state that a run is to begin with. Returns the preconditioning, which is
/// done.
pub fn prepare(ssd: &mut Ssd, state: Precondition) -> Preconditioning {
    let mut preconditioning = Preconditioning::new(state, ssd.dies(), 1);
    while !preconditioning.is_done() {
        preconditioning.advance(ssd.ftl_mut()).unwrap();
    }
    preconditioning
}

/// Random writes of units that fill the queue of a drive which has just started: units a second.
pub fn write_at_full_speed(ssd: &mut Ssd, rng: &mut Rng) -> f64 {
    const WRITES: u64 = 12_000;
    let units = ssd.capacity_bytes() / ssd.unit_bytes();
    let (mut submitted, mut completed) = (0, 0);
    while completed < WRITES {
        while ssd.has_room() && submitted < WRITES {
            let offset = ssd.unit_bytes() * rng.below(units);
            ssd.submit(Request::new(Op::Write, offset, ssd.unit_bytes()), 0, ssd.now());
            submitted += 1;
        }
        completed += u64::from(matches!(ssd.step(), Step::Completed(_)));
    }
    ssd.fault().unwrap();
    WRITES as f64 / ssd.now().s()
}

/// Units a second of random writes that fill the queue of a drive in steady state.
pub fn units_per_s(sets: &[&str], seed: u64) -> f64 {
    let mut ssd = small(sets);
    prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    write_at_full_speed(&mut ssd, &mut Rng::stream(seed, "full speed"))
}

/// Mean of several seeds, and half of its 95 % interval.
pub fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, student_quantile(0.95, n - 1.0) * (variance / n).sqrt())
}
