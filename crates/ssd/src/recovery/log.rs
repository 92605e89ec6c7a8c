//! Log: blocks of each die that the drive itself writes to, for its start-up.
//!
//! Records are noted trims, opened blocks, and parts of a table. The blocks of a die are written
//! one after the other and then again from the first on. So a table is written before the records
//! that it takes the place of are overwritten. The FTL knows these blocks as bad ones.
//!
//! A drive with m pages of parity in its stripes writes each record on m + 1 dies, so that the log
//! survives as many failed dies as the data do. After a failure a new table takes the place of the
//! records that have lost a copy.

use crate::terms::{Program, Stream};
use base::archive::{Archive, State};
use base::{Error, Result};
use nand::chip::{BlockMode, Chips};
use nand::geometry::{Block, Die, Geometry, MAX_PLANES};
use serde::{Deserialize, Serialize};

/// The log blocks of a die.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ring {
    blocks: Vec<Block>,
    /// Index of the block that is written to, and its next page.
    at: usize,
    page: u32,
    /// The block is to be erased before its next program.
    is_stale: bool,
    /// The erase of the block is under way.
    is_erasing: bool,
    /// The die has failed; loading a drive tells it anew.
    #[serde(skip)]
    is_lost: bool,
}

impl Ring {
    /// Goes on to the next block.
    fn turn(&mut self) {
        let next = if self.at + 1 == self.blocks.len() { 0 } else { self.at + 1 };
        self.begin(next);
    }

    /// Writes a block from its first page on, after an erase.
    fn begin(&mut self, at: usize) {
        (self.at, self.page, self.is_stale, self.is_erasing) = (at, 0, true, false);
    }
}

/// All log blocks, and how full they are.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    rings: Vec<Ring>,
    next_die: usize,
    pages: u32,
    /// Programs that the log has room for on all dies, with one block of each die left out.
    room: u64,
    /// Programs since the start of the last complete table, and since the start of the last table.
    live: u64,
    since_begun: u64,
    /// Start of the table that is being written, if it began with fresh blocks.
    again: Option<Again>,
    /// Dies that each record is written on.
    copies: u32,
    /// Records have lost a copy with a die that has failed, and no table has begun since.
    is_exposed: bool,
    /// The table that is being written takes the place of such records.
    mends: bool,
}

/// Start of a table that begins with fresh blocks: the block of each ring, and the live programs
/// before it. If a power cut interrupts the table, it is written again from there, over its own
/// remains. So the log does not fill up, however often the power is cut.
#[derive(Debug, Clone)]
struct Again {
    at: Vec<usize>,
    live: u64,
}

impl State for Log {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { rings, next_die, live, since_begun, .. } = self;
        archive.value(rings)?;
        archive.value(next_die)?;
        archive.value(live)?;
        archive.value(since_begun)
    }
}

/// Place of a log record on flash.
pub(crate) struct LogPlace {
    pub program: Program,
    /// The block must be erased before.
    pub erase: bool,
}

impl Log {
    /// Blocks of a die that a log needs whose tables take `bytes` in all: room for two of them, and
    /// for records, each on a die more than the `parity` pages of a stripe. As many dies may have
    /// failed.
    pub(crate) fn blocks_per_die(bytes: u64, chips: &Chips, parity: u32) -> u32 {
        let geometry = &chips.geometry;
        let units = chips.first().pages(BlockMode::SingleLevel) * geometry.units_per_page;
        let of_block = u64::from(units) * u64::from(geometry.unit_bytes);
        let copies = u64::from(parity) + 1;
        let left = geometry.dies.saturating_sub(parity).max(1);
        let of_die = bytes.saturating_mul(copies).div_ceil(left.into());
        2 * of_die.div_ceil(of_block) as u32 + 2
    }

    /// The blocks of the log: the last good ones of each die, of its planes in turn.
    pub(crate) fn choose(geometry: &Geometry, per_die: u32, bad: &[bool]) -> Vec<Block> {
        let mut chosen = Vec::new();
        for die in (0..geometry.dies).map(Die) {
            let good_of = |plane: u32| {
                let first = geometry.first_block(geometry.plane(die, plane)).0;
                let all = (first..first + geometry.blocks_per_plane).rev().map(Block);
                all.filter(|block| !bad[block.0 as usize])
            };
            let mut planes: Vec<_> = (0..geometry.planes_per_die).map(good_of).collect();
            for i in 0..per_die as usize {
                let count = planes.len();
                chosen.extend(planes[i % count].next());
            }
        }
        chosen
    }

