//! Blocks that are taken out of use while the drive runs.
//!
//! A block is doomed when too many of its pages could not be read. Its data are moved off, it is
//! erased a last time, and bad from then on: the spare of the drive is smaller by a block. A plane
//! gives up no more blocks than leave room for its share of the logical drive and for collection.

use nand::geometry::{Block, Die, Geometry};

/// Doomed blocks of a drive.
#[derive(Debug)]
pub struct Retirement {
    doomed: Vec<bool>,
    /// By die: doomed blocks that are full, and whose data are to be moved off.
    waiting: Vec<Vec<Block>>,
    /// By plane: blocks that can still be given up.
    spare: Vec<u32>,
}

impl Retirement {
    /// Of a drive of `logical_units` that keeps `held` blocks of each plane free or open.
    pub fn new(geometry: &Geometry, bad: &[bool], logical_units: u32, held: u32) -> Self {
        let per_block = u64::from(geometry.units_per_block());
        let share = u64::from(logical_units).div_ceil(u64::from(geometry.planes()) * per_block);
        // As in `capacity`: one block more must be dead, or there is nothing to gain anywhere.
        let least = share as u32 + held + 1;
        let good = |blocks: &[bool]| blocks.iter().filter(|&&bad| !bad).count() as u32;
        let planes = bad.chunks(geometry.blocks_per_plane as usize);
        Self {
            doomed: bad.to_vec(),
            waiting: vec![Vec::new(); geometry.dies as usize],
            spare: planes.map(|blocks| good(blocks).saturating_sub(least)).collect(),
        }
    }

    /// Dooms a block; false where it is so already, or where its plane has no block to spare.
    pub fn doom(&mut self, geometry: &Geometry, block: Block) -> bool {
        let spare = &mut self.spare[geometry.plane_of(block).0 as usize];
        let doomed = &mut self.doomed[block.0 as usize];
        if *doomed || *spare == 0 {
            return false;
        }
        *spare -= 1;
        *doomed = true;
        true
    }

    /// Whether a block is doomed, or bad already.
    #[inline]
    pub fn is_doomed(&self, block: Block) -> bool {
        self.doomed[block.0 as usize]
    }

    /// A doomed block of `die` is full.
    pub fn wait(&mut self, die: Die, block: Block) {
        self.waiting[die.0 as usize].push(block);
    }

    /// Whether a block of `die` waits for its data to be moved off.
    #[inline]
    pub fn waits(&self, die: Die) -> bool {
        !self.waiting[die.0 as usize].is_empty()
    }

    /// The next such block, which waits no longer.
    pub fn next(&mut self, die: Die) -> Option<Block> {
        self.waiting[die.0 as usize].pop()
    }
}
