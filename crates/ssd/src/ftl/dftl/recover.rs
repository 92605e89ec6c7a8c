//! Rebuilding of `dftl` from what a start-up has found on flash.
//!
//! The cache begins empty. A page of the map that is older than the place of one of its units is
//! written anew.

use super::Cached;
use crate::ftl::page::PageFtl;
use crate::recovery::Found;
use nand::geometry::Block;

impl Cached {
    pub(super) fn rebuild(&mut self, page: &PageFtl, found: &Found, own: Vec<Block>) {
        for block in own {
            self.area.found(page, block);
        }
        self.area.found_open(page);
        let copies = self.area.all();
        let mut written = vec![0; copies as usize];
        let mut placed = vec![0; copies as usize];
        for block in found.blocks() {
            for (ppn, lpn, oob) in found.current(block) {
                if page.map[lpn.0 as usize] != ppn.0 {
                    continue;
                }
                match self.area.copy(lpn) {
                    Some(copy) => written[copy as usize] = oob.unit.sequence,
                    None => {
                        let placed = &mut placed[(lpn.0 / self.per_page) as usize];
                        *placed = oob.stamp.max(*placed);
                    }
                }
            }
        }
        let of = |copy: u32| self.area.page(self.area.lpn(copy)).unwrap_or(copy);
        let is_old = |&copy: &u32| placed[of(copy) as usize] > written[copy as usize];
        let old: Vec<u32> = (0..copies).filter(is_old).collect();
        old.into_iter().for_each(|copy| self.area.queue_copy(copy, false));
        self.area.move_homes(page);
    }
}
