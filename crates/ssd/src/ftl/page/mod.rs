//! `page`: page-level mapping, the whole map in RAM, log-structured writes.
//!
//! Host data are striped over the dies that can take them, round robin, channels first; inside a
//! die one program fills all planes that the chip joins. Garbage collection stays inside a die and
//! by default writes to separate blocks. Two flat arrays of 32-bit words make the map; a physical
//! unit is valid when the two point at each other, so no bitmap is kept.

use super::contract::{
    Build, Carried, Context, FtlCounts, Job, Lpn, MOST_STREAMS, Program, Stream,
};
use super::paged::{self, Flat, Ours};
use crate::space::candidates::Candidates;
use crate::space::capacity::{good_blocks, logical_units, share_blocks};
use crate::space::draining::Draining;
use crate::space::free_blocks::{FreeBlocks, Use};
use crate::space::frontier::{Frontier, Rows};
use crate::space::gc::GcConfig;
use crate::space::groups::Groups;
use crate::space::pace::Pace;
use crate::space::retirement::Retirement;
use crate::space::wear::BlockWear;
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Error, Result, params};
use nand::geometry::{Block, Die, Geometry, Plane, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use code_stages::CodeStages;
pub(super) use frontiers::Pick;
use handles::HandleTable;
pub(super) use handles::Isolation;
use metadata::Metadata;
pub(super) use recover::frontier_of;
use sorting::Sorting;
pub(super) use superblocks::Spans;
use superblocks::Stripes;

pub const MEMBER: Member<Build> = Member {
    name: "page",
    summary: "page-level mapping: log-structured, the whole map in RAM",
    citation: "desnoyers2012",
    schema: schema::<PageParams>,
    check: check::<PageParams>,
    build: |context, given| {
        let params: PageParams = params::read(given, "ftl")?;
        paged::build(context, &params, Own::NOTHING, Ours, |_, _| Flat)
    },
};

/// Parameters of `page`: streams, wear levelling, fast pages, metadata, and superblocks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PageParams {
    /// Garbage collection writes moved data to separate blocks.
    pub(super) separate_gc_stream: bool,
    /// Write frontiers for the host's stream hints (1 to 16): reclaim unit handles of a drive with
    /// flexible data placement. Hints count modulo this number: with 2, the second gets fio's
    /// `short` and `long`, the first all others.
    pub(super) host_streams: u8,
    /// Host streams whose blocks are programmed at the reduced levels of the chip (`chip.reduced`),
    /// from 0: those of data that live shortly. What collection and refresh move goes to blocks
    /// with full levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reduced_streams: Vec<u8>,
    /// Isolation of the host's streams once collection moves their data: `initial` moves data of
    /// all streams to the same blocks, `persistent` keeps those of each stream in blocks of their
    /// own.
    #[serde(skip_serializing_if = "Isolation::is_initial")]
    pub(super) isolation: Isolation,
    /// Shares of the spare superblocks for the host's streams, one for each, with `ftl.isolation =
    /// "persistent"`: the dead data of a stream take no more, and its write amplification is that
    /// of a drive with so much over-provisioning. All together at most 1. Default: streams share
    /// the spare.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) handle_quota: Vec<f64>,
    /// Static wear levelling: if the cycles of the blocks of a plane differ by more than this, the
    /// data of the least worn block move to the most worn free block. Checked once in 64
    /// collections, or once in this many if that is less: enough for data that stay, not to bound
    /// the difference where data live unlike. 0 switches it off.
    pub(super) static_wear_delta: u32,
    /// Writes that somebody waits for (`prio`, `prioclass` of a job) go to fast pages, others to
    /// slow ones as long as there are any: two open blocks of each plane, at different pages.
    pub(super) fast_pages: bool,
    /// With `fast_pages`: urgent writes leave slow pages empty that stand before a fast one. They
    /// wait less, and blocks hold less.
    pub(super) skip_slow_pages: bool,
    /// Bytes of the drive whose writes go to fast pages as urgent ones do, such as the tables of a
    /// file system: the first byte, and the one behind the last. Needs `fast_pages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scale" = 0))]
    pub(super) fast_region: Option<[u64; 2]>,
    /// Pages that the drive writes for itself, for each page of data: journal and pages of the
    /// map, parity of stripes, metadata. Some rows of a block are such, evenly spread, and dead at
    /// once. 0 to 0.5; 0 is none. It needs two `ftl.gc_reserve_blocks`.
    pub(super) metadata_share: f64,
    /// Superblocks: dies whose blocks are opened, filled in stripes, collected and erased together.
    /// 1: each die has its own; 0: all dies of the drive, or of a reclaim group. A divisor of the
    /// number of dies. Counts of free blocks in `ftl` and `gc` are counts of superblocks then.
    pub(super) superblock_dies: u32,
    /// Reclaim groups of a drive with flexible data placement: parts of its dies, equal and in
    /// order, with `host_streams` handles each. What a host writes with a placement identifier
    /// stays on the dies of its group, also when it is collected. Other data have a group by their
    /// address. A divisor of the number of dies; at most 16 identifiers.
    #[serde(skip_serializing_if = "is_one")]
    pub(super) reclaim_groups: u32,
}

