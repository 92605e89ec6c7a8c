//! Block sets: a block in each of the planes that one program joins, the same ones for good.
//!
//! A lane is a group of joined planes of a die. The first good block of each plane of a lane makes
//! a set, the second one the next, and so on.

use super::contract::Context;
use nand::geometry::{Block, Die, Geometry, Plane};
use std::ops::Range;

/// Number of a block set.
pub(super) type SetId = u32;

/// Number that stands for no set.
pub(super) const NONE: SetId = u32::MAX;

/// Block sets of a drive, by lane.
#[derive(Clone)]
pub(super) struct BlockSets {
    pub geometry: Geometry,
    pub joined: u32,
    pub lanes_per_die: u32,
    /// By lane: numbers of its sets.
    lanes: Vec<Range<SetId>>,
    /// Blocks of each set, by plane.
    blocks: Vec<Block>,
    /// By block: its set, or `NONE`.
    home: Vec<SetId>,
}

impl BlockSets {
    /// Makes sets of the blocks of a drive that were good when it was made.
    pub(super) fn new(context: &Context) -> Self {
        let Context { geometry, planes_per_program: joined, bad, .. } = context;
        let mut sets = Self {
            geometry: geometry.clone(),
            joined: *joined,
            lanes_per_die: geometry.planes_per_die / joined,
            lanes: Vec::new(),
            blocks: Vec::new(),
            home: vec![NONE; geometry.blocks() as usize],
        };
        let good = |plane| {
            let first = geometry.first_block(Plane(plane)).0;
            let blocks = first..first + geometry.blocks_per_plane;
            blocks.filter(|&block| !bad[block as usize]).map(Block).collect::<Vec<Block>>()
        };
        for lane in 0..geometry.planes() / joined {
            let planes: Vec<_> = (lane * joined..(lane + 1) * joined).map(good).collect();
            let first = sets.count();
            for index in 0..planes.iter().map(Vec::len).min().unwrap_or(0) {
                let number = sets.count();
                for plane in &planes {
                    sets.home[plane[index].0 as usize] = number;
                    sets.blocks.push(plane[index]);
                }
            }
            sets.lanes.push(first..sets.count());
        }
        sets
    }

    /// Number of sets of all lanes.
    pub(super) fn count(&self) -> u32 {
        self.blocks.len() as u32 / self.joined
    }

    /// Number of lanes of the drive.
    pub(super) fn lanes(&self) -> u32 {
        self.lanes.len() as u32
    }

    /// Set of a block; `NONE` of a block that has none.
    #[inline]
    pub(super) fn of(&self, block: Block) -> SetId {
        self.home[block.0 as usize]
    }

    /// Blocks of a set.
    #[inline]
    pub(super) fn blocks(&self, set: SetId) -> &[Block] {
        &self.blocks[(set * self.joined) as usize..][..self.joined as usize]
    }

    /// Lane of a set.
    #[inline]
    pub(super) fn lane_of(&self, set: SetId) -> u32 {
        self.geometry.plane_of(self.blocks(set)[0]).0 / self.joined
    }

    /// Die of a lane.
    #[inline]
    pub(super) fn die_of(&self, lane: u32) -> Die {
        Die(lane / self.lanes_per_die)
    }

    /// Lanes of a die.
    #[inline]
    pub(super) fn lanes_of(&self, die: Die) -> Range<u32> {
        die.0 * self.lanes_per_die..(die.0 + 1) * self.lanes_per_die
    }

    /// Sets of a lane, by number.
    pub(super) fn numbers(&self, lane: u32) -> Range<SetId> {
        self.lanes[lane as usize].clone()
    }
}
