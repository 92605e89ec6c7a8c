//! View of the flash for a whole FTL of one's own: blocks with their state, and places of units.

use crate::ftl::contract::{Context, FtlCounts, Lpn};
use crate::space::candidates::Candidates;
use crate::space::capacity::{good_blocks, logical_units, share_blocks};
use crate::space::frontier::{Frontier, Rows};
use crate::space::pace::Pace;
use crate::space::retirement::Retirement;
use crate::space::wear::BlockWear;
use base::archive::{Archive, State};
use base::memory::table;
use base::{Error, Result};
use nand::geometry::{Block, Die, Geometry, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Marks a physical unit without data.
pub(super) const PADDING: u32 = u32::MAX;

/// State of a block of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// The block is out of use.
    Bad,
    /// The block is erased.
    Free,
    /// The block is being written to.
    Open,
    /// The block is written whole.
    Full,
    /// Data of the block are being moved elsewhere, then it is erased.
    Victim,
}

impl Status {
    /// Name of the state in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Free => "free",
            Self::Open => "open",
            Self::Full => "full",
            Self::Victim => "being emptied",
        }
    }
}

/// State of a block of the view, which is a set of physical blocks.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Set {
    pub(super) status: Status,
    /// Stream that has opened the block. Programs to a block that collection has opened (`None`)
    /// wait behind those of the host.
    pub(super) stream: Option<u32>,
    pub(super) frontier: Frontier,
    /// Physical pages whose programs have been reported.
    pub(super) reported: u32,
    /// Physical blocks that are still to be reported erased.
    pub(super) erasing: u32,
    /// Clock when the block became full, in host units.
    pub(super) filled_at: u64,
}

/// Flash as the FTL sees it: map, blocks, wear and counts.
#[derive(Clone)]
pub struct View {
    pub(super) geometry: Geometry,
    pub(super) joined: u32,
    pub(super) pages_per_program: u32,
    logical_units: u32,
    pub(super) reserve: u32,
    start: u32,
    background: u32,
    pub(super) open_blocks: u32,
    sets_per_die: u32,
    pub(super) sets: Vec<Set>,
    /// Physical blocks of each set.
    members: Vec<Block>,
    /// Set of each physical block.
    set_of: Vec<u32>,
    pub(super) map: Vec<u32>,
    pub(super) owner: Vec<u32>,
    /// By physical block: valid units.
    valid: Vec<u32>,
    /// By die: cycles and number of the free blocks.
    pub(super) free: Vec<BTreeSet<(u32, u32)>>,
    /// By die: open blocks with room.
    pub(super) open: Vec<Vec<u32>>,
    /// By die: dead units in full blocks.
    pub(super) dead: Vec<u64>,
    /// Full blocks, for the policy of `gc`, where it picks: each by its first physical block, with
    /// its valid units divided among the planes and rounded up.
    policy: Option<Candidates>,
    pub(super) pace: Pace,
    pub(super) wear: BlockWear,
    pub(super) clock: u64,
    pub(super) counts: FtlCounts,
}

impl View {
    /// Creates the view of an erased drive. The policy of `gc` `picks` victims, or is not asked.
    pub(super) fn new(context: Context, open_blocks: u32, picks: bool) -> Result<Self> {
        let unusable = context.unusable();
        let Context { geometry, planes_per_program, pages_per_program, config, gc, .. } = context;
        let Context { bad, pe_cycles, victims, .. } = context;
        let reserve = config.gc_reserve_blocks;
        if reserve == 0 {
            return Err(Error::new("ftl.gc_reserve_blocks", "0 blocks").expected("at least 1"));
        }
        if gc.start_free_blocks <= reserve {
            let problem = format!("{} free blocks", gc.start_free_blocks);
            return Err(Error::new("gc.start_free_blocks", problem)
                .expected(format!("more than ftl.gc_reserve_blocks, {reserve}")));
        }
        let held = gc.start_free_blocks + open_blocks;
        let logical = logical_units(&geometry, &bad, config.overprovisioning, held)?;
        // Refuses a drive that has lost too many blocks.
        Retirement::new(&geometry, &unusable, logical, held)?;
        let good = good_blocks(&geometry, &unusable);
        let fewest = good.iter().copied().min().unwrap_or(0);
        let spare = fewest.saturating_sub(share_blocks(&geometry, logical));
        let groups = geometry.planes_per_die / planes_per_program;
        // A die with one open block has it for the host and for collection.
        let set_units = planes_per_program * geometry.units_per_block();
        let pace = Pace::new(&gc, reserve, u32::from(open_blocks > 1), set_units);
        let mut view = Self {
            joined: planes_per_program,
            pages_per_program,
            logical_units: logical,
            reserve,
            start: gc.start_free_blocks,
            background: gc.background_free_blocks.min(spare / 2),
            open_blocks,
            sets_per_die: groups * geometry.blocks_per_plane,
            sets: Vec::new(),
            members: Vec::new(),
            set_of: vec![u32::MAX; geometry.blocks() as usize],
            map: table(logical as usize, Ppn::NONE.0),
            owner: table(geometry.units() as usize, PADDING),
            valid: vec![0; geometry.blocks() as usize],
            free: vec![BTreeSet::new(); geometry.dies as usize],
            open: vec![Vec::new(); geometry.dies as usize],
            dead: vec![0; geometry.dies as usize],
            policy: picks.then(|| Candidates::new(&geometry, victims)),
            pace,
            wear: BlockWear::new(&geometry, pe_cycles, unusable, 0),
            clock: 0,
            counts: FtlCounts::default(),
            geometry,
        };
        view.make_sets();
        Ok(view)
    }

