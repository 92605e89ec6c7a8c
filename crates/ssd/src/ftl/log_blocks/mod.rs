//! FTLs with a block map and log blocks: one engine, and rules that tell its members apart.
//!
//! Contents: logical blocks, each with at most one data block that has its units in order; logical
//! blocks share log blocks by sets, and log blocks take host writes. Input: host writes and trims
//! (`host`); output: programs, merges and erases (`merge`, `work`). `data`, `places` and `logs` map
//! the newest data, and `relocation` handles blocks that fail or are read too often. Virtual blocks
//! are those of the room `blocks`.
//!
//! A unit is in a log block if `places` says so, otherwise in its data block. A merge copies the
//! newest data of one logical block to one virtual block, which becomes its data block. A log block
//! is emptied by merges of all logical blocks that have valid units in it.

mod ahead;
mod data;
mod host;
mod logs;
mod merge;
mod recover;
mod relocation;
mod streams;
mod work;

use super::blocks::demand::Demand;
use super::blocks::layout::Layout;
use super::blocks::places::Places;
use super::blocks::pool::{NONE, Pool, Use};
use super::blocks::task::Task;
use super::contract::parts::parts;
use super::contract::{
    Account, BlockService, Carried, Context, DieSet, Facts, Ftl, FtlCounts, Hint, Job, Key, Lpn,
    Move, Occupancy, Place, Program, Ram, Recovery, Relocation, Step, Stream, Urgency, Wear, Work,
};
use crate::recovery::Found;
use crate::space::capacity::logical_units;
use ahead::Ahead;
use base::archive::{Archive, State};
use base::{Error, Result, Time};
use data::Data;
use logs::Logs;
use merge::Merge;
use nand::geometry::{Block, Geometry, Ppn};
use std::collections::VecDeque;
use streams::Streams;

/// Label of all programs to log blocks.
const HOST: Stream = Stream::host(0);

/// Merges side by side, at least: on larger drives as many as there are dies.
const JOBS: u32 = 8;

/// Fewest log blocks that a drive keeps when it has no block more to spare, of `log_blocks`.
fn least_logs(log_blocks: u32) -> u32 {
    log_blocks.div_ceil(2)
}

/// Choice of the log blocks that are emptied when one is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptied {
    /// The oldest log block.
    Oldest,
    /// All log blocks of the set of the oldest one.
    Set,
}

/// Rules that tell the members apart: sets, numbers of log blocks, and order of writes.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Physical blocks of a virtual one; 0 is the planes of a program.
    pub stripe: u32,
    /// Logical blocks of a set, which share log blocks.
    pub set_blocks: u32,
    /// Log blocks of a set, at most.
    pub set_logs: u32,
    /// Log blocks of the drive, at most.
    pub log_blocks: u32,
    /// Parameter that gives the number of log blocks.
    pub log_key: &'static str,
    /// Default number of log blocks, from the number of logical blocks and the room for log blocks.
    pub default_logs: fn(u32, u32) -> u32,
    /// Further log blocks, each for a stream of writes in order.
    pub sequential_logs: u32,
    /// A log block takes its logical block in order, and nothing else.
    pub is_in_order: bool,
    pub emptied: Emptied,
    /// The oldest log block is emptied while the host fills the last one, at the same pace.
    pub merges_ahead: bool,
    /// Virtual blocks that the host leaves free for merges, at least. A merge with failed programs
    /// takes up to three before it gives one back, or two if it gives its log back with it.
    pub least_reserve: u32,
}

