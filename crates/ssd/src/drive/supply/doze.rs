//! Power states of the idle drive: entered on its own, one after the other, left by work.
//!
//! States follow from the beginning of an idle time alone: nothing is scheduled.

use crate::config::PowerState;
use base::Time;

/// A power state: when it is entered, and how long entry and exit take.
#[derive(Debug, Clone, Copy)]
struct Rung {
    /// Idle time after which the entry begins.
    after: Time,
    entry: Time,
    exit: Time,
}

/// Power states of a drive, its present idle time, and the time in each state.
#[derive(Debug, Clone)]
pub(super) struct Doze {
    /// States, the first to be entered first.
    rungs: Vec<Rung>,
    /// Beginning of the idle time, if the drive is idle.
    idle_since: Option<Time>,
    /// Time in each state, and entries into it, in idle times that are over.
    asleep: Vec<Time>,
    entries: Vec<u64>,
}

impl Doze {
    /// States in the order in which they are entered, of a drive that is idle at time zero.
    pub(super) fn new<'a>(states: impl Iterator<Item = &'a PowerState>) -> Self {
        let rung = |state: &PowerState| Rung {
            after: Time::from_us(state.idle_ms * 1e3),
            entry: Time::from_us(state.entry_us),
            exit: Time::from_us(state.exit_us),
        };
        let rungs: Vec<Rung> = states.map(rung).collect();
        let (asleep, entries) = (vec![Time::ZERO; rungs.len()], vec![0; rungs.len()]);
        Self { rungs, idle_since: Some(Time::ZERO), asleep, entries }
    }

    /// The drive is idle from `now` on, if it is not already.
    pub(super) fn rest(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// The drive has work from `now` on. Returns when it is awake for a command.
    pub(super) fn wake(&mut self, now: Time) -> Time {
        let Some(since) = self.idle_since else { return now };
        // Most idle times are too short for any state.
        if self.rungs.first().is_some_and(|rung| since + rung.after < now) {
            (self.asleep, self.entries) = self.times_at(now);
        }
        self.idle_since = None;
        let entered = self.rungs.iter().rfind(|rung| since + rung.after < now);
        entered.map_or(now, |rung| now.max(since + rung.after + rung.entry) + rung.exit)
    }

    /// Time in each state up to `now`, and entries into it.
    pub(super) fn times_at(&self, now: Time) -> (Vec<Time>, Vec<u64>) {
        let (mut asleep, mut entries) = (self.asleep.clone(), self.entries.clone());
        let Some(since) = self.idle_since else { return (asleep, entries) };
        for (i, rung) in self.rungs.iter().enumerate() {
            if since + rung.after >= now {
                break;
            }
            entries[i] += 1;
            let next = self.rungs.get(i + 1).map_or(now, |next| now.min(since + next.after));
            asleep[i] += next.since(since + rung.after + rung.entry);
        }
        (asleep, entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(idle_ms: f64, entry_us: f64, exit_us: f64) -> PowerState {
        PowerState { power_mw: 1.0, idle_ms, entry_us, exit_us }
    }

    fn ms(ms: f64) -> Time {
        Time::from_us(ms * 1e3)
    }

    /// Idle from 5 ms on: a state after 10 ms (entered in 1), a second one after 100 ms (entered
    /// in 20). Whoever comes during an entry waits for its end.
    #[test]
    fn states_are_entered_by_idle_time_and_left_by_work() {
        let states = [state(10.0, 1e3, 2e3), state(100.0, 20e3, 30e3)];
        let cases = [
            (14.0, 14.0, [0.0, 0.0], [0, 0]),
            (15.0, 15.0, [0.0, 0.0], [0, 0]),
            (15.5, 18.0, [0.0, 0.0], [1, 0]),
            (50.0, 52.0, [34.0, 0.0], [1, 0]),
            (110.0, 155.0, [89.0, 0.0], [1, 1]),
            (200.0, 230.0, [89.0, 75.0], [1, 1]),
        ];
        for (at, awake, asleep, entries) in cases {
            let mut doze = Doze::new(states.iter());
            assert_eq!(doze.wake(ms(1.0)), ms(1.0));
            doze.rest(ms(5.0));
            // It is idle already.
            doze.rest(ms(6.0));
            assert_eq!(doze.wake(ms(at)), ms(awake), "{at}");
            let (times, counts) = doze.times_at(ms(1000.0));
            assert_eq!(times, asleep.map(ms), "{at}");
            assert_eq!(counts, entries, "{at}");
        }
    }
}
