//! Exchange of a die while the drive is in use (Hachiya et al., SSDM'13, section 4).
//!
//! The die is withdrawn: it takes no new data, and what it holds is read from it until the host has
//! rewritten it or the job of the die has moved it to others. When the die is empty and no command
//! to it is under way, its chip is replaced, and it takes data again. `Way::InService` does that
//! beside the host. `Way::Suspended` is the conventional way: meanwhile no request is taken.
//!
//! The swap itself takes no time.

use super::flow::event;
use super::timeline::{SpanKind, Track};
use super::{Ssd, Step};
use crate::config::SsdConfig;
use crate::ftl::Job;
use base::rng::Rng;
use base::{Error, Result, Time};
use nand::fault::is_factory_bad;
use nand::geometry::{Block, Die};

/// Between two looks at how far an exchange is.
const BETWEEN_LOOKS: Time = Time(1_000_000);

/// The same while the last commands to an empty die end.
const SOON: Time = Time(20_000);

/// Looks in a row at which nothing else happens in the drive, after which it is stuck.
const MOST_IDLE_LOOKS: u32 = 1000;

/// How a die is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Beside the host.
    InService,
    /// The drive takes no requests until it is done.
    Suspended,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::InService, Self::Suspended];

    /// Its name.
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
    /// The die.
    pub die: Die,
    /// How.
    pub way: Way,
    /// Program/erase cycles of the new chip.
    pub pe_cycles: u32,
}

/// How far an exchange is.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// What was asked for.
    pub asked: Exchange,
    /// When.
    pub asked_at: Time,
    /// When the die held no data any more.
    pub emptied_at: Option<Time>,
    /// When it had its new chip.
    pub replaced_at: Option<Time>,
    /// Units that were moved off it.
    pub moved_units: u64,
    /// Units whose data were lost when it was replaced, beyond those lost before.
    pub lost_units: u64,
}

/// Exchanges of a drive.
pub(super) struct Exchanges {
    /// The last one.
    last: Option<Exchanged>,
    /// It is under way.
    is_on: bool,
    /// How many there were: events of others are late.
    number: u32,
    /// Events so far at the last look, and how many looks have seen no others.
    seen: (u64, u32),
    /// Units lost when it began.
    lost_before: u64,
    /// What the bad blocks of a new chip are drawn from.
    seed: u64,
    bad_fraction: f64,
}

impl Exchanges {
    pub(super) fn new(config: &SsdConfig) -> Self {
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
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The die that is being exchanged.
    #[inline]
    fn die(&self) -> Option<Die> {
        if self.is_on { self.last.map(|last| last.asked.die) } else { None }
    }

    /// Whether a job empties the die that is being exchanged.
    #[inline]
    pub(super) fn is_served_by(&self, job: Job) -> bool {
        self.is_on && self.die().map(Job::of) == Some(job)
    }

    /// A job has moved units.
    #[inline]
    pub(super) fn moved(&mut self, job: Job, units: u32) {
        if self.is_served_by(job)
            && let Some(last) = &mut self.last
        {
            last.moved_units += u64::from(units);
        }
    }

    /// Which blocks of a new chip for a die are bad: drawn anew for each.
    fn bad_blocks(&self, die: Die, times: u32, per_die: u32) -> Vec<bool> {
        let seed = Rng::stream(self.seed, &format!("replaced/{times}")).bits();
        let first = die.0 * per_die;
        let is_bad = |block| is_factory_bad(seed, block, per_die, self.bad_fraction);
        (first..first + per_die).map(is_bad).collect()
    }
}

impl Ssd {
    fn new_bad_blocks(&self, die: Die) -> Vec<bool> {
        let chips = &self.flash.chips;
        let per_die = chips.geometry.planes_per_die * chips.geometry.blocks_per_plane;
        self.exchanges.bad_blocks(die, chips.replacements(die), per_die)
    }

    /// Refuses an exchange that this drive cannot carry out.
    pub fn check_exchange(&mut self, die: Die) -> Result<()> {
        if die.0 >= self.dies() {
            return Err(Error::new("exchange", format!("die {} does not exist", die.0))
                .expected(format!("0 to {}", self.dies() - 1)));
        }
        if self.power.is_some() {
            let problem = "a drive with a recovery, whose log and copies stay on their dies";
            return Err(
                Error::unsupported("exchange", problem).hint("use recovery.name = \"none\"")
            );
        }
        if let Some(other) = self.exchanges.die() {
            let problem = format!("die {} is being exchanged already", other.0);
            return Err(Error::new("exchange", problem).hint("exchange one die at a time"));
        }
        let bad = self.new_bad_blocks(die);
        let Some(withdrawal) = self.ftl.withdrawal() else {
            let problem = "this FTL does not move data from one die to others";
            return Err(Error::unsupported("exchange", problem).hint("use ftl.name = \"page\""));
        };
        withdrawal.can_withdraw(die, &bad)
    }

