//! `fast_erase`: of the blocks that are nearly the emptiest, the one whose erase is quickest.
//!
//! "Intentionally choosing blocks that have a faster erase speed can reduce garbage collection
//! cost" (Wang 2014, Section 4.2). The erase of a block takes longer the more often it was erased:
//! so of the blocks with at most `slack` valid units more than the emptiest, the least erased goes.

use super::contract::{CandidateSet, Shape};
use super::{BlockWord, Victims, VictimsBuild};
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "fast_erase",
    summary: "of the blocks that are nearly the emptiest, the one whose erase is quickest",
    citation: "wang2014",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |shape, table, _| {
        let Params { slack } = params::read(table, "gc")?;
        Ok(Box::new(FastErase::new(shape, slack)))
    },
};

/// Parameters of `fast_erase`: how much fuller than the emptiest block a victim may be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Valid units that a victim may have more than the emptiest block.
    slack: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { slack: 2 }
    }
}

#[derive(Clone)]
struct FastErase {
    slack: u32,
    candidates: CandidateSet,
    /// By block: how often it was taken, and thus erased. Its wear from before counts for all.
    erases: Vec<u32>,
}

impl FastErase {
    fn new(shape: &Shape, slack: u32) -> Self {
        let erases = table(shape.blocks() as usize, 0);
        Self { slack, candidates: CandidateSet::new(shape), erases }
    }

    fn take(&mut self, plane: u32, block: u32) {
        self.candidates.remove(plane, block);
        self.erases[block as usize] += 1;
    }
}

impl State for FastErase {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { slack: _, candidates, erases } = self;
        candidates.exchange(archive)?;
        archive.table(erases)
    }
}

impl Victims for FastErase {
    fn closed(&mut self, plane: u32, block: u32, _: u32, _: u64) {
        self.candidates.insert(plane, block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.take(plane, block);
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], _: u64) -> Option<u32> {
        let valid = |block: &u32| blocks[*block as usize].valid();
        let candidates = self.candidates.of(plane).iter().copied();
        let least = candidates.clone().map(|block| valid(&block)).min()?;
        let near = candidates.filter(|block| valid(block) <= least.saturating_add(self.slack));
        let best = near.min_by_key(|block| (self.erases[*block as usize], valid(block), *block))?;
        self.take(plane, best);
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equals are taken in turn, and a worn block waits where another is nearly as empty.
    #[test]
    fn the_least_erased_of_the_emptiest_goes() {
        let shape = Shape { planes: 1, blocks_per_plane: 4, units_per_block: 50 };
        let mut policy = FastErase::new(&shape, 2);
        let mut words = vec![BlockWord::default(); 4];
        for (block, valid) in [10, 11, 12, 13].into_iter().enumerate() {
            words[block].add(valid);
            words[block].set_closed(true);
            policy.closed(0, block as u32, valid, 0);
        }
        // The emptiest; back as it was, it has one erase more than two that are nearly so.
        assert_eq!(policy.pick(0, &words, 0), Some(0));
        policy.closed(0, 0, 10, 0);
        assert_eq!(policy.pick(0, &words, 0), Some(1));
        policy.closed(0, 1, 11, 0);
        assert_eq!(policy.pick(0, &words, 0), Some(2));
        policy.closed(0, 2, 12, 0);
        // The fourth is too full for that.
        assert_eq!(policy.pick(0, &words, 0), Some(0));
    }
}
