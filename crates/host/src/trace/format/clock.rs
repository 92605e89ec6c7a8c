//! Clocks of a trace: times of events from two clocks, converted to one.

/// Step between two stamps, in ns, from which on they are of two clocks: one day.
const STEP_NS: u64 = 86_400 * 1_000_000_000;

/// The clock whose events are kept, and the first other one that turned up. The clock of the first
/// event is kept until `settled` is called.
#[derive(Debug, Default)]
pub struct Clocks {
    kept: Option<Clock>,
    other: Option<Clock>,
}

/// Events of one clock.
#[derive(Debug, Clone, Copy)]
struct Clock {
    first_ns: u64,
    last_ns: u64,
    events: u64,
}

impl Clock {
    fn at(at_ns: u64) -> Self {
        Self { first_ns: at_ns, last_ns: at_ns, events: 0 }
    }

    /// Takes an event of this clock. The error is the step from the last event in ns, where it
    /// shows another clock.
    fn take(&mut self, at_ns: u64) -> Result<(), u64> {
        let step = at_ns.abs_diff(self.last_ns);
        if step > STEP_NS {
            return Err(step);
        }
        self.last_ns = at_ns;
        self.events += 1;
        Ok(())
    }
}

impl Clocks {
    /// Takes an event of the kept clock. The error is the step to another clock in ns.
    pub fn take(&mut self, at_ns: u64) -> Result<(), u64> {
        self.kept.get_or_insert(Clock::at(at_ns)).take(at_ns).inspect_err(|_| {
            // Events of a third clock are not counted.
            let _ = self.other.get_or_insert(Clock::at(at_ns)).take(at_ns);
        })
    }

    /// Clocks for a second reading of the file: the clock with the most events is kept.
    pub fn settled(&self) -> Self {
        let events = |clock: &Option<Clock>| clock.map_or(0, |clock| clock.events);
        let most = if events(&self.other) > events(&self.kept) { self.other } else { self.kept };
        Self { kept: most.map(|clock| Clock::at(clock.first_ns)), other: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: u64 = 1_266_874_889 * 1_000_000_000;

    /// Stamps that are kept at the first reading, and after `settled`.
    fn kept(stamps: &[u64]) -> [Vec<u64>; 2] {
        let mut clocks = Clocks::default();
        let pass = |clocks: &mut Clocks| {
            stamps.iter().copied().filter(|&stamp| clocks.take(stamp).is_ok()).collect()
        };
        let first = pass(&mut clocks);
        [first, pass(&mut clocks.settled())]
    }

    #[test]
    fn the_clock_of_most_events_is_kept() {
        // The first stamp is off, a run in the middle is, most are: the rest agree among
        // themselves.
        assert_eq!(kept(&[FAR, 0, 1, 2]), [vec![FAR], vec![0, 1, 2]]);
        assert_eq!(kept(&[0, 1, FAR, FAR + 1, 2]), [vec![0, 1, 2], vec![0, 1, 2]]);
        assert_eq!(kept(&[0, FAR, FAR + 1]), [vec![0], vec![FAR, FAR + 1]]);
        assert_eq!(kept(&[0, FAR]), [vec![0], vec![0]]);
        assert_eq!(kept(&[]), [Vec::<u64>::new(), Vec::new()]);
    }

    /// A clock goes on for more than a day where its events do.
    #[test]
    fn days_may_pass() {
        let days: Vec<u64> = (0..9).map(|day| day * STEP_NS).collect();
        assert_eq!(kept(&days)[1], days);
        assert_eq!(Clocks::default().settled().take(FAR), Ok(()));
        let mut clocks = Clocks::default();
        assert_eq!((clocks.take(0), clocks.take(STEP_NS + 1)), (Ok(()), Err(STEP_NS + 1)));
    }
}