    /// Creates an empty log on these blocks, which are erased.
    pub(crate) fn new(blocks: &[Block], chips: &Chips, parity: u32) -> Self {
        let geometry = &chips.geometry;
        let ring = |die: u32| Ring {
            blocks: blocks
                .iter()
                .copied()
                .filter(|&block| geometry.die_of(block).0 == die)
                .collect(),
            at: 0,
            page: 0,
            is_stale: false,
            is_erasing: false,
            is_lost: false,
        };
        let mut log = Self {
            next_die: 0,
            pages: chips.first().pages(BlockMode::SingleLevel),
            room: 0,
            live: 0,
            since_begun: 0,
            again: None,
            copies: parity + 1,
            is_exposed: false,
            mends: false,
            rings: (0..geometry.dies).map(ring).collect(),
        };
        log.room = log.room_of(log.rings_left());
        log
    }

    /// Programs that the log has room for on so many dies.
    fn room_of(&self, dies: u64) -> u64 {
        let blocks = self.rings.iter().map(|ring| ring.blocks.len()).min().unwrap_or(0) as u64;
        blocks.saturating_sub(1) * u64::from(self.pages) * dies
    }

    /// Dies that take records.
    fn rings_left(&self) -> u64 {
        self.rings.iter().filter(|ring| !ring.is_lost).count() as u64
    }

    /// Dies that each record is written on: fewer where not as many are left.
    pub(crate) fn copies(&self) -> u32 {
        self.copies.min(self.rings_left() as u32)
    }

    /// Whether two tables of `records` records fit without one more die.
    pub(crate) fn can_lose_die(&self, records: u64) -> bool {
        let left = self.rings_left().saturating_sub(1);
        left > 0 && 2 * self.programs_of(records) + left <= self.room_of(left)
    }

    /// Takes no more records on a die, which has failed or is known to have failed. What it had of
    /// the live records counts no more.
    pub(crate) fn without(&mut self, die: Die) {
        let before = self.rings_left().max(1);
        self.rings[die.0 as usize].is_lost = true;
        let left = self.rings_left();
        for programs in [&mut self.live, &mut self.since_begun] {
            *programs = (*programs * left).div_ceil(before);
        }
        if let Some(again) = &mut self.again {
            again.live = (again.live * left).div_ceil(before);
        }
        self.room = self.room_of(left);
    }

    /// Takes in the failure of a die: its copies of the records are gone.
    pub(crate) fn lose(&mut self, die: Die) {
        self.without(die);
        (self.is_exposed, self.mends) = (true, false);
    }

    /// Whether a table is to be written, as records have lost a copy.
    pub(crate) fn wants_table(&self) -> bool {
        self.is_exposed && !self.mends
    }

    /// Programs that `records` records take.
    fn programs_of(&self, records: u64) -> u64 {
        records * u64::from(self.copies())
    }

