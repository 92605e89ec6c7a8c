//! Demand: how many wait for a virtual block.
//!
//! Each asks again and again, and counts once in an epoch. When room has come free another epoch
//! begins: all that wait ask again then.

use base::Result;
use base::archive::{Archive, State};

/// Those that wait.
#[derive(Clone)]
pub struct Demand {
    /// By asker: the epoch in which it last asked.
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
    /// Of so many askers none waits.
    pub fn new(askers: u32) -> Self {
        Self { asked: vec![0; askers as usize], epoch: 1, waiting: 0 }
    }

    /// How many wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// One waits: how many do.
    pub fn ask(&mut self, asker: u32) -> u32 {
        let asked = &mut self.asked[asker as usize];
        if std::mem::replace(asked, self.epoch) != self.epoch {
            self.waiting += 1;
        }
        self.waiting
    }

    /// All that wait ask again.
    pub fn begin_anew(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.waiting = 0;
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        4 * self.asked.len()
    }
}
