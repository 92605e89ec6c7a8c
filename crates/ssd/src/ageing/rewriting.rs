//! Rewriting of blocks without time: the FTL moves their data on flash that wears and fails.

use super::Worn;
use crate::drive::Ssd;
use crate::failure::Failures;
use crate::ftl::contract::Device;
use crate::ftl::{Ftl, Job, Program, Untimed, Urgency};
use base::{Result, Time};
use nand::chip::Chips;
use nand::geometry::{Block, Die, Geometry};
use std::collections::VecDeque;

/// A drive whose blocks are rewritten.
pub(super) struct Rewriting<'a> {
    pub chips: &'a mut Chips,
    pub ftl: &'a mut dyn Ftl,
    pub failures: &'a mut Failures,
    /// Simulated time, which stands still meanwhile.
    now: Time,
    untimed: Untimed,
}

/// Outcome of a rewriting.
#[derive(Default)]
pub(super) struct Rewritten {
    /// Blocks that the FTL has taken.
    pub blocks: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Blocks whose first page was programmed.
    pub born: Vec<Block>,
}

/// Sorts blocks by their plane; their order in a plane stays.
pub(super) fn by_plane(
    geometry: &Geometry,
    blocks: impl Iterator<Item = Block>,
) -> Vec<VecDeque<Block>> {
    let mut planes = vec![VecDeque::new(); geometry.planes() as usize];
    blocks.for_each(|block| planes[geometry.plane_of(block).0 as usize].push_back(block));
    planes
}

impl<'a> Rewriting<'a> {
    /// Takes the parts of a drive at rest that a rewriting changes.
    pub fn of(ssd: &'a mut Ssd) -> Self {
        let now = ssd.now();
        ssd.read_at_ambient();
        let Ssd { flash, ftl, failures, .. } = ssd;
        let chips = &mut flash.chips;
        let untimed = Untimed::new(chips.geometry.dies);
        Self { chips, ftl: &mut **ftl, failures, now, untimed }
    }

    /// Rewrites the blocks `due` by plane, one of each plane of a die together; `may_close` says
    /// whether the FTL may close an open one early.
    pub fn rewrite(&mut self, mut due: Vec<VecDeque<Block>>, may_close: bool) -> Result<Rewritten> {
        let planes = self.chips.geometry.planes_per_die as usize;
        let mut done = Rewritten::default();
        for die in 0..self.chips.geometry.dies {
            let of_die = die as usize * planes..(die as usize + 1) * planes;
            loop {
                let mut next = due[of_die.clone()].iter_mut().filter_map(VecDeque::pop_front);
                let Some(first) = next.next() else { break };
                let mut is_new = false;
                for block in std::iter::once(first).chain(next) {
                    let ftl = &mut *self.ftl;
                    let is_taken = !self.failures.read_only.has_block(block)
                        && (ftl.reclaim(block)
                            || (may_close && ftl.close(block) && ftl.reclaim(block)));
                    done.blocks += u64::from(is_taken);
                    is_new |= is_taken;
                }
                if is_new {
                    self.settle(Die(die), &mut done)?;
                }
            }
        }
        Ok(done)
    }

    /// Lets the jobs of the FTL do all that is due, on the flash.
    fn settle(&mut self, die: Die, done: &mut Rewritten) -> Result<()> {
        let worn = Worn { chips: &mut *self.chips, erases: 0, kept: Vec::new() };
        let mut flash = Begun { worn, born: &mut done.born };
        self.ftl.settle_on(Job::of(die), Urgency::Due, &mut self.untimed, &mut flash)?;
        while let Some(job) = self.ftl.wanted() {
            self.ftl.settle_on(job, Urgency::Due, &mut self.untimed, &mut flash)?;
        }
        let Worn { erases, kept, .. } = flash.worn;
        done.erases += erases;
        kept.into_iter().for_each(|block| self.failures.read_only.set(block, self.now));
        self.ftl.fault(false).map_or(Ok(()), Err)
    }
}

/// Chips that wear, and the blocks that were begun.
struct Begun<'a> {
    worn: Worn<'a>,
    born: &'a mut Vec<Block>,
}

impl Device for Begun<'_> {
    fn program(&mut self, program: &Program, failed: &mut Vec<Block>) -> Result<()> {
        if program.page == 0 {
            self.born.extend(program.blocks());
        }
        self.worn.program(program, failed)
    }

    fn erase(&mut self, block: Block) -> bool {
        self.worn.erase(block)
    }

    fn cannot_spare(&mut self, block: Block) {
        self.worn.cannot_spare(block);
    }
}
