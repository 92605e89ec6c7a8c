//! Physical blocks: free ones, their virtual blocks, and blocks to retire.
//!
//! A virtual block takes a free block of each plane of a set. The number of virtual blocks is the
//! sum, over the sets, of the free blocks of the poorest plane: a bad block costs a virtual block
//! only in the poorest plane.

use super::layout::{Cursor, Layout};
use crate::ftl::contract::{DieSet, Occupancy, Program};
use crate::recovery::Found;
use crate::space::free_blocks::{FreeBlocks, Reuse};
use crate::space::wear::BlockWear;

use base::archive::{Archive, State};
use nand::geometry::{Block, Die, Plane, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number that stands for no block, no virtual block, or no log.
pub const NONE: u32 = u32::MAX;

/// A virtual block, by number.
pub type Virtual = u32;

/// Use of a virtual block: data, log, or copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    /// Not in use, or waiting for an erase.
    Nothing,
    /// Data of this logical block, or of this group of logical blocks.
    Data(u32),
    /// Data of the log block of this number.
    Log(u32),
    /// Copies that a merge makes of this logical block.
    Copies(u32),
}

/// Counts of the blocks of each plane that have some property, and of the virtual blocks that they
/// make.
#[derive(Clone, Serialize, Deserialize)]
pub struct Stock {
    of_plane: Vec<u32>,
    of_set: Vec<u32>,
    pub total: u32,
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

    /// Virtual blocks that the blocks of a set make.
    fn fewest(&self, layout: &Layout, set: u32) -> u32 {
        let planes = layout.planes(set).map(|plane| self.of_plane[plane.0 as usize]);
        planes.min().unwrap_or(0)
    }

    fn count(&mut self, layout: &Layout, set: u32) {
        let now = self.fewest(layout, set);
        self.total -= std::mem::replace(&mut self.of_set[set as usize], now);
        self.total += now;
    }

