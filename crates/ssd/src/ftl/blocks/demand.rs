//! Demand: how many sets or superblocks wait for a virtual block.
//!
//! An asker asks again and again, and counts once in an epoch. When room has come free another
//! epoch begins: all that wait ask again then.

use base::Result;
use base::archive::{Archive, State};

/// Askers that wait for a virtual block, each counted once in an epoch.
#[derive(Clone)]
pub struct Demand {
    /// By asker: the epoch in which it last asked.
    asked: Vec<u32>,
    epoch: u32,
    /// Askers that have asked in the present epoch.
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
    /// Creates a demand of `askers` askers, none of which waits.
    pub fn new(askers: u32) -> Self {
        Self { asked: vec![0; askers as usize], epoch: 1, waiting: 0 }
    }

    /// Number of askers that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Counts an asker as waiting. Returns how many wait.
    pub fn ask(&mut self, asker: u32) -> u32 {
        let asked = &mut self.asked[asker as usize];
        if std::mem::replace(asked, self.epoch) != self.epoch {
            self.waiting += 1;
        }
        self.waiting
    }

    /// Begins another epoch: all that wait ask again.
    pub fn begin_anew(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.waiting = 0;
    }

    /// Bytes of the table of askers.
    pub fn bytes(&self) -> usize {
        4 * self.asked.len()
    }
}
