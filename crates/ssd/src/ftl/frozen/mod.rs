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

use super::block_sets::{NONE, SetId};
use super::contract::{
    Build, Carried, Context, DieSet, Facts, Job, Key, Lpn, Move, Occupancy, Place, Program, Step,
    Stream, Until, Urgency, Work,
};
use super::page::{Own, PageFtl, PageParams, Space};
use super::paged::{Flat, Layout, Ours, Paged};
use crate::space::frontier::Frontier;
use crate::space::gc::{BlockWord, Victims};
use crate::space::retirement::Retirement;
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::{Error, Result, params};
use collect::Collector;
use dense::Dense;
use nand::geometry::{Block, Die, Plane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sets::{Is, Sets};

pub const MEMBER: Member<Build> = Member {
    name: "frozen",
    summary: "page-level mapping on fast and dense chips: frozen data move to the dense ones",
    citation: "hachiya2013",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let data = Frozen::new(context, params::read(given, "ftl")?)?;
        Ok(Box::new(Paged::new(Flat, data, Ours)?))
    },
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

/// Policy that is not asked: sets are taken in turn, and `gc.name` has no say.
#[derive(Clone)]
struct Unasked;

impl State for Unasked {
    fn exchange(&mut self, _: &mut Archive<'_>) -> Result<()> {
        Ok(())
    }
}

impl Victims for Unasked {
    fn closed(&mut self, _: u32, _: u32, _: u32, _: u64) {}

    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, _: u32, _: u32, _: u32) {}

    fn pick(&mut self, _: u32, _: &[BlockWord], _: u64) -> Option<u32> {
        None
    }
}

/// Free sets that a dense lane keeps for its own work.
const DENSE_RESERVE: u32 = 1;

/// Layout of a page map in block sets on fast and dense dies.
#[derive(Clone)]
struct Frozen {
    page: PageFtl,
    params: Params,
    sets: Sets,
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
}

impl Frozen {
    fn new(context: Context, params: Params) -> Result<Self> {
        if params.rounds > 250 {
            return Err(Error::new("ftl.rounds", format!("{}", params.rounds)).expected("0 to 250"));
        }
        let Context { geometry, planes_per_program, .. } = &context;
        if geometry.planes_per_die % planes_per_program != 0 {
            return Err(Error::new("chip.geometry.planes_per_die", "planes do not group evenly"));
        }
        let mut sets = Sets::new(&context);
        let logical_units = capacity(&mut sets, &context)?;
        // The lanes say what they can give up.
        let retirement = Retirement::new(geometry, &context.unusable(), 0, 0)?;
        let space = Space { frame: geometry.clone(), logical_units, retirement };
        let of_page = PageParams { static_wear_delta: 0, ..PageParams::default() };
        let context = Context { victims: Box::new(Unasked), ..context };
        let mut page = PageFtl::over(context, &of_page, Own::NOTHING, space)?;
        // Sets are opened in turn, not the least worn block first.
        (0..page.geometry.planes()).for_each(|plane| page.free.empty(Plane(plane)));
        let dies = page.geometry.dies as usize;
        let closed: Vec<Frontier> =
            (0..).zip(&sets.lanes).map(|(lane, _)| sets.closed(lane)).collect();
        Ok(Self {
            params,
            host: closed.clone(),
            copies: closed,
            next_lane: vec![0; dies],
            next_die: 0,
            collectors: vec![Collector::default(); dies],
            dense: Dense::new(&sets),
            page,
            sets,
        })
    }

    /// Units of a set that hold newest data.
    fn live(&self, set: SetId) -> u32 {
        self.sets.live(&self.page, set)
    }

    /// Free sets of a lane.
    #[inline]
    fn free(&self, lane: u32) -> u32 {
        self.sets.lanes[lane as usize].free
    }

    /// Lane of a die that the host can write to.
    #[inline]
    fn lane_for_host(&self, die: Die) -> Option<u32> {
        let lanes = self.sets.table.lanes_of(die);
        if self.sets.is_dense(die) {
            return None;
        }
        let first = self.next_lane[die.0 as usize];
        let can_take =
            |&lane: &u32| self.host[lane as usize].open || self.free(lane) > self.kept(lane);
        let count = lanes.end - lanes.start;
        (0..count).map(|i| lanes.start + (first + i) % count).find(can_take)
    }

    /// Free sets of a lane that the host must leave: one more where data are to be moved off.
    #[inline]
    fn kept(&self, lane: u32) -> u32 {
        self.page.reserve + u32::from(self.sets.forced(&self.page, lane).is_some())
    }

