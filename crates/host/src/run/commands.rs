//! Commands to the drive between the requests of a run: ageing, power cuts, dies that are exchanged
//! or fail.
//!
//! A recording of a served drive has them with their times, and its replay repeats them.

use super::exchange::Plan;
use super::{COMMAND, Run};
use base::units::Hours;
use base::{Error, Result, Time};
use nand::geometry::Die;
use ssd::config::SsdConfig;
use ssd::conflicts::Feature;
use ssd::drive::exchange::Exchange;
use ssd::{Cut, Started};
use std::collections::VecDeque;

/// Most hours that may pass at once: 100 years.
pub const MOST_HOURS: f64 = 8766.0 * 100.0;

/// Command to a drive.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// Hours pass at once for all stored data.
    Age(Hours),
    /// A die is exchanged from now on.
    Exchange(Exchange),
    /// A die fails and answers nothing any more.
    FailDie(Die),
    /// The power is cut.
    Cut,
    /// The power comes back, and the drive starts up.
    Restore,
}

impl Act {
    /// Reads a command from its name and value in a recording.
    pub fn parse(name: &str, value: &str) -> Result<Self> {
        match name {
            "age" => {
                let hours = value.parse().ok().filter(|hours| (0.0..=MOST_HOURS).contains(hours));
                hours.map(Hours).map(Self::Age)
            }
            "exchange" => {
                let (die, rest) = value.split_at(value.find(',').unwrap_or(value.len()));
                Plan::parse(&format!("{die}@0{rest}")).ok().map(|plan| Self::Exchange(plan.asked))
            }
            "fail_die" => value.parse().ok().map(|die| Self::FailDie(Die(die))),
            "cut" if value.is_empty() => Some(Self::Cut),
            "restore" if value.is_empty() => Some(Self::Restore),
            _ => None,
        }
        .ok_or_else(|| {
            Error::new("trace", format!("the command `{name}` with the value `{value}`"))
                .expected("age=HOURS, exchange=DIE, fail_die=DIE, cut or restore")
        })
    }
}

/// Commands of a run that are still to come.
#[derive(Default)]
pub(super) struct Commands {
    list: VecDeque<(Time, Act)>,
    /// Configuration of the drive, for its start-up after a power cut.
    config: Option<Box<SsdConfig>>,
}

impl Commands {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The next command, if it is due by `now`.
    fn due(&mut self, now: Time) -> Option<Act> {
        let &(at, act) = self.list.front()?;
        if at > now {
            return None;
        }
        self.list.pop_front();
        Some(act)
    }
}

impl Run {
    /// Plans a command, behind those that are planned for the same time or earlier. Refuses one
    /// that the drive cannot carry out.
    /// To be called before the run begins.
    pub fn command(&mut self, at: Time, act: Act, config: &SsdConfig) -> Result<()> {
        let is_cut = self.commands.list.iter().rev().find_map(|(_, act)| match act {
            Act::Cut => Some(true),
            Act::Restore => Some(false),
            _ => None,
        });
        match act {
            Act::Age(_) => {}
            Act::Exchange(asked) => self.ssd.check_exchange(asked.die)?,
            Act::FailDie(die) => self.ssd.check_fail_die(die)?,
            Act::Cut => {
                self.ssd.check_asked(Feature::PowerCut)?;
                self.commands.config = Some(Box::new(config.clone()));
            }
            Act::Restore if is_cut == Some(true) => {}
            Act::Restore => return Err(Error::new("drive", "its power is not cut then")),
        }
        let place = self.commands.list.partition_point(|(other, _)| *other <= at);
        self.commands.list.insert(place, (at, act));
        Ok(())
    }

    /// Asks for a wake-up at each command.
    pub(super) fn wake_for_commands(&mut self) {
        let now = self.ssd.now();
        for (at, _) in &self.commands.list {
            self.ssd.wake_at(now.max(*at), COMMAND);
        }
    }

    /// Carries out the commands that are due.
    #[cold]
    pub(super) fn obey(&mut self) -> Result<()> {
        while let Some(act) = self.commands.due(self.ssd.now()) {
            match act {
                Act::Age(hours) => self.ssd.age(hours),
                Act::Exchange(asked) => self.exchange_served(asked)?,
                Act::FailDie(die) => self.ssd.fail_die(die)?,
                Act::Cut => self.cut_and_start()?,
                // Its cut has come with it.
                Act::Restore => {}
            }
        }
        Ok(())
    }

    /// Cuts the power: requests that were sent are lost. It is restored at the next command to do
    /// so, at once if there is none, and the jobs go on when the drive has started up.
    fn cut_and_start(&mut self) -> Result<()> {
        let restored = self.commands.list.iter().find(|(_, act)| matches!(act, Act::Restore));
        let restored = restored.map_or(Time::ZERO, |(at, _)| *at);
        self.cut_now()?;
        self.ssd.pass_until(self.ssd.now().max(restored));
        if let Some(config) = &self.commands.config {
            self.ssd.power_on(config)?;
        }
        self.start_up()?;
        Ok(())
    }

    /// Cuts the power: requests that were sent are lost. Refuses a drive without recovery, or one
    /// that is off.
    pub fn cut_now(&mut self) -> Result<Cut> {
        let cut = self.ssd.cut()?;
        let now = self.ssd.now();
        self.completions_ns += u128::from(now.0) * u128::from(self.under_way);
        if self.under_way > 0 {
            self.silence.end(now);
        }
        self.cuts += 1;
        self.lost_requests += self.under_way - self.queued;
        (self.under_way, self.queued, self.reading) = (0, 0, 0);
        self.limits.wake = Time::NEVER;
        self.runners.iter_mut().for_each(super::Runner::lose);
        Ok(cut)
    }

    /// Restores the power after `cut_now`. The drive starts up, and the jobs go on.
    pub fn restore_now(&mut self, config: &SsdConfig) -> Result<Started> {
        self.ssd.power_on(config)?;
        let started = self.start_up()?;
        self.finished = self.is_done();
        Ok(started)
    }

    /// Starts the drive up, and lets the jobs go on.
    fn start_up(&mut self) -> Result<Started> {
        let started = loop {
            if let Some(started) = self.ssd.advance_start_up(u64::MAX)? {
                break started;
            }
        };
        self.wake_for_commands();
        (0..self.runners.len()).try_for_each(|job| self.send(job))?;
        self.fetch()?;
        Ok(started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::drive::exchange::Way;

    #[test]
    fn what_is_recorded_is_understood() {
        let of = |name, value| Act::parse(name, value).unwrap();
        assert!(matches!(of("age", "17520"), Act::Age(Hours(17520.0))));
        assert!(matches!(of("cut", ""), Act::Cut));
        assert!(matches!(of("fail_die", "3"), Act::FailDie(Die(3))));
        assert!(matches!(of("restore", ""), Act::Restore));
        let Act::Exchange(asked) = of("exchange", "2,suspended,pe_cycles=5") else {
            panic!("another command")
        };
        assert_eq!((asked.die, asked.way, asked.pe_cycles), (Die(2), Way::Suspended, 5));
        for (name, value) in [
            ("age", "-1"),
            ("age", "1e99"),
            ("age", ""),
            ("exchange", "x"),
            ("fail_die", "-1"),
            ("cut", "1"),
            ("x", ""),
        ] {
            assert_eq!(Act::parse(name, value).unwrap_err().place, "trace", "{name} {value}");
        }
    }
}
