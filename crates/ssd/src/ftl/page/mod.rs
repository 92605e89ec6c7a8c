//! `page`: page-level mapping, the whole map in RAM, log-structured writes.
//!
//! Host data are striped over the dies that can take them, round robin, channels first; inside a
//! die one program fills all planes that the chip joins. Garbage collection stays inside a die and
//! by default writes to separate blocks. Two flat arrays of 32-bit words make the map; a physical
//! unit is valid when the two point at each other, so no bitmap is kept.

use super::contract::{
    Build, Carried, Context, DieSet, Ftl, FtlCounts, Hint, Job, Key, Lpn, MOST_STREAMS, Move,
    Occupancy, Place, Program, Ram, Step, Stream, Urgency, Wear, Withdrawal, Work,
};
use crate::failure::retirement::Retirement;
use crate::recovery::Found;
use crate::space::candidates::Candidates;
use crate::space::capacity::{good_blocks, logical_units, share_blocks};
use crate::space::draining::Draining;
use crate::space::free_blocks::FreeBlocks;
use crate::space::frontier::Frontier;
use crate::space::gc::GcConfig;
use crate::space::pace::Pace;
use crate::space::wear::BlockWear;
use base::family::{Member, check, schema};
use base::memory::{prefetch, table};
use base::{Error, Result, params};
use nand::geometry::{Block, Die, Geometry, Plane, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use metadata::Metadata;
use sorting::Sorting;
use superblocks::Superblocks;

pub const MEMBER: Member<Build> = Member {
    name: "page",
    summary: "page-level mapping: log-structured, the whole map in RAM",
    citation: "desnoyers2012",
    schema: schema::<PageParams>,
    check: check::<PageParams>,
    build: |context, given| {
        let params: PageParams = params::read(given, "ftl")?;
        match superblocks::dies_of(&params, context.geometry.dies)? {
            1 => Ok(Box::new(PageFtl::new(context, &params, Own::NOTHING)?)),
            dies => Ok(Box::new(Superblocks::new(context, &params, dies)?)),
        }
    },
};

/// Parameters of `page`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PageParams {
    /// Garbage collection writes moved data to separate blocks.
    pub(super) separate_gc_stream: bool,
    /// Write frontiers for the host's stream hints (1 to 16): reclaim unit handles of a drive with
    /// flexible data placement. Hints count modulo this number: with 2, the second gets fio's
    /// `short` and `long`, the first all others.
    pub(super) host_streams: u8,
    /// Static wear levelling: if the cycles of the blocks of a plane differ by more than this, the
    /// data of the least worn block move to the most worn free block. Checked once in 64
    /// collections, or once in this many if that is less: enough for data that stay, not to bound
    /// the difference where data live unlike. 0 switches it off.
    pub(super) static_wear_delta: u32,
    /// Writes that somebody waits for (`prio`, `prioclass` of a job) go to fast pages, others to
    /// slow ones as long as there are any: two open blocks of each plane, at different pages.
    pub(super) fast_pages: bool,
    /// Pages that the drive writes for itself, for each page of data: journal and pages of the
    /// map, parity of stripes, metadata. Some rows of a block are such, evenly spread, and dead at
    /// once. 0 to 0.5; 0 is none. It needs two `ftl.gc_reserve_blocks`.
    pub(super) metadata_share: f64,
    /// Superblocks: dies whose blocks are opened, filled in stripes, collected and erased together.
    /// 1: each die has its own; 0: all dies of the drive. A divisor of the number of dies. Counts
    /// of free blocks in `ftl` and `gc` are counts of superblocks then.
    pub(super) superblock_dies: u32,
}

impl Default for PageParams {
    fn default() -> Self {
        Self {
            separate_gc_stream: true,
            host_streams: 1,
            static_wear_delta: 100,
            fast_pages: false,
            metadata_share: 0.0,
            superblock_dies: 1,
        }
    }
}

mod closing;
mod evacuation;
mod fast_pages;
mod frontiers;
mod metadata;
mod programs;
mod recover;
mod sorting;
mod state;
mod superblocks;
mod victims;

