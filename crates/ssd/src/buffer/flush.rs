//! Flushes: requests that wait until all earlier data of the buffer are on flash.
//!
//! A flush closes an *epoch*. Every buffer slot belongs to the epoch in which it was taken, and a
//! flush is done when no slot of its epoch or an earlier one is left.

use std::collections::VecDeque;

/// Epochs and the flushes that closed them.
#[derive(Debug)]
pub struct Flushes {
    /// Number of the first epoch in `held`.
    first: u32,
    /// Slots held of each epoch that is not over, the current one last.
    held: VecDeque<u32>,
    /// Requests that closed the epochs, in order: one for each epoch but the current.
    waiting: VecDeque<u32>,
}

impl Default for Flushes {
    fn default() -> Self {
        Self { first: 0, held: VecDeque::from([0]), waiting: VecDeque::new() }
    }
}

impl Flushes {
    /// Notes that a slot was taken, and returns its epoch.
    #[inline]
    pub fn hold(&mut self) -> u32 {
        let last = self.held.len() - 1;
        self.held[last] += 1;
        self.first.wrapping_add(last as u32)
    }

    /// A slot of `epoch` was freed.
    #[inline]
    pub fn release(&mut self, epoch: u32) {
        self.held[epoch.wrapping_sub(self.first) as usize] -= 1;
    }

    /// A flush request closes the current epoch.
    pub fn wait(&mut self, request: u32) {
        self.waiting.push_back(request);
        self.held.push_back(0);
    }

    /// Whether no slot is held and no flush waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.held[0] == 0
    }

    /// Whether a flush request waits.
    #[inline]
    pub fn waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Next flush request that is done; returns each once.
    #[inline]
    pub fn ready(&mut self) -> Option<u32> {
        if self.waiting.is_empty() || self.held[0] > 0 {
            return None;
        }
        self.held.pop_front();
        self.first = self.first.wrapping_add(1);
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_its_own_and_earlier_epochs_only() {
        let mut flushes = Flushes::default();
        let a = flushes.hold();
        flushes.wait(7);
        let b = flushes.hold();
        flushes.wait(8);
        let c = flushes.hold();
        assert_eq!(flushes.ready(), None);
        flushes.release(b);
        assert_eq!(flushes.ready(), None);
        flushes.release(a);
        assert_eq!(flushes.ready(), Some(7));
        assert_eq!(flushes.ready(), Some(8));
        assert_eq!(flushes.ready(), None);
        assert!(!flushes.waiting());
        flushes.release(c);
    }
}
