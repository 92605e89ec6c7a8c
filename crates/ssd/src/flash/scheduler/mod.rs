//! Schedulers: the order of commands on a die and on a bus. A family; its roster is here.

pub mod contract;
mod in_order;
mod out_of_order;

pub use contract::{Build, CLASSES, Class, Head, Scheduler};

use base::family::Member;

/// Roster of the schedulers.
pub const ROSTER: &[Member<Build>] = &[in_order::MEMBER, out_of_order::MEMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use base::Time;
    use base::params::Table;
    use base::rng::Rng;

    /// Every member: it picks a class that has a command waiting, serves every command in the end,
    /// however many others come, and lets collection pass no older read.
    #[test]
    fn picks_what_waits_and_starves_nobody() {
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "scheduler").unwrap();
            let scheduler = (member.build)(&params).unwrap();
            let mut rng = Rng::stream(1, "scheduler");
            let mut heads = [None; CLASSES];
            let mut longest = 0;
            for now in 0..200_000u64 {
                // A new command in a random class every microsecond, one served in the same time.
                let class = rng.below(5).min(3) as usize;
                heads[class].get_or_insert(Head { since: Time(now * 1000), order: now });
                let picked = scheduler.pick(Time(now * 1000), &heads);
                let head: Head = heads[picked].take().expect("picked an empty class");
                let older = |read: &Head| read.order < head.order;
                let passed = heads[Class::Read as usize].as_ref().is_some_and(older);
                assert!(picked != Class::Collect as usize || !passed, "{}", member.name);
                longest = longest.max(now * 1000 - head.since.0);
            }
            assert!(longest < 100_000_000, "{}: {longest} ns", member.name);
        }
    }
}