/// Marks a physical unit without data.
const PADDING: u32 = u32::MAX;

/// Space and streams that an FTL built on `page` needs beside those of `page`.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// Units on flash that it keeps for itself, pages of its map: numbered behind the logical ones.
    pub units: u32,
    /// Blocks of each plane that are kept for them.
    pub blocks: u32,
    /// Streams of the data that collection moves.
    pub move_streams: u32,
}

impl Own {
    pub(super) const NOTHING: Self = Self { units: 0, blocks: 0, move_streams: 1 };
}

/// The page-mapped FTL, which other FTLs with a page map build on.
#[derive(Clone)]
pub(super) struct PageFtl {
    pub(super) geometry: Geometry,
    pub(super) joined: u32,
    pub(super) pages_per_program: u32,
    pub(super) row_units: u32,
    pub(super) logical_units: u32,
    streams: u32,
    host_streams: u8,
    /// Which pages of a block are fast, where data are placed by that; else nothing.
    by_speed: Vec<bool>,
    metadata: Metadata,
    /// Units of metadata in a block, at most.
    metadata_units: u32,
    /// The first stream of what collection moves.
    gc_frontier: u32,
    sorting: Sorting,
    pub(super) reserve: u32,
    pub(super) gc: GcConfig,
    pace: Pace,
    /// Logical to physical.
    pub(super) map: Vec<u32>,
    /// Physical to logical.
    pub(super) owner: Vec<u32>,
    pub(super) candidates: Candidates,
    wear: BlockWear,
    pub(super) free: FreeBlocks,
    /// Frontiers: (die, stream, group of joined planes).
    pub(super) frontiers: Vec<Frontier>,
    pub(super) groups: u32,
    /// Group of each (die, stream) that comes next.
    next_group: Vec<u32>,
    next_die: u32,
    collections: Vec<Draining>,
    pub(super) retirement: Retirement,
    /// By die: a block has been moved off since others were collected.
    had_turn: Vec<bool>,
    pub(super) clock: u64,
    pub(super) counts: FtlCounts,
    /// Blocks that a start-up has closed before they were full, and their pages.
    pub(super) short: Vec<(Block, u32)>,
    /// A die that leaves.
    evacuation: evacuation::Evacuation,
    /// It was rebuilt after a power cut.
    has_started_up: bool,
}

