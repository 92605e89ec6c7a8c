//! Parameters of `slc_cache`: sizes of the cache, when it is folded, and what lies behind it.

use crate::ftl::dftl::{LEAST_CACHE_BYTES, LEAST_HOST_MEMORY_BYTES, MapCachePolicy, is_zero};
use crate::ftl::page::{PageParams, is_one};
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Target of host data when the cache is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WhenFull {
    /// Native blocks take the data.
    Native,
    /// The cache takes the data, once its oldest ones have been folded.
    Fold,
}

/// Parameters of `slc_cache`: sizes of the cache, and when it is folded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Params {
    /// Bytes of the static part of the cache, rounded up to whole blocks of each plane; default:
    /// one block of each plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    pub(super) static_bytes: Option<u64>,
    /// Bytes of the dynamic part on an empty drive, rounded down to whole blocks of each plane;
    /// default: as many as there are free blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    pub(super) dynamic_bytes: Option<u64>,
    /// Share of the logical drive that has data, up to which the dynamic part keeps its size.
    pub(super) shrink_from: f64,
    /// Share of the logical drive that has data, at which the dynamic part is gone; between
    /// `shrink_from` and this it shrinks in proportion.
    pub(super) shrink_to: f64,
    /// Share of the cache that keeps its data in idle times: with 0 all are folded then, with 1
    /// only when their room is needed.
    pub(super) keep_share: f64,
    /// Target of host data when the cache is full: "native" blocks, or "fold": the cache, once its
    /// oldest data have been folded.
    pub(super) when_full: WhenFull,
    /// Collection and folding write to separate blocks.
    pub(super) separate_gc_stream: bool,
    /// Static wear levelling of native blocks, as for `page`; 0 switches it off.
    pub(super) static_wear_delta: u32,
    /// Dies whose blocks are opened, filled in stripes, emptied and erased together, as for `page`:
    /// in the cache, and behind it. 1: each die has its own; 0: all dies of the drive.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(extend("default" = 1))]
    pub(super) superblock_dies: u32,
    /// RAM for cached map entries, as with `dftl`; default: the whole map is in RAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = LEAST_CACHE_BYTES))]
    pub(super) map_cache_bytes: Option<u64>,
    /// Policy of the cache of map entries, as with `dftl`, if `map_cache_bytes` is given.
    pub(super) map_cache_policy: MapCachePolicy,
    /// Writing a map page cleans all its cached entries, as with `dftl`, if `map_cache_bytes` is
    /// given.
    pub(super) map_batch: bool,
    /// Memory of the host for copies of map pages, as with `dftl`, if `map_cache_bytes` is given.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0, "x-scale" = LEAST_HOST_MEMORY_BYTES))]
    pub(super) host_memory_bytes: u64,
}

impl Default for Params {
    fn default() -> Self {
        let PageParams { separate_gc_stream, static_wear_delta, .. } = PageParams::default();
        Self {
            static_bytes: None,
            dynamic_bytes: None,
            shrink_from: 0.0,
            shrink_to: 1.0,
            keep_share: 0.0,
            when_full: WhenFull::Native,
            separate_gc_stream,
            static_wear_delta,
            superblock_dies: 1,
            map_cache_bytes: None,
            map_cache_policy: MapCachePolicy::Lru,
            map_batch: true,
            host_memory_bytes: 0,
        }
    }
}

impl Params {
    /// Parameters of the blocks behind the cache.
    pub(super) fn of_page(&self) -> PageParams {
        PageParams {
            separate_gc_stream: self.separate_gc_stream,
            static_wear_delta: self.static_wear_delta,
            superblock_dies: self.superblock_dies,
            ..PageParams::default()
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        for (key, value, of) in [
            ("shrink_from", self.shrink_from, "the logical drive with data"),
            ("shrink_to", self.shrink_to, "the logical drive with data"),
            ("keep_share", self.keep_share, "the cache"),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::new(format!("ftl.{key}"), format!("{value} is out of range"))
                    .expected(format!("0 to 1 (share of {of})")));
            }
        }
        if self.shrink_from > self.shrink_to {
            let problem =
                format!("{} is above ftl.shrink_to, {}", self.shrink_from, self.shrink_to);
            return Err(Error::new("ftl.shrink_from", problem).expected("at most ftl.shrink_to"));
        }
        Ok(())
    }
}
