//! Further reads of a page whose decoding has failed: other references, or soft reads.

/// Further round of reading a page, after a failed decode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// Soft reads that the decoder has after this round, this one included. 0 is a hard read, which
    /// takes the place of the one before it if it is better.
    pub level: u8,
    /// Transfers, each with its own array reads and each scheduled by itself; the decoder starts
    /// when the last has arrived.
    pub transfers: u8,
    /// Array reads before each transfer: the results of two are combined in the chip.
    pub senses: u8,
    /// Hard reads: shift of the page's references, in volts. (References of soft reads lie on
    /// either side of those of the best hard read.)
    pub shift_v: f64,
}

impl Reread {
    /// A hard read with the references moved.
    pub fn hard(shift_v: f64) -> Self {
        Self { level: 0, transfers: 1, senses: 1, shift_v }
    }

    /// Soft read `level`: two reads, transferred each by itself.
    pub fn soft(level: u8) -> Self {
        Self { level, transfers: 2, senses: 1, shift_v: 0.0 }
    }

    /// Soft read `level`: two reads, combined in the chip and transferred once.
    pub fn combined(level: u8) -> Self {
        Self { level, transfers: 1, senses: 2, shift_v: 0.0 }
    }
}