impl PageFtl {
    pub(super) fn new(context: Context, params: &PageParams, own: Own) -> Result<Self> {
        let Context { geometry, planes_per_program, pages_per_program, config, gc, .. } = context;
        if !(1..=MOST_STREAMS).contains(&params.host_streams.into()) {
            let problem = format!("{} streams", params.host_streams);
            let expected = format!("1 to {MOST_STREAMS}");
            return Err(Error::new("ftl.host_streams", problem).expected(expected));
        }
        if geometry.planes_per_die % planes_per_program != 0 {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        let by_speed = fast_pages::of(&context.fast_pages, params)?;
        let host_streams = if by_speed.is_empty() { params.host_streams } else { 2 };
        let move_streams = own.move_streams * u32::from(params.separate_gc_stream);
        let streams = u32::from(host_streams) + move_streams;
        let metadata = Metadata::new(params.metadata_share)?;
        let rows = geometry.pages_per_block / pages_per_program;
        let held = gc.start_free_blocks.max(config.gc_reserve_blocks)
            + streams
            + own.blocks
            + metadata.blocks(geometry.blocks_per_plane, rows);
        let logical_units = logical_units(&geometry, &context.bad, config.overprovisioning, held)?;
        let least = 1 + u32::from(params.metadata_share > 0.0);
        if config.gc_reserve_blocks < least {
            let problem = format!("{} blocks", config.gc_reserve_blocks);
            return Err(Error::new("ftl.gc_reserve_blocks", problem).expected(match least {
                1 => "at least 1",
                _ => "at least 2 with ftl.metadata_share, as collection writes metadata too",
            }));
        }
        if gc.start_free_blocks <= config.gc_reserve_blocks {
            let problem = format!("{} free blocks", gc.start_free_blocks);
            return Err(Error::new("gc.start_free_blocks", problem).expected(format!(
                "more than ftl.gc_reserve_blocks, {}: otherwise the host stalls for ever",
                config.gc_reserve_blocks
            )));
        }
        let groups = geometry.planes_per_die / planes_per_program;
        let set_units = planes_per_program * geometry.units_per_block();
        let pace = Pace::new(&gc, config.gc_reserve_blocks, move_streams, groups * set_units);
        let Context { pe_cycles, mut bad, failed, victims, .. } = context;
        failed.iter().for_each(|block| bad[block.0 as usize] = true);
        // With all of the spare free there would be no invalid unit to collect: data would be moved
        // for ever.
        let fewest = good_blocks(&geometry, &bad).into_iter().min().unwrap_or(0);
        let spare = fewest.saturating_sub(share_blocks(&geometry, logical_units));
        let background_free_blocks = gc.background_free_blocks.min(spare / 2);
        let gc = GcConfig { background_free_blocks, ..gc };
        let retirement = Retirement::new(&geometry, &bad, logical_units, held)?;
        let wear = BlockWear::new(&geometry, pe_cycles, bad, params.static_wear_delta);
        let mut ftl = Self {
            joined: planes_per_program,
            pages_per_program,
            row_units: planes_per_program * pages_per_program * geometry.units_per_page,
            logical_units,
            streams,
            host_streams,
            by_speed,
            metadata,
            metadata_units: metadata.block_units(rows, geometry.units_per_block()),
            gc_frontier: if params.separate_gc_stream { host_streams.into() } else { 0 },
            sorting: Sorting::new(own.move_streams, geometry.dies),
            reserve: config.gc_reserve_blocks,
            gc,
            pace,
            map: table((logical_units + own.units) as usize, Ppn::NONE.0),
            owner: table(geometry.units() as usize, PADDING),
            candidates: Candidates::new(&geometry, victims),
            wear,
            free: FreeBlocks::new(geometry.planes(), planes_per_program),
            frontiers: vec![Frontier::CLOSED; (geometry.dies * (streams + 2) * groups) as usize],
            groups,
            next_group: vec![0; (geometry.dies * streams) as usize],
            next_die: 0,
            collections: vec![Draining::default(); geometry.dies as usize],
            retirement,
            had_turn: vec![false; geometry.dies as usize],
            clock: 0,
            counts: FtlCounts::default(),
            short: Vec::new(),
            evacuation: evacuation::Evacuation::NONE,
            has_started_up: false,
            geometry,
        };
        for block in (0..ftl.geometry.blocks()).map(Block) {
            if !ftl.wear.is_bad(block) {
                ftl.free.push(ftl.geometry.plane_of(block), block, pe_cycles);
            }
        }
        (0..ftl.geometry.planes()).for_each(|plane| ftl.free.claim(Plane(plane), own.blocks));
        Ok(ftl)
    }

    /// Fewest free blocks of the planes of a group.
    #[inline]
    pub(super) fn free_blocks(&self, die: Die, group: u32) -> u32 {
        self.free.fewest(die.0 * self.groups + group)
    }

    /// The unit at `ppn` is no longer the newest of anything.
    #[inline]
    fn invalidate(&mut self, ppn: u32) {
        let block = self.geometry.block_of(Ppn(ppn));
        self.candidates.died(|| self.geometry.plane_of(block), block);
    }

    /// Whether a plane has a block more than its reserve.
    pub(super) fn can_spare(&self, plane: Plane) -> bool {
        self.free.of(plane) > self.reserve as usize
    }

    /// Whether a die is being collected: blocks of it are being emptied, or are to be erased.
    pub(super) fn is_collecting(&self, die: Die) -> bool {
        let Draining { victims, drained, .. } = &self.collections[die.0 as usize];
        !victims.is_empty() || !drained.is_empty()
    }

    /// Appends host data to a frontier of a stream, which is opened if need be.
    #[inline(always)]
    fn append(&mut self, index: usize, die: Die, stream: u32, lpns: &[Lpn]) -> Program {
        self.next_die = if die.0 + 1 == self.geometry.dies { 0 } else { die.0 + 1 };
        if !self.frontiers[index].open {
            self.open(index, die, false);
        }
        let label = Stream::host(stream as u8);
        let (mut program, is_row) = self.take(index, die, label, lpns.iter().copied());
        if is_row {
            self.turn(die, stream);
        }
        if lpns.last() == Some(&Lpn::HOLE) {
            // The owners of holes are padding already.
            let taken = &lpns[..program.units as usize];
            let holes = taken.iter().rev().take_while(|&&lpn| lpn == Lpn::HOLE).count() as u32;
            program.units -= holes;
            self.counts.padding_units += u64::from(holes);
        }
        self.counts.host_units += u64::from(program.units);
        self.clock += u64::from(program.units);
        program
    }

    /// So many units that the job of a die moves have a place.
    #[inline]
    fn count_moved(&mut self, job: Job, units: u64) {
        self.counts.moved_units += units;
        if self.collections[job.0 as usize].is_levelling {
            self.counts.levelled_units += units;
        }
    }

    /// A program has failed: its slots are padding, and its units do not count as written.
    fn take_back(&mut self, program: &Program, carried: Carried) {
        self.pad(program);
        let FtlCounts { host_units, moved_units, padding_units, .. } = &mut self.counts;
        let of = if matches!(carried, Carried::Host) { host_units } else { moved_units };
        let units = u64::from(program.units);
        *of -= units;
        *padding_units += units;
        if let Carried::Moves(Job(job), _) = carried
            && self.collections.get(job as usize).is_some_and(|die| die.is_levelling)
        {
            self.counts.levelled_units -= units;
        }
    }

    /// The next group of a die takes the next row of a stream.
    #[inline]
    fn turn(&mut self, die: Die, stream: u32) {
        let group = &mut self.next_group[(die.0 * self.streams + stream) as usize];
        *group = if *group + 1 == self.groups { 0 } else { *group + 1 };
    }

    /// A program has been reported. With its last one a block is a candidate, or leaves.
    #[inline]
    pub(super) fn close_full(&mut self, program: &Program) {
        if program.page + self.pages_per_program < self.geometry.pages_per_block
            || program.stream == Stream::MAP
            || self.evacuation.is_of(program.die)
        {
            return;
        }
        for &block in program.blocks() {
            if self.retirement.is_doomed(block) {
                self.retirement.wait(program.die, block);
                continue;
            }
            self.candidates.closed(self.geometry.plane_of(block), block, self.clock);
        }
    }
}

impl Ftl for PageFtl {
    fn logical_units(&self) -> u32 {
        self.logical_units
    }

