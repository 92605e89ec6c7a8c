//! Namespaces of a drive: shares of its bytes that NVMe hosts see as disks of their own.

use super::{SsdConfig, WindowsConfig};
use base::params::Table;
use base::units::format_size;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most namespaces of a drive. Assumed: drives of the market have 16 to 128.
pub const MOST_NAMESPACES: usize = 32;

/// Sizes that a logical block can have in bytes.
pub const BLOCK_SIZES: [u32; 2] = [512, 4096];

/// Namespace: a part of the drive with blocks of its own size, for hosts of `nandlab nvme`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Share of the drive's capacity, above 0 and at most 1; without it `bytes` says the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Size of the namespace, rounded down to whole mapping units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 1))]
    pub bytes: Option<u64>,
    /// Size of a logical block: 512 or 4096.
    #[serde(default = "small_block")]
    pub block_bytes: u32,
    /// Dies that the namespace has to itself, an NVM set with an FTL of its own, whose capacity it
    /// has whole: the first dies that no namespace before it has. Die d is on channel d modulo
    /// `drive.channels`, so that sets share channels. Without it the namespace shares the dies that
    /// are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// Keys of `[ftl]` that are others in the set of these dies: `name`, `overprovisioning`,
    /// `gc_reserve_blocks`, `ram_bytes`, and those of the FTL.
    #[serde(default, skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "serde_json::Value")]
    pub ftl: Table,
    /// Windows of predictable latency of the set of these dies, with a course of their own; without
    /// them the set has those of `[windows]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowsConfig>,
}

fn small_block() -> u32 {
    BLOCK_SIZES[0]
}

/// Part of a drive that a namespace takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespacePart {
    /// Bytes of the drive: whole mapping units.
    pub bytes: Range<u64>,
    /// Size of a logical block.
    pub block_bytes: u32,
}

impl NamespacePart {
    /// Whole of a drive without namespaces.
    pub fn whole(capacity_bytes: u64) -> Self {
        Self { bytes: 0..capacity_bytes, block_bytes: small_block() }
    }
}

impl SsdConfig {
    /// Refuses namespaces with values out of range.
    pub(super) fn check_namespaces(&self) -> Result<()> {
        let count = self.namespace.len();
        if count > MOST_NAMESPACES {
            return Err(Error::new("namespace", format!("{count} namespaces"))
                .expected(format!("at most {MOST_NAMESPACES}")));
        }
        for NamespaceConfig { share, bytes, block_bytes, dies, ftl: _, windows: _ } in
            &self.namespace
        {
            if share.is_some() == bytes.is_some() && dies.is_none() {
                let problem = if share.is_some() { "both a share and bytes" } else { "no size" };
                return Err(Error::new("namespace", problem).expected("`share` or `bytes`"));
            }
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
                return Err(Error::new("namespace.share", format!("{share} is out of range"))
                    .expected("above 0 and at most 1"));
            }
            if !BLOCK_SIZES.contains(block_bytes) {
                return Err(Error::new("namespace.block_bytes", block_bytes.to_string())
                    .expected("512 or 4096"));
            }
        }
        Ok(())
    }

    /// Parts of a drive that its namespaces take: the whole drive where it names none. `sets` are
    /// the bytes of the drive's sets, one for a drive without them; those that share a set take it
    /// one after the other. Refuses namespaces that do not fit.
    pub fn namespace_parts(
        &self,
        sets: &[Range<u64>],
        unit_bytes: u64,
    ) -> Result<Vec<NamespacePart>> {
        let block_bytes = small_block();
        let Some(shared) = sets.last().cloned() else { return Ok(Vec::new()) };
        if self.namespace.is_empty() {
            return Ok(vec![NamespacePart { bytes: shared, block_bytes }]);
        }
        let mut parts = Vec::new();
        let (mut start, capacity) = (shared.start, shared.end - shared.start);
        let mut own = sets.iter().cloned();
        for (number, namespace) in (1..).zip(&self.namespace) {
            let block_bytes = namespace.block_bytes;
            if namespace.dies.is_some() {
                let bytes = own.next().unwrap_or_default();
                parts.push(NamespacePart { bytes, block_bytes });
                continue;
            }
            let of_share = || (namespace.share.unwrap_or(0.0) * capacity as f64) as u64;
            let asked = namespace.bytes.unwrap_or_else(of_share);
            let bytes = asked / unit_bytes * unit_bytes;
            if bytes < u64::from(namespace.block_bytes) {
                let problem = format!("namespace {number} has {asked} bytes");
                return Err(Error::new("namespace", problem).expected(format!(
                    "at least a mapping unit and a block: {} bytes",
                    unit_bytes.max(namespace.block_bytes.into())
                )));
            }
            if bytes > shared.end - start {
                let left = shared.end - start;
                let problem = format!("namespace {number} has {bytes} bytes, and {left} are left");
                return Err(Error::new("namespace", problem)
                    .expected(format!("together at most {capacity} bytes"))
                    .hint(format!("they share {}", format_size(capacity))));
            }
            parts.push(NamespacePart { bytes: start..start + bytes, block_bytes });
            start += bytes;
        }
        Ok(parts)
    }
}
