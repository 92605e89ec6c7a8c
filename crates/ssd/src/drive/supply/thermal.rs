//! Temperature of the drive: a capacity that its power heats and a resistance that cools it, and
//! limits that throttle it.
//!
//! Between two looks the power is taken for constant, for which the exponential is exact.

use crate::config::ThermalConfig;
use base::Time;

/// Period of throttling: commands begin in the first share of each.
const PERIOD: Time = Time(10_000_000);

/// A limit of the temperature.
#[derive(Debug, Clone, Copy)]
struct Limit {
    from_c: f64,
    until_c: f64,
    /// Part of each period in which commands begin.
    open: Time,
    acts: bool,
    /// Time in which it has acted, up to the last look.
    acted: Time,
}

/// Temperature of a drive.
#[derive(Debug, Clone)]
pub(super) struct Thermal {
    /// Time constant, in microseconds.
    tau_us: f64,
    resistance_k_per_w: f64,
    ambient_c: f64,
    celsius: f64,
    highest: f64,
    /// Time between two looks, time of the last, and energy used until then, in microjoules.
    step: Time,
    looked: Time,
    used_uj: f64,
    limits: Vec<Limit>,
    /// Part of each period in which commands begin at present.
    open: Time,
    /// Minutes by which data have aged beyond the time, which are not handed out yet.
    minutes: f64,
}

impl Thermal {
    /// Temperature of a drive at the start of a run.
    pub(super) fn new(config: &ThermalConfig) -> Self {
        let tau_s = config.capacity_j_per_k * config.resistance_k_per_w;
        let celsius = config.start_c.unwrap_or(config.ambient_c);
        let limits = config.limits.values().map(|limit| Limit {
            from_c: limit.from_c,
            until_c: limit.until_c,
            open: PERIOD.scaled(limit.speed),
            acts: false,
            acted: Time::ZERO,
        });
        let mut own = Self {
            tau_us: tau_s * 1e6,
            resistance_k_per_w: config.resistance_k_per_w,
            ambient_c: config.ambient_c,
            celsius,
            highest: celsius,
            step: Time::from_s((tau_s / 500.0).clamp(1e-3, 1.0)),
            looked: Time::ZERO,
            used_uj: 0.0,
            limits: limits.collect(),
            open: PERIOD,
            minutes: 0.0,
        };
        own.look_at_limits();
        own
    }

    /// Time of the next look.
    pub(super) fn next_look(&self) -> Time {
        self.looked + self.step
    }

    /// Temperature at the last look, in degrees Celsius.
    pub(super) fn celsius(&self) -> f64 {
        self.celsius
    }

    /// Highest temperature at any look, in degrees Celsius.
    pub(super) fn highest(&self) -> f64 {
        self.highest
    }

    /// Takes the temperature at `now`, when `used_uj` had been used. `pace` says how fast data age
    /// at a temperature, against that of the surroundings. Returns the whole minutes by which they
    /// have aged beyond the time.
    pub(super) fn look(&mut self, now: Time, used_uj: f64, pace: impl Fn(f64) -> f64) -> u32 {
        let passed = now.since(self.looked);
        if passed == Time::ZERO {
            return 0;
        }
        let power_w = (used_uj - self.used_uj) / passed.us();
        let steady_c = self.ambient_c + power_w * self.resistance_k_per_w;
        let rest = libm::exp(-passed.us() / self.tau_us);
        let before = self.celsius;
        self.celsius = steady_c + (before - steady_c) * rest;
        self.highest = self.highest.max(self.celsius);
        for limit in self.limits.iter_mut().filter(|limit| limit.acts) {
            limit.acted += passed;
        }
        (self.looked, self.used_uj) = (now, used_uj);
        self.look_at_limits();
        self.minutes += (pace((before + self.celsius) / 2.0) - 1.0) * passed.us() / 60e6;
        let whole = self.minutes.floor().max(0.0);
        self.minutes -= whole;
        whole as u32
    }

    fn look_at_limits(&mut self) {
        self.open = PERIOD;
        for limit in &mut self.limits {
            limit.acts = match limit.acts {
                true => self.celsius >= limit.until_c,
                false => self.celsius >= limit.from_c,
            };
            if limit.acts {
                self.open = self.open.min(limit.open);
            }
        }
    }

