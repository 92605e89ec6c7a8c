//! Namespaces of a drive: shares of its bytes that NVMe hosts see as disks of their own.

use super::SsdConfig;
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

impl SsdConfig {
    /// Refuses namespaces with values out of range.
    pub(super) fn check_namespaces(&self) -> Result<()> {
        let count = self.namespace.len();
        if count > MOST_NAMESPACES {
            return Err(Error::new("namespace", format!("{count} namespaces"))
                .expected(format!("at most {MOST_NAMESPACES}")));
        }
        for NamespaceConfig { share, bytes, block_bytes } in &self.namespace {
            if share.is_some() == bytes.is_some() {
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

    /// Parts of a drive of `capacity` bytes that its namespaces take, one after the other: the
    /// whole drive where it names none. Refuses namespaces that do not fit.
    pub fn namespace_parts(&self, capacity: u64, unit_bytes: u64) -> Result<Vec<NamespacePart>> {
        if self.namespace.is_empty() {
            return Ok(vec![NamespacePart { bytes: 0..capacity, block_bytes: small_block() }]);
        }
        let mut parts = Vec::new();
        let mut start = 0;
        for (number, namespace) in (1..).zip(&self.namespace) {
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
            if bytes > capacity - start {
                let problem = format!(
                    "namespace {number} has {bytes} bytes, and {} are left",
                    capacity - start
                );
                return Err(Error::new("namespace", problem)
                    .expected(format!("together at most {capacity} bytes"))
                    .hint(format!("the drive has {}", format_size(capacity))));
            }
            let block_bytes = namespace.block_bytes;
            parts.push(NamespacePart { bytes: start..start + bytes, block_bytes });
            start += bytes;
        }
        Ok(parts)
    }
}
