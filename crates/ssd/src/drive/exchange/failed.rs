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
#[derive(Clone, Default)]
pub(in crate::drive) struct FailedDies(Vec<FailedDie>);

impl FailedDies {
    /// Whether a die has failed.
    #[inline]
    pub(in crate::drive) fn has(&self, die: Die) -> bool {
        !self.0.is_empty() && self.0.iter().any(|failed| failed.die == die)
    }

    /// Whether data of a failed die are still to be rebuilt.
    #[inline]
    pub(in crate::drive) fn any_holds_data(&self) -> bool {
        self.0.iter().any(|failed| failed.rebuilt_at.is_none())
    }

    /// Begins time anew: the dies have failed before.
    pub(in crate::drive) fn restart_clock(&mut self) {
        for failed in &mut self.0 {
            failed.failed_at = Time::ZERO;
            failed.rebuilt_at = failed.rebuilt_at.map(|_| Time::ZERO);
        }
    }
}

impl State for FailedDies {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let mut all: Vec<(u32, bool)> =
            self.0.iter().map(|failed| (failed.die.0, failed.rebuilt_at.is_some())).collect();
        archive.value(&mut all)?;
        if archive.is_loading() {
            let failed_at = Time::ZERO;
            let failed = |(die, is_rebuilt): (u32, bool)| {
                let rebuilt_at = is_rebuilt.then_some(Time::ZERO);
                FailedDie { die: Die(die), failed_at, rebuilt_at }
            };
            self.0 = all.into_iter().map(failed).collect();
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
        self.ftl.parity().map_or(Ok(()), |parity| parity.can_lose(die))
    }

    /// Lets a die fail now. Refuses what the drive would not survive.
    pub fn fail_die(&mut self, die: Die) -> Result<()> {
        self.check_fail_die(die)?;
        let failed = FailedDie { die, failed_at: self.now(), rebuilt_at: None };
        self.failed_dies.0.push(failed);
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
        &self.failed_dies.0
    }

    /// Notes the failed dies that hold no data any more.
    #[cold]
    pub(in crate::drive) fn look_at_failed_dies(&mut self) {
        let now = self.now();
        let Self { failed_dies, ftl, .. } = self;
        let Some(parity) = ftl.parity() else { return };
        for failed in failed_dies.0.iter_mut().filter(|failed| failed.rebuilt_at.is_none()) {
            failed.rebuilt_at = (!parity.holds_data(failed.die)).then_some(now);
        }
    }
}