pub(super) fn is_one(count: &u32) -> bool {
    *count == 1
}

impl Default for PageParams {
    fn default() -> Self {
        Self {
            separate_gc_stream: true,
            host_streams: 1,
            reduced_streams: Vec::new(),
            isolation: Isolation::Initial,
            handle_quota: Vec::new(),
            static_wear_delta: 100,
            fast_pages: false,
            skip_slow_pages: false,
            fast_region: None,
            metadata_share: 0.0,
            superblock_dies: 1,
            reclaim_groups: 1,
        }
    }
}

impl PageParams {
    /// Whether collection keeps the data of several handles apart.
    pub(super) fn keeps_handles(&self) -> bool {
        self.isolation == Isolation::Persistent && self.host_streams > 1
    }

    /// Streams of the host and of collection.
    fn streams(&self, context: &Context, own: Own) -> (u8, u32) {
        let is_by_speed = self.fast_pages && !context.fast_pages.is_empty();
        let host_streams = if is_by_speed { 2 } else { self.host_streams };
        let move_streams =
            if self.keeps_handles() { host_streams.into() } else { own.move_streams };
        (host_streams, move_streams * u32::from(self.separate_gc_stream))
    }
}

mod account;
mod closing;
mod code_stages;
mod evacuation;
mod fast_pages;
mod frontiers;
mod handles;
mod metadata;
mod per_die;
mod programs;
mod recover;
mod reduced;
mod sorting;
mod state;
mod superblocks;
mod victims;

/// Marks a physical unit without data.
const PADDING: u32 = u32::MAX;

/// Space and streams that an FTL built on `page` needs beside those of `page`.
#[derive(Clone, Copy)]
pub(super) struct Own {
    /// Units on flash that the FTL keeps for itself, pages of its map: numbered behind the logical
    /// ones.
    pub units: u32,
    /// Blocks of each plane that are kept for these units.
    pub blocks: u32,
    /// A cache of blocks in single-level mode, if the FTL has one.
    pub cache: Option<CacheBlocks>,
    /// Streams of the data that collection moves.
    pub move_streams: u32,
}

impl Own {
    pub(super) const NOTHING: Self = Self { units: 0, blocks: 0, cache: None, move_streams: 1 };
}

/// Blocks in single-level mode of a cache.
#[derive(Clone, Copy)]
pub(super) struct CacheBlocks {
    /// Blocks of each plane that are kept for the cache.
    pub kept: u32,
    /// Pages of a block in this mode.
    pub pages: u32,
}

/// Blocks that a page map lies over.
pub(super) struct Space {
    /// Layout of the flash, with the pages of data that a block takes.
    pub frame: Geometry,
    pub logical_units: u32,
    pub retirement: Retirement,
}

