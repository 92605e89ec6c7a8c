//! Blocks of the cache: how many there may be, the open ones, and the ones in use.

use super::{Params, SlcCache};
use crate::ftl::contract::{CacheState, Context};
use crate::recovery::Found;
use crate::space::free_blocks::{FreeBlocks, Use};
use crate::space::frontier::{Frontier, Rows};
use base::Result;
use base::archive::{Archive, State};
use base::memory::table;
use nand::geometry::{Block, Die, Geometry, Plane};

/// Uses of a block: none in the cache, of the static part, of the dynamic part.
const NONE: u8 = 0;
const STATIC: u8 = 1;
const DYNAMIC: u8 = 2;

/// Blocks of the cache, and their frontiers.
#[derive(Clone)]
pub(super) struct Area {
    /// Geometry of blocks in single-level mode, for frontiers alone: units are numbered by native
    /// blocks.
    frame: Geometry,
    groups: u32,
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
    /// By die and group of joined planes: the open blocks.
    frontiers: Vec<Frontier>,
    /// By die: group of planes that comes next.
    next_group: Vec<u32>,
    next_die: u32,
    erased_blocks: u64,
}

impl State for Area {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            frame: _,
            groups: _,
            static_sets: _,
            dynamic_sets: _,
            shrink_from: _,
            shrink_to: _,
            uses,
            used,
            kept,
            frontiers,
            next_group,
            next_die,
            erased_blocks,
        } = self;
        archive.table(uses)?;
        archive.value(used)?;
        archive.table(kept)?;
        archive.value(frontiers)?;
        archive.table(next_group)?;
        archive.value(next_die)?;
        archive.value(erased_blocks)
    }
}

impl Area {
    /// Creates a cache without blocks in use; a block has `slc_pages` pages in single-level mode.
    pub(super) fn new(context: &Context, params: &Params, slc_pages: u32) -> Self {
        let geometry = &context.geometry;
        let of_page = u64::from(geometry.units_per_page) * u64::from(geometry.unit_bytes);
        let of_sets = u64::from(geometry.planes()) * u64::from(slc_pages) * of_page;
        let blocks = geometry.blocks_per_plane;
        let sets = |sets: u64| u32::try_from(sets).unwrap_or(blocks).min(blocks);
        let static_sets = params.static_bytes.map_or(1, |bytes| sets(bytes.div_ceil(of_sets)));
        let dynamic_sets = params.dynamic_bytes.map_or(blocks, |bytes| sets(bytes / of_sets));
        let groups = geometry.planes_per_die / context.planes_per_program;
        let planes = geometry.planes() as usize;
        let frame = geometry.with_pages(slc_pages);
        let rows = Rows::new(&frame, context.planes_per_program, 1);
        Self {
            frame,
            groups,
            static_sets,
            dynamic_sets,
            shrink_from: params.shrink_from,
            shrink_to: params.shrink_to,
            uses: table(geometry.blocks() as usize, NONE),
            used: [vec![0; planes], vec![0; planes]],
            kept: vec![static_sets; planes],
            frontiers: vec![Frontier::closed(rows); (geometry.dies * groups) as usize],
            next_group: vec![0; geometry.dies as usize],
            next_die: 0,
            erased_blocks: 0,
        }
    }

    /// Blocks of each plane that are kept for the static part.
    pub(super) fn static_sets(&self) -> u32 {
        self.static_sets
    }

    /// Pages of a block of the cache.
    pub(super) fn slc_pages(&self) -> u32 {
        self.frame.pages_per_block
    }

    /// Die that takes the next row of the host.
    pub(super) fn next_die(&self) -> u32 {
        self.next_die
    }

    /// Passes the turn to the die behind this one.
    pub(super) fn turn(&mut self, die: Die) {
        self.next_die = if die.0 + 1 == self.frame.dies { 0 } else { die.0 + 1 };
    }

    fn index(&self, die: Die, group: u32) -> usize {
        (die.0 * self.groups + group) as usize
    }

    /// Frontier of a group of planes.
    pub(super) fn frontier(&self, die: Die, group: u32) -> Frontier {
        self.frontiers[self.index(die, group)]
    }

