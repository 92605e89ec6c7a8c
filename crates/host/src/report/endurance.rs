//! Keys `endurance_group` and `cost`: bytes of the flash as Flexible Data Placement counts them,
//! and their price.
//!
//! A drive here is one endurance group, and units of the host have no metadata of their own.

use super::ratio;
use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::drive::activity::Activity;
use ssd::ftl::contract::{HandleCounts, HeldBlocks};

/// Bytes of the endurance group, the report's `endurance_group`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnduranceGroup {
    /// Reclaim unit handles: streams of the host that the FTL keeps apart (`ftl.host_streams`).
    pub handles: u32,
    /// Reclaim groups (`ftl.reclaim_groups`): parts of the dies that have the handles once each.
    pub reclaim_groups: u32,
    /// Units of the host that went to another reclaim group than it had named, as that was full of
    /// valid data.
    pub redirected_units: u64,
    /// Bytes that the host has written in this run (HBMW).
    pub host_bytes: u64,
    /// Bytes programmed for host data, moves, padding and metadata (MBMW).
    pub media_bytes: u64,
    /// Bytes of the blocks erased (MBE).
    pub erased_bytes: u64,
    /// Quotient `media_bytes` / `host_bytes`; 0 where nothing was written.
    pub write_amplification: f64,
    /// Work for each handle, from handle 0 on, of the first reclaim group and then of the next;
    /// empty of a drive without handles. With `ftl.isolation = "initial"` moved data belong to no
    /// handle.
    pub by_handle: Vec<OfHandle>,
}

/// Work for the data of one placement handle, a row of `endurance_group.by_handle`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OfHandle {
    /// Counts of the handle.
    #[serde(flatten)]
    pub counts: HandleCounts,
    /// Blocks of the handle and their wear.
    #[serde(flatten)]
    pub held: HeldBlocks,
    /// Units programmed for the handle, moved ones included / units programmed for the host with
    /// it; 0 where it wrote nothing.
    pub write_amplification: f64,
}

impl OfHandle {
    /// Row of a handle with these counts, which holds these blocks.
    fn new(counts: HandleCounts, held: HeldBlocks) -> Self {
        let programmed = counts.host_units + counts.moved_units;
        let write_amplification = ratio(programmed as f64, counts.host_units as f64);
        Self { counts, held, write_amplification }
    }
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
        let (ssd, host_bytes) = (&self.run.ssd, self.run.tally().write_bytes);
        let handles = (0..).zip(&activity.counted.handles);
        EnduranceGroup {
            handles: ssd.streams() / ssd.reclaim_groups(),
            reclaim_groups: ssd.reclaim_groups(),
            redirected_units: ssd.redirected_units(),
            host_bytes,
            media_bytes,
            erased_bytes,
            write_amplification: ratio(media_bytes as f64, host_bytes as f64),
            by_handle: handles
                .map(|(handle, &counts)| OfHandle::new(counts, ssd.held_by_handle(handle)))
                .collect(),
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
