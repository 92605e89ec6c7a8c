//! Members of superblocks: the blocks that belong together, and how many of them are full.

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
    /// By superblock: its serial number, in the order of forming, from 1 on.
    serials: Vec<u64>,
    /// Serial number that was given last.
    formed: u64,
    /// By block: its superblock, or `NONE`.
    of_block: Vec<u32>,
}

impl State for Members {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { planes: _, blocks_per_plane: _, blocks, full, serials, formed, of_block } = self;
        archive.table(blocks)?;
        archive.table(full)?;
        archive.table(serials)?;
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
            serials: table((geometry.blocks() / planes) as usize, 0),
            formed: 0,
            of_block: table(geometry.blocks() as usize, NONE),
        }
    }

    /// Forms a superblock of these blocks, one of each plane in order. None of them is full.
    pub(super) fn form(&mut self, blocks: impl Iterator<Item = Block>) {
        self.form_again(self.formed + 1, blocks);
    }

    /// Forms a superblock of blocks that had this serial number before a power cut.
    pub(super) fn form_again(&mut self, serial: u64, blocks: impl Iterator<Item = Block>) {
        self.formed = self.formed.max(serial);
        let mut number = NONE;
        for (i, Block(block)) in blocks.enumerate() {
            if i == 0 {
                let span = block / (self.planes * self.blocks_per_plane);
                number = span * self.blocks_per_plane + block % self.blocks_per_plane;
                self.full[number as usize] = 0;
                self.serials[number as usize] = serial;
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

    /// Serial number of a superblock: the order in which they were formed, from 1 on.
    pub(super) fn serial(&self, superblock: u32) -> u64 {
        self.serials[superblock as usize]
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
        size_of_val(&*self.blocks) + size_of_val(&*self.full) + size_of_val(&*self.of_block)
    }
}
