//! `fifo`: the oldest block, filled first (least recently written cleaning).
//!
//! Write amplification under uniform writes has a closed form: A = 1/(1 - exp(-alpha/A)).

use super::{BlockWord, Victims, VictimsBuild};
use crate::space::stationary::Law;
use base::Result;
use base::archive::{Archive, State};
use base::family::{Member, NoParams, check, schema};
use std::collections::VecDeque;

pub const MEMBER: Member<VictimsBuild> = Member {
    name: "fifo",
    summary: "the oldest block: filled first",
    citation: "desnoyers2012",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |shape, _, _| Ok(Box::new(Fifo(vec![VecDeque::new(); shape.planes as usize]))),
};

#[derive(Clone)]
struct Fifo(Vec<VecDeque<u32>>);

impl State for Fifo {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.value(&mut self.0)
    }
}

impl Victims for Fifo {
    fn closed(&mut self, plane: u32, block: u32, _: u32, _: u64) {
        self.0[plane as usize].push_back(block);
    }

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.0[plane as usize].retain(|&candidate| candidate != block);
    }

    fn law(&self) -> Option<Law> {
        Some(Law::Fifo)
    }

    fn pick(&mut self, plane: u32, _: &[BlockWord], _: u64) -> Option<u32> {
        self.0[plane as usize].pop_front()
    }
}
