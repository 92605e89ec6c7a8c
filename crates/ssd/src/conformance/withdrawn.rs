//! Withdrawal of a die in an account of an FTL: nothing is placed there, nothing is left there.

use super::tally::{OfBlock, Tally, broken, hold};
use crate::ftl::contract::Withdrawal;
use base::Result;
use nand::geometry::{Block, Die};
use std::ops::Range;

impl Tally {
    fn blocks_of(&self, die: Die) -> Range<usize> {
        let per_die = (self.geometry.planes_per_die * self.geometry.blocks_per_plane) as usize;
        die.0 as usize * per_die..(die.0 as usize + 1) * per_die
    }

    fn part(&mut self) -> &mut dyn Withdrawal {
        self.ftl.withdrawal_mut().expect("withdrawal is named among the parts")
    }

    /// Holds what is left on a die that is replaced against the account.
    fn left(&self, die: Die) -> Result<()> {
        hold!(self.withdrawn == Some(die), "{die:?} was not withdrawn");
        for (number, block) in (0..).map(Block).zip(&self.blocks).skip(self.blocks_of(die).start) {
            if self.geometry.die_of(number) != die {
                break;
            }
            let is_left = block.mapped == 0 && block.flying == 0;
            hold!(is_left, "{number:?} holds data, and its chip is replaced");
        }
        Ok(())
    }
}

impl Withdrawal for Tally {
    fn can_withdraw(&mut self, die: Die, bad: &[bool]) -> Result<()> {
        self.part().can_withdraw(die, bad)
    }

    fn withdraw(&mut self, die: Die) {
        self.part().withdraw(die);
        self.withdrawn = Some(die);
    }

    fn holds_data(&mut self, die: Die) -> bool {
        let told = self.part().holds_data(die);
        let known = self.blocks[self.blocks_of(die)].iter().any(|block| block.mapped > 0);
        if told != known {
            self.note(Err(broken(format!("{die:?} holds data: {known}, and {told} is told"))));
        }
        told
    }

    fn replace(&mut self, die: Die, bad: &[bool], pe_cycles: u32) {
        let held = self.left(die);
        self.note(held);
        self.part().replace(die, bad, pe_cycles);
        self.withdrawn = None;
        let blocks = self.blocks_of(die);
        for (block, &is_bad) in self.blocks[blocks].iter_mut().zip(bad) {
            *block = OfBlock::new(is_bad, pe_cycles);
        }
    }
}
