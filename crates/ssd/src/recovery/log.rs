//! Log: blocks of each die that the drive itself writes to, for its start-up.
//!
//! Records are noted trims, opened blocks, and parts of a table. The blocks of a die are written
//! one after the other and then again from the first on. So a table is written before the records
//! that it takes the place of are overwritten. The FTL knows these blocks as bad ones.

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
        let Self { rings, next_die, live, since_begun, pages: _, room: _, again: _ } = self;
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
    /// for records.
    pub(crate) fn blocks_per_die(bytes: u64, chips: &Chips) -> u32 {
        let geometry = &chips.geometry;
        let units = chips.first().pages(BlockMode::SingleLevel) * geometry.units_per_page;
        let of_block = u64::from(units) * u64::from(geometry.unit_bytes);
        let of_die = bytes.div_ceil(geometry.dies.into());
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
    pub(crate) fn new(blocks: &[Block], chips: &Chips) -> Self {
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
        };
        let rings: Vec<Ring> = (0..geometry.dies).map(ring).collect();
        let fewest = rings.iter().map(|ring| ring.blocks.len()).min().unwrap_or(0) as u64;
        let pages = chips.first().pages(BlockMode::SingleLevel);
        Self {
            next_die: 0,
            pages,
            room: fewest.saturating_sub(1) * u64::from(pages) * rings.len() as u64,
            live: 0,
            since_begun: 0,
            again: None,
            rings,
        }
    }

    /// All blocks of the log.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.rings.iter().flat_map(|ring| ring.blocks.iter().copied())
    }

    /// Whether a block belongs to the log.
    pub(crate) fn has(&self, block: Block) -> bool {
        self.rings.iter().any(|ring| ring.blocks.contains(&block))
    }

    /// The place of the next record. Refuses where it would overwrite what is still needed.
    pub(crate) fn place(&mut self) -> Result<LogPlace> {
        if self.live >= self.room {
            return Err(Error::new("recovery", "the log of the drive is full")
                .hint("this is a defect of nandlab; please report it"));
        }
        (self.live, self.since_begun) = (self.live + 1, self.since_begun + 1);
        let die = self.next_die;
        self.next_die = if die + 1 == self.rings.len() { 0 } else { die + 1 };
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

    /// Whether two tables of `programs` programs fit: the last one and the next.
    pub(crate) fn has_room_for(&self, programs: u64) -> bool {
        2 * programs + self.rings.len() as u64 <= self.room
    }

    /// Whether a record fits beside the `unbegun` programs of a table, and one of `programs` after
    /// it, with fresh blocks, if a power cut interrupts the first.
    pub(crate) fn has_room_beside(&self, unbegun: u64, programs: u64) -> bool {
        let fresh = self.rings.len() as u64 * u64::from(self.pages);
        self.again.is_none() && self.live + unbegun + programs + fresh + self.spare() < self.room
    }

    /// Programs left for those that fail.
    fn spare(&self) -> u64 {
        self.room / 8
    }

    /// Begins a table of `programs` programs: with fresh blocks, if there were no room for the
    /// largest one, of `most` programs, after a power cut.
    pub(crate) fn begin_table(&mut self, programs: u64, most: u64) {
        let left = |ring: &Ring| if ring.page == 0 { 0 } else { u64::from(self.pages - ring.page) };
        let skipped: u64 = self.rings.iter().map(left).sum();
        let is_short = !self.has_room_beside(programs, most);
        if is_short && self.live + skipped + programs + self.spare() <= self.room {
            self.live += skipped;
            self.rings.iter_mut().filter(|ring| ring.page > 0).for_each(Ring::turn);
            let at = self.rings.iter().map(|ring| ring.at).collect();
            self.again = Some(Again { at, live: self.live });
        }
        self.since_begun = 0;
    }

    /// A table is complete: the records before it are of no use.
    pub(crate) fn end_table(&mut self) {
        self.live = self.since_begun;
        self.again = None;
    }

    /// The power is gone: the next record goes behind what has been begun.
    pub(crate) fn cut(&mut self, chips: &Chips) {
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
    /// the block, and all pages that are still of use.
    pub(crate) fn reads(&self, die: Die) -> Vec<(Block, u32)> {
        let ring = &self.rings[die.0 as usize];
        let mut reads: Vec<_> = ring.blocks.iter().map(|&block| (block, 0)).collect();
        let programs = self.live.div_ceil(self.rings.len() as u64);
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
