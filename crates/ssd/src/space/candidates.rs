//! Valid units of each block, and the blocks that can be collected.
//!
//! A full block is a candidate until a victim policy or another job takes it. The invalid units of
//! a plane's candidates are counted as they change. Some candidates are marked: their data must be
//! moved regardless of the policy. Until then the policy may take them too.

use crate::space::gc::{Among, BlockWord, Victims};
use crate::space::stationary::Law;
use base::archive::{Archive, State};
use base::memory::{prefetch, table};
use base::{Result, Time};
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};

/// Blocks of a drive, with their valid units.
#[derive(Clone)]
pub struct Candidates {
    units_per_block: u32,
    words: Vec<BlockWord>,
    victims: Box<dyn Victims>,
    planes: Vec<Tally>,
    /// By die: candidates that are marked, few at any time.
    marked: Vec<Vec<Block>>,
    planes_per_die: u32,
}

/// The candidates of a plane.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Tally {
    blocks: u32,
    dead_units: u64,
}

impl State for Candidates {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { units_per_block: _, words, victims, planes, marked, planes_per_die: _ } = self;
        archive.table(words)?;
        victims.exchange(archive)?;
        archive.value(planes)?;
        archive.value(marked)
    }
}

impl Candidates {
    /// Creates the counts of a drive whose blocks are all erased; none is a candidate.
    pub fn new(geometry: &Geometry, victims: Box<dyn Victims>) -> Self {
        Self {
            units_per_block: geometry.units_per_block(),
            words: table(geometry.blocks() as usize, BlockWord::ERASED),
            victims,
            planes: vec![Tally::default(); geometry.planes() as usize],
            marked: vec![Vec::new(); geometry.dies as usize],
            planes_per_die: geometry.planes_per_die,
        }
    }

    /// Law of the policy under uniform writes.
    pub fn law(&self) -> Option<Law> {
        self.victims.law()
    }

    /// Replaces the policy by one that knows the candidates already.
    pub fn ask(&mut self, victims: Box<dyn Victims>) {
        self.victims = victims;
    }

    /// Replaces the policy that is asked in the end, in a clone whose policy knows as much.
    pub fn replace_innermost(&mut self, victims: Box<dyn Victims>) {
        match self.victims.inner() {
            Some(inner) => *inner = victims,
            None => self.victims = victims,
        }
    }

    /// The valid units of a block, and its state.
    #[inline]
    pub fn word(&self, block: Block) -> BlockWord {
        self.words[block.0 as usize]
    }

    /// Number of candidates of a plane.
    #[inline]
    pub fn blocks(&self, plane: Plane) -> u32 {
        self.planes[plane.0 as usize].blocks
    }

    /// Dead units in the candidates of a plane.
    #[inline]
    pub fn dead_units(&self, plane: Plane) -> u64 {
        self.planes[plane.0 as usize].dead_units
    }

    /// A block is written to from now on.
    pub fn opened(&mut self, block: Block) {
        self.words[block.0 as usize] = BlockWord::default();
    }

    /// Adds `units` valid units to an open block.
    #[inline]
    pub fn added(&mut self, block: Block, units: u32) {
        self.words[block.0 as usize].add(units);
    }

    /// Removes one valid unit from a block.
    #[inline]
    pub fn died(&mut self, plane: impl FnOnce() -> Plane, block: Block) {
        let word = &mut self.words[block.0 as usize];
        word.remove_one();
        if word.is_closed() {
            let plane = plane().0;
            self.planes[plane as usize].dead_units += 1;
            self.victims.invalidated(plane, block.0, word.valid());
        }
    }

    /// The erase of a block has taken so long on its die.
    pub fn measured(&mut self, plane: Plane, block: Block, took: Time) {
        self.victims.measured(plane.0, block.0, took);
    }

    /// A block is full: a candidate. `clock` counts host units written.
    pub fn closed(&mut self, plane: Plane, block: Block, clock: u64) {
        let word = &mut self.words[block.0 as usize];
        word.set_closed(true);
        let tally = &mut self.planes[plane.0 as usize];
        tally.blocks += 1;
        tally.dead_units += u64::from(self.units_per_block - word.valid());
        self.victims.closed(plane.0, block.0, word.valid(), clock);
    }

    /// Turns to a group of blocks, where the policy keeps groups apart.
    pub fn turn_to(&mut self, group: u32) {
        self.victims.turn_to(group);
    }

    /// Candidates of a group in a plane, where the policy keeps groups apart.
    pub fn among(&self, plane: Plane, group: u32) -> Among {
        self.victims.among(plane.0, group)
    }

    /// Takes the victim of a plane that the policy picks; it is no candidate any more.
    pub fn pick(&mut self, plane: Plane, clock: u64) -> Option<Block> {
        let block = Block(self.victims.pick(plane.0, &self.words, clock)?);
        self.leave(plane, block);
        Some(block)
    }

    /// The candidate of a plane with the fewest valid units, whatever the policy (slow).
    pub fn pick_emptiest(&mut self, geometry: &Geometry, plane: Plane) -> Option<Block> {
        let first = geometry.first_block(plane).0;
        let blocks = (first..first + geometry.blocks_per_plane).map(Block);
        let candidates = blocks.filter(|&block| self.word(block).is_closed());
        let block = candidates.min_by_key(|&block| self.word(block).valid())?;
        self.withdraw(plane, block);
        Some(block)
    }

    /// Takes a candidate that the policy did not pick.
    pub fn withdraw(&mut self, plane: Plane, block: Block) {
        self.victims.withdraw(plane.0, block.0, self.word(block).valid());
        self.leave(plane, block);
    }

    /// Marks a candidate; false if it is already marked, or not a candidate.
    pub fn mark(&mut self, plane: Plane, block: Block) -> bool {
        let marked = &mut self.marked[(plane.0 / self.planes_per_die) as usize];
        let is_new = self.words[block.0 as usize].is_closed() && !marked.contains(&block);
        if is_new {
            marked.push(block);
        }
        is_new
    }

    /// The candidates of a die that are marked, the oldest mark first.
    #[inline]
    pub fn marked(&self, die: Die) -> &[Block] {
        &self.marked[die.0 as usize]
    }

    fn leave(&mut self, plane: Plane, block: Block) {
        self.marked[(plane.0 / self.planes_per_die) as usize].retain(|&other| other != block);
        let word = &mut self.words[block.0 as usize];
        word.set_closed(false);
        let tally = &mut self.planes[plane.0 as usize];
        tally.blocks -= 1;
        tally.dead_units -= u64::from(self.units_per_block - word.valid());
    }

    /// Takes back units that were added to a block without being data, before its erase.
    #[inline]
    pub fn release(&mut self, block: Block, units: u32) {
        self.words[block.0 as usize].remove(units);
    }

    /// A block was erased.
    pub fn erased(&mut self, block: Block) {
        let word = &mut self.words[block.0 as usize];
        assert_eq!(word.valid(), 0, "block {} erased with data in it", block.0);
        *word = BlockWord::ERASED;
    }

    /// Prefetches the count of a block.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        prefetch(&self.words, block.0 as usize);
    }

    /// Memory that the counts take, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}
