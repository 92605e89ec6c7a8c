//! Keys `ftl` and `refresh`: work of the FTL, and blocks rewritten before their data are lost.

use super::{as_json, ratio};
use crate::session::Session;
use schemars::JsonSchema;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::Value;
use ssd::drive::activity::Activity;
use ssd::ftl::contract::{CacheCounts, DenseCounts, FtlCounts};
use std::collections::BTreeMap;

/// Work of the FTL, the report's `ftl`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ftl {
    /// Units programmed / units written by the host; a write of half a unit counts half. Data that
    /// are still in the buffer, or were rewritten there, have not been programmed.
    pub write_amplification: f64,
    /// Units programmed / whole units that left the buffer: data rewritten in the buffer or still
    /// there are not in the denominator; with `buffer.coalesces = false` they are padding in the
    /// numerator.
    pub write_amplification_flash: f64,
    /// Counts of the FTL's work.
    #[serde(flatten, serialize_with = "of_every_drive")]
    pub counts: FtlCounts,
    /// Time at which a block failed in a plane without spare blocks: the drive refused every later
    /// write, which ended its job as an error does in fio (failed reads do not). `null` if this did
    /// not happen.
    pub read_only_at_s: Option<f64>,
    /// Units trimmed that held data, on the flash or in the buffer.
    pub trimmed_units: u64,
    /// Cache of blocks in single-level mode (`slc_cache`); `null` elsewhere.
    pub cache: Option<Cache>,
    /// Data on dense chips (`frozen` on several kinds of chips); `null` elsewhere.
    pub dense: Option<DenseCounts>,
    /// RAM that the drive's firmware needs, in all and by use: `map`, `blocks`, `map_cache`,
    /// `map_directory`, `map_segments`, `block_names`, `block_map`, `log_maps`, `superblock_maps`,
    /// `superblocks`, `zones`, `zone_blocks`, ...
    pub ram_bytes: RamBytes,
    /// Bytes of a mapping unit.
    pub unit_bytes: u64,
    /// Bytes of the FTL's tables for each logical unit.
    pub mapping_bytes_per_unit: f64,
}

/// Cache of blocks in single-level mode: its work, and its room at the end.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cache {
    /// Counts of the cache.
    #[serde(flatten)]
    pub counts: CacheCounts,
    /// Bytes that the cache may hold at the end.
    pub room_bytes: u64,
    /// Bytes of its blocks that are written, open or being folded at the end.
    pub used_bytes: u64,
}

/// RAM of the drive's firmware, in all and by table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RamBytes {
    /// Bytes of all tables together.
    pub total: u64,
    /// Bytes of each table by its name.
    #[serde(flatten)]
    pub tables: BTreeMap<&'static str, u64>,
}

/// Refresh and patrol of a run, the report's `refresh`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Refresh {
    /// Blocks that the FTL has taken to be rewritten, by reason. An FTL with a coarse map moves
    /// whole logical blocks for one of them.
    pub blocks: RefreshBlocks,
    /// Units that were moved out of these blocks; they are among `ftl.gc_copies`.
    pub units: u64,
    /// Units moved by refresh / units written by the host: their part of `ftl.write_amplification`.
    pub write_amplification: f64,
    /// Blocks that wait to be rewritten at the end of the run.
    pub waiting_blocks: u64,
    /// Age of the oldest data at the end.
    pub oldest_hours: f64,
    /// Patrol reads that put a block into the queue.
    pub patrol_finds: u64,
    /// Energy of patrol reads in array and bus, retries included.
    pub patrol_energy_uj: f64,
}

/// Blocks taken to be rewritten, by reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefreshBlocks {
    /// Blocks with old data (`refresh.after_hours`).
    pub age: u64,
    /// Blocks with many bit errors (`refresh.rber`).
    pub rber: u64,
    /// Blocks of a patrol read that needed `gc.reclaim_rounds` retries.
    pub retries: u64,
}

/// Counts of an FTL without those of tables that only some drives have.
fn of_every_drive<S: Serializer>(counts: &FtlCounts, serializer: S) -> Result<S::Ok, S::Error> {
    let mut keys = serde_json::to_value(counts).map_err(S::Error::custom)?;
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, _| key != "cache" && key != "dense");
    }
    keys.serialize(serializer)
}

/// Counts of an FTL over time, by their keys in the report: `gc_copies`, `map.writes`.
pub fn columns<'a>(
    counts: impl Iterator<Item = &'a FtlCounts>,
) -> base::Result<BTreeMap<String, Vec<u64>>> {
    let keys = leaves("", &as_json(&FtlCounts::default())?);
    let mut columns: BTreeMap<_, _> = keys.into_iter().map(|(key, _)| (key, Vec::new())).collect();
    for counts in counts {
        for (key, count) in leaves("", &as_json(counts)?) {
            columns.entry(key).or_default().push(count);
        }
    }
    Ok(columns)
}

/// Counts below a value, by their dotted paths.
fn leaves(path: &str, value: &Value) -> Vec<(String, u64)> {
    if let Some(table) = value.as_object() {
        let join = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
        return table.iter().flat_map(|(key, value)| leaves(&join(key), value)).collect();
    }
    value.as_u64().map(|count| (path.to_owned(), count)).into_iter().collect()
}

impl Session {
    /// Units written by the host.
    pub(super) fn written_units(&self) -> f64 {
        self.run.tally().write_bytes as f64 / self.run.ssd.unit_bytes() as f64
    }

    pub(super) fn ftl(&self, activity: &Activity) -> Ftl {
        let ssd = &self.run.ssd;
        let counts = self.run.ftl_counts();
        let ram = ssd.ftl_ram();
        let bytes = ssd.unit_bytes();
        Ftl {
            write_amplification: ratio(counts.programmed_units() as f64, self.written_units()),
            write_amplification_flash: counts.write_amplification(),
            counts,
            read_only_at_s: ssd.read_only_at().map(|at| at.since(self.run.counts_from()).s()),
            trimmed_units: activity.controller.trimmed,
            cache: ssd.cache().map(|room| Cache {
                counts: counts.cache,
                room_bytes: room.room_units * bytes,
                used_bytes: room.used_units * bytes,
            }),
            dense: (!self.loaded.config.chips.is_empty()).then_some(counts.dense),
            ram_bytes: RamBytes {
                total: ram.iter().map(|ram| ram.bytes).sum(),
                tables: ram.iter().map(|ram| (ram.name, ram.bytes)).collect(),
            },
            unit_bytes: bytes,
            mapping_bytes_per_unit: ssd.ftl_bytes_per_unit(),
        }
    }

    /// Counts of refresh and patrol; `None` for a drive without either.
    pub(super) fn refresh(&mut self, activity: &Activity) -> Option<Refresh> {
        if !self.loaded.config.refresh.is_on() {
            return None;
        }
        let written = self.written_units();
        let ssd = &mut self.run.ssd;
        let (oldest_hours, counts) = (ssd.oldest_hours(), activity.controller.refresh);
        let [age, rber, retries] = counts.blocks;
        Some(Refresh {
            blocks: RefreshBlocks { age, rber, retries },
            units: counts.units,
            write_amplification: ratio(counts.units as f64, written),
            waiting_blocks: ssd.blocks_to_refresh(),
            oldest_hours,
            patrol_finds: counts.patrol_finds,
            patrol_energy_uj: activity.patrol_energy_uj,
        })
    }
}
