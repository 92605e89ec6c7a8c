//! Physical blocks: which are free, how they are joined to virtual blocks, and which have to go.
//!
//! A virtual block takes a free block of each plane of a set. How many virtual blocks there are to
//! be had is the sum, over the sets, of what the poorest plane has: a bad block costs a virtual
//! block only where its plane is the poorest.

use super::layout::{Cursor, Layout};
use crate::ftl::contract::{DieSet, Program};
use crate::space::free_blocks::FreeBlocks;
use crate::space::wear::BlockWear;
use nand::geometry::{Block, Die, Plane, Ppn};

/// No block, no virtual block, no log.
pub(super) const NONE: u32 = u32::MAX;

/// A virtual block, by number.
pub(super) type Virtual = u32;

/// Blocks of each plane that have some property, and the virtual blocks that they make.
#[derive(Clone)]
pub(super) struct Stock {
    of_plane: Vec<u32>,
    of_set: Vec<u32>,
    pub(super) total: u32,
}

impl Stock {
    fn new(layout: &Layout, is_in: impl Fn(Block) -> bool) -> Self {
        let geometry = &layout.geometry;
        let planes = (0..geometry.planes()).map(Plane);
        let count = |plane| {
            let first = geometry.first_block(plane).0;
            let blocks = (first..first + geometry.blocks_per_plane).map(Block);
            blocks.filter(|&block| is_in(block)).count() as u32
        };
        let of_plane = planes.map(count).collect();
        let mut stock = Self { of_plane, of_set: vec![0; layout.sets as usize], total: 0 };
        (0..layout.sets).for_each(|set| stock.count(layout, set));
        stock
    }

    /// Virtual blocks that a set makes.
    fn fewest(&self, layout: &Layout, set: u32) -> u32 {
        let planes = layout.planes(set).map(|plane| self.of_plane[plane.0 as usize]);
        planes.min().unwrap_or(0)
    }

    fn count(&mut self, layout: &Layout, set: u32) {
        let now = self.fewest(layout, set);
        self.total -= std::mem::replace(&mut self.of_set[set as usize], now);
        self.total += now;
    }

    /// A plane has one block fewer.
    fn lose(&mut self, layout: &Layout, plane: Plane) {
        self.of_plane[plane.0 as usize] -= 1;
        self.count(layout, layout.set_of(plane));
    }

    /// The total if a plane had one block fewer.
    fn total_without(&self, layout: &Layout, plane: Plane) -> u32 {
        let set = layout.set_of(plane);
        let has_fewest = self.of_plane[plane.0 as usize] == self.of_set[set as usize];
        self.total - u32::from(has_fewest && self.total > 0)
    }
}

/// All physical blocks.
#[derive(Clone)]
pub(super) struct Pool {
    pub layout: Layout,
    free: FreeBlocks,
    /// Virtual blocks that the free blocks of each set make, and their sum.
    free_of_set: Vec<u32>,
    pub free_total: u32,
    pub wear: BlockWear,
    /// By block: pages handed out since its erase.
    filled: Vec<u32>,
    /// By block: its index in `blocks`, if it is part of a virtual block.
    home: Vec<u32>,
    /// By virtual block: its blocks.
    blocks: Vec<Block>,
    /// By virtual block: the logical block that it holds data of.
    owner: Vec<u32>,
    /// By virtual block: blocks that are yet to be erased.
    unerased: Vec<u32>,
    unused: Vec<Virtual>,
    /// Virtual blocks without data: those that nobody has taken to erase, and all.
    pub dead: Vec<Virtual>,
    pub dying: u32,
    next_set: u32,
    /// By block: it is to leave, or has left.
    doomed: Vec<bool>,
    /// Free blocks that are to leave.
    pub leaving: Vec<Block>,
    /// Blocks that are not bad, and those of them that are not to leave.
    pub good: Stock,
    pub sound: Stock,
}

impl Pool {
    /// Of blocks that have seen `pe_cycles` each, all free but the `bad` ones.
    pub(super) fn new(layout: Layout, pe_cycles: u32, bad: Vec<bool>) -> Self {
        let geometry = &layout.geometry;
        let mut free = FreeBlocks::new(geometry.planes(), layout.joined);
        let is_good = |block: Block| !bad[block.0 as usize];
        for block in (0..geometry.blocks()).map(Block).filter(|&block| is_good(block)) {
            free.push(geometry.plane_of(block), block, pe_cycles);
        }
        let (good, sound) = (Stock::new(&layout, is_good), Stock::new(&layout, is_good));
        let count = (geometry.blocks() / layout.stripe) as usize;
        Self {
            free,
            free_of_set: good.of_set.clone(),
            free_total: good.total,
            wear: BlockWear::new(geometry, pe_cycles, bad.clone(), 0),
            filled: vec![0; bad.len()],
            home: vec![NONE; bad.len()],
            blocks: vec![Block(0); count * layout.stripe as usize],
            owner: vec![NONE; count],
            unerased: vec![0; count],
            unused: (0..count as u32).rev().collect(),
            dead: Vec::with_capacity(count),
            dying: 0,
            next_set: 0,
            doomed: bad,
            leaving: Vec::new(),
            good,
            sound,
            layout,
        }
    }

