//! Bookkeeping of sets: sums over them, and the account of each.

use super::{NvmSets, Set};
use crate::ftl::contract::{Account, CacheState, FtlCounts, Lead, Occupancy, Ram, Wear};
use base::counts::Counts;
use nand::chip::BlockMode;
use nand::geometry::Block;

impl NvmSets {
    fn good_blocks(set: &Set) -> u64 {
        let blocks = (0..set.geometry.blocks()).map(Block);
        blocks.filter(|&block| !set.ftl.is_bad(block)).count() as u64
    }
}

impl Account for NvmSets {
    fn counts(&self) -> FtlCounts {
        let counts = self.sets.iter().map(|set| set.ftl.counts());
        counts.fold(FtlCounts::default(), |sum, counts| sum.plus(&counts))
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.sets.iter_mut().for_each(|set| set.ftl.start_run(pe_cycles));
    }

    fn occupancy(&self) -> Occupancy {
        self.sets.iter().fold(Occupancy::default(), |sum, set| {
            let Occupancy { mapped, free, invalid, bad } = set.ftl.occupancy();
            Occupancy {
                mapped: sum.mapped + mapped,
                free: sum.free + free,
                invalid: sum.invalid + invalid,
                bad: sum.bad + bad,
            }
        })
    }

    fn wear(&self) -> Wear {
        let of = |set: &Set| (set.ftl.wear(), Self::good_blocks(set));
        let all: Vec<_> = self.sets.iter().map(of).filter(|&(_, blocks)| blocks > 0).collect();
        let blocks: u64 = all.iter().map(|&(_, blocks)| blocks).sum();
        let cycles = all.iter().map(|(wear, blocks)| wear.mean * *blocks as f64);
        Wear {
            min: all.iter().map(|(wear, _)| wear.min).min().unwrap_or(0),
            mean: cycles.sum::<f64>() / blocks.max(1) as f64,
            max: all.iter().map(|(wear, _)| wear.max).max().unwrap_or(0),
        }
    }

    fn filled_pages(&self, block: Block) -> u32 {
        let set = self.of_block(block);
        self.sets[set].ftl.filled_pages(self.inside(set, block))
    }

    fn valid_units(&self, block: Block) -> u32 {
        let set = self.of_block(block);
        self.sets[set].ftl.valid_units(self.inside(set, block))
    }

    /// Numbers of zones and superblocks count from 0 in each set: neighbours of two sets may share
    /// one.
    fn group(&self, block: Block) -> Option<u32> {
        let set = self.of_block(block);
        self.sets[set].ftl.group(self.inside(set, block))
    }

    fn is_bad(&self, block: Block) -> bool {
        let set = self.of_block(block);
        self.sets[set].ftl.is_bad(self.inside(set, block))
    }

    fn mode(&self, block: Block) -> BlockMode {
        let set = self.of_block(block);
        self.sets[set].ftl.mode(self.inside(set, block))
    }

    fn cache(&self) -> Option<CacheState> {
        let caches = self.sets.iter().filter_map(|set| set.ftl.cache());
        caches.reduce(|sum, CacheState { room_units, used_units }| CacheState {
            room_units: sum.room_units + room_units,
            used_units: sum.used_units + used_units,
        })
    }

    fn ram(&self) -> Vec<Ram> {
        let mut all: Vec<Ram> = Vec::new();
        for Ram { name, bytes } in self.sets.iter().flat_map(|set| set.ftl.ram()) {
            match all.iter_mut().find(|ram| ram.name == name) {
                Some(ram) => ram.bytes += bytes,
                None => all.push(Ram { name, bytes }),
            }
        }
        all
    }

    fn bytes_per_unit(&self) -> f64 {
        let bytes = |set: &Set| set.ftl.bytes_per_unit() * f64::from(set.ftl.facts().logical_units);
        self.sets.iter().map(bytes).sum::<f64>() / f64::from(self.facts.logical_units)
    }

    fn counts_of_sets(&self) -> Vec<FtlCounts> {
        self.sets.iter().map(|set| set.ftl.counts()).collect()
    }

    fn lead_of_set(&self, set: usize) -> Option<Lead> {
        self.sets.get(set)?.ftl.lead()
    }

    fn occupancy_of_sets(&self) -> Vec<Occupancy> {
        self.sets.iter().map(|set| set.ftl.occupancy()).collect()
    }
}
