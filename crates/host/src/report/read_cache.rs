//! Key `read_cache`: hits of the read cache, what was read ahead, and its room.

use crate::session::Session;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::cache::ReadCacheCounts;
use ssd::drive::activity::Activity;

/// Read cache of a run, the report's `read_cache`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadCache {
    /// Counts of the read cache.
    #[serde(flatten)]
    pub counts: ReadCacheCounts,
    /// Units that the cache can hold.
    pub room_units: u64,
    /// Units that it holds at the end.
    pub held_units: u64,
}

impl Session {
    /// Work of the read cache; `None` for a drive without one.
    pub(super) fn read_cache(&self, activity: &Activity) -> Option<ReadCache> {
        let counts = activity.counted.read_cache?;
        let (held, room) = self.run.ssd.read_cache_units()?;
        Some(ReadCache { counts, room_units: room.into(), held_units: held.into() })
    }
}
