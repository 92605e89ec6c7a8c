//! Keys `ftl` and `refresh`: work of the FTL, and blocks rewritten before their data are lost.

mod parity;
mod sets;

use super::ratio;
use crate::session::Session;
pub use parity::Parity;
use schemars::JsonSchema;
use serde::ser::Error;
use serde::{Serialize, Serializer};
pub use sets::NvmSet;
use ssd::drive::activity::{Activity, TrimCounts};
use ssd::failure::refresh::RefreshCounts;
use ssd::ftl::contract::{CacheCounts, CodeStageCounts, DenseCounts, FtlCounts};
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
    /// Time at which a block failed in a plane without spare blocks, or needed a code that its
    /// plane had no space for: the drive refused every later write, which ended its job as an error
    /// does in fio (failed reads do not). Of a drive with sets of dies the time of the last one.
    /// `null` if this did not happen.
    pub read_only_at_s: Option<f64>,
    /// Counts of the host's trims.
    #[serde(flatten)]
    pub trims: TrimCounts,
    /// Cache of blocks in single-level mode (`slc_cache`); `null` elsewhere.
    pub cache: Option<Cache>,
    /// Data on dense chips (`frozen` on several kinds of chips); `null` elsewhere.
    pub dense: Option<DenseCounts>,
    /// Codes by age (`ecc.stages`); `null` elsewhere.
    pub code_stages: Option<CodeStages>,
    /// Parity over dies (`parity.pages`); `null` elsewhere.
    pub parity: Option<Parity>,
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

/// Codes by age: blocks that changed to stronger ones, and the blocks of each code.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CodeStages {
    /// Counts of codes by age.
    #[serde(flatten)]
    pub counts: CodeStageCounts,
    /// Good blocks of each code at the end: that of `[ecc]`, then those of `ecc.stages` in order.
    pub blocks: Vec<u64>,
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
    /// Counts of refresh and patrol.
    #[serde(flatten)]
    pub counts: RefreshCounts,
    /// Units moved by refresh / units written by the host: their part of `ftl.write_amplification`.
    pub write_amplification: f64,
    /// Blocks that wait to be rewritten at the end of the run.
    pub waiting_blocks: u64,
    /// Age of the oldest data at the end.
    pub oldest_hours: f64,
    /// Energy of patrol reads in array and bus, retries included.
    pub patrol_energy_uj: f64,
}

/// Counts of an FTL without those of tables that only some drives have.
pub(in crate::report) fn of_every_drive<S: Serializer>(
    counts: &FtlCounts,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut keys = serde_json::to_value(counts).map_err(S::Error::custom)?;
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, _| !["cache", "dense", "code_stages", "parity"].contains(&key.as_str()));
    }
    keys.serialize(serializer)
}

impl Session {
    /// Whether blocks of the drive change their code with age.
    pub(super) fn has_code_stages(&self) -> bool {
        self.loaded.config.ecc.contains_key("stages")
    }

    /// Units written by the host.
    pub(super) fn written_units(&self) -> f64 {
        self.run.tally().write_bytes as f64 / self.run.ssd.unit_bytes() as f64
    }

    pub(super) fn ftl(&self, activity: &Activity) -> Ftl {
        let ssd = &self.run.ssd;
        let counts = activity.counted.ftl;
        let ram = ssd.ftl_ram();
        let bytes = ssd.unit_bytes();
        Ftl {
            write_amplification: ratio(counts.programmed_units() as f64, self.written_units()),
            write_amplification_flash: counts.write_amplification(),
            counts,
            read_only_at_s: ssd.read_only_at().map(|at| at.since(self.run.counts_from()).s()),
            trims: activity.counted.controller.trims,
            cache: ssd.cache().map(|room| Cache {
                counts: counts.cache,
                room_bytes: room.room_units * bytes,
                used_bytes: room.used_units * bytes,
            }),
            dense: (!self.loaded.config.chips.is_empty()).then_some(counts.dense),
            code_stages: self
                .has_code_stages()
                .then(|| CodeStages { counts: counts.code_stages, blocks: ssd.blocks_by_code() }),
            parity: self.parity(activity),
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
        let (oldest_hours, counts) = (ssd.oldest_hours(), activity.counted.controller.refresh);
        Some(Refresh {
            counts,
            write_amplification: ratio(counts.units as f64, written),
            waiting_blocks: ssd.blocks_to_refresh(),
            oldest_hours,
            patrol_energy_uj: activity.patrol_energy_uj,
        })
    }
}
