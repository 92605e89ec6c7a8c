//! Counts of what the controller itself has done.

/// Soft levels that are told apart.
pub const MOST_LEVELS: usize = 8;

/// Counts of the controller's own doings.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControllerCounts {
    /// Units read from the buffer.
    pub buffer_hits: u64,
    /// Units rewritten in the buffer before they were programmed.
    pub coalesced: u64,
    /// Times a write found the buffer full.
    pub stalls: u64,
    /// Units read from flash to complete a partly written one.
    pub fills: u64,
    /// Units trimmed that held data.
    pub trimmed: u64,
    /// Codewords decoded.
    pub codewords: u64,
    /// Codewords that failed at the first attempt.
    pub hard_failures: u64,
    /// Hard reads of pages again, with their references moved.
    pub retries: u64,
    /// Soft reads of pages, by level from the first.
    pub soft_reads: [u64; MOST_LEVELS],
    /// Codewords decoded again after either.
    pub further_decodes: u64,
    /// Page reads given up.
    pub uncorrectable: u64,
    /// Wrong bits of first reads.
    pub raw_bit_errors: u64,
    /// Iterations of all decodes, where the model knows of any.
    pub iterations: u64,
    /// Codewords encoded.
    pub encoded: u64,
}