/// Page map and block table of a page-mapped FTL, with the layout of data die by die: the base of
/// all [`Paged`](paged::Paged) ones.
#[derive(Clone)]
pub(super) struct PageFtl {
    pub(super) geometry: Geometry,
    pub(super) joined: u32,
    pub(super) pages_per_program: u32,
    pub(super) row_units: u32,
    pub(super) logical_units: u32,
    streams: u32,
    host_streams: u8,
    /// Fast pages of a block where data are placed by speed, otherwise nothing.
    by_speed: Vec<bool>,
    /// Urgent data leave slow pages empty.
    skips_slow: bool,
    /// Units whose writes count as urgent wherever they come from.
    fast_units: Range<u32>,
    reduced: reduced::Reduced,
    handles: HandleTable,
    /// Reclaim groups of the dies.
    pub(super) placing: Groups,
    metadata: Metadata,
    stripes: Stripes,
    /// Most units of metadata in a block.
    metadata_units: u32,
    /// Codes of blocks by their cycles.
    code_stages: CodeStages,
    /// First stream of the data that collection moves.
    gc_frontier: u32,
    sorting: Sorting,
    pub(super) reserve: u32,
    pub(super) gc: GcConfig,
    pace: Pace,
    /// Page map: physical unit of each logical one.
    pub(super) map: Vec<u32>,
    /// Reverse map: logical unit of each physical one, or `PADDING`.
    pub(super) owner: Vec<u32>,
    pub(super) candidates: Candidates,
    pub(super) wear: BlockWear,
    pub(super) free: FreeBlocks,
    /// Open blocks by die, stream, and group of joined planes.
    pub(super) frontiers: Vec<Frontier>,
    pub(super) groups: u32,
    /// Kinds of frontiers: those of streams, of cold data, of the FTL's own units, and of a cache.
    kinds: u32,
    cache: Option<CacheBlocks>,
    /// By die and kind of frontier: group of planes that comes next.
    next_group: Vec<u32>,
    next_die: u32,
    collections: Vec<Draining>,
    pub(super) retirement: Retirement,
    /// By die: a block has been moved off since others were collected.
    had_turn: Vec<bool>,
    pub(super) clock: u64,
    pub(super) counts: FtlCounts,
    /// Blocks that were closed before they were full, and their pages.
    pub(super) short: Vec<(Block, u32)>,
    /// Evacuation of a withdrawn die.
    evacuation: evacuation::Evacuation,
    /// The drive was rebuilt after a power cut.
    has_started_up: bool,
}