    /// Time in which each limit has acted.
    pub(super) fn throttled(&self, now: Time) -> Vec<Time> {
        let of = |limit: &Limit| match limit.acts {
            true => limit.acted + now.since(self.looked),
            false => limit.acted,
        };
        self.limits.iter().map(of).collect()
    }

    /// Time at which a command that is ready at `ready` may begin.
    pub(super) fn begin(&self, ready: Time) -> Time {
        let in_period = ready.0 % PERIOD.0;
        if in_period < self.open.0 { ready } else { Time(ready.0 - in_period + PERIOD.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ThermalLimit;

    fn config(limits: &[(&str, f64, f64, f64)]) -> ThermalConfig {
        let limit = |&(name, from_c, until_c, speed): &(&str, f64, f64, f64)| {
            (name.to_owned(), ThermalLimit { from_c, until_c, speed })
        };
        ThermalConfig {
            capacity_j_per_k: 20.0,
            resistance_k_per_w: 5.0,
            ambient_c: 25.0,
            start_c: None,
            limits: limits.iter().map(limit).collect(),
        }
    }

    /// 4 W at 5 K/W heat by 20 K with a time constant of 100 s, and cool down by the same law.
    #[test]
    fn heating_and_cooling_are_exponential() {
        let mut thermal = Thermal::new(&config(&[]));
        let mut used_uj = 0.0;
        for second in 1..=600 {
            used_uj += if second <= 300 { 4e6 } else { 0.0 };
            thermal.look(Time::from_s(second.into()), used_uj, |_| 1.0);
            let after = |s: i32| 1.0 - libm::exp(f64::from(-s) / 100.0);
            let expected = match second {
                ..=300 => 20.0 * after(second),
                _ => 20.0 * after(300) * (1.0 - after(second - 300)),
            };
            assert!((thermal.celsius() - 25.0 - expected).abs() < 1e-9, "{second}");
        }
        assert!((thermal.highest() - 25.0 - 20.0 * (1.0 - libm::exp(-3.0))).abs() < 1e-9);
    }

    /// A limit acts from its temperature on, until the drive has cooled; the strictest counts.
    #[test]
    fn limits_act_with_hysteresis() {
        let limits = [("light", 40.0, 35.0, 0.5), ("hard", 44.0, 43.0, 0.25)];
        let mut thermal = Thermal::new(&config(&limits));
        let (mut used_uj, mut seen) = (0.0, Vec::new());
        for second in 1..=1000 {
            used_uj += if second <= 500 { 4e6 } else { 0.0 };
            thermal.look(Time::from_s(second.into()), used_uj, |_| 1.0);
            let begins = |quarter: u64| {
                let at = Time(PERIOD.0 / 4 * quarter);
                thermal.begin(at) == at
            };
            let speed = (0..4).filter(|&quarter| begins(quarter)).count();
            assert_eq!(thermal.begin(Time(PERIOD.0 - 1)) == PERIOD, speed < 4);
            if seen.last().is_none_or(|&(_, last)| last != speed) {
                seen.push((second, speed));
            }
        }
        // 40 degrees after 100 ln 4 s, 44 after 100 ln 20; 43 after 500 + 100 ln(19.87 / 18), 35
        // after 500 + 100 ln(19.87 / 10).
        assert_eq!(seen, [(1, 4), (139, 2), (300, 1), (510, 2), (569, 4)]);
        let throttled = thermal.throttled(Time::from_s(1000.0)).into_iter().map(Time::s);
        assert_eq!(throttled.collect::<Vec<_>>(), [210.0, 430.0]);
    }

    /// Data age twice as fast above 30 degrees: whole minutes are handed out, and none is lost.
    #[test]
    fn data_age_by_the_temperature_of_the_drive() {
        let mut thermal = Thermal::new(&ThermalConfig { start_c: Some(60.0), ..config(&[]) });
        let pace = |celsius: f64| if celsius > 30.0 { 2.0 } else { 1.0 };
        let minutes: u32 = (1..=600).map(|s| thermal.look(Time::from_s(s.into()), 0.0, pace)).sum();
        // 35 K are 5 K after 100 ln 7 s.
        assert_eq!(minutes, (100.0 * libm::log(7.0) / 60.0) as u32);
    }
}
