//! Dies that have failed in use: what they held is rebuilt from the other dies of its stripes.
//!
//! From then on the die answers nothing. Reads of it are rebuilt, what was being programmed is
//! programmed elsewhere, and the FTL moves the rest of its data to the other dies in the
//! background, superblock by superblock.

use crate::conflicts::Feature;
use crate::drive::Ssd;
use crate::drive::wakes::Wake;
use base::archive::{Archive, State};
use base::{Error, Result, Time};
use nand::geometry::Die;

/// A die that has failed, and the end of its rebuilding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedDie {
    /// Die that has failed.
    pub die: Die,
    /// Time of the failure.
    pub failed_at: Time,
    /// Time from which on no newest data are on the die; `None` before.
    pub rebuilt_at: Option<Time>,
}

/// Dies of a drive that have failed.
#[derive(Clone)]
pub(in crate::drive) struct FailedDies {
    all: Vec<FailedDie>,
    /// Pages of parity in a stripe: as many dies may lack their pages.
    parity: u32,
}

impl FailedDies {
    /// Dies of a drive with so many pages of parity in a stripe, none of which has failed.
    pub(in crate::drive) fn new(parity: u32) -> Self {
        Self { all: Vec::new(), parity }
    }

    /// Whether a die has failed.
    #[inline]
    pub(in crate::drive) fn has(&self, die: Die) -> bool {
        !self.all.is_empty() && self.all.iter().any(|failed| failed.die == die)
    }

    /// Whether no die has failed.
    #[inline]
    pub(in crate::drive) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Lists the dies that have failed.
    pub(in crate::drive) fn list(&self) -> Vec<Die> {
        self.all.iter().map(|failed| failed.die).collect()
    }

    /// Pages of parity in a stripe.
    pub(in crate::drive) fn parity(&self) -> u32 {
        self.parity
    }

    /// Whether data of a failed die are still to be rebuilt.
    #[inline]
    pub(in crate::drive) fn any_holds_data(&self) -> bool {
        self.all.iter().any(|failed| failed.rebuilt_at.is_none())
    }

    /// Begins time anew: the dies have failed before.
    pub(in crate::drive) fn restart_clock(&mut self) {
        for failed in &mut self.all {
            failed.failed_at = Time::ZERO;
            failed.rebuilt_at = failed.rebuilt_at.map(|_| Time::ZERO);
        }
    }
}

impl State for FailedDies {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut all: Vec<(u32, bool)> =
            self.all.iter().map(|failed| (failed.die.0, failed.rebuilt_at.is_some())).collect();
        archive.value(&mut all)?;
        if archive.is_loading() {
            let failed_at = Time::ZERO;
            let failed = |(die, is_rebuilt): (u32, bool)| {
                let rebuilt_at = is_rebuilt.then_some(Time::ZERO);
                FailedDie { die: Die(die), failed_at, rebuilt_at }
            };
            self.all = all.into_iter().map(failed).collect();
        }
        Ok(())
    }
}

impl Ssd {
    /// Refuses the failure of a die that this drive would not survive.
    pub fn check_fail_die(&self, die: Die) -> Result<()> {
        if die.0 >= self.dies() {
            return Err(Error::new("fail_die", format!("die {} does not exist", die.0))
                .expected(format!("0 to {}", self.dies() - 1)));
        }
        self.check_asked(Feature::DieFailure)?;
        if self.failed_dies.has(die) {
            return Err(Error::new("fail_die", format!("die {} has failed already", die.0)));
        }
        self.check_records_without(die)?;
        self.ftl.parity().map_or(Ok(()), |parity| parity.can_lose(die))
    }

    /// Lets a die fail now, or while the drive has no power or starts up. Refuses what the drive
    /// would not survive.
    pub fn fail_die(&mut self, die: Die) -> Result<()> {
        self.check_fail_die(die)?;
        let failed = FailedDie { die, failed_at: self.now(), rebuilt_at: None };
        self.failed_dies.all.push(failed);
        self.lose_records(die);
        if self.power.as_ref().is_some_and(|power| !power.is_rebuilt) {
            // The start-up tells the FTL, once this knows what there is.
            self.look_at_stripes();
            return Ok(());
        }
        if let Some(parity) = self.ftl.parity_mut() {
            parity.lose(die);
        }
        self.look_at_failed_dies();
        self.wakes.collect(die);
        self.wakes.wake(Wake::Jobs);
        self.wakes.wake(Wake::Rows);
        self.settle_wakes();
        Ok(())
    }

    /// Dies that have failed, in the order of their failures.
    pub fn failed_dies(&self) -> &[FailedDie] {
        &self.failed_dies.all
    }

    /// Notes the failed dies that hold no data any more.
    #[cold]
    pub(in crate::drive) fn look_at_failed_dies(&mut self) {
        let now = self.now();
        let is_known = self.power.as_ref().is_none_or(|power| power.is_rebuilt);
        let Self { failed_dies, ftl, .. } = self;
        let Some(parity) = ftl.parity().filter(|_| is_known) else { return };
        for failed in failed_dies.all.iter_mut().filter(|failed| failed.rebuilt_at.is_none()) {
            failed.rebuilt_at = (!parity.holds_data(failed.die)).then_some(now);
        }
    }
}
