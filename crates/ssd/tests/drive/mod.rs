//! A small drive for tests, with any of its parameters changed.

use base::family::{Member, schema};
use base::params;
use ssd::Ssd;
use ssd::config::SsdConfig;
use ssd::ftl::{Build, FtlConfig};
use ssd::precondition::{Precondition, Preconditioning};

/// Two channels of two dies, two planes each; odd sizes on purpose.
pub const SMALL: &str = r#"
seed = 1
[drive]
channels = 2
dies_per_channel = 2
queue_depth = 32
[controller]
command_us = 0.5
[host]
link_mb_s = 3200.0
link_latency_us = 0.25
[chip]
cell_bits = 2
rated_pe_cycles = 3000
page_order = "all_bitline"
array = { name = "ideal" }
[chip.geometry]
planes_per_die = 2
blocks_per_plane = 23
pages_per_block = 18
page_bytes = 8192
[chip.timing]
t_read_us = [40.0, 60.0]
t_program_us = [400.0, 1100.0]
t_erase_us = 3000.0
bus_mt_s = 400.0
t_command_us = 0.2
t_transfer_us = 0.1
[chip.energy]
vcc_v = 3.3
icc_read_ma = 25.0
icc_program_ma = 25.0
icc_erase_ma = 25.0
[ftl]
name = "page"
overprovisioning = 0.6
[gc]
name = "greedy"
[scheduler]
name = "out_of_order"
[retry]
name = "none"
[ecc]
model = "ideal"
t_decode_us = 3.0
[buffer]
bytes = 262144
latency_us = 1.0
"#;

/// The configuration of the small drive with `sets` laid over it.
pub fn config<S: AsRef<str>>(sets: &[S]) -> SsdConfig {
    let mut table = params::parse(SMALL, "small").unwrap();
    for set in sets {
        params::merge(&mut table, params::assignment(set.as_ref()).unwrap());
    }
    let config: SsdConfig = params::read(&table, "").unwrap();
    config.complete().unwrap()
}

/// The choice of an FTL, and those of `sets` that a drive with it has: a parameter of one FTL is
/// none of others. One with many frontiers has more spare, if there is no drive without.
#[allow(dead_code, reason = "not every test is of every FTL")]
pub fn of_ftl(member: &Member<Build>, sets: &[&str]) -> Vec<String> {
    let schemas = [(member.schema)(), schema::<FtlConfig>()];
    let is_there = |set: &&&str| {
        let key = set.strip_prefix("ftl.").and_then(|set| set.split('=').next());
        key.is_none_or(|key| schemas.iter().any(|schema| schema["properties"][key].is_object()))
    };
    let name = format!("ftl.name={}", member.name);
    let mut all: Vec<String> =
        [name].into_iter().chain(sets.iter().filter(is_there).map(ToString::to_string)).collect();
    if schemas[0]["properties"]["map_cache_bytes"].is_object() {
        // The whole map of so small a drive would fit.
        all.push("ftl.map_cache_bytes=512".to_owned());
    }
    let is_said = sets.iter().any(|set| set.starts_with("ftl.overprovisioning="));
    if !is_said && Ssd::new(&config(&all), 1 << 30).is_err() {
        all.push("ftl.overprovisioning=2.5".to_owned());
    }
    all
}

/// The small drive with `sets` laid over it.
pub fn small(sets: &[&str]) -> Ssd {
    Ssd::new(&config(sets), 1 << 30).unwrap()
}

/// Brings a drive into the state that a run is to begin with, and tells how that went.
#[allow(dead_code, reason = "not every test begins with a full drive")]
pub fn prepare(ssd: &mut Ssd, state: Precondition) -> Preconditioning {
    let mut preconditioning = Preconditioning::new(state, ssd.dies(), 1);
    while !preconditioning.is_done() {
        preconditioning.advance(ssd.ftl_mut()).unwrap();
    }
    preconditioning
}