    /// Pages of each plane that a program takes.
    #[inline]
    fn pages_of(&self, program: &Program) -> u32 {
        self.sets.shape_of(program.die).rows.program_pages
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
    let held_of = |sets: &Sets, lane: u32| match sets.is_dense(sets.table.die_of(lane)) {
        true => DENSE_RESERVE + 2,
        false => context.gc.start_free_blocks.max(context.config.gc_reserve_blocks) + 3,
    };
    let (mut good, mut most) = (0u64, 0u64);
    for lane in 0..sets.lanes.len() as u32 {
        let held = held_of(sets, lane);
        let there = sets.table.numbers(lane).len() as u32;
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
        let lost = sets.table.numbers(lane).len() as u32 - sets.sound(lane);
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
        let Self { page, params: _, sets, host, copies, next_lane, next_die, collectors, dense } =
            self;
        page.exchange(archive)?;
        sets.exchange(archive)?;
        archive.value(host)?;
        archive.value(copies)?;
        archive.table(next_lane)?;
        archive.value(next_die)?;
        archive.value(collectors)?;
        archive.value(dense)
    }
}

impl Layout for Frozen {
    const RECOVERS: bool = false;

    #[inline]
    fn page(&self) -> &PageFtl {
        &self.page
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        &mut self.page
    }

    fn facts(&self) -> Facts {
        Facts { knows_kinds: true, takes_holes: false, has_reuse: false, ..self.page.facts() }
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
        self.next_die = if die.0 + 1 == self.page.geometry.dies { 0 } else { die.0 + 1 };
        self.next_lane[die.0 as usize] = (lane + 1) % self.sets.table.lanes_per_die;
        let mut frontier = self.host[lane as usize];
        if !frontier.open {
            let set = self.sets.open(&mut self.page, lane).expect("checked by lane_for_host");
            frontier = self.sets.frontier(set);
        }
        let units = lpns.len() as u32;
        let program = self.sets.program(lane, &mut frontier, units, Stream::host(0));
        self.host[lane as usize] = frontier;
        self.page.own(&program, self.pages_of(&program), lpns.iter().copied());
        self.page.count_host(&program);
        Place::At(program)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_copies(Die(job.0), moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let pages = self.pages_of(program);
        let Self { page, sets, dense, .. } = self;
        let modifies =
            matches!(carried, Carried::Host) && self.params.overwrite == Overwrite::Modify;
        page.map_program(program, pages, carried, |page, block| {
            dense.died(sets, page, block, modifies);
        });
        sets.reported(page, program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.take_back(program, self.pages_of(program), carried);
        if let Carried::Moves(job, _) = carried
            && self.collectors[job.0 as usize].freezes()
        {
            self.page.counts.dense.frozen_units -= u64::from(program.units);
        }
        self.sets.reported(&mut self.page, program);
    }

    fn trim(&mut self, lpn: Lpn) {
        if let Some(block) = self.page.trim(lpn) {
            self.dense.died(&self.sets, &self.page, block, false);
        }
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let die = Die(job.0);
        if self.sets.is_dense(die) { self.wants_dense(die) } else { self.wants_fast(die, urgency) }
    }

    fn wanted(&mut self) -> Option<Job> {
        self.dense.told().map(Job::of)
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        _: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        work.clear();
        let die = Die(job.0);
        self.settle_moves(die);
        if self.list_drained(die, work) {
            return Step::Erase;
        }
        if self.sets.is_dense(die) {
            self.dense_step(die, work)
        } else {
            self.fast_step(die, urgency, work)
        }
    }

    fn keeps_pace(&self, _: Die) -> bool {
        true
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        self.sets.erased(&mut self.page, block);
        // A dense set that is free again is room that fast dies may wait for.
        if self.sets.is_dense(self.page.geometry.die_of(block)) {
            (0..self.page.geometry.dies).for_each(|die| self.dense.tell(Die(die)));
        }
        Some(block.0)
    }

    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.sets.doom(&mut self.page, block);
        self.dense.tell(self.page.geometry.die_of(block));
        is_doomed
    }

    fn reclaim(&mut self, block: Block) -> bool {
        let set = self.sets.table.of(block);
        let is_full = set != NONE && self.sets.get(set).is == Is::Full;
        if !is_full || !self.sets.is_filled(set) || !self.can_force(set) {
            return false;
        }
        let is_new = self.sets.force(&mut self.page, set);
        self.page.counts.read_reclaims += u64::from(is_new);
        self.dense.tell(self.page.geometry.die_of(block));
        is_new
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.sets.filled(block)
    }

    fn occupancy(&self) -> Occupancy {
        self.page.occupancy_by(|block| (self.sets.filled(block), self.sets.pages(block)))
    }

    fn block_bytes(&self) -> u64 {
        self.sets.bytes()
    }
}