    /// Counts one block fewer in a plane.
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

/// Physical blocks of a drive: free ones, those of virtual blocks, and those to retire.
#[derive(Clone)]
pub struct Pool {
    pub layout: Layout,
    free: FreeBlocks,
    /// Virtual blocks that the free blocks of each set make.
    free_of_set: Vec<u32>,
    /// Virtual blocks that all free blocks make.
    pub free_total: u32,
    pub wear: BlockWear,
    /// By block: pages handed out since its erase.
    filled: Vec<u32>,
    /// By block: its index in `blocks`, if it is part of a virtual block.
    home: Vec<u32>,
    /// By virtual block: its blocks.
    blocks: Vec<Block>,
    /// By virtual block: what it is used for.
    uses: Vec<Use>,
    /// By virtual block: blocks that are yet to be erased.
    unerased: Vec<u32>,
    unused: Vec<Virtual>,
    /// By virtual block: its serial number, which counts up; 0 if it is not in use.
    serials: Vec<u64>,
    /// Serial number that was given last.
    last_serial: u64,
    /// Virtual blocks without data that no job has taken to erase.
    pub dead: Vec<Virtual>,
    /// Virtual blocks without data that are not yet erased.
    pub dying: u32,
    next_set: u32,
    /// By block: it is to be retired, or is.
    doomed: Vec<bool>,
    /// Free blocks that are to be retired.
    pub leaving: Vec<Block>,
    /// Blocks that are not bad.
    pub good: Stock,
    /// Blocks that are not bad, and not to be retired.
    pub sound: Stock,
}

impl State for Pool {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> base::Result<()> {
        let Self {
            layout: _,
            free,
            free_of_set,
            free_total,
            wear,
            filled,
            home,
            blocks,
            uses,
            unerased,
            unused,
            serials,
            last_serial,
            dead,
            dying,
            next_set,
            doomed,
            leaving,
            good,
            sound,
        } = self;
        free.exchange(archive)?;
        wear.exchange(archive)?;
        for table in [free_of_set, filled, home, unerased] {
            archive.table(table)?;
        }
        archive.table(serials)?;
        archive.value(last_serial)?;
        archive.value(blocks)?;
        archive.value(uses)?;
        for list in [unused, dead] {
            archive.value(list)?;
        }
        for number in [free_total, dying, next_set] {
            archive.value(number)?;
        }
        archive.value(doomed)?;
        archive.value(leaving)?;
        archive.value(good)?;
        archive.value(sound)
    }
}

impl Pool {
    /// Creates a pool of blocks that have seen `pe_cycles` each, all free but the `bad` ones.
    pub fn new(layout: Layout, pe_cycles: u32, bad: Vec<bool>, reuse: Reuse) -> Self {
        let geometry = &layout.geometry;
        let mut free = FreeBlocks::new(geometry.planes(), layout.joined, reuse);
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
            uses: vec![Use::Nothing; count],
            unerased: vec![0; count],
            unused: (0..count as u32).rev().collect(),
            serials: vec![0; count],
            last_serial: 0,
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
    pub fn count(layout: &Layout, bad: &[bool]) -> u32 {
        Stock::new(layout, |block| !bad[block.0 as usize]).total
    }

    /// Most virtual blocks that there can be.
    pub fn virtual_blocks(&self) -> u32 {
        self.uses.len() as u32
    }

    /// Virtual blocks in use, also those that hold no data and wait for an erase.
    pub fn in_use(&self) -> u32 {
        self.uses.len() as u32 - self.unused.len() as u32
    }

    #[inline]
    pub fn blocks(&self, of: Virtual) -> &[Block] {
        let stripe = self.layout.stripe as usize;
        &self.blocks[of as usize * stripe..][..stripe]
    }

    /// The unit at a position of a virtual block.
    #[inline]
    pub fn ppn(&self, of: Virtual, position: u32) -> Ppn {
        let (index, page, slot) = self.layout.place(position);
        let block = self.blocks[(of * self.layout.stripe + index) as usize];
        self.layout.geometry.ppn(block, page, slot)
    }

    /// The die of a row of a virtual block.
    #[inline]
    pub fn die(&self, of: Virtual, row: u32) -> Die {
        let index = of * self.layout.stripe + self.layout.first_of(row);
        self.layout.geometry.die_of(self.blocks[index as usize])
    }

    /// Virtual block that a block is part of, and its index there.
    #[inline]
    pub fn home(&self, block: Block) -> Option<(Virtual, u32)> {
        let home = self.home[block.0 as usize];
        (home != NONE).then(|| (home / self.layout.stripe, home % self.layout.stripe))
    }

    /// The virtual block that a unit lies in.
    #[inline]
    pub fn of(&self, ppn: Ppn) -> Virtual {
        self.place_of(ppn) / self.layout.stripe
    }

    /// Number of the block that a unit lies in, among the blocks of all virtual blocks.
    #[inline]
    pub fn place_of(&self, ppn: Ppn) -> u32 {
        self.home[self.layout.geometry.block_of(ppn).0 as usize]
    }

    /// Virtual block that a program goes to, and the cursor where the program begins.
    #[inline]
    pub fn cursor(&self, program: &Program) -> (Virtual, Cursor) {
        let home = self.home[program.blocks[0].0 as usize];
        let (of, index) = (home / self.layout.stripe, home % self.layout.stripe);
        (of, self.layout.cursor(index, program.page))
    }

    /// Use of this virtual block.
    #[inline]
    pub fn use_of(&self, of: Virtual) -> Use {
        self.uses[of as usize]
    }

    /// Changes the use of a virtual block.
    pub fn change_use(&mut self, of: Virtual, to: Use) {
        self.uses[of as usize] = to;
    }

    /// Pages of a block that have been handed out since its erase.
    pub fn filled(&self, block: Block) -> u32 {
        self.filled[block.0 as usize]
    }

    /// Counts the pages of a program that is handed out.
    #[inline]
    pub fn handed_out(&mut self, program: &Program) {
        for block in program.blocks() {
            self.filled[block.0 as usize] += self.layout.pages_per_program;
        }
    }

    /// A set with a free virtual block whose first row one of `dies` takes, or else the die to wait
    /// for.
    pub fn find(&self, dies: &DieSet) -> Result<u32, Option<Die>> {
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
    pub fn any_set(&self) -> Option<u32> {
        let sets = (0..self.layout.sets).map(|i| (self.next_set + i) % self.layout.sets);
        sets.into_iter().find(|&set| self.free_of_set[set as usize] > 0)
    }

    /// Takes a free virtual block of a set.
    pub fn take(&mut self, set: u32, to: Use) -> Virtual {
        let of = self.unused.pop().expect("as many as the blocks make");
        self.next_set = if set + 1 == self.layout.sets { 0 } else { set + 1 };
        self.uses[of as usize] = to;
        self.last_serial += 1;
        self.serials[of as usize] = self.last_serial;
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

    /// Queues a virtual block for its erase: it holds nothing any more.
    pub fn bury(&mut self, of: Virtual) {
        self.uses[of as usize] = Use::Nothing;
        self.dead.push(of);
        self.dying += 1;
    }

    /// Gives back a virtual block that holds nothing any more: it is free if nothing was written to
    /// it, and otherwise queued for its erase.
    pub fn give_back(&mut self, of: Virtual) {
        let is_unwritten = |block: &Block| self.filled(*block) == 0 && !self.is_doomed(*block);
        let is_free = self.blocks(of).iter().all(is_unwritten);
        self.bury(of);
        if is_free {
            self.dead.pop();
            self.free_unwritten(of);
            self.gone(of);
        }
    }

    /// The tag of a block: the serial number of its virtual block.
    pub fn tag(&self, block: Block) -> u64 {
        self.home(block).map_or(0, |(of, _)| self.serials[of as usize])
    }

    /// Takes over blocks that were found: a virtual block of each set of blocks with one tag, in
    /// the order of their tags. The pool must be untouched.
    pub fn adopt(&mut self, found: &Found) -> Vec<Virtual> {
        let geometry = self.layout.geometry.clone();
        let mut of_serial: BTreeMap<u64, Vec<Block>> = BTreeMap::new();
        for block in found.blocks() {
            if self.wear.is_bad(block) {
                continue;
            }
            self.wear.set_cycles(block, found.pe_cycles(block));
            self.filled[block.0 as usize] = found.pages(block);
            let plane = geometry.plane_of(block);
            self.free.take(plane, block);
            if found.pages(block) == 0 {
                self.free.push(plane, block, found.pe_cycles(block));
            } else {
                of_serial.entry(found.tag(block)).or_default().push(block);
            }
        }
        let mut adopted = Vec::new();
        for (serial, blocks) in of_serial {
            let Some(of) = self.unused.pop() else { break };
            let set = self.layout.set_of(geometry.plane_of(blocks[0]));
            for (index, plane) in (of * self.layout.stripe..).zip(self.layout.planes(set)) {
                let is_there = |block: &&Block| geometry.plane_of(**block) == plane;
                // What nothing was written to, or what is erased by now, is any free block.
                let block = blocks.iter().find(is_there).copied();
                let block = block.or_else(|| self.free.pop(plane)).expect("it had one");
                self.blocks[index as usize] = block;
                self.home[block.0 as usize] = index;
            }
            (self.serials[of as usize], self.last_serial) = (serial, serial);
            adopted.push(of);
        }
        (0..self.layout.sets).for_each(|set| self.count_free(set));
        adopted
    }

    /// Frees the blocks of a virtual block that nothing was written to.
    fn free_unwritten(&mut self, of: Virtual) {
        for index in 0..self.layout.stripe {
            let block = self.blocks[(of * self.layout.stripe + index) as usize];
            if self.filled(block) == 0 && !self.is_doomed(block) {
                let plane = self.layout.geometry.plane_of(block);
                self.home[block.0 as usize] = NONE;
                self.free.push(plane, block, self.wear.cycles(block));
                self.count_free(self.layout.set_of(plane));
            }
        }
    }

    /// Lists the blocks to be erased of all virtual blocks that nobody has taken to erase. Blocks
    /// that nothing was written to are free as they are.
    pub fn list_dead(&mut self, blocks: &mut Vec<Block>) {
        while let Some(of) = self.dead.pop() {
            let first = blocks.len();
            let is_written = |block: &&Block| self.filled(**block) > 0 || self.is_doomed(**block);
            blocks.extend(self.blocks(of).iter().filter(is_written));
            self.free_unwritten(of);
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

    /// Takes back an erased block, which is retired if it is doomed and `can_go`. True if it was
    /// retired.
    pub fn erased(&mut self, block: Block, can_go: bool) -> bool {
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

    /// Whether a block is to be retired, or is.
    #[inline]
    pub fn is_doomed(&self, block: Block) -> bool {
        self.doomed[block.0 as usize]
    }

    /// Whether any block of a virtual block is to be retired.
    pub fn has_doomed(&self, of: Virtual) -> bool {
        self.blocks(of).iter().any(|&block| self.is_doomed(block))
    }

    /// Virtual blocks that are left if all doomed blocks are retired, and this one too.
    pub fn sound_without(&self, block: Block) -> u32 {
        self.sound.total_without(&self.layout, self.layout.geometry.plane_of(block))
    }

    /// Virtual blocks that are left if this block is retired.
    pub fn good_without(&self, block: Block) -> u32 {
        self.good.total_without(&self.layout, self.layout.geometry.plane_of(block))
    }

    /// Whether enough virtual blocks are left if a block is retired: those in use, less `lent` that
    /// come back, and `reserve` free ones.
    pub fn can_go(&self, block: Block, lent: u32, reserve: u32) -> bool {
        self.good_without(block) >= self.in_use() - self.dying - lent + reserve
    }

    /// First free block that is to be retired, and can be.
    pub fn can_leave(&self, lent: u32, reserve: u32) -> Option<Block> {
        let can_go = |&block: &Block| self.is_leaving(block) && self.can_go(block, lent, reserve);
        self.leaving.iter().copied().find(can_go)
    }

    /// Dooms a block: it is retired with its next erase.
    pub fn doom(&mut self, block: Block) {
        self.doomed[block.0 as usize] = true;
        self.sound.lose(&self.layout, self.layout.geometry.plane_of(block));
        if self.home[block.0 as usize] == NONE {
            self.leaving.push(block);
        }
    }

    /// Whether a block of `leaving` is still free and to be retired.
    pub fn is_leaving(&self, block: Block) -> bool {
        self.home[block.0 as usize] == NONE && !self.wear.is_bad(block)
    }

    /// Takes a block that is to be retired out of the free ones, for a last erase.
    pub fn take_out(&mut self, block: Block) {
        let plane = self.layout.geometry.plane_of(block);
        self.free.take(plane, block);
        self.count_free(self.layout.set_of(plane));
        self.leaving.retain(|&other| other != block);
    }

    /// Starts a run with `pe_cycles` on every block.
    pub fn start_run(&mut self, pe_cycles: u32) {
        self.wear.start_run(pe_cycles);
        self.free.sort(|_| pe_cycles);
    }

    /// Adds cycles to every block, listed by block.
    pub fn wear_on(&mut self, more: &[u32]) {
        self.wear.add(more);
        self.free.sort(|block| self.wear.cycles(block));
    }

    /// State of every physical unit, where `mapped` units are mapped.
    pub fn occupancy(&self, mapped: u64) -> Occupancy {
        let geometry = &self.layout.geometry;
        let per_block = u64::from(geometry.units_per_block());
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        for block in (0..geometry.blocks()).map(Block) {
            if self.wear.is_bad(block) {
                occupancy.bad += per_block;
                continue;
            }
            let filled = u64::from(self.filled(block) * geometry.units_per_page);
            occupancy.free += per_block - filled;
            occupancy.invalid += filled;
        }
        occupancy.invalid -= mapped;
        occupancy
    }

    /// Bytes of the block tables.
    pub fn bytes(&self) -> usize {
        let by_virtual = 4 * self.blocks.len() + 12 * self.uses.len();
        by_virtual + 4 * (self.filled.len() + self.home.len()) + self.wear.bytes()
    }
}
