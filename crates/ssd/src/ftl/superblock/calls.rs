//! CallQueue: superblocks that take data of the host again.

/// Superblocks whose call has not been taken yet, each once.
#[derive(Clone)]
pub(super) struct CallQueue {
    is_called: Vec<bool>,
    waiting: Vec<u32>,
}

impl CallQueue {
    /// Creates an empty queue for `superblocks` superblocks.
    pub(super) fn new(superblocks: u32) -> Self {
        Self {
            is_called: vec![false; superblocks as usize],
            waiting: Vec::with_capacity(superblocks as usize),
        }
    }

    /// Calls a superblock: it takes data again.
    pub(super) fn call(&mut self, superblock: u32) {
        if !std::mem::replace(&mut self.is_called[superblock as usize], true) {
            self.waiting.push(superblock);
        }
    }

    /// Takes the next superblock that is called.
    pub(super) fn next(&mut self) -> Option<u32> {
        let superblock = self.waiting.pop()?;
        self.is_called[superblock as usize] = false;
        Some(superblock)
    }
}
