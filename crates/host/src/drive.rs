//! A drive without a host: built from its parameters, brought into a state, aged, cloned, and lent
//! to one run after another.

use crate::config::Loaded;
use base::units::Hours;
use base::{Error, Result};
use ssd::Ssd;
use ssd::precondition::{Precondition, Preconditioning};

/// A drive, between runs.
pub struct Drive {
    /// The configuration that it was built from.
    pub loaded: Loaded,
    memory_limit: u64,
    ssd: Ssd,
    life: Life,
}

/// History of a drive: its preconditioning, and whether a run has begun on it.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) preconditioning: Preconditioning,
    /// A run has begun on it: what the chips hold is what it has left.
    has_run: bool,
}

impl Life {
    /// Begins a run.
    pub(crate) fn start(&mut self, ssd: &mut Ssd, pe_cycles: u32) {
        if std::mem::replace(&mut self.has_run, true) {
            ssd.start_again();
        } else {
            ssd.start(pe_cycles);
        }
    }
}

impl Drive {
    /// Builds the drive of `loaded`, within `memory_limit` bytes; it is empty.
    pub fn new(loaded: Loaded, memory_limit: u64) -> Result<Self> {
        let config = &loaded.config;
        let ssd = Ssd::new(config, memory_limit).map_err(|error| loaded.explain(error))?;
        let preconditioning = Preconditioning::new(Precondition::None, ssd.dies(), config.seed);
        let life = Life { preconditioning, has_run: false };
        Ok(Self { loaded, memory_limit, ssd, life })
    }

    /// Begins to bring a drive into a state; `advance_precondition` does it. Refuses where there
    /// has been a run, or it was preconditioned before.
    pub fn precondition(&mut self, goal: Precondition) -> Result<()> {
        if self.life.has_run || self.ssd.occupancy().mapped > 0 {
            let problem = "this drive has been written to";
            return Err(Error::new("precondition", problem).allow("a new drive, or its clone"));
        }
        let seed = self.loaded.config.seed;
        self.life.preconditioning = Preconditioning::new(goal, self.ssd.dies(), seed);
        Ok(())
    }

    /// Does a part of the preconditioning: whether it is finished.
    pub fn advance_precondition(&mut self) -> Result<bool> {
        self.life.preconditioning.advance(self.ssd.ftl_mut())?;
        Ok(self.life.preconditioning.is_done())
    }

    /// Units written by preconditioning, and the least that will be.
    pub fn precondition_progress(&mut self) -> (u64, u64) {
        self.life.preconditioning.progress(self.ssd.ftl_mut())
    }

    /// Lets `hours` pass at once: all that is stored is older by them. Refuses negative hours and
    /// more than a device can count.
    pub fn age(&mut self, hours: f64) -> Result<()> {
        const MOST: f64 = 8766.0 * 100.0;
        if !(0.0..=MOST).contains(&hours) {
            let problem = format!("{hours} hours");
            return Err(Error::new("age.hours", problem).allow(format!("0 to {MOST:.0}")));
        }
        if !self.life.has_run {
            // Until the first run the chips have not been told what they hold.
            self.life.start(&mut self.ssd, self.loaded.config.age.pe_cycles);
        }
        self.ssd.age(Hours(hours));
        Ok(())
    }

    /// The same drive once more. Refuses while anything is under way in it.
    pub fn twin(&self) -> Result<Self> {
        let ssd = self.ssd.twin(&self.loaded.config, self.memory_limit)?;
        let (loaded, life) = (self.loaded.clone(), self.life.clone());
        Ok(Self { loaded, memory_limit: self.memory_limit, ssd, life })
    }

    /// Bytes that a host sees.
    pub fn capacity_bytes(&self) -> u64 {
        self.ssd.capacity_bytes()
    }

    /// The drive itself, for whoever sends it requests.
    pub fn ssd(&mut self) -> &mut Ssd {
        &mut self.ssd
    }

    pub(crate) fn into_parts(self) -> (Loaded, u64, Ssd, Life) {
        (self.loaded, self.memory_limit, self.ssd, self.life)
    }

    /// The drive that a run gives back: at time zero again, ready for another.
    pub(crate) fn from_run(
        loaded: Loaded,
        memory_limit: u64,
        ssd: &Ssd,
        life: Life,
    ) -> Result<Self> {
        let ssd = ssd.twin(&loaded.config, memory_limit)?;
        Ok(Self { loaded, memory_limit, ssd, life })
    }
}
