//! The contract of recovery: what a running drive writes for its start-up, and which pages it reads
//! then.

use base::Result;
use base::params::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters that every kind of recovery shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryConfig {
    /// Pages are copied before a program of the same cells begins that could spoil them: one
    /// program more for each upper page. Without, a power cut may lose data that a flush has made
    /// durable (`chip.fault.paired_page_loss`).
    pub backup: bool,
}

impl Default for RecoveryConfig {
    fn default() -> Self {
        Self { backup: true }
    }
}

/// A block at start-up, as far as it matters which of its pages are read.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Pages of data that were programmed since the erase.
    pub pages: u32,
    /// Pages of data that the block has in all.
    pub most: u32,
    /// Whether the last program of the block was cut off.
    pub is_torn: bool,
    /// Whether the block may have been written to since the last checkpoint.
    pub is_new: bool,
    /// Whether the block was full of data at the last checkpoint.
    pub was_full: bool,
}

/// Pages of a block that a start-up reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// No page: a checkpoint has the contents.
    Nothing,
    /// One page, which shows that the block is erased.
    Once,
    /// The summary behind its data.
    Summary,
    /// Each page from the first on, and the first that is not programmed.
    Pages,
    /// Each page whose owners no journal tells, and the first that is not programmed.
    Unnoted,
    /// The place of the summary, which has none yet, and then each page.
    SummaryAndPages,
}

/// Builds a recovery from its checked parameters.
pub type Build = fn(&Table) -> Result<Box<dyn Recovery>>;

/// How a drive finds its data after a power cut.
///
/// Promises: of a block that the drive has written to since its last checkpoint, or that has no
/// summary, every programmed page is looked at, unless the journal tells its owners; so after all
/// looks the drive knows the owner and the sequence number of each unit on its flash.
pub trait Recovery: Send {
    /// Whether a drive can start up with what it writes.
    fn can_recover(&self) -> bool {
        true
    }

    /// Whether each block that is full has a summary of its pages behind them.
    fn has_summaries(&self) -> bool {
        false
    }

    /// Units that the host writes between two checkpoints; 0 without checkpoints.
    fn checkpoint_units(&self) -> u64 {
        0
    }

    /// Bytes that the journal of the map takes for each unit that is programmed; 0 without a
    /// journal.
    fn entry_bytes(&self) -> u32 {
        0
    }

    /// Pages of a block that a start-up reads.
    fn look(&self, seen: &Seen) -> Look;
}
