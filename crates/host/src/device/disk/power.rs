//! Power of a disk: its cuts, and the state found after start-up.

use super::Disk;
use super::Record;
use crate::device::contents::Left;
use base::Result;
use ssd::{Cut, Losses, Started};

/// State of a disk's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// Power is on: requests are taken.
    On,
    /// Power is off after a cut.
    Off,
    /// Power is back, and the drive is starting up.
    StartingUp,
}

/// A power cut and the start-up after it.
#[derive(Debug, Clone, Copy)]
pub struct CutTold {
    /// Buffered data and torn operations at the cut.
    pub losses: Losses,
    /// Requests of clients that were not answered.
    pub requests: u64,
    /// The start-up, and the units reverted by it; `None` until it is over.
    pub started: Option<(Started, Left)>,
}

impl Power {
    /// Name of the state in the server's status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::StartingUp => "starting up",
        }
    }
}

impl Disk {
    /// State of the power.
    pub fn power(&self) -> Power {
        self.power
    }

    /// Power cuts so far, the oldest first.
    pub fn cuts(&self) -> &[CutTold] {
        &self.cuts
    }

    /// Cuts the power: requests under way are not answered any more. Refuses a drive without
    /// recovery, and one that is off.
    pub fn cut(&mut self) -> Result<()> {
        self.note_open_blocks();
        let Cut { losses, .. } = self.run().cut_served()?;
        self.follow();
        self.contents.cut();
        self.record.iter_mut().for_each(Record::cut);
        let requests = self.under_way as u64;
        self.cuts.push(CutTold { losses, requests, started: None });
        (self.power, self.under_way) = (Power::Off, 0);
        self.pending.clear();
        self.free.clear();
        self.answered.clear();
        self.version = self.session.run.ssd.latest_version();
        Ok(())
    }

    /// Restores the power: the drive starts up, and takes requests once it has. Refuses a drive
    /// whose power has not been cut.
    pub fn restore(&mut self) -> Result<()> {
        let config = self.session.loaded.config.clone();
        self.run().ssd.power_on(&config)?;
        self.power = Power::StartingUp;
        // Without a clock the drive is ready at once.
        while self.clock.is_none() && self.power == Power::StartingUp {
            self.step()?;
        }
        Ok(())
    }

    /// Ends the start-up: bytes are set to the versions that the drive has found.
    pub(super) fn started(&mut self) {
        self.power = Power::On;
        let ssd = &self.session.run.ssd;
        let found = |unit| ssd.stored_version(unit);
        let left = self.contents.settle(found).unwrap_or_else(|error| {
            (self.failure, self.has_lost_bytes) = (Some(error), true);
            Left::default()
        });
        self.look_for_lost_units();
        let started = self.session.run.ssd.started().copied().unwrap_or_default();
        if let Some(told) = self.cuts.last_mut() {
            told.started = Some((started, left));
        }
    }
}

#[cfg(test)]
mod tests;