impl PageFtl {
    /// Creates an empty drive whose blocks are native ones of one kind of chips.
    pub(super) fn new(mut context: Context, params: &PageParams, own: Own) -> Result<Self> {
        let Context { geometry, planes_per_program, pages_per_program, config, gc, .. } = &context;
        if !(1..=MOST_STREAMS).contains(&params.host_streams.into()) {
            let problem = format!("{} streams", params.host_streams);
            let expected = format!("1 to {MOST_STREAMS}");
            return Err(Error::new("ftl.host_streams", problem).expected(expected));
        }
        if params.skip_slow_pages && !params.fast_pages {
            let problem = "true without ftl.fast_pages";
            return Err(
                Error::new("ftl.skip_slow_pages", problem).hint("use ftl.fast_pages = true")
            );
        }
        if geometry.planes_per_die % planes_per_program != 0 {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        superblocks::check_quotas(params)?;
        let (host_streams, move_streams) = params.streams(&context, own);
        let rows = geometry.pages_per_block / pages_per_program;
        let stripes = Stripes::of(&context, params)?;
        let groups = geometry.planes_per_die / planes_per_program;
        // A reclaim group with parity may be filled up to this space.
        let pads = params.keeps_handles() || params.reclaim_groups > 1 && stripes.are_on();
        let padded = match stripes.padded_rows(0, pads, move_streams, groups) {
            0 => 0,
            padded => {
                let dies = Spans::dies_of(params, geometry.dies)?;
                1 + (padded * geometry.blocks_per_plane).div_ceil(dies * groups * rows)
            }
        };
        let held = gc.start_free_blocks.max(config.gc_reserve_blocks)
            + padded
            + u32::from(host_streams)
            + move_streams
            + own.blocks
            + own.cache.map_or(0, |cache| cache.kept)
            + stripes.blocks(geometry.blocks_per_plane)
            + Metadata::new(params.metadata_share)?.blocks(geometry.blocks_per_plane, rows);
        let logical_units = logical_units(geometry, &context.bad, config.overprovisioning, held)?;
        let unusable = context.unusable();
        // With all of the spare free there would be no invalid unit to collect: data would be moved
        // for ever.
        let fewest = good_blocks(geometry, &unusable).into_iter().min().unwrap_or(0);
        let spare = fewest.saturating_sub(share_blocks(geometry, logical_units));
        let background_free_blocks = gc.background_free_blocks.min(spare / 2);
        let retirement = Retirement::new(geometry, &unusable, logical_units, held)?;
        let space = Space { frame: geometry.clone(), logical_units, retirement };
        context.gc.background_free_blocks = background_free_blocks;
        Self::over(context, params, own, space)
    }

    /// Creates an empty drive over this space.
    pub(super) fn over(
        context: Context,
        params: &PageParams,
        own: Own,
        space: Space,
    ) -> Result<Self> {
        let (host_streams, move_streams) = params.streams(&context, own);
        let unusable = context.unusable();
        let stripes = Stripes::of(&context, params)?;
        let Space { frame, logical_units, retirement } = space;
        let Context { geometry, planes_per_program, pages_per_program, config, gc, .. } = context;
        let Context { victims, pe_cycles, fast_pages, code_stages, .. } = context;
        let writes_more =
            params.metadata_share > 0.0 || !code_stages.is_empty() || stripes.are_on();
        let least = 1 + u32::from(writes_more);
        if config.gc_reserve_blocks < least {
            let problem = format!("{} blocks", config.gc_reserve_blocks);
            return Err(Error::new("ftl.gc_reserve_blocks", problem).expected(match least {
                1 => "at least 1",
                _ => {
                    "at least 2 with ftl.metadata_share, parity.pages or ecc.stages, as collection \
                      writes more than the data that it moves"
                }
            }));
        }
        if gc.start_free_blocks <= config.gc_reserve_blocks {
            let problem = format!("{} free blocks", gc.start_free_blocks);
            return Err(Error::new("gc.start_free_blocks", problem).expected(format!(
                "more than ftl.gc_reserve_blocks, {}: otherwise the host stalls for ever",
                config.gc_reserve_blocks
            )));
        }
        let streams = u32::from(host_streams) + move_streams;
        // By speed, the two keys are one stream of the host; keys of sorted data are classes.
        let has_handles = !params.fast_pages && own.move_streams == 1;
        let handles = if has_handles { host_streams } else { 1 };
        let placing =
            Groups::new(&geometry, params.reclaim_groups, host_streams.into(), logical_units)?;
        let handles = HandleTable::new(params.isolation, handles, &placing, geometry.blocks());
        let metadata = Metadata::new(params.metadata_share)?;
        let native = Rows::new(&geometry, planes_per_program, pages_per_program);
        let rows = geometry.pages_per_block / pages_per_program;
        let groups = geometry.planes_per_die / planes_per_program;
        // Streams, cold data, the FTL's own units, and a cache.
        let kinds = streams + 2 + u32::from(own.cache.is_some());
        let set_units = planes_per_program * geometry.units_per_block();
        let pace = Pace::new(&gc, config.gc_reserve_blocks, move_streams, groups * set_units);
        let spans = geometry.dies / Spans::dies_of(params, geometry.dies)?;
        let mut ftl = Self {
            joined: planes_per_program,
            pages_per_program,
            row_units: native.units(),
            logical_units,
            streams,
            host_streams,
            by_speed: if params.fast_pages { fast_pages } else { Vec::new() },
            skips_slow: params.skip_slow_pages,
            fast_units: fast_pages::units(params, geometry.unit_bytes, logical_units)?,
            reduced: reduced::Reduced::new(params, host_streams, geometry.blocks())?,
            handles,
            placing,
            metadata,
            stripes,
            code_stages: CodeStages::new(&code_stages, &geometry, rows),
            metadata_units: metadata.block_units(rows, geometry.units_per_block()),
            gc_frontier: if params.separate_gc_stream { host_streams.into() } else { 0 },
            sorting: Sorting::new(own.move_streams, geometry.dies, spans),
            reserve: config.gc_reserve_blocks,
            free: FreeBlocks::new(geometry.planes(), planes_per_program, gc.reuse),
            gc,
            pace,
            map: table((logical_units + own.units) as usize, Ppn::NONE.0),
            owner: table(geometry.units() as usize, PADDING),
            candidates: Candidates::new(&frame, victims),
            wear: BlockWear::new(&geometry, pe_cycles, unusable, params.static_wear_delta),
            frontiers: vec![Frontier::closed(native); (geometry.dies * kinds * groups) as usize],
            groups,
            kinds,
            cache: own.cache,
            next_group: vec![0; (geometry.dies * kinds) as usize],
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
        ftl.shape_cache();
        for block in (0..ftl.geometry.blocks()).map(Block) {
            if !ftl.wear.is_bad(block) {
                ftl.free.push(ftl.geometry.plane_of(block), block, pe_cycles);
            }
        }
        for plane in (0..ftl.geometry.planes()).map(Plane) {
            ftl.free.claim(plane, Use::Map, own.blocks);
            ftl.free.claim(plane, Use::Cache, own.cache.map_or(0, |cache| cache.kept));
        }
        Ok(ftl)
    }

    /// Fewest free blocks of the planes of a group.
    #[inline]
    pub(super) fn free_blocks(&self, die: Die, group: u32) -> u32 {
        self.free.fewest(die.0 * self.groups + group)
    }

    /// Counts the unit at `ppn` as dead: it is no longer the newest of its owner. Returns the block
    /// that it is in.
    #[inline]
    fn invalidate(&mut self, ppn: u32) -> Block {
        let block = self.geometry.block_of(Ppn(ppn));
        self.placing.died(ppn);
        self.candidates.died(|| self.geometry.plane_of(block), block);
        block
    }

    /// Whether a plane has more free blocks than its reserve.
    pub(super) fn can_spare(&self, plane: Plane) -> bool {
        self.free.of(plane) > self.reserve as usize
    }

    /// Whether a die is being collected: blocks of it are being emptied, or are to be erased.
    pub(super) fn is_collecting(&self, die: Die) -> bool {
        let Draining { victims, drained, .. } = &self.collections[die.0 as usize];
        !victims.is_empty() || !drained.is_empty()
    }

    /// Counts the units of the host in a program that has been placed.
    #[inline]
    pub(super) fn count_host(&mut self, program: &Program) {
        self.counts.host_units += u64::from(program.units);
        self.clock += u64::from(program.units);
    }

    /// Counts units that the job of a die moves, once they have a place.
    #[inline]
    fn count_moved(&mut self, job: Job, units: u64) {
        self.counts.moved_units += units;
        if self.collections[job.0 as usize].is_levelling {
            self.counts.levelled_units += units;
        }
    }

    /// Takes back a failed program of `pages` pages in each plane: its slots are padding, and its
    /// units do not count as written.
    pub(super) fn take_back(&mut self, program: &Program, pages: u32, carried: Carried) {
        self.pad(program, pages);
        let FtlCounts { host_units, moved_units, padding_units, .. } = &mut self.counts;
        let of = if matches!(carried, Carried::Host) { host_units } else { moved_units };
        let units = u64::from(program.units);
        *of -= units;
        *padding_units += units;
        if matches!(carried, Carried::Host) {
            self.placing.taken_back(program.die, program.units);
        }
        if let Carried::Moves(Job(job), _) = carried
            && self.collections.get(job as usize).is_some_and(|die| die.is_levelling)
        {
            self.counts.levelled_units -= units;
        }
    }

    /// Takes in the report of a program. With its last program a block becomes a candidate, or
    /// waits to be retired.
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