#[derive(Clone)]
pub struct LogBlocks {
    facts: Facts,
    rules: Rules,
    pool: Pool,
    logical_units: u32,
    logical_blocks: u32,
    /// Virtual blocks that the host leaves free for merges.
    reserve: u32,
    /// Log blocks of sets at most.
    log_blocks: u32,
    /// Log blocks of sets at most, as far as failed blocks leave room for them.
    log_limit: u32,
    data: Data,
    places: Places,
    logs: Logs,
    /// By set, as many as it may have: its logs.
    logs_of: Vec<u32>,
    /// By set: the log that is written to.
    current: Vec<u32>,
    streams: Streams,
    /// Logs of sets that are open.
    opened: u32,
    /// Logs of any kind that have been opened so far.
    order: u64,
    /// By die: the log that a program of the host is under way to.
    flying_on: Vec<u32>,
    /// Logs of sets among the opened ones that are being emptied.
    merging: u32,
    /// Logs that jobs are to empty or to fill.
    queued: VecDeque<u32>,
    /// Log that is emptied ahead of need.
    ahead: Option<Ahead>,
    /// Virtual blocks that merges have taken to copy to.
    lent: u32,
    /// Sets that wait for a log.
    demand: Demand,
    /// Present work of each job.
    tasks: Vec<Task>,
    /// Merge of each job.
    merges: Vec<Merge>,
    /// Jobs that have work.
    active: u32,
    /// By logical block: a job merges it.
    is_merging: Vec<bool>,
    /// A job has been named that has not begun.
    is_told: bool,
    /// Sets that wait for a job are to ask again, though no job has done anything.
    calls: bool,
    /// By logical block: it is to be moved.
    forced: Vec<bool>,
    /// Logical blocks to be moved, in the order in which that was found.
    forced_queue: VecDeque<u32>,
    counts: FtlCounts,
}

impl LogBlocks {
    /// Creates an empty drive with these rules.
    pub fn new(context: Context, mut rules: Rules) -> Result<Self> {
        let unusable = context.unusable();
        let Context { geometry, planes_per_program, pages_per_program, config, .. } = context;
        let overprovisioning = config.overprovisioning;
        let layout = Layout::new(geometry, planes_per_program, pages_per_program, rules.stripe)?;
        let reserve = config.gc_reserve_blocks.saturating_mul(layout.sets).max(rules.least_reserve);
        let sequential = rules.sequential_logs;
        // At least a log block must be left beside the reserve.
        let held = reserve.saturating_add(1 + sequential).div_ceil(layout.sets);
        let Context { pe_cycles, bad, gc, .. } = context;
        let logical_units = logical_units(&layout.geometry, &bad, overprovisioning, held)?;
        let logical_blocks = logical_units.div_ceil(layout.units);
        let dies = layout.geometry.dies;
        // What they copy at the same time is no more than two rows of each die.
        let jobs = dies.max(JOBS).min(2 * layout.sets);
        let sold = Pool::count(&layout, &bad);
        let beside = logical_blocks + reserve + sequential;
        let most = sold.saturating_sub(beside);
        let sets = logical_blocks.div_ceil(rules.set_blocks);
        let log_blocks = match rules.log_blocks {
            0 => {
                let of_sets = sets.saturating_mul(rules.set_logs);
                (rules.default_logs)(logical_blocks, most).min(most).min(of_sets)
            }
            given => given,
        };
        if log_blocks > most || most == 0 {
            let problem = format!("{log_blocks} log blocks");
            return Err(Error::new(rules.log_key, problem)
                .expected(format!(
                    "at most {most}: of {sold} blocks of this stripe, {logical_blocks} hold data \
                     and {} stay free for merges",
                    reserve + sequential
                ))
                .hint("a larger ftl.overprovisioning leaves room for more"));
        }
        let pool = Pool::new(layout, pe_cycles, unusable, gc.reuse);
        let least = beside + least_logs(log_blocks);
        if pool.sound.total < least {
            let problem =
                format!("only {} blocks of this stripe are left at this wear", pool.sound.total);
            return Err(Error::new("age.pe_cycles", problem)
                .expected(format!("cycles that leave {least} blocks for the capacity"))
                .hint("use fewer cycles, a larger ftl.overprovisioning, or a milder chip.fault"));
        }
        rules.set_blocks = rules.set_blocks.min(logical_blocks);
        rules.set_logs = rules.set_logs.min(log_blocks);
        let (units, blocks) = (pool.layout.units, logical_blocks as usize);
        let Geometry { dies, units_per_page, .. } = pool.layout.geometry;
        Ok(Self {
            facts: Facts {
                keys: sets + sequential,
                jobs: dies + jobs,
                has_reuse: true,
                ..Facts::new(logical_units, pool.layout.row_units, dies, units_per_page)
            },
            logical_units,
            logical_blocks,
            reserve,
            log_blocks,
            log_limit: log_blocks.min(pool.sound.total - beside),
            data: Data::new(logical_blocks, logical_units, &pool.layout),
            places: Places::new(logical_units, &pool),
            // After a power cut there may be more, for a while.
            logs: Logs::new(log_blocks + sequential + jobs, units),
            logs_of: vec![NONE; (sets * rules.set_logs) as usize],
            current: vec![NONE; sets as usize],
            streams: Streams::new(sequential),
            opened: 0,
            order: 0,
            flying_on: vec![NONE; dies as usize],
            merging: 0,
            queued: VecDeque::with_capacity((log_blocks + sequential) as usize),
            ahead: None,
            lent: 0,
            demand: Demand::new(sets),
            tasks: vec![Task::Idle; jobs as usize],
            merges: (0..jobs).map(|_| Merge::none()).collect(),
            active: 0,
            is_merging: vec![false; blocks],
            is_told: false,
            calls: false,
            forced: vec![false; blocks],
            forced_queue: VecDeque::new(),
            counts: FtlCounts::default(),
            pool,
            rules,
        })
    }

