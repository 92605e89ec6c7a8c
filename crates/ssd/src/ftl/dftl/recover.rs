//! Rebuilding of `dftl` from what a start-up has found on flash.
//!
//! The cache begins empty. A page of the map that is older than the place of one of its units is
//! written anew.

use super::{Cached, Mapping};
use crate::ftl::page::PageFtl;
use crate::recovery::Found;
use nand::geometry::Block;

impl Cached {
    pub(super) fn rebuild(&mut self, page: &PageFtl, found: &Found, own: Vec<Block>) {
        for block in own {
            self.area.found(page, block);
        }
        self.area.found_open(page);
        let pages = self.own_pages();
        let mut written = vec![0; pages as usize];
        let mut placed = vec![0; pages as usize];
        for block in found.blocks() {
            for (ppn, lpn, oob) in found.current(block) {
                if page.map[lpn.0 as usize] != ppn.0 {
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
}
