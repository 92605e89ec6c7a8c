//! Conformance of FTLs: storms that hold one to the promises of its contract, for members of the
//! roster and for FTLs of one's own.
//!
//! `tally` is an account of the calls of an FTL, kept from its answers alone. `batches` writes
//! through it without time, `interleaving` lets what is under way end in any order, and `storm`
//! sends requests to a whole drive and compares each read with what was written; `power` cuts its
//! power, and holds what is left against what flushes have promised (`durable`). A broken promise
//! is an error. FTLs that can give dies back do so in between (`withdrawn`); stripes with parity
//! are looked at (`parity`).

pub mod batches;
mod drives;
mod durable;
pub mod interleaving;
mod parity;
pub mod power;
pub mod storm;
pub mod tally;
mod withdrawn;

pub use crate::config::{SMALL, small_config};

use crate::Ssd;
use crate::ftl::Ftl;
use crate::ftl::contract::Account;
use crate::ftl::own::OwnFtl;
use base::{Error, Result};
use batches::Batches;
use drives::SHAPES;
use interleaving::Interleaving;
use serde::Serialize;
use storm::Storm;
use tally::Tally;

/// Work that an FTL has gone through in a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Drives of different shapes.
    pub drives: u64,
    /// Requests of the host, in storms with time.
    pub requests: u64,
    /// Units that the host has written in storms without time.
    pub host_units: u64,
    /// Units that collection has moved.
    pub moved_units: u64,
    /// Blocks of the chips that were erased.
    pub erases: u64,
}

/// A check of an FTL of one's own, part by part.
pub struct Check {
    own: OwnFtl,
    /// Assignments for all drives.
    sets: Vec<String>,
    storms: u64,
    /// Parts that are done.
    done: u64,
    passed: Passed,
}

/// Keys that an error names where a drive has too little spare.
pub const SPARE: [&str; 3] =
    ["ftl.overprovisioning", "chip.geometry.blocks_per_plane", "age.pe_cycles"];

/// Rounds of batches, steps of interleaving and requests of a storm.
const ROUNDS: u32 = 400;
const STEPS: u32 = 1000;
const REQUESTS: u64 = 4000;

impl Check {
    /// Creates a check in `storms` storms of each kind on each drive; `sets` are laid over the
    /// parameters of the drives.
    pub fn new(own: OwnFtl, sets: &[String], storms: u64) -> Result<Self> {
        small_config(sets)?;
        Ok(Self { own, sets: sets.to_vec(), storms, done: 0, passed: Passed::default() })
    }

    /// Work that the FTL has gone through so far.
    pub fn passed(&self) -> &Passed {
        &self.passed
    }

    /// Does the next part of the check. Returns whether the check is over.
    pub fn advance(&mut self) -> Result<bool> {
        let (storm, part) = (self.done / 3, self.done % 3);
        let shapes = SHAPES.len() as u64;
        if storm >= self.storms * shapes {
            return Ok(true);
        }
        let seed = storm / shapes;
        match part {
            0 => self.batches(seed, SHAPES[(storm % shapes) as usize])?,
            1 => self.storm(seed, SHAPES[(storm % shapes) as usize])?,
            _ => self.interleaving(storm)?,
        }
        self.done += 1;
        Ok(self.done >= 3 * self.storms * shapes)
    }

    /// The assignments of a drive: its own below those for all.
    fn laid(&self, shape: &[&str]) -> Vec<String> {
        // A parameter of a member of the roster is none of this FTL.
        let is_there = |set: &&&str| {
            let key = set.strip_prefix("ftl.").and_then(|set| set.split('=').next());
            key.is_none_or(|key| self.own.has_parameter(key))
        };
        shape
            .iter()
            .filter(is_there)
            .map(ToString::to_string)
            .chain(self.sets.iter().cloned())
            .collect()
    }

    fn tally(&self, sets: &[String]) -> Result<Tally> {
        Tally::new(&small_config(sets)?.with_own_ftl(self.own.clone())?)
    }

    fn book(&mut self, ftl: &mut dyn Ftl) {
        let counts = ftl.counts();
        self.passed.host_units += counts.host_units;
        self.passed.moved_units += counts.moved_units;
        self.passed.erases += counts.reclaimed_blocks + counts.retired_blocks;
    }

    fn batches(&mut self, seed: u64, shape: &[&str]) -> Result<()> {
        let mut batches = Batches::new(self.tally(&self.laid(shape))?, seed);
        self.passed.drives += 1;
        batches.rounds(ROUNDS)?;
        if batches.ftl.counts().reclaimed_blocks == 0 {
            let problem = format!("no block was erased in {ROUNDS} rounds of writes");
            return Err(Error::new(&self.own.name, problem)
                .expected("victims: dead units must be given back"));
        }
        self.book(&mut batches.ftl);
        // A run begins on what is there.
        batches.ftl.start_run(Some(70));
        batches.check()?;
        batches.rounds(ROUNDS / 2)?;
        self.book(&mut batches.ftl);
        Ok(())
    }

    fn storm(&mut self, seed: u64, shape: &[&str]) -> Result<()> {
        let config = small_config(&self.laid(shape))?.with_own_ftl(self.own.clone())?;
        let mut storm = Storm::new(Ssd::new(&config, 1 << 30)?, seed);
        self.passed.drives += 1;
        storm.run(REQUESTS)?;
        self.passed.requests += REQUESTS;
        let counts = storm.ssd.ftl_counts();
        self.passed.moved_units += counts.moved_units;
        self.passed.erases += counts.reclaimed_blocks + counts.retired_blocks;
        Ok(())
    }

    fn interleaving(&mut self, seed: u64) -> Result<()> {
        let build = |sets: &[String]| {
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            self.tally(&self.laid(&sets))
        };
        let Some(trial) = Interleaving::new(seed, build)? else { return Ok(()) };
        self.passed.drives += 1;
        let (outcome, ftl) = trial.run(STEPS)?;
        self.passed.erases += outcome.erases;
        self.passed.host_units += ftl.counts().host_units;
        self.passed.moved_units += ftl.counts().moved_units;
        Ok(())
    }
}
