//! Exchange of a die while the drive is in use (Hachiya et al., SSDM'13, section 4).
//!
//! The die is withdrawn: it takes no new data, and what it holds is read from it until the host has
//! rewritten it or the job of the die has moved it to others. When the die is empty and no command
//! to it is under way, its chip is replaced, and it takes data again. `Way::InService` does that
//! beside the host. `Way::Suspended` is the conventional way: meanwhile no request is taken.
//!
//! `failed` has dies that fail without an order: nobody can read them any more. `pace` limits the
//! rate at which they are rebuilt.
//!
//! An order comes in, what is known of its course goes out (`course`). The swap itself takes no
//! time.

mod course;
mod failed;
mod pace;

pub use failed::FailedDie;
pub(super) use failed::FailedDies;
pub(super) use pace::Pace;

use crate::config::SsdConfig;
use crate::ftl::Job;
use base::rng::Rng;
use base::{Error, Result, Time};
use nand::fault::is_factory_bad;
use nand::geometry::Die;

/// Way in which a die is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The host goes on using the drive meanwhile.
    InService,
    /// The drive takes no requests until the exchange is done.
    Suspended,
}

impl Way {
    /// All ways of an exchange.
    pub const ALL: [Self; 2] = [Self::InService, Self::Suspended];

    /// Parses the name of a way.
    pub fn parse(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|way| way.name() == name);
        known.ok_or_else(|| Error::unknown("exchange.way", "way", name, Self::ALL.map(Self::name)))
    }

    /// Name of the way, as it is given.
    pub fn name(self) -> &'static str {
        match self {
            Self::InService => "in_service",
            Self::Suspended => "suspended",
        }
    }
}

/// An exchange, as it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Die whose chip is replaced.
    pub die: Die,
    /// Way of the exchange: in service or suspended.
    pub way: Way,
    /// Program/erase cycles of the new chip.
    pub pe_cycles: u32,
}

/// Progress and results of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// Exchange that was asked for.
    pub asked: Exchange,
    /// Time at which the exchange was asked for.
    pub asked_at: Time,
    /// Time at which the die held no data any more; `None` before.
    pub emptied_at: Option<Time>,
    /// Time at which the die had its new chip; `None` before.
    pub replaced_at: Option<Time>,
    /// Units that were moved off the die.
    pub moved_units: u64,
    /// Units whose data were lost during the exchange.
    pub lost_units: u64,
}

/// Exchanges of a drive, one at a time.
pub(in crate::drive) struct Exchanges {
    /// Last exchange, over or under way.
    last: Option<Exchanged>,
    /// Whether the last exchange is under way.
    is_on: bool,
    /// Number of exchanges so far: events of earlier ones are late.
    number: u32,
    /// Events of the drive up to the last look, and looks in a row that have seen no others.
    seen: (u64, u32),
    /// Units lost when the exchange began.
    lost_before: u64,
    /// Seed that the bad blocks of a new chip are drawn from.
    seed: u64,
    bad_fraction: f64,
}

impl Exchanges {
    pub(in crate::drive) fn new(config: &SsdConfig) -> Self {
        Self {
            last: None,
            is_on: false,
            number: 0,
            seen: (0, 0),
            lost_before: 0,
            seed: config.seed,
            bad_fraction: config.chip.geometry.bad_block_fraction,
        }
    }

    /// Whether a die is being exchanged.
    #[inline]
    pub(in crate::drive) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The die that is being exchanged.
    #[inline]
    fn die(&self) -> Option<Die> {
        if self.is_on { self.last.map(|last| last.asked.die) } else { None }
    }

    /// Whether a job empties the die that is being exchanged.
    #[inline]
    pub(in crate::drive) fn is_served_by(&self, job: Job) -> bool {
        self.is_on && self.die().map(Job::of) == Some(job)
    }

    /// Counts units that a job has moved, if it empties the die.
    #[inline]
    pub(in crate::drive) fn moved(&mut self, job: Job, units: u32) {
        if self.is_served_by(job)
            && let Some(last) = &mut self.last
        {
            last.moved_units += u64::from(units);
        }
    }

    /// By block: whether it is bad on a new chip for a die; drawn anew for each.
    fn bad_blocks(&self, die: Die, times: u32, per_die: u32) -> Vec<bool> {
        let seed = Rng::stream(self.seed, &format!("replaced/{times}")).bits();
        let first = die.0 * per_die;
        let is_bad = |block| is_factory_bad(seed, block, per_die, self.bad_fraction);
        (first..first + per_die).map(is_bad).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance of a bad block is that of the first chips, and each chip has others.
    #[test]
    fn each_new_chip_has_bad_blocks_of_its_own() {
        let config = crate::conformance::small_config(&["chip.geometry.bad_block_fraction=0.1"]);
        let exchanges = Exchanges::new(&config.unwrap());
        let drawn: Vec<Vec<bool>> =
            (0..3).map(|times| exchanges.bad_blocks(Die(1), times, 1000)).collect();
        for bad in &drawn {
            let count = bad.iter().filter(|&&bad| bad).count();
            assert!((60..140).contains(&count) && !bad[0], "{count}");
        }
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2]);
    }
}
