//! Arbitration: the submission queue that the drive takes its next command from.
//!
//! After NVM Express, Base Specification 2.0, "Command Arbitration". Queues of a level have their
//! turns one after the other, each with a burst of commands. Under weighted round robin the urgent
//! level goes before all others. These have rounds: each level has as many commands in a round as
//! its weight says, and one without waiting commands leaves its part to the next.

use ssd::config::{Arbitration, HostConfig, Level, Priority};

/// Queues of one level, by turns.
#[derive(Debug, Default)]
struct Turns {
    queues: Vec<usize>,
    /// Queue whose turn it is, and the commands taken in this turn.
    at: usize,
    taken: u32,
}

impl Turns {
    /// Next queue with a command that can be taken, at most `burst` times in a turn.
    #[inline]
    fn next(&mut self, burst: u32, is_ready: impl Fn(usize) -> bool) -> Option<usize> {
        if self.taken >= burst {
            self.pass();
        }
        for _ in 0..self.queues.len() {
            let queue = self.queues[self.at];
            if is_ready(queue) {
                self.taken += 1;
                return Some(queue);
            }
            self.pass();
        }
        None
    }

    /// Ends the turn of the present queue.
    #[inline]
    fn pass(&mut self) {
        self.at = if self.at + 1 < self.queues.len() { self.at + 1 } else { 0 };
        self.taken = 0;
    }
}

/// Arbiter of the submission queues of a run.
#[derive(Debug)]
pub(super) struct Arbiter {
    burst: u32,
    urgent: Turns,
    /// Levels below the urgent one, each with its weight.
    levels: Vec<(u32, Turns)>,
    /// Level whose part of the round it is, and the commands left in this part.
    at: usize,
    credits: u32,
}

impl Arbiter {
    /// Arbiter of the queues of jobs, which have these names and classes.
    pub fn new<'a>(host: &HostConfig, jobs: impl Iterator<Item = (&'a str, Priority)>) -> Self {
        let burst = if host.arbitration_burst == 0 { u32::MAX } else { host.arbitration_burst };
        let (mut urgent, mut levels) = (Turns::default(), Vec::new());
        if host.arbitration == Arbitration::RoundRobin {
            let queues = jobs.enumerate().map(|(queue, _)| queue).collect();
            levels.push((u32::MAX, Turns { queues, ..Turns::default() }));
        } else {
            let mut known =
                [Priority::High, Priority::Medium, Priority::Low].map(Level::Class).to_vec();
            levels.resize_with(known.len(), || (0, Turns::default()));
            for (queue, (name, asked)) in jobs.enumerate() {
                let level = host.level(name, asked);
                let Some(weight) = host.weight(&level) else {
                    urgent.queues.push(queue);
                    continue;
                };
                let at = known.iter().position(|other| *other == level).unwrap_or_else(|| {
                    known.push(level);
                    levels.push((0, Turns::default()));
                    known.len() - 1
                });
                levels[at].0 = weight;
                levels[at].1.queues.push(queue);
            }
            levels.retain(|(_, turns)| !turns.queues.is_empty());
        }
        let credits = levels.first().map_or(0, |(weight, _)| *weight);
        Self { burst, urgent, levels, at: 0, credits }
    }

    /// Queue of the next command; `is_ready` says whether a command of a queue can be taken.
    /// `None` if none can.
    #[inline]
    pub fn next(&mut self, is_ready: impl Fn(usize) -> bool) -> Option<usize> {
        if let Some(queue) = self.urgent.next(self.burst, &is_ready) {
            return Some(queue);
        }
        // The present level may have used up its part, and begins the next round then.
        for _ in 0..=self.levels.len() {
            let (_, turns) = self.levels.get_mut(self.at)?;
            if self.credits > 0
                && let Some(queue) = turns.next(self.burst, &is_ready)
            {
                self.credits -= 1;
                if self.credits == 0 {
                    turns.pass();
                }
                return Some(queue);
            }
            self.at = if self.at + 1 < self.levels.len() { self.at + 1 } else { 0 };
            self.credits = self.levels[self.at].0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::config::TenantConfig;

    /// Queues in the order in which an arbiter takes `count` commands, where each queue has as many
    /// as `waiting` says.
    fn order(
        host: &HostConfig,
        jobs: &[(&str, Priority)],
        waiting: &[u32],
        count: usize,
    ) -> String {
        let mut arbiter = Arbiter::new(host, jobs.iter().copied());
        let mut waiting = waiting.to_vec();
        let taken = (0..count).map_while(|_| {
            let queue = arbiter.next(|queue| waiting[queue] > 0)?;
            waiting[queue] -= 1;
            Some(char::from(b'a' + queue as u8))
        });
        taken.collect()
    }

    const MANY: u32 = 1000;

    #[test]
    fn queues_have_turns_of_a_burst() {
        let host = |arbitration_burst| HostConfig { arbitration_burst, ..HostConfig::default() };
        let jobs = [("a", Priority::Low), ("b", Priority::Urgent), ("c", Priority::Medium)];
        assert_eq!(order(&host(1), &jobs, &[3, MANY, 1], 9), "abcababbb");
        assert_eq!(order(&host(2), &jobs, &[3, MANY, 1], 9), "aabbcabbb");
        assert_eq!(order(&host(0), &jobs, &[2, 3, 2], 9), "aabbbcc");
    }

    #[test]
    fn levels_have_their_weights() {
        let mut host = HostConfig {
            arbitration: Arbitration::WeightedRoundRobin,
            weight_high: 3,
            weight_low: 2,
            weight_medium: 1,
            ..HostConfig::default()
        };
        let jobs = [("a", Priority::Low), ("b", Priority::High), ("c", Priority::High)];
        assert_eq!(order(&host, &jobs, &[MANY; 3], 10), "bcbaacbcaa");
        // A burst is cut short where its level has no more commands in the round.
        host.arbitration_burst = 2;
        assert_eq!(order(&host, &jobs, &[MANY; 3], 10), "bbcaabbcaa");
        // What a level does not use is left to the next one.
        assert_eq!(order(&host, &jobs, &[5, 1, 0], 10), "baaaaa");
        let weight = TenantConfig { weight: Some(4), ..TenantConfig::default() };
        host.jobs.insert("a".to_owned(), weight);
        let jobs = [("a", Priority::Urgent), ("a", Priority::Low), ("d", Priority::Medium)];
        assert_eq!(order(&host, &jobs, &[MANY; 3], 10), "caabbcaabb");
    }

    #[test]
    fn urgent_queues_go_first() {
        let arbitration = Arbitration::WeightedRoundRobin;
        let host = HostConfig { arbitration, ..HostConfig::default() };
        let jobs = [("a", Priority::High), ("b", Priority::Urgent), ("c", Priority::Urgent)];
        assert_eq!(order(&host, &jobs, &[3, 3, 2], 9), "bcbcbaaa");
    }
}
