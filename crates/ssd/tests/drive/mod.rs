//! A small drive for tests, with any of its parameters changed.

use base::Result;
use base::family::{Member, schema};
use ssd::Ssd;
use ssd::config::SsdConfig;
use ssd::conformance::small_config;
use ssd::ftl::{Build, Ftl, FtlConfig, ROSTER};
use ssd::precondition::{Precondition, Preconditioning};

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
