//! Power of a disk: its cuts, and what it finds when it has started up again.

use super::Disk;
use crate::device::contents::Left;
use base::Result;
use ssd::{Cut, Started};

/// Whether a disk has power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// It takes requests.
    On,
    /// Its power was cut.
    Off,
    /// It starts up after that.
    StartingUp,
}

/// A power cut, and what came after it.
#[derive(Debug, Clone, Copy)]
pub struct CutTold {
    /// What it took of the drive.
    pub cut: Cut,
    /// Requests of clients that were not answered.
    pub requests: u64,
    /// The start-up and what it has found, once it is over.
    pub started: Option<(Started, Left)>,
}

impl Power {
    /// Its name in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::StartingUp => "starting up",
        }
    }
}

impl Disk {
    /// Whether it has power.
    pub fn power(&self) -> Power {
        self.power
    }

    /// Its power cuts.
    pub fn cuts(&self) -> &[CutTold] {
        &self.cuts
    }

    /// Cuts the power: nothing that is under way is answered any more. Refuses a drive without
    /// recovery, and one that is off.
    pub fn cut(&mut self) -> Result<()> {
        let cut = self.run().cut_served()?;
        self.follow();
        self.contents.cut();
        let requests = self.under_way as u64;
        self.cuts.push(CutTold { cut, requests, started: None });
        (self.power, self.under_way) = (Power::Off, 0);
        self.pending.clear();
        self.free.clear();
        self.answered.clear();
        self.version = self.session.run.ssd.latest_version();
        Ok(())
    }

    /// Gives it its power back: it starts up, and takes requests once it has. Refuses a drive
    /// whose power has not been cut.
    pub fn restore(&mut self) -> Result<()> {
        let config = self.session.loaded.config.clone();
        self.run().ssd.power_on(&config)?;
        self.power = Power::StartingUp;
        // Without a clock it is ready at once.
        while self.clock.is_none() && self.power == Power::StartingUp {
            self.step()?;
        }
        Ok(())
    }

    /// It has started up: its bytes are those that it has found.
    pub(super) fn started(&mut self) {
        self.power = Power::On;
        let ssd = &self.session.run.ssd;
        let found = |unit| ssd.stored_version(unit);
        let left = self.contents.settle(found).unwrap_or_else(|error| {
            (self.failure, self.has_lost_bytes) = (Some(error), true);
            Left::default()
        });
        let started = self.session.run.ssd.started().copied().unwrap_or_default();
        if let Some(told) = self.cuts.last_mut() {
            told.started = Some((started, left));
        }
    }
}

#[cfg(test)]
mod tests;