    /// Exchanges a die from now on: [`Ssd::exchanged`] says how far that is. Refuses an exchange
    /// that the drive cannot carry out.
    pub fn exchange_die(&mut self, asked: Exchange) -> Result<()> {
        self.check_exchange(asked.die)?;
        if let Some(withdrawal) = self.ftl.withdrawal() {
            withdrawal.withdraw(asked.die);
        }
        let now = self.now();
        let exchanges = &mut self.exchanges;
        exchanges.last = Some(Exchanged {
            asked,
            asked_at: now,
            emptied_at: None,
            replaced_at: None,
            moved_units: 0,
            lost_units: 0,
        });
        (exchanges.is_on, exchanges.seen) = (true, (0, 0));
        exchanges.number = (exchanges.number + 1) & (event::MASK >> 1);
        exchanges.lost_before = self.failures.lost.count();
        self.front.is_suspended = asked.way == Way::Suspended;
        self.start_collect(asked.die);
        self.look_at_exchange_in(Time::ZERO, true);
        self.look_at_exchange_in(BETWEEN_LOOKS, false);
        Ok(())
    }

    /// The last exchange.
    pub fn exchanged(&self) -> Option<Exchanged> {
        self.exchanges.last
    }

    /// Whether a die is being exchanged.
    pub fn is_exchanging(&self) -> bool {
        self.exchanges.is_on
    }

    /// Looks at an exchange after so long: once, or again and again.
    fn look_at_exchange_in(&mut self, wait: Time, once: bool) {
        let index = self.exchanges.number << 1 | u32::from(once);
        self.events.push(self.events.now() + wait, event::of(event::EXCHANGE, index));
    }

    /// The job that empties the die has ended, for now.
    #[cold]
    pub(super) fn evacuation_rests(&mut self) {
        self.look_at_exchange_in(Time::ZERO, true);
    }

    /// Looks how far an exchange is; with its end a drive that was suspended is ready again.
    #[cold]
    pub(super) fn look_at_exchange(&mut self, index: u32) -> Option<Step> {
        let Some(die) = self.exchanges.die() else { return None };
        let once = index & 1 != 0;
        if index >> 1 != self.exchanges.number {
            return None;
        }
        let job = Job::of(die);
        let is_moving = self.jobs.is_busy(job);
        let is_empty = !is_moving && self.ftl.withdrawal().is_some_and(|ftl| !ftl.holds_data(die));
        let now = self.now();
        if is_empty && let Some(last) = &mut self.exchanges.last {
            last.emptied_at.get_or_insert(now);
        }
        if is_empty && self.is_left_alone(die) {
            return self.replace_chip();
        }
        if is_empty {
            if once {
                self.look_at_exchange_in(SOON, true);
            }
        } else if is_moving {
            self.unpark(job);
        } else {
            self.start_collect(die);
            self.start_named();
        }
        if !once {
            self.note_idle_look(die);
            self.look_at_exchange_in(BETWEEN_LOOKS, false);
        }
        None
    }

    /// Whether no command to a die is under way.
    fn is_left_alone(&self, die: Die) -> bool {
        self.flash.is_idle(die) && self.flash.commands.taken().all(|command| command.die != die)
    }

    /// The run ends where nothing happens in the drive any more but looks at the exchange.
    fn note_idle_look(&mut self, die: Die) {
        let (events, idle) = self.exchanges.seen;
        let now = self.events.scheduled();
        let idle = if now > events + 1 { 0 } else { idle + 1 };
        self.exchanges.seen = (now, idle);
        if idle > MOST_IDLE_LOOKS {
            let problem = format!("the other dies have no room for the data of die {}", die.0);
            let error = Error::new("exchange", problem).hint("use a larger ftl.overprovisioning");
            self.flash.fault.get_or_insert(error);
            self.end_exchange();
        }
    }

    fn end_exchange(&mut self) {
        (self.exchanges.is_on, self.front.is_suspended) = (false, false);
    }

    /// The die is empty: its chip is replaced, and it takes data again.
    fn replace_chip(&mut self) -> Option<Step> {
        let Some(Exchanged { asked: Exchange { die, way, pe_cycles }, asked_at, .. }) =
            self.exchanges.last
        else {
            return None;
        };
        let bad = self.new_bad_blocks(die);
        self.flash.chips.replace(die, pe_cycles);
        if let Some(withdrawal) = self.ftl.withdrawal() {
            withdrawal.replace(die, &bad, pe_cycles);
        }
        let first = die.0 * bad.len() as u32;
        for block in (first..first + bad.len() as u32).map(Block) {
            self.failures.replaced(block);
        }
        let now = self.now();
        let lost = self.failures.lost.count().saturating_sub(self.exchanges.lost_before);
        if let Some(last) = &mut self.exchanges.last {
            last.replaced_at = Some(now);
            last.lost_units = lost;
        }
        self.span(Track::Exchange, die.0, SpanKind::Exchange, asked_at, now);
        self.end_exchange();
        self.catch_up(die);
        self.unblock(die);
        self.writer.buffer.rows.wake_die(die);
        self.writer.buffer.rows.wake_erase();
        self.drain_buffer();
        (way == Way::Suspended).then_some(Step::Ready)
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
