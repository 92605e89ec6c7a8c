//! `random`: every block equally likely; with a random map each block once a pass, fio's default.
//!
//! The map is a keyed permutation ([`Permutation`]), drawn anew for each pass: a block is never
//! repeated within a pass, and no memory is spent on the blocks already sent. Without the map
//! (`norandommap`) draws are independent.

use super::{Constructor, Distribution, Space};
use base::family::{Member, NoParams, check, schema};
use base::params::Table;
use base::permutation::Permutation;
use base::rng::Rng;
use base::{Error, Result};

pub const MEMBER: Member<Constructor> = Member {
    name: "random",
    summary: "uniform; every block once in each pass, unless norandommap",
    citation: "black2002",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: Constructor { example: "", read, build },
};

fn read(text: &str) -> Result<Table> {
    match text {
        "" => Ok(Table::new()),
        _ => Err(Error::new("", format!("`random` takes no argument, not `{text}`"))
            .expected("random_distribution=random")),
    }
}

fn build(_: &Table, space: &Space, mut rng: Rng) -> Result<Box<dyn Distribution>> {
    let blocks = space.blocks;
    Ok(if space.once {
        let order = Permutation::new(blocks, &mut rng);
        Box::new(Once { order, counter: 0, given: 0, blocks, rng })
    } else {
        Box::new(Independent { blocks, rng })
    })
}

fn uniform(blocks: u64) -> Vec<f64> {
    (0..blocks).map(|_| 1.0 / blocks as f64).collect()
}

struct Independent {
    blocks: u64,
    rng: Rng,
}

impl Distribution for Independent {
    fn draw(&mut self) -> u64 {
        self.rng.below(self.blocks)
    }

    fn probabilities(&self) -> Vec<f64> {
        uniform(self.blocks)
    }
}

struct Once {
    order: Permutation,
    counter: u64,
    given: u64,
    blocks: u64,
    rng: Rng,
}

impl Distribution for Once {
    fn draw(&mut self) -> u64 {
        if self.given == self.blocks {
            self.restart();
        }
        self.given += 1;
        loop {
            let counter = self.counter;
            self.counter += 1;
            debug_assert!(counter <= self.order.last_counter());
            if let Some(block) = self.order.at(counter) {
                return block;
            }
        }
    }

    fn probabilities(&self) -> Vec<f64> {
        uniform(self.blocks)
    }

    fn once(&self) -> bool {
        true
    }

    fn restart(&mut self) {
        if self.given > 0 {
            self.order.rekey(&mut self.rng);
            self.counter = 0;
            self.given = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    proptest! {
        /// With the map, each block once a pass, for any number of blocks, pass after pass.
        #[test]
        fn covers_each_block_once_a_pass(blocks in 1u64..3000, seed: u64) {
            let space = Space { blocks, block_bytes: 4096, once: true };
            let mut map = build(&Table::new(), &space, Rng::stream(seed, "map")).unwrap();
            let mut passes = Vec::new();
            for _ in 0..3 {
                let order: Vec<u64> = (0..blocks).map(|_| map.draw()).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                prop_assert!(sorted.iter().copied().eq(0..blocks));
                passes.push(order);
            }
            if blocks > 20 {
                prop_assert!(passes[0] != passes[1] && passes[1] != passes[2]);
            }
        }
    }

    #[test]
    fn restarting_begins_a_new_pass() {
        let space = Space { blocks: 1000, block_bytes: 4096, once: true };
        let mut map = build(&Table::new(), &space, Rng::stream(1, "map")).unwrap();
        assert!((0..300).all(|_| map.draw() < 1000));
        map.restart();
        let mut order: Vec<u64> = (0..1000).map(|_| map.draw()).collect();
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }
}