    /// All blocks of the log.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.rings.iter().flat_map(|ring| ring.blocks.iter().copied())
    }

    /// Whether a block belongs to the log.
    pub(crate) fn has(&self, block: Block) -> bool {
        self.rings.iter().any(|ring| ring.blocks.contains(&block))
    }

    /// The place of the next copy of a record, on none of the dies that have one. Refuses where it
    /// would overwrite what is still needed.
    pub(crate) fn place(&mut self, has_copy: impl Fn(Die) -> bool) -> Result<LogPlace> {
        if self.live >= self.room {
            return Err(Error::new("recovery", "the log of the drive is full")
                .hint("this is a defect of nandlab; please report it"));
        }
        (self.live, self.since_begun) = (self.live + 1, self.since_begun + 1);
        let count = self.rings.len();
        let mut turns = (self.next_die..count).chain(0..self.next_die);
        let is_free = |&die: &usize| !self.rings[die].is_lost && !has_copy(Die(die as u32));
        let Some(die) = turns.find(is_free) else {
            return Err(Error::new("recovery", "no die is left for a copy of a record")
                .hint("this is a defect of nandlab; please report it"));
        };
        self.next_die = if die + 1 == count { 0 } else { die + 1 };
        let ring = &mut self.rings[die];
        if ring.page >= self.pages {
            ring.turn();
        }
        let erase = std::mem::take(&mut ring.is_stale);
        ring.is_erasing |= erase;
        let mut blocks = [Block(0); MAX_PLANES];
        blocks[0] = ring.blocks[ring.at];
        let (page, mode) = (ring.page, BlockMode::SingleLevel);
        ring.page += 1;
        let die = Die(die as u32);
        let program = Program { die, units: 0, page, planes: 1, stream: Stream::LOG, mode, blocks };
        Ok(LogPlace { program, erase })
    }

    /// The block that a die writes to is erased.
    pub(crate) fn erased(&mut self, die: Die) {
        self.rings[die.0 as usize].is_erasing = false;
    }

    /// Whether a table is to take the place of the records.
    pub(crate) fn is_half_full(&self) -> bool {
        2 * self.since_begun >= self.room
    }

    /// Whether two tables of `records` records fit: the last one and the next.
    pub(crate) fn has_room_for(&self, records: u64) -> bool {
        2 * self.programs_of(records) + self.rings_left() <= self.room
    }

    /// Whether a record fits beside the `unbegun` ones of a table, and a table of `records` after
    /// it, with fresh blocks, if a power cut interrupts the first.
    pub(crate) fn has_room_beside(&self, unbegun: u64, records: u64) -> bool {
        let fresh = self.rings_left() * u64::from(self.pages);
        let programs = self.programs_of(unbegun + records);
        self.again.is_none() && self.live + programs + fresh + self.spare() < self.room
    }

    /// Programs left for those that fail.
    fn spare(&self) -> u64 {
        self.room / 8
    }

    /// Begins a table of `records` records: with fresh blocks, if there were no room for the
    /// largest one, of `most` records, after a power cut.
    pub(crate) fn begin_table(&mut self, records: u64, most: u64) {
        let left = |ring: &Ring| if ring.page == 0 { 0 } else { u64::from(self.pages - ring.page) };
        let is_used = |ring: &&Ring| !ring.is_lost;
        let skipped: u64 = self.rings.iter().filter(is_used).map(left).sum();
        let is_short = !self.has_room_beside(records, most);
        let programs = self.programs_of(records);
        self.mends = self.is_exposed;
        if is_short && self.live + skipped + programs + self.spare() <= self.room {
            self.live += skipped;
            let rings = self.rings.iter_mut().filter(|ring| ring.page > 0 && !ring.is_lost);
            rings.for_each(Ring::turn);
            let at = self.rings.iter().map(|ring| ring.at).collect();
            self.again = Some(Again { at, live: self.live });
        }
        self.since_begun = 0;
    }

    /// A table is complete: the records before it are of no use.
    pub(crate) fn end_table(&mut self) {
        self.live = self.since_begun;
        self.again = None;
        self.is_exposed &= !std::mem::take(&mut self.mends);
    }

    /// The power is gone: the next record goes behind what has been begun.
    pub(crate) fn cut(&mut self, chips: &Chips) {
        self.mends = false;
        if let Some(Again { at, live }) = self.again.take() {
            self.rings.iter_mut().zip(at).for_each(|(ring, at)| ring.begin(at));
            (self.live, self.since_begun) = (live, live);
            return;
        }
        for ring in &mut self.rings {
            let Some(&block) = ring.blocks.get(ring.at) else { continue };
            if std::mem::take(&mut ring.is_erasing) {
                (ring.page, ring.is_stale) = (0, true);
            } else if !ring.is_stale {
                ring.page = chips.programmed_pages(block);
            }
        }
        self.since_begun = self.live;
    }

    /// Pages of a die that a start-up reads: the first page of each block, which tells the age of
    /// the block, and its share of the records that are still of use, each in one of its copies.
    pub(crate) fn reads(&self, die: Die) -> Vec<(Block, u32)> {
        let ring = &self.rings[die.0 as usize];
        if ring.is_lost {
            return Vec::new();
        }
        let mut reads: Vec<_> = ring.blocks.iter().map(|&block| (block, 0)).collect();
        let programs = self.live.div_ceil(self.rings_left() * u64::from(self.copies()));
        let (mut at, mut page) = (ring.at, ring.page);
        for _ in 0..programs.min(self.room) {
            if page == 0 {
                at = if at == 0 { ring.blocks.len() - 1 } else { at - 1 };
                page = self.pages;
            }
            page -= 1;
            reads.push((ring.blocks[at], page));
        }
        reads
    }
}
