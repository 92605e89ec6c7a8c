//! Policies of a read cache, its parameters, and what a policy is asked: reads of slots go in, the
//! slot that makes room comes out.

use super::arc::Arc;
use super::clock::Clock;
use super::lru::Lru;
use base::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes of a read cache.
const MOST_BYTES: u64 = 1 << 40;

/// Most units that a sequence is read ahead.
pub const MOST_AHEAD: u32 = 4096;

/// The read cache: flash data that stay in the controller's DRAM, so that further reads of them
/// need no flash. It is empty at the start of a run and after a power cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadCacheConfig {
    /// Size of the read cache, in whole mapping units; 0 switches it off.
    #[schemars(extend("x-scale" = 1 << 16))]
    pub bytes: u64,
    /// Policy by which one unit makes room for another: `lru` (least recently used), `clock`
    /// (second chance, Corbato 1968) or `arc` (adaptive, Megiddo and Modha 2003).
    pub policy: CachePolicy,
    /// Units that are read ahead of a sequence: once a read begins where an earlier one has ended,
    /// so many units behind it are read before the host asks. Up to 32 sequences are followed; 0
    /// switches it off.
    pub prefetch_units: u32,
    /// Further time of a part of a request that the cache holds, beside the transfer out of DRAM.
    pub latency_us: f64,
    /// Bandwidth of a DRAM of the cache's own in 10^6 bytes a second, for hits and for units that
    /// come in; 0: a transfer takes no time. A drive with `controller.dram_mb_s` has one DRAM for
    /// all, and this is not used. The default is assumed: 32 bits at 800 MT/s, as in MQSim.
    pub dram_mb_s: f64,
}

impl Default for ReadCacheConfig {
    fn default() -> Self {
        Self {
            bytes: 0,
            policy: CachePolicy::Lru,
            prefetch_units: 0,
            latency_us: 0.0,
            dram_mb_s: 3200.0,
        }
    }
}

impl ReadCacheConfig {
    /// Whether the section says nothing that differs from its defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the drive has a read cache.
    pub fn is_on(&self) -> bool {
        self.bytes > 0
    }

    /// Units that the cache holds, of `unit_bytes` each.
    pub fn units(&self, unit_bytes: u32) -> u64 {
        self.bytes / u64::from(unit_bytes)
    }

    /// Refuses values out of range, and a cache that cannot hold what is asked of it, with units of
    /// `unit_bytes`.
    pub(crate) fn check(&self, unit_bytes: u32) -> Result<()> {
        for (key, value, least, most) in [
            ("bytes", self.bytes as f64, 0.0, MOST_BYTES as f64),
            ("prefetch_units", self.prefetch_units.into(), 0.0, MOST_AHEAD.into()),
            ("latency_us", self.latency_us, 0.0, 1e6),
            ("dram_mb_s", self.dram_mb_s, 0.0, 1e9),
        ] {
            if !(least..=most).contains(&value) {
                let key = format!("read_cache.{key}");
                return Err(Error::new(key, format!("{value} is out of range"))
                    .expected(format!("{least} to {most}")));
            }
        }
        if self.is_on() { self.check_fit(unit_bytes) } else { Ok(()) }
    }

    fn check_fit(&self, unit_bytes: u32) -> Result<()> {
        let units = self.units(unit_bytes);
        if units == 0 {
            let problem = format!("{} bytes hold no unit", self.bytes);
            return Err(Error::new("read_cache.bytes", problem)
                .expected(format!("at least {unit_bytes} (ftl.unit_bytes), or 0 for no cache")));
        }
        if units > u64::from(u32::MAX >> 2) {
            let most = u64::from(u32::MAX >> 2) * u64::from(unit_bytes);
            let problem = format!("{} bytes", self.bytes);
            return Err(Error::new("read_cache.bytes", problem)
                .expected(format!("at most {most} with units of {unit_bytes} bytes")));
        }
        if u64::from(self.prefetch_units) > units {
            let problem = format!("{} units are read ahead", self.prefetch_units);
            return Err(Error::new("read_cache.prefetch_units", problem)
                .expected(format!("at most {units}, as many as the cache holds"))
                .hint("set a larger read_cache.bytes"));
        }
        Ok(())
    }
}

/// Policy of a read cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CachePolicy {
    /// The unit that was read longest ago makes room.
    #[default]
    Lru,
    /// A hand goes round the slots. Units that were read again since its last visit stay.
    Clock,
    /// Units that were read once and units that were read again have a share each, which follows
    /// the units that come back.
    Arc,
}

impl CachePolicy {
    /// All policies of a read cache.
    pub const ALL: [Self; 3] = [Self::Lru, Self::Clock, Self::Arc];

    /// Source of the policy: a key of `params/CITATIONS.bib`, or empty for folklore.
    pub const fn citation(self) -> &'static str {
        match self {
            Self::Lru => "",
            Self::Clock => "corbato1968",
            Self::Arc => "megiddo2003",
        }
    }

    /// The policy for a cache of `capacity` slots, all of them free.
    pub(super) fn build(self, capacity: u32) -> Box<dyn Policy> {
        match self {
            Self::Lru => Box::new(Lru::new(capacity)),
            Self::Clock => Box::new(Clock::new(capacity)),
            Self::Arc => Box::new(Arc::new(capacity)),
        }
    }
}

/// Policy that says which slot makes room.
///
/// Promises: the slot of `take` is `free` where one is given, and otherwise one that holds a unit;
/// a policy forgets what it was told of a slot when the slot is vacated or given away.
pub(crate) trait Policy: Send {
    /// Notes a read of the unit in a slot. `is_first`: no read has asked for it before, because it
    /// was read ahead.
    fn hit(&mut self, slot: u32, is_first: bool);

    /// Slot for a unit that the cache does not hold; `free` is given where a slot is.
    fn take(&mut self, unit: u32, free: Option<u32>) -> u32;

    /// Notes that a slot holds no unit any more.
    fn vacate(&mut self, slot: u32);

    /// Notes that no slot holds a unit any more, and forgets all units.
    fn clear(&mut self);
}