    /// Place of the newest data of a unit.
    #[inline]
    fn find(&self, unit: u32) -> Option<Ppn> {
        self.places.at(unit).or_else(|| {
            let has = self.data.has(unit);
            has.then(|| {
                let (block, offset) = self.pool.layout.split(unit);
                self.pool.ppn(self.data.of(block), offset)
            })
        })
    }

    /// The set of a logical block.
    #[inline]
    fn set_of(&self, block: u32) -> u32 {
        if self.rules.set_blocks == 1 { block } else { block / self.rules.set_blocks }
    }

    /// Logs that a set may have: numbers, or `NONE`.
    fn slots(&mut self, set: u32) -> &mut [u32] {
        let logs = self.rules.set_logs as usize;
        &mut self.logs_of[set as usize * logs..][..logs]
    }

    /// The first unit of a logical block.
    #[inline]
    fn first_of(&self, block: u32) -> u32 {
        block * self.pool.layout.units
    }

    /// Units of a logical block: the last one may be shorter.
    #[inline]
    fn size_of(&self, block: u32) -> u32 {
        let units = self.pool.layout.units;
        units.min(self.logical_units - block * units)
    }
}

impl State for LogBlocks {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            facts: _,
            rules: _,
            pool,
            logical_units: _,
            logical_blocks: _,
            reserve: _,
            log_blocks: _,
            log_limit,
            data,
            places,
            logs,
            logs_of,
            current,
            streams,
            opened,
            order,
            flying_on,
            merging,
            queued,
            ahead,
            lent,
            demand,
            tasks,
            merges,
            active,
            is_merging,
            is_told,
            // Nobody waits for a drive at rest.
            calls: _,
            forced,
            forced_queue,
            counts,
        } = self;
        pool.exchange(archive)?;
        data.exchange(archive)?;
        places.exchange(archive)?;
        logs.exchange(archive)?;
        streams.exchange(archive)?;
        demand.exchange(archive)?;
        for table in [logs_of, current, flying_on] {
            archive.table(table)?;
        }
        for number in [log_limit, opened, merging, lent, active] {
            archive.value(number)?;
        }
        for queue in [queued, forced_queue] {
            archive.value(queue)?;
        }
        for flags in [is_merging, forced] {
            archive.value(flags)?;
        }
        archive.value(order)?;
        archive.value(ahead)?;
        archive.value(tasks)?;
        archive.value(merges)?;
        archive.value(is_told)?;
        archive.value(counts)
    }
}

