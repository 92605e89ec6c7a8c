//! Demand: how many superblocks wait for an update block.
//!
//! Each asks again and again, and counts once in an epoch. With each erase another epoch begins.

use base::Result;
use base::archive::{Archive, State};

/// Those that wait.
#[derive(Clone)]
pub(super) struct Demand {
    /// By superblock: the epoch in which it last asked.
    asked: Vec<u32>,
    epoch: u32,
    /// How many have asked in this one.
    waiting: u32,
}

impl State for Demand {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { asked, epoch, waiting } = self;
        archive.table(asked)?;
        archive.value(epoch)?;
        archive.value(waiting)
    }
}

impl Demand {
    /// Of so many superblocks none waits.
    pub(super) fn new(superblocks: u32) -> Self {
        Self { asked: vec![0; superblocks as usize], epoch: 1, waiting: 0 }
    }

    /// A superblock waits: how many do.
    pub(super) fn ask(&mut self, superblock: u32) -> u32 {
        let asked = &mut self.asked[superblock as usize];
        if std::mem::replace(asked, self.epoch) != self.epoch {
            self.waiting += 1;
        }
        self.waiting
    }

    /// All that wait ask again.
    pub(super) fn begin_anew(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.waiting = 0;
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        4 * self.asked.len()
    }
}
