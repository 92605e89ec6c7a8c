//! Partial stripes: where the parity of rows stands that are not whole yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parity of stripes that lack rows: in the memory of the controller, or written early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PartialStripes {
    /// The memory of the controller holds parity until its stripe is full of data. Capacitors
    /// (`drive.capacitors`) write it in a power cut; without them a cut loses it.
    #[default]
    Memory,
    /// The rows that stripes lack are written without data, and parity with them, before a flush is
    /// answered, before a write that must be on flash is, and before flash is erased. A die that
    /// fails with a power cut loses no flushed data then.
    Written,
}

impl PartialStripes {
    /// Whether parity is written before its stripe is full of data.
    pub(crate) fn is_written(self) -> bool {
        self == Self::Written
    }

    /// Whether parity waits in memory, as by default.
    pub(super) fn is_memory(&self) -> bool {
        *self == Self::Memory
    }
}
