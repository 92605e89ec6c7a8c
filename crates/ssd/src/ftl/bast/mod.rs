//! `bast`: a block map, and log blocks with a map of their own (block-associative sector
//! translation; Kim and others, IEEE Trans. Consumer Electronics 48(2), 2002).
//!
//! What lives here: logical blocks, each with a data block that has its units in order and at most
//! one log block that takes what the host writes. Host writes and trims come in (`host`), programs,
//! merges and erases go out (`merge`, `work`). `layout` says how a virtual block lies on the
//! planes, `pool` which physical blocks there are, `data` and `log` where the newest data are, and
//! `relocation` what becomes of blocks that fail or are read too often.

mod data;
mod host;
mod layout;
mod log;
mod merge;
mod pool;
mod relocation;
mod work;

use super::contract::{
    Build, Carried, Context, DieSet, Ftl, FtlCounts, Job, Key, Lpn, Move, Occupancy, Place,
    Program, Ram, Step, Stream, Urgency, Wear, Work,
};
use crate::space::capacity::logical_units;
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use data::Data;
use layout::Layout;
use log::Logs;
use nand::geometry::{Block, Ppn};
use pool::{NONE, Pool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use work::Task;

pub const MEMBER: Member<Build> = Member {
    name: "bast",
    summary: "block map, and page-mapped log blocks that are merged with their data blocks",
    citation: "kim2002",
    schema: schema::<BastParams>,
    check: check::<BastParams>,
    build: |context, given| Ok(Box::new(Bast::new(context, &params::read(given, "ftl")?)?)),
};

/// Parameters of `bast`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BastParams {
    /// Planes over which a logical block is striped, a block in each: so many blocks are mapped,
    /// written and merged as one. 0 takes the planes that one program joins.
    stripe: u32,
    /// Log blocks at most, each as large as a logical block. 0 takes one for 16 logical blocks, and
    /// at least 8, as far as the spare of the drive goes.
    log_blocks: u32,
}

/// Label of all programs to log blocks.
const HOST: Stream = Stream::host(0);

/// Logs that are merged side by side, at least: on larger drives as many as there are dies.
const JOBS: u32 = 8;

/// Log blocks that are left when the drive has no block more to spare, of so many.
fn least_logs(log_blocks: u32) -> u32 {
    log_blocks.div_ceil(2)
}

#[derive(Clone)]
struct Bast {
    pool: Pool,
    logical_units: u32,
    logical_blocks: u32,
    /// Virtual blocks that the host leaves free for merges.
    reserve: u32,
    /// Log blocks at most, and as far as blocks that have failed leave room for them.
    log_blocks: u32,
    log_limit: u32,
    data: Data,
    logs: Logs,
    /// By logical block: its log.
    log_of: Vec<u32>,
    /// Logs that the host has opened, and how many there have been.
    opened: u32,
    order: u64,
    /// By die: the log that a program of the host is under way to.
    flying_on: Vec<u32>,
    /// Logs that are to be merged, those of them that nobody has begun with.
    merging: u32,
    queued: VecDeque<u32>,
    /// Virtual blocks that merges have taken to copy to.
    lent: u32,
    /// By logical block: the epoch in which it last asked for a log. With each log that comes free
    /// another begins: all that wait ask again then.
    asked: Vec<u32>,
    epoch: u32,
    /// Logical blocks that have asked in this one.
    demand: u32,
    /// What the jobs do, and how many of them do something.
    tasks: Vec<Task>,
    active: u32,
    /// A job has been named that has not begun.
    is_told: bool,
    /// By logical block: it is to be moved. In the order in which that was found.
    forced: Vec<bool>,
    forced_queue: VecDeque<u32>,
    counts: FtlCounts,
}

impl Bast {
    fn new(context: Context, params: &BastParams) -> Result<Self> {
        let Context { geometry, planes_per_program, pages_per_program, config, .. } = context;
        let overprovisioning = config.overprovisioning;
        let layout = Layout::new(geometry, planes_per_program, pages_per_program, params.stripe)?;
        let reserve = config.gc_reserve_blocks.saturating_mul(layout.sets).max(2);
        // At least a log block must be left beside the reserve.
        let held = reserve.saturating_add(1).div_ceil(layout.sets);
        let Context { pe_cycles, mut bad, failed, .. } = context;
        let logical_units = logical_units(&layout.geometry, &bad, overprovisioning, held)?;
        let logical_blocks = logical_units.div_ceil(layout.units);
        let dies = layout.geometry.dies;
        // What they copy at the same time is no more than two rows of each die.
        let jobs = dies.max(JOBS).min(2 * layout.sets);
        let units = layout.units;
        let sold = Pool::count(&layout, &bad);
        let most = sold.saturating_sub(logical_blocks + reserve);
        let log_blocks = match params.log_blocks {
            0 => (logical_blocks / 16).max(8).min(most),
            given => given,
        };
        if log_blocks > most || most == 0 {
            let problem = format!("{log_blocks} log blocks");
            return Err(Error::new("ftl.log_blocks", problem).allow(format!(
                "up to {most}: of {sold} blocks of this stripe {logical_blocks} hold data, and \
                 {reserve} are left free for merges; more with a larger ftl.overprovisioning"
            )));
        }
        failed.iter().for_each(|block| bad[block.0 as usize] = true);
        let pool = Pool::new(layout, pe_cycles, bad);
        let least = logical_blocks + reserve + least_logs(log_blocks);
        if pool.sound.total < least {
            let problem = format!("{} blocks of this stripe are left by then", pool.sound.total);
            return Err(Error::new("age.pe_cycles", problem).allow(format!(
                "cycles at which {least} are left for the capacity: fewer, a larger \
                 ftl.overprovisioning, or a milder chip.fault"
            )));
        }
        Ok(Self {
            logical_units,
            logical_blocks,
            reserve,
            log_blocks,
            log_limit: log_blocks.min(pool.sound.total - logical_blocks - reserve),
            data: Data::new(logical_blocks, logical_units),
            logs: Logs::new(log_blocks + jobs, units),
            log_of: vec![NONE; logical_blocks as usize],
            opened: 0,
            order: 0,
            flying_on: vec![NONE; dies as usize],
            merging: 0,
            queued: VecDeque::with_capacity(log_blocks as usize),
            lent: 0,
            asked: vec![0; logical_blocks as usize],
            epoch: 1,
            demand: 0,
            tasks: vec![Task::Idle; jobs as usize],
            active: 0,
            is_told: false,
            forced: vec![false; logical_blocks as usize],
            forced_queue: VecDeque::new(),
            counts: FtlCounts::default(),
            pool,
        })
    }

