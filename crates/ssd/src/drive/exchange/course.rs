//! The course of an exchange: from the withdrawal of a die to its new chip.

use super::{Exchange, Exchanged, Way};
use crate::conflicts::Feature;
use crate::drive::flow::event;
use crate::drive::wakes::Wake;
use crate::drive::{Ssd, Step};
use crate::flash::timeline::{SpanKind, Track};
use crate::ftl::Job;
use base::{Error, Result, Time};
use nand::geometry::{Block, Die};

/// Time between two looks at an exchange.
const BETWEEN_LOOKS: Time = Time(1_000_000);

/// Time between two looks while the last commands to an empty die end.
const SOON: Time = Time(20_000);

/// Looks in a row at which nothing else happens in the drive, after which it is stuck.
const MOST_IDLE_LOOKS: u32 = 1000;

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
        self.check_asked(Feature::Exchange)?;
        if let Some(other) = self.exchanges.die() {
            let problem = format!("die {} is being exchanged already", other.0);
            return Err(Error::new("exchange", problem).hint("exchange one die at a time"));
        }
        let bad = self.new_bad_blocks(die);
        self.ftl.withdrawal_mut().map_or(Ok(()), |withdrawal| withdrawal.can_withdraw(die, &bad))
    }

    /// Exchanges a die from now on: [`Ssd::exchanged`] says how far that is. Refuses an exchange
    /// that the drive cannot carry out.
    pub fn exchange_die(&mut self, asked: Exchange) -> Result<()> {
        self.check_exchange(asked.die)?;
        if let Some(withdrawal) = self.ftl.withdrawal_mut() {
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
        self.wakes.collect(asked.die);
        self.settle_wakes();
        self.look_at_exchange_in(Time::ZERO, true);
        self.look_at_exchange_in(BETWEEN_LOOKS, false);
        Ok(())
    }

    /// Last exchange of the drive, over or under way.
    pub fn exchanged(&self) -> Option<Exchanged> {
        self.exchanges.last
    }

    /// Whether a die is being exchanged.
    pub fn is_exchanging(&self) -> bool {
        self.exchanges.is_on
    }

    /// Schedules a look at an exchange after `wait`: a single one, or one that is repeated.
    fn look_at_exchange_in(&mut self, wait: Time, once: bool) {
        let index = self.exchanges.number << 1 | u32::from(once);
        self.events.push(self.events.now() + wait, event::of(event::EXCHANGE, index));
    }

    /// The job that empties the die has ended, for now.
    #[cold]
    pub(in crate::drive) fn evacuation_rests(&mut self) {
        self.look_at_exchange_in(Time::ZERO, true);
    }

    /// Looks how far an exchange is; with its end a drive that was suspended is ready again.
    #[cold]
    pub(in crate::drive) fn look_at_exchange(&mut self, index: u32) -> Option<Step> {
        let die = self.exchanges.die()?;
        let once = index & 1 != 0;
        if index >> 1 != self.exchanges.number {
            return None;
        }
        let job = Job::of(die);
        let is_moving = self.jobs.is_busy(job);
        let is_empty =
            !is_moving && self.ftl.withdrawal_mut().is_some_and(|ftl| !ftl.holds_data(die));
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
            self.wakes.collect(die);
            self.wakes.wake(Wake::Jobs);
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

    /// Counts looks at which nothing else happens in the drive. After too many of them the exchange
    /// fails, and the run ends.
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
        let Exchanged { asked: Exchange { die, way, pe_cycles }, asked_at, .. } =
            self.exchanges.last?;
        let bad = self.new_bad_blocks(die);
        self.flash.chips.replace(die, pe_cycles);
        if let Some(withdrawal) = self.ftl.withdrawal_mut() {
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
        self.wakes.wake(Wake::Rows);
        (way == Way::Suspended).then_some(Step::Ready)
    }
}
