//! `random`: any candidate. Write amplification under uniform writes is alpha/(alpha - 1).

use super::contract::CandidateSet;
use super::{BlockWord, Victims, VictimsBuild};
use crate::space::stationary::Law;
use base::Result;
use base::archive::{Archive, State};
use base::family::{Member, NoParams, check, schema};
use base::rng::Rng;

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "random",
    summary: "any full block",
    citation: "vanhoudt2013",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |shape, _, rng| Ok(Box::new(Random { set: CandidateSet::new(shape), rng })),
};

#[derive(Clone)]
struct Random {
    set: CandidateSet,
    rng: Rng,
}

impl State for Random {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { set, rng } = self;
        set.exchange(archive)?;
        archive.value(rng)
    }
}

impl Victims for Random {
    fn closed(&mut self, plane: u32, block: u32, _: u32, _: u64) {
        self.set.insert(plane, block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.set.remove(plane, block);
    }

    fn law(&self) -> Option<Law> {
        Some(Law::Choices(1))
    }

    fn pick(&mut self, plane: u32, _: &[BlockWord], _: u64) -> Option<u32> {
        let candidates = self.set.of(plane);
        if candidates.is_empty() {
            return None;
        }
        let block = candidates[self.rng.below(candidates.len() as u64) as usize];
        self.set.remove(plane, block);
        Some(block)
    }
}