    /// Moves a frontier on by one page in each of `planes` planes.
    pub(super) fn advance(&mut self, die: Die, group: u32, planes: u32) {
        let index = self.index(die, group);
        if self.frontiers[index].advance(planes) {
            let next = &mut self.next_group[die.0 as usize];
            *next = if *next + 1 == self.groups { 0 } else { *next + 1 };
        }
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

    /// Pages of a block of the cache that have been handed out.
    pub(super) fn filled_pages(&self, die: Die, block: Block) -> u32 {
        let of_die = &self.frontiers[self.index(die, 0)..self.index(Die(die.0 + 1), 0)];
        let mut filling = of_die.iter().flat_map(Frontier::filling);
        let found = filling.find(|&(open, _)| open == block);
        found.map_or(self.slc_pages(), |(_, filled)| filled)
    }

    /// Closes the open set of a block, if each of its blocks has a page. Returns its blocks, each
    /// with its pages; nothing if it stays open.
    pub(super) fn close(&mut self, die: Die, block: Block) -> Vec<(Block, u32)> {
        let of_die = self.index(die, 0)..self.index(Die(die.0 + 1), 0);
        for frontier in &mut self.frontiers[of_die] {
            let filling: Vec<_> = frontier.filling().collect();
            let is_its = filling.iter().any(|&(open, _)| open == block);
            // A block that has its last page has been closed by its program.
            if is_its && filling.iter().all(|&(_, pages)| pages > 0) {
                frontier.open = false;
                return filling;
            }
        }
        Vec::new()
    }

    /// Units that open blocks can still take. The mode of a block is undecided until its first
    /// program: until then it counts with all its `native_pages`.
    pub(super) fn unused_units(&self, units_per_page: u32, native_pages: u32) -> u64 {
        let filling = self.frontiers.iter().flat_map(Frontier::filling);
        let left = filling.map(|(_, filled)| match filled {
            0 => native_pages,
            _ => self.slc_pages() - filled,
        });
        u64::from(left.sum::<u32>() * units_per_page)
    }

    /// Room and use of the cache.
    pub(super) fn state(&self, mapped: u32, logical: u32) -> CacheState {
        let units = u64::from(self.frame.units_per_block());
        let blocks = self.static_sets + self.dynamic_room(mapped, logical);
        let used: u32 = self.used.iter().flatten().sum();
        CacheState {
            room_units: u64::from(blocks) * u64::from(self.frame.planes()) * units,
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

    /// Keeps free blocks for the static part after a power cut, less those found with this tag,
    /// which are to be erased first.
    pub(super) fn recover(&mut self, free: &mut FreeBlocks, found: &Found, tag: u64) {
        self.kept.fill(self.static_sets);
        for block in found.blocks() {
            if found.pages(block) > 0 && found.tag(block) == tag {
                let kept = &mut self.kept[self.frame.plane_of(block).0 as usize];
                *kept = kept.saturating_sub(1);
            }
        }
        // No more than there are: the rest is kept as blocks are erased.
        for (plane, kept) in (0..).map(Plane).zip(&mut self.kept) {
            free.set_claimed(plane, Use::Cache, 0);
            *kept = (*kept).min(free.of(plane) as u32);
            free.set_claimed(plane, Use::Cache, *kept);
        }
    }

    /// Bytes of the table in the firmware.
    pub(super) fn bytes(&self) -> u64 {
        self.uses.len() as u64
    }
}

impl SlcCache {
    /// Group of a die whose frontier takes host data; it is opened if need be.
    pub(super) fn group_for(&mut self, die: Die) -> Option<u32> {
        let group = self.open_group(die)?;
        if !self.area.frontier(die, group).open {
            self.open(die, group);
        }
        Some(group)
    }

    /// Group of a die whose frontier is open, or can be opened.
    pub(super) fn open_group(&self, die: Die) -> Option<u32> {
        let (first, groups) = (self.area.next_group[die.0 as usize], self.area.groups);
        let mut all = (0..groups).map(|i| (first + i) % groups);
        all.find(|&group| {
            self.area.frontier(die, group).open
                || self.has_static(die, group)
                || self.has_dynamic(die, group)
        })
    }

    /// The planes of a group.
    pub(super) fn planes_of(&self, die: Die, group: u32) -> impl Iterator<Item = Plane> + use<> {
        let joined = self.page.joined;
        let first = self.page.geometry.plane(die, group * joined).0;
        (first..first + joined).map(Plane)
    }

    fn has_static(&self, die: Die, group: u32) -> bool {
        self.planes_of(die, group).all(|plane| self.page.free.has_claimed(plane, Use::Cache))
    }

    fn has_dynamic(&self, die: Die, group: u32) -> bool {
        let floor = self.page.gc.start_free_blocks + u32::from(self.page.needs_room(die));
        let room = self.area.dynamic_room(self.mapped, self.page.logical_units);
        self.page.free_blocks(die, group) > floor
            && self.planes_of(die, group).all(|plane| self.area.dynamic_used(plane) < room)
    }

    /// Opens the frontier of a group.
    fn open(&mut self, die: Die, group: u32) {
        let part = if self.has_static(die, group) { STATIC } else { DYNAMIC };
        let index = self.area.index(die, group);
        for (i, plane) in self.planes_of(die, group).enumerate() {
            let free = &mut self.page.free;
            let block =
                if part == STATIC { free.pop_claimed(plane, Use::Cache) } else { free.pop(plane) };
            let block = block.expect("checked by open_group");
            self.page.candidates.opened(block);
            self.area.uses[block.0 as usize] = part;
            self.area.used[usize::from(part - STATIC)][plane.0 as usize] += 1;
            self.area.frontiers[index].blocks[i] = block;
        }
        self.area.frontiers[index].open();
    }
}
