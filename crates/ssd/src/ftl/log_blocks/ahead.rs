//! Emptying ahead of need: the oldest log is emptied while the host fills the last one.
//!
//! Without this the host stands still while the oldest log is emptied, which takes a merge of each
//! logical block that has a valid unit in it. Ahead of need, the host may have filled no larger
//! share of its log than the merges have emptied of theirs, so it waits for single copies.

use super::LogBlocks;
use serde::{Deserialize, Serialize};

/// Log that is emptied ahead of need, and the valid units that it had.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Ahead {
    pub log: u32,
    units: u32,
}

impl LogBlocks {
    /// Has the oldest log emptied after the last log was opened.
    pub(super) fn empty_ahead(&mut self) {
        if !self.rules.merges_ahead || self.opened - self.merging < self.log_limit {
            return;
        }
        // Not the one that has just been opened, which the host fills meanwhile.
        let is_older = |&log: &u32| self.logs.log(log).order < self.order;
        let Some(log) = self.oldest().filter(is_older) else { return };
        if !self.conclude(log) {
            self.queue(log);
            self.ahead = Some(Ahead { log, units: self.places.live(self.logs.log(log).target) });
        }
    }

    /// Whether the host is to wait for merges before it writes to row `row` of its log.
    pub(super) fn is_too_fast(&self, row: u32) -> bool {
        let Some(Ahead { log, units }) = self.ahead else { return false };
        let left = self.places.live(self.logs.log(log).target);
        let [row, rows] = [row, self.pool.layout.rows].map(u64::from);
        row * u64::from(units) > rows * u64::from(units.saturating_sub(left))
    }
}