    fn keys(&self) -> u32 {
        self.host_streams.into()
    }

    fn streams(&self) -> u32 {
        if self.by_speed.is_empty() { self.host_streams.into() } else { 1 }
    }

    fn row_units(&self) -> u32 {
        self.row_units
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    fn takes_holes(&self) -> bool {
        self.by_speed.is_empty()
    }

    #[inline]
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        if !self.by_speed.is_empty() {
            return self.place_by_speed(key, lpns, dies);
        }
        let stream = key.0 % u32::from(self.host_streams);
        let Some(first) = dies.next_from(self.next_die) else { return Place::NoRoom };
        let mut die = first;
        let index = loop {
            let kept = self.reserve + u32::from(self.needs_room(die));
            if let Some(index) = self.frontier_for(die, stream, kept) {
                break index;
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => return Place::NoRoom,
            }
        };
        Place::At(self.append(index, die, stream, lpns))
    }

    fn key_of(&mut self, _: Lpn, hint: Hint) -> Key {
        if self.by_speed.is_empty() { Key(hint.stream.into()) } else { fast_pages::key(hint) }
    }

    #[inline]
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.place_evacuated(die, moves);
        }
        let Some((index, label)) = self.frontier_of_moves(die) else { return Place::NoRoom };
        let is_cold = label == Stream::COLD;
        if !self.frontiers[index].open {
            self.open(index, die, is_cold);
        }
        let (program, is_row) = self.take(index, die, label, moves.iter().map(|unit| unit.lpn));
        if is_row && !is_cold {
            self.turn(die, index as u32 / self.groups % (self.streams + 2));
        }
        self.count_moved(job, u64::from(program.units));
        Place::At(program)
    }

    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program> {
        let die = Die(job.0);
        if self.evacuation.is_of(die) { None } else { self.next_moved(die, units) }
    }

    fn can_copy_back(&self) -> bool {
        true
    }

    #[inline]
    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.map_program(program, self.pages_per_program, carried);
        self.close_full(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.take_back(program, carried);
        self.close_full(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        let old = std::mem::replace(&mut self.map[lpn.0 as usize], Ppn::NONE.0);
        if old != Ppn::NONE.0 {
            self.invalidate(old);
        }
    }

    fn jobs(&self) -> u32 {
        self.geometry.dies
    }

    #[inline]
    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.wants_evacuation(die);
        }
        let collection = &self.collections[die.0 as usize];
        collection.drained.len() > self.kept_blocks(die)
            || (collection.is_due
                && !(collection.victims.is_empty() && collection.drained.is_empty()))
            || (self.waits(die) && self.is_roomy(die))
            || self.is_short(die, urgency, !collection.victims.is_empty())
    }

    fn wanted(&mut self) -> Option<Job> {
        self.evacuation.call()
    }

    fn withdrawal(&mut self) -> Option<&mut dyn Withdrawal> {
        Some(self)
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let die = Die(job.0);
        if self.evacuation.is_of(die) {
            return self.evacuate(die, work);
        }
        work.clear();
        let moves = &mut work.moves;
        let row = self.row_units as usize;
        let mut collection = std::mem::take(&mut self.collections[die.0 as usize]);
        while collection.drained.is_empty() || !moves.is_empty() {
            if collection.victims.is_empty() {
                self.pick_victims(die, urgency, !moves.is_empty(), &mut collection);
                if collection.victims.is_empty() {
                    break;
                }
            }
            collection.gather(&self.geometry, &self.map, &self.owner, row, moves);
            if moves.len() == row {
                break;
            }
        }
        let answer = collection.step(&self.geometry, self.joined as usize, work);
        self.collections[die.0 as usize] = collection;
        answer
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let free: u32 = (0..self.groups).map(|group| self.free_blocks(die, group)).sum();
        let left = |frontier: &Frontier| {
            frontier.left_pages(self.pages_per_program, self.joined, &self.geometry)
        };
        let of_data = ((self.streams + 1) * self.groups) as usize;
        let pages: u32 = self.frontiers_of(die)[..of_data].iter().map(left).sum();
        let passed = self.collections[die.0 as usize].passed_units(&self.geometry);
        let erased = free * self.joined * self.geometry.pages_per_block + pages;
        self.pace.is_kept(erased * self.geometry.units_per_page, passed)
    }

    fn erased(&mut self, block: Block) {
        self.candidates.erased(block);
        if !self.short.is_empty() {
            self.short.retain(|&(short, _)| short != block);
        }
        let pe_cycles = self.wear.erased(block);
        let plane = self.geometry.plane_of(block);
        let die = self.geometry.die_of(block);
        // The reserve is there without it, also for a block that is being moved off.
        let kept = self.reserve + u32::from(self.retirement.is_moving(die));
        let can_go = self.free.of(plane) >= kept as usize;
        if self.retirement.has_left(die, block, can_go) {
            self.wear.retire(block);
            self.counts.retired_blocks += 1;
            return;
        }
        self.free.push(plane, block, pe_cycles);
        self.counts.reclaimed_blocks += 1;
    }

    fn retire(&mut self, block: Block) -> bool {
        if self.evacuation.is_of(self.geometry.die_of(block)) {
            // It leaves with its chip.
            return true;
        }
        let is_doomed = self.retirement.doom(&self.geometry, block);
        // An open block or a free one is moved off once it is full; a victim goes with its erase.
        if is_doomed && self.candidates.word(block).is_closed() {
            self.candidates.withdraw(self.geometry.plane_of(block), block);
            self.retirement.wait(self.geometry.die_of(block), block);
        }
        is_doomed
    }

    fn close(&mut self, block: Block) -> bool {
        self.close_early(block)
    }

    fn can_reclaim(&self) -> bool {
        true
    }

    fn reclaim(&mut self, block: Block) -> bool {
        let die = self.geometry.die_of(block);
        if !self.can_be_roomy(die) {
            return false;
        }
        // A victim may rest half drained, where the room that it was taken for is there by now.
        let collection = &mut self.collections[die.0 as usize];
        let is_new = if collection.victims.contains(&block) {
            !std::mem::replace(&mut collection.is_due, true)
        } else {
            self.candidates.mark(self.geometry.plane_of(block), block)
        };
        self.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn tag(&self, block: Block) -> u64 {
        self.tag_of(block)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.wear.is_bad(block)
    }

    fn can_recover(&self) -> bool {
        true
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        self.rebuild(found);
        Ok(())
    }

    fn filled_pages(&self, block: Block) -> u32 {
        let die = self.geometry.die_of(block);
        let frontiers = self.frontiers_of(die).iter();
        let mut filling = frontiers.flat_map(|frontier| self.filling(frontier));
        if let Some((_, filled)) = filling.find(|&(open, _)| open == block) {
            return filled;
        }
        if let Some(pages) = self.short_pages(block) {
            return pages;
        }
        let untouched = self.candidates.word(block).is_free() || self.wear.is_bad(block);
        if untouched { 0 } else { self.geometry.pages_per_block }
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.0 as usize);
    }

    #[inline]
    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        let old = self.map[lpn.0 as usize];
        if old == Ppn::NONE.0 {
            return None;
        }
        let block = self.geometry.block_of(Ppn(old));
        self.candidates.prefetch(block);
        Some(block)
    }

    fn counts(&self) -> FtlCounts {
        self.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.wear.start_run(pe_cycles);
            self.free.set_wear(pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        let per_block = u64::from(self.geometry.units_per_block());
        let mut occupancy = Occupancy {
            mapped: self.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64,
            free: self.free.total() * per_block,
            invalid: self.cut_off_units(),
            bad: self.wear.bad_blocks() * per_block,
        };
        for (_, filled) in self.frontiers.iter().flat_map(|frontier| self.filling(frontier)) {
            let unused = self.geometry.pages_per_block - filled;
            occupancy.free += u64::from(unused * self.geometry.units_per_page);
        }
        // Counted from the other table: what has been handed out and is not pointed back at.
        for block in (0..self.geometry.blocks()).map(Block) {
            let first = self.geometry.ppn(block, 0, 0).0;
            let owners = first..first + self.filled_pages(block) * self.geometry.units_per_page;
            let is_invalid = |ppn: &u32| {
                let lpn = self.owner[*ppn as usize];
                lpn == PADDING || self.map[lpn as usize] != *ppn
            };
            occupancy.invalid += owners.filter(is_invalid).count() as u64;
        }
        occupancy
    }

    fn wear(&self) -> Wear {
        self.wear.spread()
    }

    fn wear_on(&mut self, more: &[u32]) -> bool {
        self.wear.add(more);
        self.free.sort(|block| self.wear.cycles(block));
        true
    }

    fn levels_to(&self) -> u32 {
        self.wear.static_delta()
    }

    fn ram(&self) -> Vec<Ram> {
        let map = 4 * u64::from(self.logical_units);
        let blocks = (self.candidates.bytes() + self.wear.bytes()) as u64;
        vec![Ram { name: "map", bytes: map }, Ram { name: "blocks", bytes: blocks }]
    }

    fn bytes_per_unit(&self) -> f64 {
        let bytes =
            4 * (self.map.len() + self.owner.len()) + self.candidates.bytes() + self.wear.bytes();
        bytes as f64 / f64::from(self.logical_units)
    }
}
