//! Energy over time: an operation of an array draws its power while it lasts, not when it begins.

use base::Time;
use nand::energy::{Energy, Operation};

/// Most intervals; beyond these, each two become one.
const MOST: usize = 8192;

/// Energy that arrays have used, by equal intervals of simulated time that grow when there are too
/// many.
///
/// An operation changes four numbers, however long it takes: the power from the interval behind its
/// start on and from the one behind its end on, and the energy within these two.
#[derive(Debug, Clone)]
pub struct EnergyCurve {
    interval: Time,
    intervals: Vec<Interval>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    /// Change of the power at its start, in watts.
    step_w: f64,
    /// Energy that operations use within the interval in which they begin, less what those that end
    /// in it no longer use, in microjoules.
    part_uj: f64,
}

impl EnergyCurve {
    /// Creates a curve without energy.
    pub(super) fn new() -> Self {
        Self { interval: Time(1 << 14), intervals: Vec::new() }
    }

    /// Adds an operation of a plane from `start` on, for `time`.
    #[inline]
    pub(super) fn add(&mut self, energy: &Energy, operation: Operation, start: Time, time: Time) {
        let power_w = energy.array_w(operation);
        // The end first: it says how many intervals there must be.
        self.change(start.saturating_add(time), -power_w);
        self.change(start, power_w);
    }

    #[inline]
    fn change(&mut self, at: Time, power_w: f64) {
        let index = self.index(at);
        let rest = self.interval * (index as u64 + 1) - at;
        self.intervals[index].part_uj += power_w * rest.us();
        self.intervals[index + 1].step_w += power_w;
    }

    /// The interval that holds `at`; there is one behind it.
    #[inline]
    fn index(&mut self, at: Time) -> usize {
        loop {
            // Intervals are powers of two.
            let index = (at.0 >> self.interval.0.trailing_zeros()) as usize;
            if index + 1 < self.intervals.len() {
                return index;
            }
            self.make(index + 2);
        }
    }

    /// Makes intervals up to this number, or longer ones.
    #[cold]
    fn make(&mut self, count: usize) {
        if count <= MOST {
            self.intervals.resize(count.next_power_of_two(), Interval::default());
        } else {
            self.halve();
        }
    }

    fn halve(&mut self) {
        let interval_us = self.interval.us();
        let mut before = Interval::default();
        let pairs = self.intervals.chunks(2).map(|pair| {
            let (even, odd) = (pair[0], pair.get(1).copied().unwrap_or_default());
            let step_w = before.step_w + even.step_w;
            before = odd;
            // The power that changes in the middle is used for the second half.
            Interval { step_w, part_uj: even.part_uj + odd.part_uj + odd.step_w * interval_us }
        });
        self.intervals = pairs.collect();
        self.intervals.push(Interval { step_w: before.step_w, part_uj: 0.0 });
        self.interval = self.interval * 2;
    }

    /// Energy used up to each of these times, which rise, in microjoules. Within an interval it
    /// rises evenly.
    pub fn used_uj(&self, times: impl IntoIterator<Item = Time>) -> Vec<f64> {
        let (mut index, mut power_w, mut used_uj) = (0, 0.0, 0.0);
        let at = |index: usize| self.intervals.get(index).copied().unwrap_or_default();
        let of = |time: Time| {
            while self.interval * (index as u64 + 1) <= time {
                power_w += at(index).step_w;
                used_uj += power_w * self.interval.us() + at(index).part_uj;
                index += 1;
            }
            let whole_uj = (power_w + at(index).step_w) * self.interval.us() + at(index).part_uj;
            let way = (time - self.interval * index as u64).us() / self.interval.us();
            used_uj + whole_uj * way
        };
        times.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;
    use nand::energy::EnergyConfig;

    fn energy() -> Energy {
        let config = EnergyConfig {
            vcc_v: 2.0,
            icc_read_ma: 10.0,
            icc_program_ma: 20.0,
            icc_erase_ma: 30.0,
            icc_bus_ma: 0.0,
            icc_standby_ua: 0.0,
        };
        Energy::new(&config).unwrap()
    }

    /// Two programs one behind the other draw the power of one, from the first to the last moment.
    #[test]
    fn a_plane_at_work_draws_its_power() {
        let mut curve = EnergyCurve::new();
        let step = Time::from_us(1600.0);
        for i in 0..1000 {
            curve.add(&energy(), Operation::Program, step * i, step);
        }
        let ends: Vec<Time> = (0..160).map(|i| Time::from_us(10_000.0) * i).collect();
        let used = curve.used_uj(ends.iter().copied());
        for (end, used_uj) in ends.iter().zip(used) {
            let expected_uj = 0.04 * end.us();
            assert!((used_uj - expected_uj).abs() < 1e-6 * expected_uj + 1e-9, "{end:?} {used_uj}");
        }
    }

    /// Operations at any time: nothing before the first, their sum behind the last, and between,
    /// at ends of intervals, what is found one by one.
    #[test]
    fn energy_is_used_while_operations_last() {
        let mut rng = Rng::stream(1, "energy");
        let mut curve = EnergyCurve::new();
        let mut made = Vec::new();
        for _ in 0..500 {
            let start = Time(rng.below(3_000_000_000));
            let (operation, most) = [
                (Operation::Read, 100_000),
                (Operation::Program, 2_000_000),
                (Operation::Erase, 20_000_000),
            ][rng.below(3) as usize];
            let time = Time(rng.below(most));
            curve.add(&energy(), operation, start, time);
            made.push((start, time, energy().array_w(operation)));
        }
        let ends: Vec<Time> = (0..50).map(|i| curve.interval * (i * 200)).collect();
        for (&end, used_uj) in ends.iter().zip(curve.used_uj(ends.iter().copied())) {
            let expected_uj: f64 =
                made.iter().map(|&(start, time, w)| w * end.since(start).min(time).us()).sum();
            assert!((used_uj - expected_uj).abs() < 1e-6 * (1.0 + expected_uj), "{end:?}");
        }
    }
}
