//! Policies of reads around busy dies: for which work of its die a read is rebuilt instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work of its die that a read of the host goes around: it reads the other pages of its stripe
/// instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ReadAround {
    /// Reads wait for their die, whatever it does.
    #[default]
    Never,
    /// Reads go around erases, and reads and programs of moved data.
    Collection,
    /// Reads go around whatever keeps them waiting, programs of the host and other reads included.
    Busy,
}

impl ReadAround {
    /// Whether all reads wait for their dies.
    pub(crate) fn is_never(self) -> bool {
        self == Self::Never
    }
}
