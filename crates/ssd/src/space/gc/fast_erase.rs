//! `fast_erase`: of the blocks that are nearly the emptiest, the one whose erase is quickest.
//!
//! "Intentionally choosing blocks that have a faster erase speed can reduce garbage collection
//! cost" (Wang 2014, Section 4.2). The drive measures each erase. Of the blocks with at most
//! `slack` valid units more than the emptiest, the one whose erases took the least time goes; one
//! that was not measured yet counts as the quickest.

use super::contract::{CandidateSet, Shape};
use super::{BlockWord, Victims, VictimsBuild};
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Result, Time, params};
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
    /// By block: moving mean of its erase times in nanoseconds, 0 before the first.
    took_ns: Vec<u64>,
}

/// Erases that the moving mean goes over; assumed.
const MEAN_OVER: u64 = 4;

impl FastErase {
    fn new(shape: &Shape, slack: u32) -> Self {
        let took_ns = table(shape.blocks() as usize, 0);
        Self { slack, candidates: CandidateSet::new(shape), took_ns }
    }
}

impl State for FastErase {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { slack: _, candidates, took_ns } = self;
        candidates.exchange(archive)?;
        archive.table(took_ns)
    }
}

impl Victims for FastErase {
    fn closed(&mut self, plane: u32, block: u32, _: u32, _: u64) {
        self.candidates.insert(plane, block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.candidates.remove(plane, block);
    }

    fn measured(&mut self, _: u32, block: u32, took: Time) {
        let mean = &mut self.took_ns[block as usize];
        *mean = match *mean {
            0 => took.0,
            known if took == Time::ZERO => known,
            known => known - known / MEAN_OVER + took.0 / MEAN_OVER,
        };
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], _: u64) -> Option<u32> {
        let valid = |block: &u32| blocks[*block as usize].valid();
        let candidates = self.candidates.of(plane).iter().copied();
        let least = candidates.clone().map(|block| valid(&block)).min()?;
        let near = candidates.filter(|block| valid(block) <= least.saturating_add(self.slack));
        let best =
            near.min_by_key(|block| (self.took_ns[*block as usize], valid(block), *block))?;
        self.candidates.remove(plane, best);
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that were not measured go first, then the quickest of those that are nearly the
    /// emptiest.
    #[test]
    fn the_quickest_of_the_emptiest_goes() {
        let shape = Shape { planes: 1, blocks_per_plane: 4, units_per_block: 50 };
        let mut policy = FastErase::new(&shape, 2);
        let mut words = vec![BlockWord::default(); 4];
        for (block, valid) in [10, 11, 12, 13].into_iter().enumerate() {
            words[block].add(valid);
            words[block].set_closed(true);
            policy.closed(0, block as u32, valid, 0);
        }
        let mut next = |erase_us: f64| {
            let block = policy.pick(0, &words, 0).unwrap();
            policy.measured(0, block, Time::from_us(erase_us));
            policy.closed(0, block, words[block as usize].valid(), 0);
            block
        };
        assert_eq!([next(3000.0), next(2000.0), next(4000.0)], [0, 1, 2]);
        // The second is the quickest, until its erases have taken longer.
        assert_eq!([next(9000.0), next(3000.0)], [1, 0]);
        // The fourth was never measured, and is too full.
        assert_eq!(next(3000.0), 0);
    }
}