    /// Joins the n-th good blocks of the planes of each group.
    fn make_sets(&mut self) {
        let (planes, per_plane) = (self.geometry.planes(), self.geometry.blocks_per_plane);
        let rows = Rows::new(&self.geometry, self.joined, self.pages_per_program);
        for first in (0..planes).step_by(self.joined as usize) {
            let good: Vec<Vec<Block>> = (first..first + self.joined)
                .map(|plane| (plane * per_plane..(plane + 1) * per_plane).map(Block))
                .map(|blocks| blocks.filter(|&block| !self.wear.is_bad(block)).collect())
                .collect();
            let whole = good.iter().map(Vec::len).min().unwrap_or(0);
            for n in 0..per_plane as usize {
                let number = self.sets.len() as u32;
                let mut set = Set {
                    status: Status::Bad,
                    stream: None,
                    frontier: Frontier::closed(rows),
                    reported: 0,
                    erasing: 0,
                    filled_at: 0,
                };
                if n < whole {
                    set.status = Status::Free;
                    for (i, blocks) in good.iter().enumerate() {
                        set.frontier.blocks[i] = blocks[n];
                        self.set_of[blocks[n].0 as usize] = number;
                    }
                    let worn = self.wear.cycles(set.frontier.blocks[0]);
                    self.free[(number / self.sets_per_die) as usize].insert((worn, number));
                }
                self.members.extend(&set.frontier.blocks[..self.joined as usize]);
                self.sets.push(set);
            }
        }
    }

    /// Number of dies of the drive.
    pub fn dies(&self) -> u32 {
        self.geometry.dies
    }

    /// Number of blocks of the drive. Those of a die follow each other.
    pub fn blocks(&self) -> u32 {
        self.sets.len() as u32
    }

    /// Number of blocks of a die.
    pub fn blocks_per_die(&self) -> u32 {
        self.sets_per_die
    }

    /// Number of rows of a block.
    pub fn rows_per_block(&self) -> u32 {
        self.geometry.pages_per_block / self.pages_per_program
    }

    /// Number of units of a row.
    pub fn row_units(&self) -> u32 {
        self.joined * self.pages_per_program * self.geometry.units_per_page
    }

    /// Number of units of a block.
    pub fn block_units(&self) -> u32 {
        self.joined * self.geometry.units_per_block()
    }

    /// Number of units that the host sees.
    pub fn logical_units(&self) -> u32 {
        self.logical_units
    }

    /// Free blocks of each die that only collection may open (`ftl.gc_reserve_blocks`).
    pub fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Free blocks of a die below which it is collected (`gc.start_free_blocks`).
    pub fn start_free_blocks(&self) -> u32 {
        self.start
    }

    /// Host units placed since the drive was built.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The die of a block.
    pub fn die_of(&self, block: u32) -> u32 {
        block / self.sets_per_die
    }

    /// State of a block; bad where there is no such block.
    pub fn status(&self, block: u32) -> Status {
        self.sets.get(block as usize).map_or(Status::Bad, |set| set.status)
    }

    /// Valid units of a block.
    pub fn valid(&self, block: u32) -> u32 {
        // A bad block has no members.
        if self.status(block) == Status::Bad {
            return 0;
        }
        self.members(block).iter().map(|&member| self.valid_in(member)).sum()
    }

    /// Valid units of a physical block.
    #[inline]
    pub(super) fn valid_in(&self, member: Block) -> u32 {
        self.valid[member.0 as usize]
    }

    /// Units that still go into an open block; 0 where it is not open.
    pub fn room(&self, block: u32) -> u32 {
        match self.sets.get(block as usize) {
            Some(Set { status: Status::Open, frontier, .. }) => {
                frontier.left_pages() * self.geometry.units_per_page
            }
            _ => 0,
        }
    }