impl Ftl for LogBlocks {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn key_of(&mut self, lpn: Lpn, _: Hint) -> Key {
        let (block, offset) = self.pool.layout.split(lpn.0);
        match self.streams.of(lpn.0, offset) {
            Some(stream) => Key(self.current.len() as u32 + stream),
            None => Key(self.set_of(block)),
        }
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.find(lpn.0)
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        match key.0.checked_sub(self.current.len() as u32) {
            Some(stream) => self.place_stream(stream, lpns, dies),
            None if self.rules.is_in_order => self.place_in_order(key.0, lpns, dies),
            None => self.place_anywhere(key.0, lpns, dies),
        }
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
        self.places.clear(&self.pool, lpn.0);
        self.data.drop(&self.pool.layout, lpn.0);
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

    fn erased(&mut self, block: Block, _: Time) {
        let can_go = self.pool.is_doomed(block) && self.pool.can_go(block, self.lent, self.reserve);
        if self.pool.erased(block, can_go) {
            self.counts.retired_blocks += 1;
        } else {
            self.counts.reclaimed_blocks += 1;
        }
        self.demand.begin_anew();
    }
}

impl Account for LogBlocks {
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
        self.pool.occupancy(self.places.units() + self.data.units())
    }

    fn wear(&self) -> Wear {
        self.pool.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        let logs = u64::from(self.log_blocks + self.rules.sequential_logs);
        let blocks = u64::from(self.pool.virtual_blocks());
        let number = if blocks <= 1 << 16 { 2 } else { 4 };
        let block_map = Ram { name: "block_map", bytes: number * u64::from(self.logical_blocks) };
        if self.rules.is_in_order {
            // The logical block, the open block, the next unit and the order of each; which blocks
            // are free, a bit each. Their cycles are in the spare areas.
            let open_blocks = Ram { name: "open_blocks", bytes: (2 * number + 8) * logs };
            return vec![block_map, open_blocks, Ram { name: "blocks", bytes: blocks.div_ceil(8) }];
        }
        let log_maps = 4 * logs * u64::from(self.pool.layout.units);
        let blocks = self.pool.bytes() as u64;
        vec![
            block_map,
            Ram { name: "log_maps", bytes: log_maps },
            Ram { name: "blocks", bytes: blocks },
        ]
    }

    fn bytes_per_unit(&self) -> f64 {
        let tables = self.data.bytes() + self.places.bytes() + self.logs.bytes();
        let by_set = 4 * (self.logs_of.len() + self.current.len()) + self.demand.bytes();
        let by_block = self.forced.len() + self.is_merging.len();
        let bytes = tables + self.pool.bytes() + by_set + by_block;
        bytes as f64 / f64::from(self.logical_units)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.pool.filled(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        let Some((of, index)) = self.pool.home(block) else { return 0 };
        let in_data = match self.pool.use_of(of) {
            Use::Data(owner) if self.data.of(owner) == of => {
                self.data.of_blocks(owner)[index as usize]
            }
            _ => 0,
        };
        self.places.of_block(&self.pool, block) + in_data
    }

    fn is_bad(&self, block: Block) -> bool {
        self.pool.wear.is_bad(block)
    }
}

impl BlockService for LogBlocks {
    fn retire(&mut self, block: Block) -> bool {
        self.doom(block)
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.pool.wear_on(more);
    }
}

impl Relocation for LogBlocks {
    fn reclaim(&mut self, block: Block) -> bool {
        self.move_off(block)
    }
}

impl Recovery for LogBlocks {
    fn tag(&self, block: Block) -> u64 {
        self.pool.tag(block)
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        self.rebuild(found);
        Ok(())
    }
}

parts!(LogBlocks: block_service, relocation, recovery);
