//! `frozen`: a page map on fast and dense chips, with round-robin frozen data collection (RR-FDCA;
//! Hachiya, Johguchi, Miyaji and Takeuchi, SSDM 2013).
//!
//! The host writes to the dies of the first kind of chips (the paper: MLC). Collection takes their
//! block sets in turn. Sets with few valid units are copied together; sets with many are spared for
//! `rounds` turns, in which rewritten data leave them; data that stay are frozen, and move to the
//! dies of other kinds (TLC), a whole block set at a time. On a drive with one kind of chips that
//! is collection in turn, the paper's baseline; with `policy = "cold"` the first collection moves
//! data to the dense dies.
//!
//! `sets` has the block sets, `collect` the collection of fast dies, `dense` that of dense ones.

mod collect;
mod dense;
mod sets;

use super::contract::parts::parts;
use super::contract::{
    Account, BlockService, Build, Carried, Context, DieSet, Facts, Ftl, FtlCounts, Job, Key, Lpn,
    Move, Occupancy, Place, Program, Ram, Relocation, Step, Stream, Until, Urgency, Wear, Work,
};
use crate::space::frontier::Frontier;
use crate::space::gc::GcConfig;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::{prefetch, table};
use base::{Error, Result, params};
use collect::Collector;
use dense::Dense;
use nand::geometry::{Block, Die, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sets::{Is, SetId, Sets};

pub const MEMBER: Member<Build> = Member {
    name: "frozen",
    summary: "page-level mapping on fast and dense chips: frozen data move to the dense ones",
    citation: "hachiya2013",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| Ok(Box::new(Frozen::new(context, &params::read(given, "ftl")?)?)),
};

/// Data that move to the dense dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Policy {
    /// Data that have stayed in their block for `rounds` turns of collection.
    Frozen,
    /// All data that the first collection of a block finds.
    Cold,
}

/// Effect of a host write on old data on dense dies, beside the write to a fast one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Overwrite {
    /// Valid data left in the block set are rewritten at once (block-modify-write).
    Modify,
    /// The old data are dead until room is needed.
    Log,
}

/// Parameters of `frozen`: which data freeze, and what overwrites of them do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Data that move to the dense dies: "frozen" ones, or all that collection finds, "cold".
    policy: Policy,
    /// Turns of collection for which a block set with many valid units is spared before its data
    /// count as frozen, 0 to 250. A copy by collection counts as one.
    rounds: u32,
    /// Effect of overwrites of data on dense dies, beside the write to a fast one: "modify"
    /// rewrites the valid data left in their block set, "log" leaves the old data until room is
    /// needed.
    overwrite: Overwrite,
}

impl Default for Params {
    fn default() -> Self {
        Self { policy: Policy::Frozen, rounds: 1, overwrite: Overwrite::Modify }
    }
}

/// Marks a physical unit without data.
const PADDING: u32 = u32::MAX;

/// Free sets that a dense lane keeps for its own work.
const DENSE_RESERVE: u32 = 1;

#[derive(Clone)]
struct Frozen {
    facts: Facts,
    params: Params,
    sets: Sets,
    logical_units: u32,
    reserve: u32,
    gc: GcConfig,
    /// Page map: physical unit of each logical one.
    map: Vec<u32>,
    /// Reverse map: logical unit of each physical one, or `PADDING`.
    owner: Vec<u32>,
    /// By lane: open set of the host.
    host: Vec<Frontier>,
    /// By lane: open set that collection copies to.
    copies: Vec<Frontier>,
    /// By die: lane that takes the next row of the host.
    next_lane: Vec<u32>,
    next_die: u32,
    /// By die: the work of its job.
    collectors: Vec<Collector>,
    dense: Dense,
    counts: FtlCounts,
}

