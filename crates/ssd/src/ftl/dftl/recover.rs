//! Rebuilding of `dftl` from what a start-up has found on flash.
//!
//! The cache begins empty. A page of the map that is older than the place of one of its units is
//! written anew.

use super::Dftl;
use crate::recovery::Found;

impl Dftl {
    pub(super) fn rebuild(&mut self, found: &Found) {
        for block in self.page.rebuild(found) {
            self.area.found(&self.page, block);
        }
        self.area.found_open(&self.page);
        let pages = self.own_pages();
        let mut written = vec![0; pages as usize];
        let mut placed = vec![0; pages as usize];
        for block in found.blocks() {
            for (ppn, lpn, oob) in found.current(block) {
                if self.page.map[lpn.0 as usize] != ppn.0 {
                    continue;
                }
                match self.area.page(lpn) {
                    Some(page) => written[page as usize] = oob.unit.sequence,
                    None => {
                        let placed = &mut placed[(lpn.0 / self.per_page) as usize];
                        *placed = oob.stamp.max(*placed);
                    }
                }
            }
        }
        for page in (0..pages).filter(|&page| placed[page as usize] > written[page as usize]) {
            self.area.queue(page, false);
        }
    }

    /// Pages of the map.
    pub(super) fn own_pages(&self) -> u32 {
        self.page.logical_units.div_ceil(self.per_page)
    }
}
