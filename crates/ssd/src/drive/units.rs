//! Mapping units of the drive: their number, and the unit of a byte.

use crate::ftl::Lpn;
use std::ops::Range;

/// Mapping units of a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    logical: u32,
    pub(super) bytes: u64,
    /// Binary logarithm of `bytes`, if that is a power of two: every request asks for its units
    /// several times.
    shift: Option<u32>,
}

impl Units {
    /// Creates `logical` units of `bytes` bytes each.
    pub(super) fn new(logical: u32, bytes: u32) -> Self {
        let shift = bytes.is_power_of_two().then(|| bytes.trailing_zeros());
        Self { logical, bytes: bytes.into(), shift }
    }

    /// The unit that holds a byte.
    #[inline]
    pub(super) fn at(&self, byte: u64) -> u64 {
        match self.shift {
            Some(shift) => byte >> shift,
            None => byte / self.bytes,
        }
    }

    /// Unit that holds a byte; `None` beyond the end of the drive.
    #[inline]
    pub(super) fn lpn_at(&self, byte: u64) -> Option<Lpn> {
        let unit = self.at(byte);
        (unit < u64::from(self.logical)).then_some(Lpn(unit as u32))
    }

    /// Whether a unit is the host's, and no page of the map.
    #[inline]
    pub(super) fn has(&self, lpn: Lpn) -> bool {
        lpn.0 < self.logical
    }

    /// The bytes of a unit.
    pub(crate) fn bytes_of(&self, unit: u32) -> Range<u64> {
        let start = u64::from(unit) * self.bytes;
        start..start + self.bytes
    }

    /// Bytes of all units together.
    #[inline]
    pub(super) fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical) * self.bytes
    }
}