impl Frozen {
    fn new(context: Context, params: &Params) -> Result<Self> {
        if params.rounds > 250 {
            return Err(Error::new("ftl.rounds", format!("{}", params.rounds)).expected("0 to 250"));
        }
        let Context { geometry, planes_per_program, config, gc, .. } = &context;
        if geometry.planes_per_die % planes_per_program != 0 {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        let reserve = config.gc_reserve_blocks;
        if reserve == 0 {
            return Err(Error::new("ftl.gc_reserve_blocks", "0 blocks").expected("at least 1"));
        }
        if gc.start_free_blocks <= reserve {
            let problem = format!("{} free blocks", gc.start_free_blocks);
            return Err(Error::new("gc.start_free_blocks", problem).expected(format!(
                "more than ftl.gc_reserve_blocks, {reserve}: otherwise the host stalls for ever"
            )));
        }
        let mut sets = Sets::new(&context);
        let logical_units = capacity(&mut sets, &context)?;
        let lanes = sets.lanes.len();
        let first_fast = (0..lanes as u32).find(|&lane| !sets.is_dense(lane)).unwrap_or(0);
        let dies = geometry.dies as usize;
        let row_units = sets.shape(first_fast).row_units;
        let units_per_page = geometry.units_per_page;
        Ok(Self {
            facts: Facts {
                knows_kinds: true,
                ..Facts::new(logical_units, row_units, geometry.dies, units_per_page)
            },
            params: params.clone(),
            logical_units,
            reserve,
            gc: gc.clone(),
            map: table(logical_units as usize, Ppn::NONE.0),
            owner: table(geometry.units() as usize, PADDING),
            host: vec![Frontier::CLOSED; lanes],
            copies: vec![Frontier::CLOSED; lanes],
            next_lane: vec![0; dies],
            next_die: 0,
            collectors: vec![Collector::default(); dies],
            dense: Dense::new(&sets),
            counts: FtlCounts::default(),
            sets,
        })
    }

    /// Lane of a die that the host can write to.
    #[inline]
    fn lane_for_host(&self, die: Die) -> Option<u32> {
        let lanes = self.sets.lanes_of(die);
        if self.sets.is_dense(lanes.start) {
            return None;
        }
        let first = self.next_lane[die.0 as usize];
        let can_take = |&lane: &u32| {
            self.host[lane as usize].open || self.sets.lanes[lane as usize].free > self.kept(lane)
        };
        let count = lanes.end - lanes.start;
        (0..count).map(|i| lanes.start + (first + i) % count).find(can_take)
    }

    /// Free sets of a lane that the host must leave: one more where data are to be moved off.
    #[inline]
    fn kept(&self, lane: u32) -> u32 {
        self.reserve + u32::from(!self.sets.lanes[lane as usize].forced.is_empty())
    }

    /// Notes the owners of the slots of a program.
    #[inline]
    fn own(&mut self, program: &Program, lpns: impl Iterator<Item = Lpn>) {
        let mut lpns = lpns.take(program.units as usize);
        let set = self.sets.of(program.blocks[0]);
        let pages = self.sets.shape(self.sets.lane_of(set)).pages_per_program;
        let upp = self.sets.geometry.units_per_page;
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let first = self.sets.geometry.ppn(block, page, 0).0;
                for ppn in first..first + upp {
                    self.owner[ppn as usize] = lpns.next().map_or(PADDING, |lpn| lpn.0);
                }
            }
        }
        let slots = u64::from(pages * u32::from(program.planes) * upp);
        self.counts.padding_units += slots - u64::from(program.units);
    }

    /// Counts old data as dead: the host has overwritten or trimmed their unit.
    #[inline]
    fn overwritten(&mut self, old: u32) {
        let set = self.died(old);
        if self.params.overwrite == Overwrite::Modify && self.sets.is_dense(self.sets.lane_of(set))
        {
            self.dense.modified(&self.sets, set);
        }
    }

    #[inline]
    fn died(&mut self, old: u32) -> SetId {
        let set = self.sets.died(self.sets.geometry.block_of(Ppn(old)));
        let lane = self.sets.lane_of(set);
        if self.sets.is_dense(lane) && self.is_to_compact(lane) {
            self.dense.tell(self.sets.die_of(lane));
        }
        set
    }
}