    /// Virtual blocks that all but the `bad` blocks make.
    pub(super) fn count(layout: &Layout, bad: &[bool]) -> u32 {
        Stock::new(layout, |block| !bad[block.0 as usize]).total
    }

    /// Virtual blocks in use, those without data too.
    pub(super) fn in_use(&self) -> u32 {
        self.owner.len() as u32 - self.unused.len() as u32
    }

    #[inline]
    pub(super) fn blocks(&self, of: Virtual) -> &[Block] {
        let stripe = self.layout.stripe as usize;
        &self.blocks[of as usize * stripe..][..stripe]
    }

    /// The unit at a position of a virtual block.
    #[inline]
    pub(super) fn ppn(&self, of: Virtual, position: u32) -> Ppn {
        let (index, page, slot) = self.layout.place(position);
        let block = self.blocks[(of * self.layout.stripe + index) as usize];
        self.layout.geometry.ppn(block, page, slot)
    }

    /// The die of a row of a virtual block.
    #[inline]
    pub(super) fn die(&self, of: Virtual, row: u32) -> Die {
        let index = of * self.layout.stripe + self.layout.first_of(row);
        self.layout.geometry.die_of(self.blocks[index as usize])
    }

    /// The virtual block that a block is part of, and its index there.
    #[inline]
    pub(super) fn home(&self, block: Block) -> Option<(Virtual, u32)> {
        let home = self.home[block.0 as usize];
        (home != NONE).then(|| (home / self.layout.stripe, home % self.layout.stripe))
    }

    /// Where a program began, and the logical block that it is of.
    #[inline]
    pub(super) fn cursor(&self, program: &Program) -> (u32, Cursor) {
        let home = self.home[program.blocks[0].0 as usize];
        let (of, index) = (home / self.layout.stripe, home % self.layout.stripe);
        (self.owner[of as usize], self.layout.cursor(index, program.page))
    }

    /// The logical block that a virtual block belongs to; none where it is to be erased.
    pub(super) fn owner(&self, of: Virtual) -> Option<u32> {
        let owner = self.owner[of as usize];
        (owner != NONE).then_some(owner)
    }

    pub(super) fn filled(&self, block: Block) -> u32 {
        self.filled[block.0 as usize]
    }

    /// A program is handed out.
    #[inline]
    pub(super) fn handed_out(&mut self, program: &Program) {
        for block in program.blocks() {
            self.filled[block.0 as usize] += self.layout.pages_per_program;
        }
    }

    /// A set with a free virtual block whose first row one of `dies` takes, or else the die to wait
    /// for.
    pub(super) fn find(&self, dies: &DieSet) -> Result<u32, Option<Die>> {
        let mut wait_for = None;
        for i in 0..self.layout.sets {
            let set = (self.next_set + i) % self.layout.sets;
            if self.free_of_set[set as usize] > 0 {
                let die = self.layout.first_die(set);
                if dies.contains(die) {
                    return Ok(set);
                }
                wait_for = wait_for.or(Some(die));
            }
        }
        Err(wait_for)
    }

    /// The next set with a free virtual block.
    pub(super) fn any_set(&self) -> Option<u32> {
        let sets = (0..self.layout.sets).map(|i| (self.next_set + i) % self.layout.sets);
        sets.into_iter().find(|&set| self.free_of_set[set as usize] > 0)
    }

    /// Takes a free virtual block of a set for a logical block.
    pub(super) fn take(&mut self, set: u32, owner: u32) -> Virtual {
        let of = self.unused.pop().expect("as many as the blocks make");
        self.next_set = if set + 1 == self.layout.sets { 0 } else { set + 1 };
        self.owner[of as usize] = owner;
        for (index, plane) in (of * self.layout.stripe..).zip(self.layout.planes(set)) {
            let block = self.free.pop(plane).expect("the set has one");
            self.blocks[index as usize] = block;
            self.home[block.0 as usize] = index;
        }
        self.count_free(set);
        of
    }

