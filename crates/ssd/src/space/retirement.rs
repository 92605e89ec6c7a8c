//! Retirement: blocks that are taken out of use while the drive runs.
//!
//! A block is doomed when enough of its pages could not be read, or when a program of it or its
//! erase has failed. Once it is full, its data are moved off, it is erased a last time, and bad
//! from then on: the spare of the drive is smaller by a block. A plane gives up no more blocks than
//! leave room for its share of the logical drive and for collection.
//!
//! Moving a block off takes room and gives none back. So a die moves one block at a time and begins
//! when it has a block set more than its reserve. It keeps the host from that set until the move is
//! done.

use crate::space::capacity::{good_blocks, share_blocks};
use base::{Error, Result};
use nand::geometry::{Block, Die, Geometry, Plane};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Blocks that a plane needs: `share` for its data, `held` that are kept free or open, and one
/// more. As in `capacity::logical_units`, this one must be dead, or collection has nothing to gain.
pub fn least_blocks(share: u32, held: u32) -> u32 {
    share + held + 1
}

/// Doomed blocks of a drive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Retirement {
    doomed: Vec<bool>,
    /// By die: doomed blocks that are full, and whose data are to be moved off.
    waiting: Vec<VecDeque<Block>>,
    /// By die: the block that is being moved off.
    moving: Vec<Option<Block>>,
    /// By plane: blocks that can still be given up.
    spare: Vec<u32>,
}

impl Retirement {
    /// Creates the retirement of a drive of `logical_units` that keeps `held` blocks of each plane
    /// free or open. Refuses a drive that has lost too many blocks already: some of the `bad` ones
    /// have failed since it was made.
    pub fn new(geometry: &Geometry, bad: &[bool], logical_units: u32, held: u32) -> Result<Self> {
        let least = least_blocks(share_blocks(geometry, logical_units), held);
        let left = good_blocks(geometry, bad);
        if let Some(plane) = left.iter().position(|&left| left < least) {
            let problem =
                format!("only {} blocks of plane {plane} are left at this wear", left[plane]);
            return Err(Error::new("age.pe_cycles", problem)
                .expected(format!(
                    "cycles that leave {least} blocks of each plane for the capacity"
                ))
                .hint("use fewer cycles, a larger ftl.overprovisioning, or a milder chip.fault"));
        }
        Ok(Self {
            doomed: bad.to_vec(),
            waiting: vec![VecDeque::new(); geometry.dies as usize],
            moving: vec![None; geometry.dies as usize],
            spare: left.iter().map(|left| left - least).collect(),
        })
    }

    /// Lets each plane give up blocks, from now on, only as long as `least` are left.
    pub fn keep(&mut self, geometry: &Geometry, least: u32) {
        let left = good_blocks(geometry, &self.doomed).into_iter();
        self.spare = left.map(|left| left.saturating_sub(least)).collect();
    }

    /// A die has a new chip with these blocks `bad`, listed for the die.
    pub fn replace(&mut self, geometry: &Geometry, die: Die, bad: &[bool]) {
        let first = geometry.first_block(geometry.plane(die, 0)).0 as usize;
        self.doomed[first..][..bad.len()].copy_from_slice(bad);
        self.waiting[die.0 as usize].clear();
        self.moving[die.0 as usize] = None;
    }

    /// Blocks that a plane can still give up.
    pub fn spare(&self, plane: Plane) -> u32 {
        self.spare[plane.0 as usize]
    }

    /// Takes blocks of the spare ones of a plane for something else than retirement.
    pub fn spend(&mut self, plane: Plane, blocks: u32) {
        self.spare[plane.0 as usize] -= blocks;
    }

    /// Gives spent blocks of a plane back to its spare ones.
    pub fn give_back(&mut self, plane: Plane, blocks: u32) {
        self.spare[plane.0 as usize] += blocks;
    }

    /// Dooms a block, if it is not already; false where its plane has none to spare.
    pub fn doom(&mut self, geometry: &Geometry, block: Block) -> bool {
        let spare = &mut self.spare[geometry.plane_of(block).0 as usize];
        let doomed = &mut self.doomed[block.0 as usize];
        if *doomed || *spare == 0 {
            return *doomed;
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

    /// Notes that a doomed block of `die` is full: its data wait to be moved off.
    pub fn wait(&mut self, die: Die, block: Block) {
        self.waiting[die.0 as usize].push_back(block);
    }

    /// Whether a block of `die` waits for its data to be moved off.
    #[inline]
    pub fn waits(&self, die: Die) -> bool {
        !self.waiting[die.0 as usize].is_empty()
    }

    /// Takes the next block of `die` whose data are to be moved off; it is being moved from now on.
    pub fn next(&mut self, die: Die) -> Option<Block> {
        let next = self.waiting[die.0 as usize].pop_front();
        self.moving[die.0 as usize] = next;
        next
    }

    /// Whether a block of `die` is being moved off.
    #[inline]
    pub fn is_moving(&self, die: Die) -> bool {
        self.moving[die.0 as usize].is_some()
    }

    /// Notes the erase of a block. Returns whether the block leaves with it. A doomed block that
    /// was collected for other reasons leaves if it `can_go`; it is used once more where others
    /// count on what collecting it gives.
    #[inline]
    pub fn has_left(&mut self, die: Die, block: Block, can_go: bool) -> bool {
        let moving = &mut self.moving[die.0 as usize];
        let was_moved = *moving == Some(block);
        if was_moved {
            *moving = None;
        }
        (was_moved || can_go) && self.doomed[block.0 as usize]
    }
}