/// Logical units of the drive. Notes how many sets each lane can give up, and refuses a drive that
/// cannot be run.
fn capacity(sets: &mut Sets, context: &Context) -> Result<u32> {
    let overprovisioning = context.config.overprovisioning;
    let place = "ftl.overprovisioning";
    if !(0.0..=100.0).contains(&overprovisioning) {
        let problem = format!("{overprovisioning} is out of range");
        return Err(Error::new(place, problem).expected("0 to 100 (physical / logical - 1)"));
    }
    // Free sets, a set of the host and one of copies, and what must be dead for something to be
    // gained: a set. Of dense lanes: free ones, one that a job fills, and one to gain.
    let held_of = |sets: &Sets, lane: u32| match sets.is_dense(lane) {
        true => DENSE_RESERVE + 2,
        false => context.gc.start_free_blocks.max(context.config.gc_reserve_blocks) + 3,
    };
    let (mut good, mut most) = (0u64, 0u64);
    for lane in 0..sets.lanes.len() as u32 {
        let held = held_of(sets, lane);
        let there = sets.numbers(lane).len() as u32;
        if sets.sound(lane) <= held {
            return Err(Error::new(
                "chip.geometry.blocks_per_plane",
                format!("{} good block sets in a plane group", sets.sound(lane)),
            )
            .expected(format!("more than {held} (gc.start_free_blocks and open blocks)")));
        }
        let units = u64::from(sets.shape(lane).set_units);
        good += u64::from(there) * units;
        most += u64::from(there - held) * units;
    }
    let overprovisioning = context.config.overprovisioning_of(good);
    let logical = (good as f64 / (1.0 + overprovisioning)) as u64;
    if logical == 0 || logical > most {
        let least = ((good as f64 / most.max(1) as f64 - 1.0) * 1e4).ceil() / 1e4;
        let problem = format!("{overprovisioning} leaves {logical} logical of {good} units");
        return Err(Error::new(place, problem)
            .expected(format!("at least {least:.4} with this geometry, and at most 100")));
    }
    // What could be missing is shared out evenly.
    let spare_units = most - logical;
    for lane in 0..sets.lanes.len() as u32 {
        let held = held_of(sets, lane);
        let units = u64::from(sets.shape(lane).set_units);
        let share = (spare_units / (units * sets.lanes.len() as u64)) as u32;
        let lost = sets.numbers(lane).len() as u32 - sets.sound(lane);
        if lost > share {
            let problem = format!("{lost} block sets of a plane group have failed at this wear");
            return Err(Error::new("age.pe_cycles", problem)
                .expected(format!("cycles that leave all but {share}"))
                .hint("use fewer cycles, a larger ftl.overprovisioning, or a milder chip.fault"));
        }
        sets.lanes[lane as usize].spare = (share - lost).min(sets.sound(lane) - held - 1);
    }
    Ok(logical as u32)
}

impl State for Frozen {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            facts: _,
            params: _,
            sets,
            logical_units: _,
            reserve: _,
            gc: _,
            map,
            owner,
            host,
            copies,
            next_lane,
            next_die,
            collectors,
            dense,
            counts,
        } = self;
        sets.exchange(archive)?;
        archive.table(map)?;
        archive.table(owner)?;
        archive.value(host)?;
        archive.value(copies)?;
        archive.table(next_lane)?;
        archive.value(next_die)?;
        archive.value(collectors)?;
        archive.value(dense)?;
        archive.value(counts)
    }
}

