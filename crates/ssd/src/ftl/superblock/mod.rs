//! `superblock`: a page map inside groups of adjacent logical blocks, with update blocks (Kang and
//! others, EMSOFT 2006; Jung and others, ACM Trans. Embedded Computing Systems 9(4), 2010).
//!
//! Contents: superblocks (`group`), each of N logical blocks and up to M update blocks, which are
//! virtual blocks of the room `blocks`. Input: host writes and trims (`host`); output: programs,
//! passes that collect a superblock, and erases (`pass`, `victims`, `work`). `owners` has the unit
//! placed at each position, `demand` counts the superblocks that wait for an update block, and
//! `relocation` handles blocks that fail or are read too often; `build` makes an empty drive.
//!
//! Inside a superblock any unit can be at any place. Nothing tells its update blocks from its data
//! blocks: it has as many blocks as logical blocks, and every further one counts as an update
//! block. These are shared by the drive. The maps are in RAM; the papers keep them in the spare
//! areas of the data pages.

mod build;
mod calls;
mod group;
mod host;
mod owners;
mod pass;
mod recover;
mod relocation;
mod victims;
mod work;

use super::blocks::demand::Demand;
use super::blocks::places::Places;
use super::blocks::pool::{Pool, Use, Virtual};
use super::blocks::task::Task;
use super::contract::parts::parts;
use super::contract::{
    Account, BlockService, Build, Calls, Carried, DieSet, Facts, Ftl, FtlCounts, Hint, Job, Key,
    Lpn, Move, Occupancy, Place, Program, Ram, Recovery, Relocation, Step, Stream, Urgency, Wear,
    Work,
};
use crate::recovery::Found;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::units::Divisor;
use base::{Error, Result, Time, params};
use build::SuperblockParams;
use calls::CallQueue;
use group::Superblock;
use nand::geometry::{Block, Ppn};
use owners::Owners;
use pass::Pass;
use std::collections::VecDeque;

pub const MEMBER: Member<Build> = Member {
    name: "superblock",
    summary: "a page map inside groups of logical blocks, with update blocks",
    citation: "kang2006",
    schema: schema::<SuperblockParams>,
    check: check::<SuperblockParams>,
    build: |context, given| {
        let params: SuperblockParams = params::read(given, "ftl")?;
        for (key, given) in [
            ("ftl.superblock_blocks", params.superblock_blocks),
            ("ftl.update_blocks", params.update_blocks),
        ] {
            if given == 0 {
                return Err(Error::new(key, "0 blocks").expected("at least 1"));
            }
        }
        Ok(Box::new(Superblocks::new(context, &params)?))
    },
};

/// Label of all programs: the target of a job's copies may be open for the host afterwards.
const HOST: Stream = Stream::host(0);

/// Virtual blocks that the host leaves free for passes, at least. A pass with failed programs takes
/// up to three before it gives one back.
const LEAST_RESERVE: u32 = 3;

/// Bytes of a number below `count`.
fn bytes_below(count: u64) -> u32 {
    (u64::BITS - count.saturating_sub(1).leading_zeros()).div_ceil(8).max(1)
}

#[derive(Clone)]
struct Superblocks {
    facts: Facts,
    pool: Pool,
    logical_units: u32,
    logical_blocks: u32,
    /// Units of a superblock.
    group_units: Divisor,
    /// Update blocks of a superblock at most.
    update_blocks: u32,
    /// Virtual blocks that the host leaves free for passes.
    reserve: u32,
    /// Update blocks of the drive at most.
    log_blocks: u32,
    /// Update blocks of the drive at most, as far as failed blocks leave room for them.
    log_limit: u32,
    places: Places,
    owners: Owners,
    groups: Vec<Superblock>,
    /// Update blocks of all superblocks.
    used: u32,
    /// Programs of the host so far.
    order: u64,
    /// By die: the virtual block that a program of the host is under way to.
    flying_on: Vec<Virtual>,
    /// By virtual block: its data are to be moved.
    must_go: Vec<bool>,
    /// Superblocks to be collected.
    queued: VecDeque<u32>,
    /// Superblocks that are to give an update block back, of those to be collected and those that
    /// jobs collect.
    giving: u32,
    /// Superblocks with blocks whose data are to be moved, in the order in which that was found.
    forced: VecDeque<u32>,
    demand: Demand,
    calls: CallQueue,
    /// Virtual blocks that passes have taken to copy to.
    lent: u32,
    /// Present work of each job.
    tasks: Vec<Task>,
    /// Pass of each job.
    passes: Vec<Pass>,
    /// Jobs that have work.
    active: u32,
    /// A job has been named that has not begun.
    is_told: bool,
    counts: FtlCounts,
}