    fn count_free(&mut self, set: u32) {
        let now = self.layout.lanes(set).map(|lane| self.free.fewest(lane)).min().unwrap_or(0);
        self.free_total -= std::mem::replace(&mut self.free_of_set[set as usize], now);
        self.free_total += now;
    }

    /// A virtual block holds nothing any more: it is to be erased.
    pub(super) fn bury(&mut self, of: Virtual) {
        self.owner[of as usize] = NONE;
        self.dead.push(of);
        self.dying += 1;
    }

    /// Lists the blocks to be erased of all virtual blocks that nobody has taken to erase. Blocks
    /// that nothing was written to are free as they are.
    pub(super) fn list_dead(&mut self, blocks: &mut Vec<Block>) {
        while let Some(of) = self.dead.pop() {
            let first = blocks.len();
            for index in 0..self.layout.stripe {
                let block = self.blocks[(of * self.layout.stripe + index) as usize];
                if self.filled[block.0 as usize] > 0 || self.doomed[block.0 as usize] {
                    blocks.push(block);
                } else {
                    let plane = self.layout.geometry.plane_of(block);
                    self.home[block.0 as usize] = NONE;
                    self.free.push(plane, block, self.wear.cycles(block));
                    self.count_free(self.layout.set_of(plane));
                }
            }
            self.unerased[of as usize] = (blocks.len() - first) as u32;
            if blocks.len() == first {
                self.gone(of);
            }
        }
    }

    fn gone(&mut self, of: Virtual) {
        self.unused.push(of);
        self.dying -= 1;
    }

    /// A block has been erased. It leaves if it is doomed and `can_go`: whether it has.
    pub(super) fn erased(&mut self, block: Block, can_go: bool) -> bool {
        let index = block.0 as usize;
        let cycles = self.wear.erased(block);
        self.filled[index] = 0;
        if let Some((of, _)) = self.home(block) {
            self.home[index] = NONE;
            self.unerased[of as usize] -= 1;
            if self.unerased[of as usize] == 0 {
                self.gone(of);
            }
        }
        let plane = self.layout.geometry.plane_of(block);
        if self.doomed[index] && can_go {
            self.wear.retire(block);
            self.good.lose(&self.layout, plane);
            return true;
        }
        if self.doomed[index] {
            self.leaving.push(block);
        }
        self.free.push(plane, block, cycles);
        self.count_free(self.layout.set_of(plane));
        false
    }

    /// Whether a block is to leave, or has left.
    #[inline]
    pub(super) fn is_doomed(&self, block: Block) -> bool {
        self.doomed[block.0 as usize]
    }

    /// Whether any block of a virtual block is to leave.
    pub(super) fn has_doomed(&self, of: Virtual) -> bool {
        self.blocks(of).iter().any(|&block| self.is_doomed(block))
    }

    /// Virtual blocks that could be had if all that are doomed had left, and this one too.
    pub(super) fn sound_without(&self, block: Block) -> u32 {
        self.sound.total_without(&self.layout, self.layout.geometry.plane_of(block))
    }

    /// Virtual blocks that could be had if this one had left.
    pub(super) fn good_without(&self, block: Block) -> u32 {
        self.good.total_without(&self.layout, self.layout.geometry.plane_of(block))
    }

    /// Dooms a block.
    pub(super) fn doom(&mut self, block: Block) {
        self.doomed[block.0 as usize] = true;
        self.sound.lose(&self.layout, self.layout.geometry.plane_of(block));
        if self.home[block.0 as usize] == NONE {
            self.leaving.push(block);
        }
    }

    /// Whether a block that was to leave when it was free still is.
    pub(super) fn is_leaving(&self, block: Block) -> bool {
        self.home[block.0 as usize] == NONE && !self.wear.is_bad(block)
    }

    /// Takes a block that is to leave out of the free ones: it is erased a last time.
    pub(super) fn take_out(&mut self, block: Block) {
        let plane = self.layout.geometry.plane_of(block);
        self.free.take(plane, block);
        self.count_free(self.layout.set_of(plane));
        self.leaving.retain(|&other| other != block);
    }

    /// Starts a run with `pe_cycles` on every block.
    pub(super) fn start_run(&mut self, pe_cycles: u32) {
        self.wear.start_run(pe_cycles);
        self.free.set_wear(pe_cycles);
    }

    /// Bytes of the block tables.
    pub(super) fn bytes(&self) -> usize {
        let by_virtual = 4 * (self.blocks.len() + 2 * self.owner.len());
        by_virtual + 4 * (self.filled.len() + self.home.len()) + self.wear.bytes()
    }
}
