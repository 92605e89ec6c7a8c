//! Members of superblocks: the blocks that belong together, and how many of them are full.

use crate::ftl::page::recover::FRONTIER_BITS;
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;
use nand::geometry::{Block, Geometry};

/// Number that stands for no superblock.
const NONE: u32 = u32::MAX;

/// Blocks of all superblocks of a drive.
#[derive(Clone)]
pub(super) struct Members {
    /// Planes of a superblock.
    planes: u32,
    blocks_per_plane: u32,
    /// By superblock: its block in each plane, in order.
    blocks: Vec<u32>,
    /// By superblock: number of full blocks.
    full: Vec<u32>,
    /// By superblock: its mark, for a start-up.
    marks: Vec<u64>,
    /// Serial number that was given last.
    formed: u64,
    /// By block: its superblock, or `NONE`.
    of_block: Vec<u32>,
}

impl State for Members {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { planes: _, blocks_per_plane: _, blocks, full, marks, formed, of_block } = self;
        archive.table(blocks)?;
        archive.table(full)?;
        archive.table(marks)?;
        archive.value(formed)?;
        archive.table(of_block)
    }
}

impl Members {
    /// Creates the table of a drive without superblocks, which are to have a block in each of
    /// `planes` planes.
    pub(super) fn new(geometry: &Geometry, planes: u32) -> Self {
        Self {
            planes,
            blocks_per_plane: geometry.blocks_per_plane,
            blocks: table(geometry.blocks() as usize, NONE),
            full: table((geometry.blocks() / planes) as usize, 0),
            marks: table((geometry.blocks() / planes) as usize, 0),
            formed: 0,
            of_block: table(geometry.blocks() as usize, NONE),
        }
    }

    /// Forms a superblock of these blocks, one of each plane in order, for a frontier. None of them
    /// is full.
    pub(super) fn form(&mut self, frontier: u32, blocks: impl Iterator<Item = Block>) {
        let mark = (self.formed + 1) << FRONTIER_BITS | u64::from(frontier + 1);
        self.form_again(mark, blocks);
    }

    /// Forms a superblock of blocks that had this mark before a power cut.
    pub(super) fn form_again(&mut self, mark: u64, blocks: impl Iterator<Item = Block>) {
        self.has_formed(mark);
        let mut number = NONE;
        for (i, Block(block)) in blocks.enumerate() {
            if i == 0 {
                let span = block / (self.planes * self.blocks_per_plane);
                number = span * self.blocks_per_plane + block % self.blocks_per_plane;
                self.full[number as usize] = 0;
                self.marks[number as usize] = mark;
            }
            self.blocks[number as usize * self.planes as usize + i] = block;
            self.of_block[block as usize] = number;
        }
    }

    /// Superblock that a block belongs to, if any.
    pub(super) fn of(&self, block: Block) -> Option<u32> {
        let number = self.of_block[block.0 as usize];
        (number != NONE).then_some(number)
    }

    /// Blocks of a superblock, one of each plane in order.
    pub(super) fn blocks(&self, superblock: u32) -> impl Iterator<Item = Block> + use<'_> {
        let first = superblock as usize * self.planes as usize;
        self.blocks[first..first + self.planes as usize].iter().copied().map(Block)
    }

    /// Notes that a block is full. Returns its superblock, if that is full with it.
    pub(super) fn filled(&mut self, block: Block) -> Option<u32> {
        let superblock = self.of(block)?;
        let full = &mut self.full[superblock as usize];
        *full += 1;
        (*full == self.planes).then_some(superblock)
    }

    /// Whether all blocks of a superblock are full.
    pub(super) fn is_full(&self, superblock: u32) -> bool {
        self.full[superblock as usize] == self.planes
    }

    /// Notes that a superblock with this mark was formed: no other gets its serial number.
    pub(super) fn has_formed(&mut self, mark: u64) {
        self.formed = self.formed.max(mark >> FRONTIER_BITS);
    }

    /// Mark of a superblock: its serial number, in the order in which superblocks were formed from
    /// 1 on, and its frontier.
    pub(super) fn mark(&self, superblock: u32) -> u64 {
        self.marks[superblock as usize]
    }

    /// Takes an erased block out of its superblock. Returns the superblock, whose number is free
    /// with its block in the first plane.
    pub(super) fn leave(&mut self, block: Block) -> Option<u32> {
        let superblock = self.of(block);
        self.of_block[block.0 as usize] = NONE;
        superblock
    }

    /// Bytes of the tables in the firmware.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.blocks)
            + size_of_val(&*self.full)
            + size_of_val(&*self.marks)
            + size_of_val(&*self.of_block)
    }
}
