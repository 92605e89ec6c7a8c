//! `d_choices`: the best of d blocks drawn at random (Van Houdt, SIGMETRICS'13).

use super::contract::CandidateSet;
use super::{BlockWord, Victims, VictimsBuild};
use crate::space::stationary::Law;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::rng::Rng;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "d_choices",
    summary: "the emptiest of d blocks drawn at random",
    citation: "vanhoudt2013",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |shape, table, rng| {
        let Params { d } = params::read(table, "gc")?;
        if d == 0 || d > 1000 {
            return Err(Error::new("gc.d", format!("{d} choices")).expected("1 to 1000"));
        }
        Ok(Box::new(DChoices { d, set: CandidateSet::new(shape), rng }))
    },
};

/// Parameters of `d_choices`: how many blocks are drawn.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Blocks drawn for each victim, with replacement.
    d: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { d: 10 }
    }
}

#[derive(Clone)]
struct DChoices {
    d: u32,
    set: CandidateSet,
    rng: Rng,
}

impl State for DChoices {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { d: _, set, rng } = self;
        set.exchange(archive)?;
        archive.value(rng)
    }
}

impl Victims for DChoices {
    fn closed(&mut self, plane: u32, block: u32, _: u32, _: u64) {
        self.set.insert(plane, block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.set.remove(plane, block);
    }

    fn law(&self) -> Option<Law> {
        Some(Law::Choices(self.d))
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], _: u64) -> Option<u32> {
        let candidates = self.set.of(plane);
        if candidates.is_empty() {
            return None;
        }
        let best = (0..self.d)
            .map(|_| candidates[self.rng.below(candidates.len() as u64) as usize])
            .min_by_key(|&block| blocks[block as usize].valid())?;
        self.set.remove(plane, best);
        Some(best)
    }
}
