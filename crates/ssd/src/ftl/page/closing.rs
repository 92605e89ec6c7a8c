//! Open blocks that are closed before they are full: so that their data can be moved off, or that a
//! placement handle of the host goes on in new ones.

use super::PageFtl;
use crate::ftl::contract::Key;
use crate::space::frontier::Frontier;
use nand::geometry::{Block, Die};

impl PageFtl {
    /// Closes the frontier of an open block, if its die has room for another: its blocks become
    /// candidates, and their last pages stay unwritten until their erase. True if it was closed.
    pub(super) fn close_early(&mut self, block: Block) -> bool {
        let die = self.geometry.die_of(block);
        // Behind those of data come the frontiers of the FTL's own units.
        let of_data = ((self.streams + 1) * self.groups) as usize;
        let first = self.frontiers_at(die).start;
        let is_open = |&index: &usize| {
            let mut filling = self.frontiers[index].filling();
            filling.any(|(open, pages)| open == block && pages > 0)
        };
        let Some(index) = (first..first + of_data).find(is_open) else { return false };
        if !self.is_roomy(die) {
            return false;
        }
        self.close_frontier(die, index);
        true
    }

    /// Closes a frontier: its blocks take nothing more. Returns those that are not full, and the
    /// pages that each has.
    pub(in crate::ftl) fn shut(&mut self, index: usize) -> Vec<(Block, u32)> {
        let filling: Vec<(Block, u32)> = self.frontiers[index].filling().collect();
        self.frontiers[index].open = false;
        for &(block, pages) in &filling {
            // One that was to end later ends here.
            self.short.retain(|&(short, _)| short != block);
            self.short.push((block, pages));
        }
        filling
    }

    /// Closes an open frontier of a die, whose blocks no program is under way to.
    fn close_frontier(&mut self, die: Die, index: usize) {
        for (open, _) in self.shut(index) {
            if self.retirement.is_doomed(open) {
                self.retirement.wait(die, open);
            } else {
                self.candidates.closed(self.geometry.plane_of(open), open, self.clock);
            }
        }
    }

    /// Frontiers of a stream of the host on a die.
    pub(super) fn frontiers_of_handle(
        &self,
        die: Die,
        stream: u32,
    ) -> impl Iterator<Item = usize> + use<> {
        let first = self.frontier_index(die, stream, 0);
        first..first + self.groups as usize
    }

    /// Blocks of a stream on a die that are open for its data and hold some.
    pub(super) fn begun_blocks(&self, die: Die, stream: u32) -> impl Iterator<Item = Block> {
        let frontiers = self.frontiers_of_handle(die, stream).map(|index| &self.frontiers[index]);
        let open = frontiers.filter(|frontier| frontier.takes_data());
        let filling = open.flat_map(Frontier::filling);
        filling.filter(|&(_, pages)| pages > 0).map(|(block, _)| block)
    }

    /// Open blocks of a handle that hold data.
    pub(in crate::ftl) fn open_blocks(&self, handle: u32) -> Vec<Block> {
        let (dies, stream) = self.dies_of_handle(handle);
        dies.flat_map(|die| self.begun_blocks(die, stream)).collect()
    }

    /// Units that the open blocks of a handle still take ([`Handles::left_units`]).
    ///
    /// [`Handles::left_units`]: crate::ftl::contract::Handles::left_units
    pub(in crate::ftl) fn left_units(&self, handle: u32) -> Option<u64> {
        let (group, stream) = self.placing.parts(Key(handle));
        let dies = self.placing.dies(group);
        let indices = dies.clone().flat_map(|die| self.frontiers_of_handle(Die(die), stream));
        let open =
            indices.map(|index| &self.frontiers[index]).filter(|frontier| frontier.takes_data());
        let left = open.map(|frontier| u64::from(frontier.left_pages() * frontier.rows.page_units));
        let left = left.reduce(|sum, left| sum + left)?;
        Some(left - self.parity_ahead(stream, dies))
    }

    /// Closes the open blocks of a handle die by die, where there is room for others.
    pub(super) fn renew_by_die(
        &mut self,
        handle: u32,
        is_busy: &dyn Fn(Block) -> bool,
    ) -> Vec<Block> {
        let mut closed = Vec::new();
        let (dies, stream) = self.dies_of_handle(handle);
        for die in dies {
            if self.evacuation.is_of(die) || !self.is_roomy(die) {
                continue;
            }
            for index in self.frontiers_of_handle(die, stream) {
                let filling: Vec<_> = self.frontiers[index].filling().collect();
                if filling.iter().any(|&(_, pages)| pages > 0)
                    && !filling.iter().any(|&(block, _)| is_busy(block))
                {
                    self.close_frontier(die, index);
                    closed.extend(filling.into_iter().map(|(block, _)| block));
                }
            }
        }
        closed
    }
}