    /// Where the newest data of a unit of a logical block are.
    #[inline]
    fn find(&self, block: u32, offset: u32) -> Option<Ppn> {
        let log = self.log_of[block as usize];
        if log != NONE
            && let Some(ppn) = self.logs.at(log, offset)
        {
            return Some(ppn);
        }
        let has = self.data.has(block * self.pool.layout.units + offset);
        has.then(|| self.pool.ppn(self.data.of(block), offset))
    }

    /// The data block does not have the newest data of a unit any more.
    #[inline]
    fn drop_from_data(&mut self, block: u32, offset: u32) {
        self.data.drop(block, block * self.pool.layout.units + offset);
    }

    /// Units of a logical block: the last one may be shorter.
    #[inline]
    fn size_of(&self, block: u32) -> u32 {
        let units = self.pool.layout.units;
        units.min(self.logical_units - block * units)
    }

    /// All that wait for a log ask again.
    fn new_epoch(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.demand = 0;
    }
}

impl Ftl for Bast {
    fn logical_units(&self) -> u32 {
        self.logical_units
    }

    fn row_units(&self) -> u32 {
        self.pool.layout.row_units
    }

    fn keys(&self) -> u32 {
        self.logical_blocks
    }

    fn key_of(&self, lpn: Lpn, _hint: u8) -> Key {
        Key(self.pool.layout.split(lpn.0).0)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let (block, offset) = self.pool.layout.split(lpn.0);
        self.find(block, offset)
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.place_host(key.0, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_copies(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        match carried {
            Carried::Host => self.host_reported(program, true),
            Carried::Moves(..) => self.copies_reported(program, carried, true),
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        match carried {
            Carried::Host => self.host_reported(program, false),
            Carried::Moves(..) => self.copies_reported(program, carried, false),
        }
    }

    fn trim(&mut self, lpn: Lpn) {
        let (block, offset) = self.pool.layout.split(lpn.0);
        let log = self.log_of[block as usize];
        if log != NONE {
            self.logs.set(log, offset, None);
        }
        self.data.drop(block, lpn.0);
    }

    fn jobs(&self) -> u32 {
        self.pool.layout.geometry.dies + self.tasks.len() as u32
    }

    fn wants(&self, job: Job, _urgency: Urgency) -> bool {
        self.job_wants(job)
    }

    #[inline]
    fn wanted(&mut self) -> Option<Job> {
        self.job_wanted()
    }

    fn step(&mut self, job: Job, _urgency: Urgency, work: &mut Work) -> Step {
        self.next_step(job, work)
    }

    fn erased(&mut self, block: Block) {
        let can_go = self.pool.is_doomed(block) && self.can_go(block);
        if self.pool.erased(block, can_go) {
            self.counts.retired_blocks += 1;
        } else {
            self.counts.reclaimed_blocks += 1;
        }
        self.new_epoch();
    }

    fn retire(&mut self, block: Block) -> bool {
        self.doom(block)
    }

    fn reclaim(&mut self, block: Block) -> bool {
        self.move_off(block)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.pool.filled(block)
    }

    fn counts(&self) -> FtlCounts {
        self.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.pool.start_run(pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        let geometry = &self.pool.layout.geometry;
        let per_block = u64::from(geometry.units_per_block());
        let units = (0..self.logical_units).map(Lpn);
        let mapped = units.filter(|&lpn| self.lookup(lpn).is_some()).count() as u64;
        let mut occupancy = Occupancy { mapped, ..Occupancy::default() };
        for block in (0..geometry.blocks()).map(Block) {
            if self.pool.wear.is_bad(block) {
                occupancy.bad += per_block;
                continue;
            }
            let filled = u64::from(self.pool.filled(block) * geometry.units_per_page);
            occupancy.free += per_block - filled;
            occupancy.invalid += filled;
        }
        occupancy.invalid -= mapped;
        occupancy
    }

    fn wear(&self) -> Wear {
        self.pool.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        let log_map = 4 * u64::from(self.log_blocks) * u64::from(self.pool.layout.units);
        vec![
            Ram { name: "block_map", bytes: 4 * u64::from(self.logical_blocks) },
            Ram { name: "log_maps", bytes: log_map },
            Ram { name: "blocks", bytes: self.pool.bytes() as u64 },
        ]
    }

    fn bytes_per_unit(&self) -> f64 {
        let bytes = self.data.bytes() + self.logs.bytes() + self.pool.bytes();
        let by_block = 4 * (self.log_of.len() + self.asked.len()) + self.forced.len();
        (bytes + by_block) as f64 / f64::from(self.logical_units)
    }
}
