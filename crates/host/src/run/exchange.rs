//! Exchange of a die in a run: its time, and the longest gap in the host's service.

use base::{Error, Result, Time};
use nand::geometry::Die;
use ssd::drive::exchange::{Exchange, Way};

const EXPECTED: &str = "DIE@SECONDS as 3@0.5, then ,suspended and ,pe_cycles=N where wanted";

/// Reads a die and the time at which something happens to it, as `3@0.5`.
pub fn parse_at(text: &str) -> Option<(Die, Time)> {
    let (die, at) = text.split_once('@')?;
    let ns = at.parse::<f64>().ok()? * 1e9;
    let at = (0.0..Time::LIMIT.ns() as f64).contains(&ns).then_some(Time(ns as u64))?;
    Some((Die(die.parse().ok()?), at))
}

/// Planned exchange of a die.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Time from the beginning of the run.
    pub at: Time,
    /// Die to exchange, way of the exchange, and P/E cycles of the new die.
    pub asked: Exchange,
}

impl Plan {
    /// Reads `3@0.5`, `3@0.5,suspended`, `3@0.5,in_service,pe_cycles=100`.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = || Error::new("exchange", format!("`{text}`")).expected(EXPECTED);
        let mut parts = text.split(',');
        let (die, at) = parts.next().and_then(parse_at).ok_or_else(refuse)?;
        let mut asked = Exchange { die, way: Way::InService, pe_cycles: 0 };
        for part in parts {
            if let Some(way) = Way::ALL.into_iter().find(|way| way.name() == part) {
                asked.way = way;
            } else {
                let cycles = part.strip_prefix("pe_cycles=").and_then(|text| text.parse().ok());
                asked.pe_cycles = cycles.ok_or_else(refuse)?;
            }
        }
        Ok(Self { at, asked })
    }
}

/// Service of the host during an exchange: from its beginning to the first completion after its
/// end.
#[derive(Debug, Clone)]
pub struct Service {
    /// Plan of the exchange.
    pub plan: Plan,
    /// Time of the last completion, or since when requests wait; `None` while none waits.
    since: Option<Time>,
    /// Longest time in which requests waited and none was completed.
    pub longest_gap: Time,
    /// Longest latency of the requests under way during the exchange.
    pub longest_latency: Time,
    is_over: bool,
}

impl Service {
    pub(super) fn new(plan: Plan) -> Self {
        let (longest_gap, longest_latency) = (Time::ZERO, Time::ZERO);
        Self { plan, since: None, longest_gap, longest_latency, is_over: false }
    }

    /// Begins the exchange. `is_busy`: requests are under way.
    pub(super) fn begin(&mut self, now: Time, is_busy: bool) {
        self.since = is_busy.then_some(now);
    }

    /// Counts a completed request. `is_busy`: others are under way. The exchange began at `asked`,
    /// and ended at `replaced` if it did.
    pub(super) fn complete(
        &mut self,
        (arrival, now): (Time, Time),
        is_busy: bool,
        asked: Time,
        replaced: Option<Time>,
    ) {
        if now < asked || replaced.is_some_and(|end| arrival > end && self.is_over) {
            return;
        }
        if replaced.is_none_or(|end| arrival <= end) {
            self.longest_latency = self.longest_latency.max(now.since(arrival));
        }
        if !self.is_over {
            let since = self.since.unwrap_or_else(|| arrival.max(asked));
            self.longest_gap = self.longest_gap.max(now.since(since));
            self.since = is_busy.then_some(now);
        }
        self.is_over |= replaced.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    #[test]
    fn what_is_written_is_understood() {
        let plan = Plan::parse("3@0.5").unwrap();
        let Exchange { die, way, pe_cycles } = plan.asked;
        assert_eq!((plan.at, die, way, pe_cycles), (Time(500_000_000), Die(3), Way::InService, 0));
        let asked = Plan::parse("12@0,suspended,pe_cycles=70").unwrap().asked;
        assert_eq!((asked.die, asked.way, asked.pe_cycles), (Die(12), Way::Suspended, 70));
        for text in ["", "3", "@", "3@", "x@1", "-1@1", "3@-1", "3@nan", "3@1e99", "3@1,slow"] {
            assert_carries(Plan::parse(text).unwrap_err(), &["exchange", "DIE@SECONDS"]);
        }
    }

    /// Gaps count while requests wait, up to the first completion after the end. Latencies count
    /// for requests that came before the end.
    #[test]
    fn service_is_measured_from_completion_to_completion() {
        let plan = Plan::parse("0@0").unwrap();
        let mut service = Service::new(plan);
        let at = Time;
        service.begin(at(100), true);
        service.complete((at(90), at(130)), true, at(100), None);
        assert_eq!((service.longest_gap, service.longest_latency), (at(30), at(40)));
        // No request waits between 150 and 400.
        service.complete((at(140), at(150)), false, at(100), None);
        service.complete((at(400), at(410)), true, at(100), None);
        assert_eq!((service.longest_gap, service.longest_latency), (at(30), at(40)));
        // The drive completed nothing until 600, the end of the exchange.
        service.complete((at(405), at(620)), true, at(100), Some(at(600)));
        assert_eq!((service.longest_gap, service.longest_latency), (at(210), at(215)));
        service.complete((at(410), at(700)), true, at(100), Some(at(600)));
        service.complete((at(610), at(2000)), true, at(100), Some(at(600)));
        assert_eq!((service.longest_gap, service.longest_latency), (at(210), at(290)));
    }
}
