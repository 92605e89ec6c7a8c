//! Bytes that reads could not get back, for hosts that are told which: a block device.
//!
//! Ordinary runs count requests that have failed; who delivers data must know the codewords.

use std::ops::Range;

/// By request slot: the bytes of the drive that its read has asked for in vain.
#[derive(Debug)]
pub struct Unreadable {
    of_slot: Vec<Vec<Range<u64>>>,
}

impl Unreadable {
    /// Creates an empty list for each of `slots` request slots.
    pub fn new(slots: u32) -> Self {
        Self { of_slot: vec![Vec::new(); slots as usize] }
    }

    /// A request took a slot.
    pub fn submitted(&mut self, slot: u32) {
        self.of_slot[slot as usize].clear();
    }

    /// Notes bytes that a request could not read. Whole codewords are lost, so these may go beyond
    /// the bytes that it asked for.
    pub fn note(&mut self, slot: u32, bytes: Range<u64>) {
        self.of_slot[slot as usize].push(bytes);
    }

    /// Bytes that the request in `slot` could not read, in no order; parts may be named twice.
    pub fn of(&self, slot: u32) -> &[Range<u64>] {
        &self.of_slot[slot as usize]
    }
}
