//! Reads of pages: what is read, for whom, and the round in which it is read again.

use super::Job;
use nand::geometry::Ppn;

/// Owner of a read, who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOwner {
    /// Host request, by its slot.
    Request(u32),
    /// A buffer slot that holds part of a unit.
    Fill(u32),
    /// An internal job, which moves what is read.
    Job(Job),
    /// Requests that wait for a page of the map, by the number of the list that they wait in.
    Map(u32),
    /// Start-up of the drive, which scans the flash.
    Scan,
    /// Patrol, which reads pages to find errors.
    Patrol,
    /// A read that is rebuilt from other pages of its stripe, by the number of the rebuild.
    Rebuild(u32),
    /// The read cache, which reads ahead of a sequence.
    Ahead,
    /// A read that this one is a further part of: a soft read has two.
    PartOf(u32),
}

/// Read of units that lie side by side in a page.
#[derive(Debug, Clone, Copy)]
pub struct PageRead {
    /// Owner that waits for the read.
    pub owner: ReadOwner,
    /// Place of the first unit.
    pub ppn: Ppn,
    /// Logical number of the first unit; for the host the others follow it.
    pub lpn: u32,
    /// Number of units that are read.
    pub units: u32,
    /// Codewords that the units lie in.
    pub words: u32,
    /// Codewords that have failed so far: a list of the reader's failed words.
    pub failed: u32,
    /// Number of decodings of this page that have failed.
    pub attempt: u8,
    /// Soft reads that the decoder has after this read; 0 for a hard read.
    pub level: u8,
    /// Array reads before each transfer: two are combined in the chip.
    pub senses: u8,
    /// The die keeps the data for a program that copies them.
    pub is_kept: bool,
    /// Shift of the references, in volts.
    pub shift_v: f32,
    /// Bit error rate of the best hard read.
    pub rber: f64,
}

impl PageRead {
    /// First read of `units` units from `ppn` on, which lie in `words` codewords.
    #[inline]
    pub fn first(owner: ReadOwner, ppn: Ppn, lpn: u32, units: u32, words: u32) -> Self {
        Self {
            owner,
            ppn,
            lpn,
            units,
            words,
            failed: u32::MAX,
            attempt: 0,
            level: 0,
            senses: 1,
            is_kept: false,
            shift_v: 0.0,
            rber: 0.0,
        }
    }

    /// Whether a patrol has asked for the read.
    #[inline]
    pub(crate) fn is_patrol(&self) -> bool {
        self.owner == ReadOwner::Patrol
    }
}
