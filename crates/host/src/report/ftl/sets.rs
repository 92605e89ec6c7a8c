//! Key `sets`: work and state of each set of dies.

use super::of_every_drive;
use crate::report::stages::Dies;
use crate::session::Session;
use nand::energy::EnergyUse;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::Activity;
use ssd::ftl::contract::{FtlCounts, Wear};

/// Set of dies with an FTL of its own, a row of the report's `sets`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NvmSet {
    /// Number of the namespace that has the set to itself; `null` of the dies that others share.
    pub namespace: Option<u64>,
    /// Name of the set's FTL.
    pub ftl: String,
    /// First die of the set; the others follow it. Die d is on channel d modulo `drive.channels`.
    pub first_die: u32,
    /// Number of dies of the set.
    pub dies: u32,
    /// Bytes of its logical units.
    pub bytes: u64,
    /// Units programmed / whole units that left the buffer for the set, as
    /// `ftl.write_amplification_flash` of the whole drive.
    pub write_amplification: f64,
    /// Counts of the set's FTL.
    #[serde(flatten, serialize_with = "of_every_drive")]
    pub counts: FtlCounts,
    /// Time at which a block of the set failed without a spare one: the set refused every later
    /// write. `null` if this did not happen.
    pub read_only_at_s: Option<f64>,
    /// Units that can be programmed without an erase at the end.
    pub free_units: u64,
    /// Units of bad blocks at the end.
    pub bad_units: u64,
    /// Program/erase cycles of the good blocks of the set at the end.
    pub pe_cycles: Wear,
    /// Energy of the set's dies; that of all sets is `nand.energy_uj`.
    pub energy_uj: f64,
    /// Energy of the set's dies by operation.
    pub energy: EnergyUse,
    /// Shares of the time of the set's dies, which add up to 1.
    pub busy: Dies,
}

impl Session {
    /// Sets of dies; `None` for a drive without.
    pub(in crate::report) fn sets(&self, activity: &Activity) -> Option<Vec<NvmSet>> {
        let (config, ssd) = (&self.loaded.config, &self.run.ssd);
        let sets = config.sets();
        let bytes = ssd.bytes_of_sets();
        let states = ssd.occupancy_of_sets();
        let row = |(number, set): (usize, &ssd::config::DieSetConfig)| {
            let counts = activity.counted.sets.get(number).copied().unwrap_or_default();
            let energy = activity.energy_of_sets.get(number).copied().unwrap_or_default();
            let dies = set.dies.start as usize..set.dies.end as usize;
            NvmSet {
                namespace: set.namespace.map(|namespace| namespace as u64 + 1),
                ftl: config.ftl_name_of_set(set).to_owned(),
                first_die: set.dies.start,
                dies: set.dies.len() as u32,
                bytes: bytes[number].end - bytes[number].start,
                write_amplification: counts.write_amplification(),
                counts,
                read_only_at_s: ssd
                    .read_only_at_of_set(number)
                    .map(|at| at.since(self.run.counts_from()).s()),
                free_units: states[number].free,
                bad_units: states[number].bad,
                pe_cycles: ssd.wear_of_dies(set.dies.clone()),
                energy_uj: energy.total_uj(),
                energy,
                busy: Dies::of(&activity.dies[dies]),
            }
        };
        (!sets.is_empty()).then(|| sets.iter().enumerate().map(row).collect())
    }
}
