//! Garbage collection policies: the selection of victims. A family; its roster is here.

pub mod contract;
mod cost_benefit;
mod d_choices;
mod fast_erase;
mod fifo;
mod greedy;
mod random;

pub use contract::{Among, BlockWord, Copyback, GcConfig, Policy, Rotation, Victims, VictimsBuild};

use base::family::Member;

/// Roster of the garbage collection policies.
pub const ROSTER: &[Member<VictimsBuild>] = &[
    greedy::MEMBER,
    fifo::MEMBER,
    random::MEMBER,
    d_choices::MEMBER,
    cost_benefit::MEMBER,
    fast_erase::MEMBER,
];

#[cfg(test)]
mod tests {
    use super::*;
    use base::params::Table;
    use base::rng::Rng;
    use std::collections::BTreeSet;

    /// Every member against a model set: it picks candidates only, each once, from the right
    /// plane, and never says there is none while there is one.
    #[test]
    fn picks_each_candidate_once() {
        const PLANES: u32 = 3;
        const BLOCKS: u32 = 40;
        const UNITS: u32 = 50;
        for member in ROSTER {
            let params = (member.check)(&Table::new(), "gc").unwrap();
            let shape = contract::Shape {
                planes: PLANES,
                blocks_per_plane: BLOCKS,
                units_per_block: UNITS,
            };
            let mut gc = (member.build)(&shape, &params, Rng::stream(5, "gc")).unwrap();
            let mut rng = Rng::stream(6, "test");
            let mut words = vec![BlockWord::default(); (PLANES * BLOCKS) as usize];
            let mut candidates = BTreeSet::new();
            for clock in 0..20_000u64 {
                let block = rng.below(u64::from(PLANES * BLOCKS)) as u32;
                let plane = block / BLOCKS;
                let word = &mut words[block as usize];
                match rng.below(8) {
                    0 if !candidates.contains(&block) => {
                        *word = BlockWord::default();
                        word.add(rng.below(u64::from(UNITS) + 1) as u32);
                        word.set_closed(true);
                        gc.closed(plane, block, word.valid(), clock);
                        candidates.insert(block);
                    }
                    1..=4 if candidates.contains(&block) && word.valid() > 0 => {
                        word.remove_one();
                        gc.invalidated(plane, block, word.valid());
                    }
                    5 if candidates.remove(&block) => {
                        gc.withdraw(plane, block, word.valid());
                        word.set_closed(false);
                    }
                    6 => {
                        let any = candidates.iter().any(|b| b / BLOCKS == plane);
                        let picked = gc.pick(plane, &words, clock);
                        assert_eq!(picked.is_some(), any, "{}", member.name);
                        if let Some(picked) = picked {
                            assert_eq!(picked / BLOCKS, plane, "{}", member.name);
                            assert!(candidates.remove(&picked), "{}", member.name);
                            words[picked as usize].set_closed(false);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Every member, with blocks that come back full of valid units each time, like blocks that
    /// collection has filled: it reaches the only block that has an invalid unit.
    #[test]
    fn collection_comes_to_what_is_dead() {
        const BLOCKS: u32 = 30;
        const UNITS: u32 = 50;
        let shape = contract::Shape { planes: 1, blocks_per_plane: BLOCKS, units_per_block: UNITS };
        for member in ROSTER {
            for dead in 0..BLOCKS {
                let params = (member.check)(&Table::new(), "gc").unwrap();
                let mut gc = (member.build)(&shape, &params, Rng::stream(5, "gc")).unwrap();
                let mut words = vec![BlockWord::default(); BLOCKS as usize];
                for (block, word) in (0..).zip(&mut words) {
                    word.add(UNITS - u32::from(block == dead));
                    word.set_closed(true);
                    gc.closed(0, block, word.valid(), 0);
                }
                // Of draws, each misses it with 29 in 30: all of them once in e^100 times.
                let mut picks = (0..100 * BLOCKS).map(|_| {
                    let picked = gc.pick(0, &words, 0).expect("candidates");
                    gc.closed(0, picked, words[picked as usize].valid(), 0);
                    picked
                });
                assert!(picks.any(|picked| picked == dead), "{}: never block {dead}", member.name);
            }
        }
    }
}