    /// Program/erase cycles of a block.
    pub fn cycles(&self, block: u32) -> u32 {
        self.first_member(block).map_or(0, |member| self.wear.cycles(member))
    }

    /// Units that the host has written since a block became full; 0 where it is not.
    pub fn age(&self, block: u32) -> u64 {
        match self.sets.get(block as usize) {
            Some(set) if set.status == Status::Full => self.clock - set.filled_at,
            _ => 0,
        }
    }

    /// Free blocks of a die.
    pub fn free_blocks(&self, die: u32) -> u32 {
        self.free.get(die as usize).map_or(0, |free| free.len() as u32)
    }

    /// The free block of a die with the fewest cycles, of equals the one with the lowest number.
    pub fn free_block(&self, die: u32) -> Option<u32> {
        self.free.get(die as usize)?.first().map(|&(_, block)| block)
    }

    /// Open block of a die with room, opened by a stream of the host or by collection (`None`).
    pub fn open_block(&self, die: u32, stream: Option<u32>) -> Option<u32> {
        let is_its = |block: &&u32| self.sets[**block as usize].stream == stream;
        self.open.get(die as usize)?.iter().find(is_its).copied()
    }

    /// The block of a die for the next row of a stream of the host, or of collection (`None`): the
    /// open one, or else the least worn free one. The host leaves the reserve.
    pub fn next_block(&self, die: u32, stream: Option<u32>) -> Option<u32> {
        let kept = if stream.is_some() { self.reserve } else { 0 };
        let free = || self.free_block(die).filter(|_| self.free_blocks(die) > kept);
        self.open_block(die, stream).or_else(free)
    }

    /// Full blocks of a die.
    pub fn full_blocks(&self, die: u32) -> impl Iterator<Item = u32> {
        let first = die.saturating_mul(self.sets_per_die).min(self.blocks());
        let last = (first + self.sets_per_die).min(self.blocks());
        (first..last).filter(|&block| self.sets[block as usize].status == Status::Full)
    }

    /// The full block of a die with the fewest valid units, if any of its units is dead.
    pub fn emptiest(&self, die: u32) -> Option<u32> {
        let least = self.full_blocks(die).min_by_key(|&block| self.valid(block))?;
        (self.valid(least) < self.block_units()).then_some(least)
    }

    /// Whether a die has fewer free blocks than `gc` asks for.
    pub fn is_short(&self, die: u32, is_idle: bool) -> bool {
        let least = if is_idle { self.background.max(self.start) } else { self.start };
        self.free_blocks(die) < least
    }

    /// The block that holds the newest data of a unit.
    pub fn block_of(&self, unit: Lpn) -> Option<u32> {
        let ppn = *self.map.get(unit.0 as usize)?;
        (ppn != Ppn::NONE.0).then(|| self.set_at(ppn))
    }

    /// The units whose newest data a block holds, in the order of their places.
    pub fn units_of(&self, block: u32) -> Vec<Lpn> {
        let mut units = Vec::new();
        if self.status(block) == Status::Bad {
            return units;
        }
        for page in 0..self.geometry.pages_per_block {
            for &member in self.members(block) {
                let first = self.geometry.ppn(member, page, 0).0;
                for ppn in first..first + self.geometry.units_per_page {
                    let lpn = self.owner[ppn as usize];
                    if self.map.get(lpn as usize) == Some(&ppn) {
                        units.push(Lpn(lpn));
                    }
                }
            }
        }
        units
    }

    /// Physical blocks that a block of the view is made of.
    pub(super) fn members(&self, block: u32) -> &[Block] {
        &self.members[(block * self.joined) as usize..][..self.joined as usize]
    }

    fn first_member(&self, block: u32) -> Option<Block> {
        (self.status(block) != Status::Bad).then(|| self.members(block)[0])
    }

    /// Block of the view that a physical block belongs to, if any.
    #[inline]
    pub(super) fn set_of(&self, block: Block) -> Option<u32> {
        let set = self.set_of[block.0 as usize];
        (set != u32::MAX).then_some(set)
    }

    #[inline]
    pub(super) fn set_at(&self, ppn: u32) -> u32 {
        self.set_of[self.geometry.block_of(Ppn(ppn)).0 as usize]
    }

    /// Opens a free block for a stream of the host, or for collection (`None`).
    pub(super) fn open(&mut self, block: u32, stream: Option<u32>) {
        let (die, worn) = (self.die_of(block) as usize, self.cycles(block));
        self.free[die].remove(&(worn, block));
        self.open[die].push(block);
        let set = &mut self.sets[block as usize];
        (set.status, set.stream, set.reported) = (Status::Open, stream, 0);
        set.frontier.open();
    }

