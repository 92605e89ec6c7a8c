//! A drive at rest: its state between runs, which clones and saved drives contain.

use super::Ssd;
use crate::config::SsdConfig;
use crate::medium::luck::Luck;
use base::archive::{Archive, State};
use base::{Error, Result, Time};

impl Ssd {
    /// A copy of the drive at time zero, before a run: its data, wear, age and failures. Refused
    /// while anything is in flight.
    pub fn twin(&self, config: &SsdConfig, memory_limit: u64) -> Result<Self> {
        self.check_rest()?;
        let mut ftl = self.ftl.clone();
        ftl.fault(false).map_or(Ok(()), Err)?;
        let mut twin = Self::with_ftl(config, memory_limit, Some(ftl))?;
        twin.flash.chips = self.flash.chips.clone();
        twin.flash.chips.restart_clock();
        twin.failures = self.failures.clone();
        twin.failures.restart_clock();
        twin.failed_dies = self.failed_dies.clone();
        twin.failed_dies.restart_clock();
        if let (Some(power), Some(own)) = (&self.power, &mut twin.power) {
            own.take_over(power);
            if !own.is_on() {
                twin.front.cut(Time::ZERO);
                twin.writer.forget();
            }
        }
        Ok(twin)
    }

    /// Draws the bit errors of every codeword anew, as on a drive of another seed. Chips, stored
    /// data and wear stay.
    pub fn reseed(&mut self, seed: u64) {
        self.reader.luck = Luck::new(seed);
    }

    /// Whether nothing is under way: no request, no internal work, nothing in the buffer.
    pub fn is_quiet(&self) -> bool {
        let is_logging = self.power.as_ref().is_some_and(|power| power.is_busy());
        let is_ahead = self
            .read_cache
            .as_ref()
            .is_some_and(|cached| !cached.is_quiet() || !self.map.is_idle());
        self.outstanding() == 0
            && !is_ahead
            && !self.jobs.any_busy()
            && !self.exchanges.is_on()
            && self.writer.buffer.held() == self.tail_units()
            && !is_logging
    }

    /// Refuses a drive in which anything is under way.
    pub(crate) fn check_rest(&self) -> Result<()> {
        if self.is_quiet() {
            return Ok(());
        }
        let problem = "it is not at rest: requests or internal work are under way";
        Err(Error::new("drive", problem).hint("let the run end first"))
    }
}

/// The state of a drive at rest. Time begins anew when it is taken over.
impl State for Ssd {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        self.check_rest()?;
        if self.is_off() {
            let problem = "its power has been cut";
            return Err(Error::new("drive", problem).hint("recover it before it is saved"));
        }
        self.ftl.exchange(archive)?;
        self.flash.chips.exchange(archive)?;
        self.failures.exchange(archive)?;
        self.failed_dies.exchange(archive)?;
        if let Some(power) = &mut self.power {
            power.exchange(archive)?;
        }
        if archive.is_loading() {
            if let Some(power) = &mut self.power {
                let failed = self.failed_dies.list();
                failed.into_iter().for_each(|die| power.log.without(die));
            }
            self.take_tails();
            self.flash.chips.restart_clock();
            self.failures.restart_clock();
        }
        Ok(())
    }
}
