//! Blocks of the cache: how many there may be, and which ones are in use.

use super::Params;
use crate::ftl::contract::{CacheState, Context};
use crate::ftl::page::Pick;
use crate::space::free_blocks::{FreeBlocks, Use};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;
use nand::geometry::{Block, Geometry, Plane};

/// Uses of a block: none in the cache, of the static part, of the dynamic part.
const NONE: u8 = 0;
const STATIC: u8 = 1;
const DYNAMIC: u8 = 2;

/// Parts of the cache.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Blocks that are kept for it.
    Static,
    /// Blocks that are free.
    Dynamic,
}

impl Part {
    /// Choice among the free blocks of a plane that gives one of this part.
    pub(super) fn pick(self) -> Pick {
        match self {
            Self::Static => Pick::Kept(Use::Cache),
            Self::Dynamic => Pick::Next,
        }
    }
}

/// Blocks of the cache.
#[derive(Clone)]
pub(super) struct Area {
    planes: u32,
    /// Pages of a block in single-level mode.
    pages: u32,
    block_units: u32,
    static_sets: u32,
    dynamic_sets: u32,
    shrink_from: f64,
    shrink_to: f64,
    /// By block: its use in the cache.
    uses: Vec<u8>,
    /// By plane: blocks in use, of the static part and of the dynamic one.
    used: [Vec<u32>; 2],
    /// By plane: blocks of the static part, in use, or free and kept for it.
    kept: Vec<u32>,
    erased_blocks: u64,
}

impl State for Area {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            planes: _,
            pages: _,
            block_units: _,
            static_sets: _,
            dynamic_sets: _,
            shrink_from: _,
            shrink_to: _,
            uses,
            used,
            kept,
            erased_blocks,
        } = self;
        archive.table(uses)?;
        archive.value(used)?;
        archive.table(kept)?;
        archive.value(erased_blocks)
    }
}

impl Area {
    /// Creates a cache without blocks in use.
    pub(super) fn new(context: &Context, params: &Params) -> Self {
        let (geometry, pages) = (&context.geometry, context.single_level_pages);
        let of_page = u64::from(geometry.units_per_page) * u64::from(geometry.unit_bytes);
        let of_sets = u64::from(geometry.planes()) * u64::from(pages) * of_page;
        let blocks = geometry.blocks_per_plane;
        let sets = |sets: u64| u32::try_from(sets).unwrap_or(blocks).min(blocks);
        let static_sets = params.static_bytes.map_or(1, |bytes| sets(bytes.div_ceil(of_sets)));
        let dynamic_sets = params.dynamic_bytes.map_or(blocks, |bytes| sets(bytes / of_sets));
        let planes = geometry.planes() as usize;
        Self {
            planes: geometry.planes(),
            pages,
            block_units: pages * geometry.units_per_page,
            static_sets,
            dynamic_sets,
            shrink_from: params.shrink_from,
            shrink_to: params.shrink_to,
            uses: table(geometry.blocks() as usize, NONE),
            used: [vec![0; planes], vec![0; planes]],
            kept: vec![static_sets; planes],
            erased_blocks: 0,
        }
    }

    /// Blocks of each plane that are kept for the static part.
    pub(super) fn static_sets(&self) -> u32 {
        self.static_sets
    }

    /// Pages of a block of the cache.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Whether a block belongs to the cache: it is open, full, or being folded.
    #[inline]
    pub(super) fn has(&self, block: Block) -> bool {
        self.uses[block.0 as usize] != NONE
    }

    /// Whether a block belongs to the dynamic part.
    pub(super) fn is_dynamic(&self, block: Block) -> bool {
        self.uses[block.0 as usize] == DYNAMIC
    }

    /// Most blocks of the dynamic part in a plane, where `mapped` of `logical` units have data.
    pub(super) fn dynamic_room(&self, mapped: u32, logical: u32) -> u32 {
        let fill = f64::from(mapped) / f64::from(logical);
        if fill <= self.shrink_from {
            self.dynamic_sets
        } else if fill >= self.shrink_to {
            0
        } else {
            let left = (self.shrink_to - fill) / (self.shrink_to - self.shrink_from);
            (f64::from(self.dynamic_sets) * left) as u32
        }
    }

    /// Blocks of the dynamic part that a plane has in use.
    pub(super) fn dynamic_used(&self, plane: Plane) -> u32 {
        self.used[1][plane.0 as usize]
    }

