//! Names of what an FTL is asked about: units, keys, frontiers and jobs.

use nand::geometry::Die;
use serde::{Deserialize, Serialize};

/// A logical unit. Units from `logical_units` on are the FTL's own: pages of its map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

impl Lpn {
    /// No unit: a slot of a program that is left empty.
    pub const HOLE: Self = Self(u32::MAX);
}

/// The write frontier that a program belongs to: programs of one frontier reach the die in the
/// order in which they were placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub u8);

impl Stream {
    /// Data moved by internal jobs, in separate blocks.
    pub const GC: Self = Self(0);
    /// Map pages, in separate blocks.
    pub const MAP: Self = Self(u8::MAX);

    /// Data that wear levelling moves, in separate blocks.
    pub const COLD: Self = Self(u8::MAX - 1);
    /// Records that the drive itself writes, in blocks of its log.
    pub const LOG: Self = Self(u8::MAX - 2);

    /// Data written by the host under key `key`, in blocks that the host writes to.
    pub const fn host(key: u8) -> Self {
        Self(1 + key)
    }

    /// Whether the frontier's blocks are those of internal jobs.
    pub const fn is_internal(self) -> bool {
        self.0 == Self::GC.0 || self.0 == Self::MAP.0 || self.0 == Self::COLD.0
    }
}

/// Hint of the host about data that it writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// Stream of the data, which die together; 0 where the host says nothing.
    pub stream: u8,
    /// Somebody waits for the write to end.
    pub is_urgent: bool,
}

/// Key by which the write buffer gathers units into rows: a stream, a logical block, a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub u32);

/// Most keys for which the controller knows room by key: see [`Place::NoRoom`].
pub const MOST_STREAMS: u32 = 16;

/// Internal job, by number: the job of die `d` has number `d`, and jobs that belong to no die have
/// the numbers above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job(pub u32);

impl Job {
    /// Job of a die: its collection.
    pub const fn of(die: Die) -> Self {
        Self(die.0)
    }
}
