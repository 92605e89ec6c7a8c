//! `cost_benefit`: the most space for the least copying, weighted by age
//! (Rosenblum and Ousterhout, 1992): maximise (1-u)/(2u) x age.
//!
//! u is the valid share of the block, the age is counted in host writes since it was filled. All
//! candidates of the plane are scored: linear, once for each block reclaimed.

use super::contract::CandidateSet;
use super::{BlockWord, Victims, VictimsBuild};
use base::Result;
use base::archive::{Archive, State};
use base::family::{Member, NoParams, check, schema};

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "cost_benefit",
    summary: "most space for the least copying, weighted by age",
    citation: "rosenblum1992",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |shape, _, _| {
        Ok(Box::new(CostBenefit {
            units_per_block: shape.units_per_block,
            set: CandidateSet::new(shape),
            closed_at: vec![0; shape.blocks() as usize],
        }))
    },
};

#[derive(Clone)]
struct CostBenefit {
    units_per_block: u32,
    set: CandidateSet,
    closed_at: Vec<u64>,
}

impl CostBenefit {
    fn benefit(&self, block: u32, valid: u32, clock: u64) -> f64 {
        let age = (clock - self.closed_at[block as usize] + 1) as f64;
        let invalid = f64::from(self.units_per_block - valid);
        // A block without valid units costs nothing to copy: it comes before all others.
        age * invalid / (2.0 * f64::from(valid)).max(1e-9)
    }
}

impl State for CostBenefit {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { units_per_block: _, set, closed_at } = self;
        set.exchange(archive)?;
        archive.table(closed_at)
    }
}

impl Victims for CostBenefit {
    fn closed(&mut self, plane: u32, block: u32, _: u32, clock: u64) {
        self.closed_at[block as usize] = clock;
        self.set.insert(plane, block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.set.remove(plane, block);
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], clock: u64) -> Option<u32> {
        let mut best = None;
        for &block in self.set.of(plane) {
            let benefit = self.benefit(block, blocks[block as usize].valid(), clock);
            if best.is_none_or(|(most, _)| benefit > most) {
                best = Some((benefit, block));
            }
        }
        let (_, block) = best?;
        self.set.remove(plane, block);
        Some(block)
    }
}
