//! Dies whose chip was replaced: a new chip has other blocks, whose faults and spread are drawn
//! anew.

use super::rest::Rested;
use super::{BlockState, Chips};
use crate::chip::geometry::{Block, Die};
use base::archive::Archive;
use base::rng::mix;
use base::{Error, Result};

impl Chips {
    /// Number from which the faults and the spread of a block are drawn. It differs between a block
    /// and its replacements.
    #[inline]
    pub fn identity(&self, block: Block) -> u32 {
        if self.replaced.is_empty() { block.0 } else { self.identity_among(block) }
    }

    #[cold]
    fn identity_among(&self, block: Block) -> u32 {
        match self.replacements(self.geometry.die_of(block)) {
            0 => block.0,
            times => (mix(mix(u64::from(times)) ^ u64::from(block.0)) >> 32) as u32,
        }
    }

    /// Replacements of the chip of a die.
    pub fn replacements(&self, die: Die) -> u32 {
        self.replaced.get(die.0 as usize).copied().unwrap_or(0)
    }

    /// Replaces the chip of a die by one with erased blocks of `pe_cycles` cycles.
    pub fn replace(&mut self, die: Die, pe_cycles: u32) {
        self.replaced.resize(self.geometry.dies as usize, 0);
        self.replaced[die.0 as usize] += 1;
        let first = self.geometry.first_block(self.geometry.plane(die, 0)).0;
        let blocks = first..first + self.geometry.planes_per_die * self.geometry.blocks_per_plane;
        for block in blocks.clone() {
            self.blocks[block as usize] = BlockState::erased(pe_cycles);
            if let Some(rested) = self.rested.get_mut(block as usize) {
                *rested = Rested::new(pe_cycles, self.age.minutes());
            }
            self.doses.erase(Block(block));
            if let Some(oob) = &mut self.oob {
                oob.erase(Block(block));
            }
        }
        self.torn.retain(|(torn, _)| !blocks.contains(torn));
    }

    /// Saves or loads the replacements of chips.
    pub(super) fn exchange_replaced(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        archive.value(&mut self.replaced)?;
        if !self.replaced.is_empty() && self.replaced.len() != self.geometry.dies as usize {
            return Err(Error::new("drive", "its replaced chips are those of another drive"));
        }
        Ok(())
    }
}