impl Ftl for Frozen {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    fn place(&mut self, _key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        if self.dense.is_behind() {
            return Place::Later(Until::Job);
        }
        let Some(first) = dies.next_from(self.next_die) else { return Place::NoRoom };
        let mut die = first;
        let lane = loop {
            if let Some(lane) = self.lane_for_host(die) {
                break lane;
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => return Place::NoRoom,
            }
        };
        self.next_die = if die.0 + 1 == self.sets.geometry.dies { 0 } else { die.0 + 1 };
        self.next_lane[die.0 as usize] = (lane + 1) % self.sets.lanes_per_die;
        let mut frontier = self.host[lane as usize];
        if !frontier.open {
            let set = self.sets.open(lane).expect("checked by lane_for_host");
            frontier = self.sets.frontier(set);
        }
        let units = lpns.len() as u32;
        let program = self.sets.program(lane, &mut frontier, units, Stream::host(0));
        self.host[lane as usize] = frontier;
        self.own(&program, lpns.iter().copied());
        self.counts.host_units += u64::from(program.units);
        Place::At(program)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_copies(Die(job.0), moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let moves = carried.moves();
        let set = self.sets.of(program.blocks[0]);
        let pages = self.sets.shape(self.sets.lane_of(set)).pages_per_program;
        let upp = self.sets.geometry.units_per_page;
        let mut index = 0;
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let slots = upp.min(program.units - index);
                let first = self.sets.geometry.ppn(block, page, 0).0;
                for ppn in first..first + slots {
                    let lpn = self.owner[ppn as usize];
                    let old = self.map[lpn as usize];
                    let moved = moves.get(index as usize);
                    index += 1;
                    // Rewritten or trimmed while it was on its way: this copy is stale at birth.
                    if moved.is_some_and(|unit| unit.from.0 != old) {
                        continue;
                    }
                    self.sets.get_mut(set).live += 1;
                    self.map[lpn as usize] = ppn;
                    if old == Ppn::NONE.0 {
                        continue;
                    }
                    if moved.is_some() {
                        self.died(old);
                    } else {
                        self.overwritten(old);
                    }
                }
            }
        }
        self.sets.reported(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        let set = self.sets.of(program.blocks[0]);
        let pages = self.sets.shape(self.sets.lane_of(set)).pages_per_program;
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let first = self.sets.geometry.ppn(block, page, 0).0 as usize;
                let units = self.sets.geometry.units_per_page as usize;
                self.owner[first..first + units].fill(PADDING);
            }
        }
        let units = u64::from(program.units);
        match carried {
            Carried::Host => self.counts.host_units -= units,
            Carried::Moves(job, _) => {
                self.counts.moved_units -= units;
                if self.collectors[job.0 as usize].freezes() {
                    self.counts.dense.frozen_units -= units;
                }
            }
        }
        self.counts.padding_units += units;
        self.sets.reported(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        let old = std::mem::replace(&mut self.map[lpn.0 as usize], Ppn::NONE.0);
        if old != Ppn::NONE.0 {
            self.died(old);
        }
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        if self.sets.is_dense(self.sets.lanes_of(die).start) {
            self.wants_dense(die)
        } else {
            self.wants_fast(die, urgency)
        }
    }

    fn wanted(&mut self) -> Option<Job> {
        self.dense.told().map(Job::of)
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        work.clear();
        let die = Die(job.0);
        self.settle_moves(die);
        if self.list_drained(die, work) {
            return Step::Erase;
        }
        if self.sets.is_dense(self.sets.lanes_of(die).start) {
            self.dense_step(die, work)
        } else {
            self.fast_step(die, urgency, work)
        }
    }

    fn erased(&mut self, block: Block) {
        if self.sets.erased(block, self.reserve) {
            self.counts.retired_blocks += 1;
        } else {
            self.counts.reclaimed_blocks += 1;
        }
        // A dense set that is free again is room that fast dies may wait for.
        if self.sets.is_dense(self.sets.lane_of(self.sets.of(block))) {
            (0..self.sets.geometry.dies).for_each(|die| self.dense.tell(Die(die)));
        }
    }

    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.map, lpn.0 as usize);
    }
}

impl Account for Frozen {
    fn counts(&self) -> FtlCounts {
        self.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.counts = FtlCounts::default();
        if let Some(pe_cycles) = pe_cycles {
            self.sets.wear.start_run(pe_cycles);
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.sets.occupancy(self.map.iter().filter(|&&ppn| ppn != Ppn::NONE.0).count() as u64)
    }

    fn wear(&self) -> Wear {
        self.sets.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        vec![
            Ram { name: "map", bytes: 4 * u64::from(self.logical_units) },
            Ram { name: "blocks", bytes: self.sets.bytes() },
        ]
    }

    fn bytes_per_unit(&self) -> f64 {
        let tables = 4 * (self.map.len() + self.owner.len()) as u64 + self.sets.bytes();
        tables as f64 / f64::from(self.logical_units)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.sets.filled(block)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.sets.wear.is_bad(block)
    }
}

impl BlockService for Frozen {
    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.sets.doom(block);
        self.dense.tell(self.sets.geometry.die_of(block));
        is_doomed
    }

    fn wear_on(&mut self, more: &[u32]) {
        self.sets.wear.add(more);
    }
}

impl Relocation for Frozen {
    fn reclaim(&mut self, block: Block) -> bool {
        let set = self.sets.of(block);
        let is_full = set != sets::NONE && self.sets.get(set).is == Is::Full;
        if !is_full || !self.sets.is_filled(set) || !self.can_force(set) {
            return false;
        }
        let is_new = self.sets.force(set);
        self.counts.read_reclaims += u64::from(is_new);
        self.dense.tell(self.sets.geometry.die_of(block));
        is_new
    }
}

parts!(Frozen: block_service, relocation);
