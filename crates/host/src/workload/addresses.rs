//! Addresses of a random job: start addresses of its requests, and the rest of a pass over the
//! region.
//!
//! fio keeps a bit for each block, and cuts a request where it meets a block that was sent
//! (`mark_random_map` of `io_u.c`). Where all requests are one block long a distribution that gives
//! each block once a pass needs no such map; here a map is kept where lengths differ. A request is
//! never cut: its length is drawn among those that fit.

use crate::workload::Distribution;

/// Places of one direction, or of several directions that share them.
pub struct Addresses {
    distribution: Box<dyn Distribution>,
    map: Option<Map>,
}

impl Addresses {
    /// Places in the order that `distribution` draws.
    pub fn new(distribution: Box<dyn Distribution>) -> Self {
        Self { distribution, map: None }
    }

    /// Whether the distribution gives each block once a pass.
    pub fn once(&self) -> bool {
        self.distribution.once()
    }

    /// Keeps a map of `blocks`, for requests longer than the block that was drawn.
    pub fn remember(&mut self, blocks: u64) {
        self.map.get_or_insert_with(|| Map::new(blocks));
    }

    /// Draws the block at which the next request starts.
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        let Some(map) = &mut self.map else { return self.distribution.draw() };
        if map.left == 0 {
            map.clear();
            self.distribution.restart();
        }
        loop {
            let block = self.distribution.draw();
            if map.is_free(block) {
                return block;
            }
        }
    }

    /// Map of the blocks sent in this pass, if one is kept.
    #[inline(always)]
    pub fn map(&mut self) -> Option<&mut Map> {
        self.map.as_mut()
    }

    /// Begins another pass over the blocks.
    pub fn restart(&mut self) {
        self.distribution.restart();
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }
}

/// Map of the blocks sent in this pass, one bit each.
pub struct Map {
    sent: Vec<u64>,
    blocks: u64,
    left: u64,
}

impl Map {
    fn new(blocks: u64) -> Self {
        Self { sent: vec![0; blocks.div_ceil(64) as usize], blocks, left: blocks }
    }

    fn is_free(&self, block: u64) -> bool {
        block < self.blocks && self.sent[(block / 64) as usize] >> (block % 64) & 1 == 0
    }

    /// Free blocks from `block` on, counted up to `most`.
    pub fn free_from(&self, block: u64, most: u64) -> u64 {
        (block..block + most).take_while(|&block| self.is_free(block)).count() as u64
    }

    /// Marks `count` free blocks from `block` on as sent.
    pub fn mark(&mut self, block: u64, count: u64) {
        for block in block..block + count {
            self.sent[(block / 64) as usize] |= 1 << (block % 64);
        }
        self.left -= count;
    }

    fn clear(&mut self) {
        self.sent.fill(0);
        self.left = self.blocks;
    }
}
