//! Wear and time that pass in a leap: cycles that are not carried out one by one.

use super::Chips;
use crate::chip::mode::BlockMode;
use crate::geometry::Block;
use base::units::Hours;

impl Chips {
    /// Adds cycles to a block. What it holds stays.
    pub fn wear(&mut self, block: Block, cycles: u32) {
        let state = &mut self.blocks[block.0 as usize];
        state.pe_cycles = state.pe_cycles.saturating_add(cycles);
    }

    /// Cycles with which a block reports failures.
    pub fn lasts(&self, block: Block) -> u32 {
        self.faults.lasts(block.0)
    }

    /// Cycles of a block until one of its programs fails by chance, at a point of their
    /// distribution from 0 to 1.
    pub fn cycles_until_failure(&self, drawn: f64) -> f64 {
        let programs = self.rules.programs(BlockMode::Native);
        self.faults.programs_until_failure(drawn) / f64::from(programs)
    }

    /// Lets `hours` pass at once, to the minute, for data that stay. What the blocks hold that
    /// `is_renewed` names is written anew meanwhile, and stays as old as it is.
    pub fn age_others(&mut self, hours: Hours, is_renewed: impl Fn(Block) -> bool) {
        let before = self.age.minutes();
        self.age(hours);
        let passed = self.age.minutes() - before;
        for (state, block) in self.blocks.iter_mut().zip(0..) {
            if is_renewed(Block(block)) {
                state.set_born(state.born().saturating_add(passed));
            }
        }
    }
}