impl Superblocks {
    /// The superblock of a unit.
    #[inline]
    fn group_of(&self, unit: u32) -> u32 {
        self.group_units.quotient(unit)
    }

    /// Bytes of the place of a unit: where it lies among the blocks of its superblock.
    fn place_bytes(&self) -> u32 {
        let blocks = self.groups[0].size + self.update_blocks + 1;
        bytes_below(u64::from(blocks) * u64::from(self.pool.layout.units))
    }
}

impl State for Superblocks {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            facts: _,
            pool,
            logical_units: _,
            logical_blocks: _,
            group_units: _,
            update_blocks: _,
            reserve: _,
            log_blocks: _,
            log_limit,
            places,
            owners,
            groups,
            used,
            order,
            flying_on,
            must_go,
            queued,
            giving,
            forced,
            demand,
            // Nobody waits for a drive at rest.
            calls: _,
            lent,
            tasks,
            passes,
            active,
            is_told,
            counts,
        } = self;
        pool.exchange(archive)?;
        places.exchange(archive)?;
        owners.exchange(archive)?;
        demand.exchange(archive)?;
        archive.table(flying_on)?;
        for number in [log_limit, used, giving, lent, active] {
            archive.value(number)?;
        }
        for queue in [queued, forced] {
            archive.value(queue)?;
        }
        archive.value(groups)?;
        archive.value(order)?;
        archive.value(must_go)?;
        archive.value(tasks)?;
        archive.value(passes)?;
        archive.value(is_told)?;
        archive.value(counts)
    }
}

impl Ftl for Superblocks {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn key_of(&mut self, lpn: Lpn, _: Hint) -> Key {
        Key(self.group_of(lpn.0))
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.places.at(lpn.0)
    }

    fn place(&mut self, _key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.place_host(lpns, dies)
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
        if self.places.clear(&self.pool, lpn.0) {
            self.sweep(self.group_of(lpn.0));
        }
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

impl Account for Superblocks {
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
        self.pool.occupancy(self.places.units())
    }

    fn wear(&self) -> Wear {
        self.pool.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        // The blocks of each superblock, with the one that a pass copies to; the places of units
        // among these blocks.
        let blocks = u64::from(self.groups[0].size + self.update_blocks + 1);
        let maps = u64::from(self.place_bytes()) * u64::from(self.logical_units);
        vec![
            Ram { name: "superblocks", bytes: 4 * blocks * self.groups.len() as u64 },
            Ram { name: "superblock_maps", bytes: maps },
            Ram { name: "blocks", bytes: self.pool.bytes() as u64 },
        ]
    }

    fn bytes_per_unit(&self) -> f64 {
        let by_group = self.groups.len() * size_of::<Superblock>() + self.demand.bytes();
        let by_block = self.must_go.len();
        let tables = self.places.bytes() + self.owners.bytes() + self.pool.bytes();
        (tables + by_group + by_block) as f64 / f64::from(self.logical_units)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.pool.filled(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        self.places.of_block(&self.pool, block)
    }

    fn group(&self, block: Block) -> Option<u32> {
        let (of, _) = self.pool.home(block)?;
        match self.pool.use_of(of) {
            Use::Data(group) | Use::Copies(group) => Some(group),
            Use::Nothing | Use::Log(_) => None,
        }
    }

    fn is_bad(&self, block: Block) -> bool {
        self.pool.wear.is_bad(block)
    }
}

impl BlockService for Superblocks {
    fn retire(&mut self, block: Block) -> bool {
        self.doom(block)
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.pool.wear_on(more);
    }
}

impl Relocation for Superblocks {
    fn reclaim(&mut self, block: Block) -> bool {
        self.move_off(block)
    }
}

impl Recovery for Superblocks {
    fn tag(&self, block: Block) -> u64 {
        self.pool.tag(block)
    }

    fn recover(&mut self, found: &Found) -> Result<()> {
        self.rebuild(found);
        Ok(())
    }
}

impl Calls for Superblocks {
    fn called(&mut self) -> Option<Key> {
        self.calls.next().map(Key)
    }
}

parts!(Superblocks: block_service, relocation, recovery, calls);