    /// Takes back an erased physical block. Returns its block of the view if that is free now.
    pub(super) fn erased(&mut self, block: Block) -> Option<u32> {
        self.wear.erased(block);
        let number = self.set_of(block)?;
        let set = &mut self.sets[number as usize];
        set.erasing = set.erasing.saturating_sub(1);
        if set.erasing > 0 {
            return None;
        }
        set.status = Status::Free;
        let (worn, die) = (self.cycles(number), self.die_of(number));
        self.free[die as usize].insert((worn, number));
        Some(number)
    }

    /// Counts the unit at `ppn` as the newest of its owner.
    #[inline]
    pub(super) fn came(&mut self, ppn: u32) {
        self.valid[self.geometry.block_of(Ppn(ppn)).0 as usize] += 1;
    }

    /// Counts the unit at `ppn` as dead: it is no longer the newest of its owner.
    #[inline]
    pub(super) fn died(&mut self, ppn: u32) {
        let member = self.geometry.block_of(Ppn(ppn)).0 as usize;
        self.valid[member] -= 1;
        let number = self.set_of[member];
        if self.sets[number as usize].status == Status::Full {
            self.dead[(number / self.sets_per_die) as usize] += 1;
            let is_whole = self.valid(number).is_multiple_of(self.joined);
            if let Some(policy) = self.policy.as_mut().filter(|_| is_whole) {
                let first = self.members[(number * self.joined) as usize];
                policy.died(|| self.geometry.plane_of(first), first);
            }
        }
    }

    /// Notes that a block is full.
    pub(super) fn filled(&mut self, block: u32) {
        let set = &mut self.sets[block as usize];
        (set.status, set.filled_at) = (Status::Full, self.clock);
        let valid = self.valid(block);
        let (die, dead) = (self.die_of(block) as usize, self.block_units() - valid);
        self.dead[die] += u64::from(dead);
        let first = self.members(block)[0];
        if let Some(policy) = &mut self.policy {
            policy.opened(first);
            policy.added(first, valid.div_ceil(self.joined));
            policy.closed(self.geometry.plane_of(first), first, self.clock);
        }
    }

    /// Takes a full block as a victim, to be emptied.
    pub(super) fn begin_victim(&mut self, block: u32) {
        self.sets[block as usize].status = Status::Victim;
        let valid = self.valid(block);
        let (die, dead) = (self.die_of(block) as usize, self.block_units() - valid);
        self.dead[die] -= u64::from(dead);
    }

    /// Whether the policy of `gc` picks victims.
    pub(super) fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Picks a full block of a die by the policy of `gc`, which drops it from its candidates: in
    /// the planes with the most dead units. `None` where no unit is dead.
    pub(super) fn pick(&mut self, die: u32) -> Option<u32> {
        let policy = self.policy.as_mut()?;
        let groups = self.geometry.planes_per_die / self.joined;
        let planes = (0..groups).map(|group| self.geometry.plane(Die(die), group * self.joined));
        let plane = planes.max_by_key(|&plane| policy.dead_units(plane))?;
        let has_dead = self.dead[die as usize] > 0;
        let block = has_dead.then(|| policy.pick(plane, self.clock)).flatten()?;
        self.set_of(block)
    }

    /// Sets the wear of every block.
    pub(super) fn set_wear(&mut self, pe_cycles: u32) {
        self.wear.start_run(pe_cycles);
        for free in &mut self.free {
            *free = free.iter().map(|&(_, block)| (pe_cycles, block)).collect();
        }
    }

    /// Die of a block, as the contract names it.
    pub(super) fn die(&self, block: u32) -> Die {
        Die(self.die_of(block))
    }
}

impl State for View {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            geometry: _,
            joined: _,
            pages_per_program: _,
            logical_units: _,
            reserve: _,
            start: _,
            background: _,
            open_blocks: _,
            sets_per_die: _,
            sets,
            members: _,
            set_of: _,
            map,
            owner,
            valid,
            free,
            open,
            dead,
            policy,
            pace: _,
            wear,
            clock,
            counts,
        } = self;
        archive.value(sets)?;
        archive.table(map)?;
        archive.table(owner)?;
        archive.table(valid)?;
        archive.value(free)?;
        archive.value(open)?;
        archive.table(dead)?;
        if let Some(policy) = policy {
            policy.exchange(archive)?;
        }
        wear.exchange(archive)?;
        archive.value(clock)?;
        archive.value(counts)
    }
}
