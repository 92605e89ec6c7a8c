//! The endurance group in the report: bytes of the host and of the flash, as the statistics of
//! NVM Express's Flexible Data Placement count them.
//!
//! A drive here is one endurance group, and units of the host have no metadata of their own.

use crate::session::Session;
use serde_json::{Value, json};
use ssd::drive::activity::Activity;

impl Session {
    /// Bytes of the endurance group, the report's `endurance_group`. Bytes of the flash come from
    /// the chips' own counters, not from the FTL's account.
    pub(super) fn endurance_group(&self, activity: &Activity) -> Value {
        let counts = &activity.flash.of_kind;
        let (mut media, mut erased) = (0, 0);
        for ((_, chip), counts) in self.loaded.config.kinds().into_iter().zip(counts) {
            let page = u64::from(chip.geometry.page_bytes);
            media += counts.programs * page;
            erased += counts.erases * u64::from(chip.geometry.pages_per_block) * page;
        }
        let host = self.run.tally().write_bytes;
        json!({
            "handles": self.run.ssd.streams(),
            "host_bytes": host,
            "media_bytes": media,
            "erased_bytes": erased,
            "write_amplification": super::ratio(media as f64, host as f64),
        })
    }
}
