//! Open blocks that are closed before they are full, so that their data can be moved off.

use super::PageFtl;
use nand::geometry::Block;

impl PageFtl {
    /// Closes the frontier of an open block, if its die has room for another: its blocks become
    /// candidates, and their last pages stay unwritten until their erase. True if it was closed.
    pub(super) fn close_early(&mut self, block: Block) -> bool {
        let die = self.geometry.die_of(block);
        let per_die = ((self.streams + 2) * self.groups) as usize;
        // Behind those of data come the frontiers of the FTL's own units.
        let of_data = ((self.streams + 1) * self.groups) as usize;
        let first = die.0 as usize * per_die;
        let is_open = |&index: &usize| {
            let mut filling = self.filling(&self.frontiers[index]);
            filling.any(|(open, pages)| open == block && pages > 0)
        };
        let Some(index) = (first..first + of_data).find(is_open) else { return false };
        if !self.is_roomy(die) {
            return false;
        }
        let filling: Vec<(Block, u32)> = self.filling(&self.frontiers[index]).collect();
        self.frontiers[index].open = false;
        for (open, pages) in filling {
            self.short.push((open, pages));
            if self.retirement.is_doomed(open) {
                self.retirement.wait(die, open);
            } else {
                self.candidates.closed(self.geometry.plane_of(open), open, self.clock);
            }
        }
        true
    }
}
