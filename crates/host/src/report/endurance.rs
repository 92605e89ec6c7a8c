//! Keys `endurance_group` and `cost`: bytes of the flash as Flexible Data Placement counts them,
//! and their price.
//!
//! A drive here is one endurance group, and units of the host have no metadata of their own.

use super::ratio;
use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::Activity;

/// Bytes of the endurance group, the report's `endurance_group`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnduranceGroup {
    /// Reclaim unit handles: streams of the host that the FTL keeps apart (`ftl.host_streams`).
    pub handles: u32,
    /// Bytes that the host has written in this run (HBMW).
    pub host_bytes: u64,
    /// Bytes programmed for host data, moves, padding and metadata (MBMW).
    pub media_bytes: u64,
    /// Bytes of the blocks erased (MBE).
    pub erased_bytes: u64,
    /// Quotient `media_bytes` / `host_bytes`; 0 where nothing was written.
    pub write_amplification: f64,
}

/// Price of the flash, the report's `cost`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cost {
    /// Bytes of flash as sold: the data pages of all blocks.
    pub flash_bytes: u64,
    /// Price of the flash in dollars; controller, DRAM and assembly are not in it.
    pub flash_usd: f64,
    /// Price in dollars for each 10^9 bytes that the host sees: what over-provisioning costs.
    pub usd_per_gb: f64,
}

impl Session {
    /// Bytes of the endurance group. Bytes of the flash come from the chips' own counters, not from
    /// the FTL's account.
    pub(crate) fn endurance_group(&self, activity: &Activity) -> EnduranceGroup {
        let counts = &activity.counted.flash.of_kind;
        let (mut media_bytes, mut erased_bytes) = (0, 0);
        for ((_, chip), counts) in self.loaded.config.kinds().into_iter().zip(counts) {
            let page = u64::from(chip.geometry.page_bytes);
            media_bytes += counts.programs * page;
            erased_bytes += counts.erases * u64::from(chip.geometry.pages_per_block) * page;
        }
        let host_bytes = self.run.tally().write_bytes;
        EnduranceGroup {
            handles: self.run.ssd.streams(),
            host_bytes,
            media_bytes,
            erased_bytes,
            write_amplification: ratio(media_bytes as f64, host_bytes as f64),
        }
    }

    /// Price of the flash; `None` where the price of the chip is not known.
    pub(super) fn cost(&self) -> Option<Cost> {
        let flash_usd = self.loaded.config.flash_usd()?;
        Some(Cost {
            flash_bytes: self.loaded.config.flash_bytes(),
            flash_usd,
            usd_per_gb: flash_usd * 1e9 / self.run.ssd.capacity_bytes() as f64,
        })
    }
}