    /// Part that has a block for each of these planes: the static one has some left, or the dynamic
    /// one may have more than `room` says. `can_spare` tells whether free blocks may be used.
    pub(super) fn part_for(
        &self,
        free: &FreeBlocks,
        mut planes: impl Iterator<Item = Plane> + Clone,
        can_spare: bool,
        room: u32,
    ) -> Option<Part> {
        if planes.clone().all(|plane| free.has_claimed(plane, Use::Cache)) {
            return Some(Part::Static);
        }
        let is_small = planes.all(|plane| self.dynamic_used(plane) < room);
        (can_spare && is_small).then_some(Part::Dynamic)
    }

    /// Notes that a block is open, as one of a part.
    pub(super) fn opened(&mut self, block: Block, plane: Plane, part: Part) {
        let (of, part) = match part {
            Part::Static => (STATIC, 0),
            Part::Dynamic => (DYNAMIC, 1),
        };
        self.uses[block.0 as usize] = of;
        self.used[part][plane.0 as usize] += 1;
    }

    /// Takes back an erased block, which belongs to the cache no longer.
    pub(super) fn erased(&mut self, block: Block, plane: Plane) {
        match std::mem::replace(&mut self.uses[block.0 as usize], NONE) {
            NONE => return,
            STATIC => {
                self.used[0][plane.0 as usize] -= 1;
                self.kept[plane.0 as usize] -= 1;
            }
            _ => self.used[1][plane.0 as usize] -= 1,
        }
        self.erased_blocks += 1;
    }

    /// Keeps a free block for the static part, if it lacks one and the plane has more than `floor`.
    pub(super) fn claim(&mut self, free: &mut FreeBlocks, plane: Plane, floor: u32) {
        let kept = &mut self.kept[plane.0 as usize];
        if *kept < self.static_sets && free.of(plane) > floor as usize {
            free.claim(plane, Use::Cache, 1);
            *kept += 1;
        }
    }

    /// Room and use of the cache.
    pub(super) fn state(&self, mapped: u32, logical: u32) -> CacheState {
        let units = u64::from(self.block_units);
        let blocks = self.static_sets + self.dynamic_room(mapped, logical);
        let used: u32 = self.used.iter().flatten().sum();
        CacheState {
            room_units: u64::from(blocks) * u64::from(self.planes) * units,
            used_units: u64::from(used) * units,
        }
    }

    /// Blocks of the cache that were erased in this run.
    pub(super) fn erased_blocks(&self) -> u64 {
        self.erased_blocks
    }

    /// Resets the counts for a run.
    pub(super) fn start_run(&mut self) {
        self.erased_blocks = 0;
    }

    /// Keeps no free block, before a start-up takes over what it has found.
    pub(super) fn release(&self, free: &mut FreeBlocks) {
        (0..self.planes).for_each(|plane| free.set_claimed(Plane(plane), Use::Cache, 0));
    }

    /// Takes a set over that a start-up has found: into the static part, as long as that has room.
    pub(super) fn take_over(&mut self, geometry: &Geometry, set: &[Block]) {
        let has_room = |plane: Plane| self.used[0][plane.0 as usize] < self.static_sets;
        let is_static = set.iter().all(|&block| has_room(geometry.plane_of(block)));
        let part = if is_static { Part::Static } else { Part::Dynamic };
        set.iter().for_each(|&block| self.opened(block, geometry.plane_of(block), part));
    }

    /// Keeps free blocks for the static part after a power cut, less these of the cache that were
    /// found, which are to be erased first.
    pub(super) fn recover(
        &mut self,
        free: &mut FreeBlocks,
        geometry: &Geometry,
        found: impl Iterator<Item = Block>,
    ) {
        self.kept.fill(self.static_sets);
        for block in found {
            let kept = &mut self.kept[geometry.plane_of(block).0 as usize];
            *kept = kept.saturating_sub(1);
        }
        for (plane, kept) in (0..).map(Plane).zip(&mut self.kept) {
            // No more than there are: the rest is kept as blocks are erased.
            let left = (*kept).min(free.of(plane) as u32);
            free.set_claimed(plane, Use::Cache, left);
            *kept = left + self.used[0][plane.0 as usize];
        }
    }

    /// Bytes of the table in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        self.uses.len() as u64
    }
}
