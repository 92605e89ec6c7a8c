//! Energy and temperature over time, at equal steps that grow when there are too many.

use super::SupplyCourse;
use base::Time;

/// Most points; beyond these, each second one is kept.
const MOST: usize = 8192;

/// Energy used and temperature at points of time.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    step: Time,
    /// Energy in microjoules and temperature in degrees Celsius at time zero, and at each step.
    points: Vec<(f64, f64)>,
    has_temperature: bool,
}

impl Curve {
    /// A curve that begins with this temperature, if the drive has one.
    pub(super) fn new(celsius: Option<f64>) -> Self {
        let points = vec![(0.0, celsius.unwrap_or_default())];
        Self { step: Time(1 << 16), points, has_temperature: celsius.is_some() }
    }

    /// Time of the next point.
    pub(super) fn next(&self) -> Time {
        self.step * self.points.len() as u64
    }

    /// Keeps the energy and the temperature of `now`, if a point is due.
    pub(super) fn look(&mut self, now: Time, used_uj: f64, celsius: Option<f64>) {
        if now < self.next() {
            return;
        }
        self.points.push((used_uj, celsius.unwrap_or_default()));
        if self.points.len() > MOST {
            self.points = self.points.iter().copied().step_by(2).collect();
            self.step = self.step * 2;
        }
    }

    /// Energy and temperature at each of these times, none of which is after `now`, when they are
    /// `last`. Between points they change evenly.
    pub(super) fn at(
        &self,
        times: impl IntoIterator<Item = Time>,
        now: Time,
        last: (f64, Option<f64>),
    ) -> SupplyCourse {
        let last = (last.0, last.1.unwrap_or_default());
        let of = |time: Time| {
            let index = ((time.0 / self.step.0) as usize).min(self.points.len() - 1);
            let (from, start) = (self.points[index], self.step * index as u64);
            let to = self.points.get(index + 1).copied().unwrap_or(last);
            let end = if index + 1 < self.points.len() { start + self.step } else { now };
            let length = end.since(start);
            let way = if length == Time::ZERO { 1.0 } else { time.since(start).us() / length.us() };
            (from.0 + (to.0 - from.0) * way, from.1 + (to.1 - from.1) * way)
        };
        let (used_uj, celsius) = times.into_iter().map(of).unzip();
        SupplyCourse { used_uj, celsius: self.has_temperature.then_some(celsius) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A watt for a second and a half, at points that grow coarse: right at each time.
    #[test]
    fn points_stay_few_and_lose_nothing() {
        let mut curve = Curve::new(Some(20.0));
        let end = Time::from_s(1.5);
        while curve.next() <= end {
            let now = curve.next();
            curve.look(now, now.us(), Some(20.0 + now.s()));
        }
        assert!(curve.points.len() <= MOST && curve.step > Time(1 << 16));
        let times = (0..=1500).map(|ms| Time::from_us(f64::from(ms) * 1e3));
        let course = curve.at(times, end, (end.us(), Some(21.5)));
        for (ms, (uj, celsius)) in course.used_uj.iter().zip(course.celsius.unwrap()).enumerate() {
            assert!((uj - ms as f64 * 1e3).abs() < 1e-6, "{ms}: {uj}");
            assert!((celsius - 20.0 - ms as f64 / 1e3).abs() < 1e-9, "{ms}: {celsius}");
        }
    }
}
