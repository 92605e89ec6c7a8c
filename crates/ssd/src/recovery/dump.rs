//! Dump: what a drive whose buffer is power-protected writes to its log after the power is gone.
//!
//! The data that the buffer keeps, and words of the FTL for what no page on flash tells. They are
//! written with a table of the units without data, and take the place of older records. The next
//! start-up reads them with the log.

/// A unit of the buffer: its number, the number of its data, and its version where tests keep
/// versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DumpedUnit {
    pub unit: u32,
    pub sequence: u64,
    pub version: u64,
}

/// The dump on flash.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dump {
    /// Units of the buffer, in the order in which they lay there.
    pub units: Vec<DumpedUnit>,
    /// Words of the FTL.
    pub words: Vec<u64>,
}

impl Dump {
    /// Bytes of a dump of `units` units of `unit_bytes` bytes, each with its number and that of its
    /// data, and of `words` words.
    pub(crate) fn bytes(units: u64, unit_bytes: u32, words: u64) -> u64 {
        units * (u64::from(unit_bytes) + 12) + 8 * words
    }
}
