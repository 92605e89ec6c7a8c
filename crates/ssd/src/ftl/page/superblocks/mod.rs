//! Superblocks of `page`: blocks of several dies that are opened, filled, collected and erased
//! together, `ftl.superblock_dies`.
//!
//! A superblock has one block in each plane of a span: dies whose numbers follow each other. Any
//! free block of a plane may take its place, so a bad block is stood in for by another one of its
//! plane, and the poorest plane says how many superblocks there can be. Map, programs and counts
//! are those of `page`; its free blocks and its victims are counted by superblocks here. `members`
//! knows which blocks belong together, `policy` asks the policy of `gc` about them, or one for each
//! placement handle that has a quota. `placement` opens and fills them, `ending` closes them early,
//! `whole` fills their stripes early, `collection` empties and erases them, `sorted` keeps moved
//! data of several streams apart. `cached` are those of a cache, `grouped` those of reclaim groups.
//! `lead` says what they take before collection.

mod cached;
mod collection;
mod ending;
mod grouped;
mod held;
mod lead;
mod members;
mod parity;
mod placement;
mod policy;
mod quotas;
mod recover;
mod sorted;
mod stripes;
mod whole;

use super::{Own, PageFtl, PageParams};
use crate::ftl::contract::{
    Carried, Context, DieSet, Job, Key, Lead, Lpn, Move, Parity, Place, Program, Ram, Step,
    Urgency, Work,
};
use crate::ftl::paged::Layout;
use crate::recovery::Found;
use crate::space::draining::Draining;
use crate::space::frontier::Frontier;
use crate::space::gc::Victims;
use crate::space::gc::contract::Shape;
use crate::space::pace::Pace;
use base::archive::{Archive, State};
use base::{Error, Result};
use held::Uncovered;
use members::Members;
use nand::geometry::{Block, Die, Plane};
use policy::{ByHandle, OfSuperblocks};
use quotas::Quotas;
pub(super) use quotas::check as check_quotas;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
pub(super) use stripes::Stripes;
use whole::Whole;

/// Span of dies that have superblocks together, with the one that is being emptied.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Span {
    /// By die: its blocks of the superblock that is being emptied.
    parts: Vec<Draining>,
    /// The superblock is emptied for wear levelling: its data are cold.
    is_levelling: bool,
    /// The superblock is to be moved off: it is emptied even if no space is needed.
    is_due: bool,
    /// The superblock has data of a failed die.
    is_rebuild: bool,
    /// The superblock is one of a cache.
    is_fold: bool,
    /// Superblocks of a cache that have not begun to be emptied, in the order in which they were
    /// opened.
    cached: VecDeque<u32>,
    /// Blocks of superblocks that hold no data, to be erased.
    drained: Vec<Block>,
    /// Units that jobs are moving.
    in_flight: u32,
    /// By die: rows of moved data that are on their way to it.
    rows: Vec<u32>,
    /// Request for whole stripes behind which drained superblocks are erased.
    #[serde(skip)]
    erase_after: Option<u64>,
    /// Blocks that are being erased.
    erasing: Vec<Block>,
    /// Superblocks that are to be moved off, even if that gives no space back.
    due: VecDeque<u32>,
    /// Superblock that is being moved off, if blocks of it are to be retired.
    moving: Option<u32>,
    /// A superblock has been moved off since others were collected.
    had_turn: bool,
    /// The die, counted from the first, that takes the next row of moved data.
    next_die: u32,
}

impl Span {
    /// Creates an idle span of `dies` dies.
    fn new(dies: usize) -> Self {
        Self { parts: vec![Draining::default(); dies], rows: vec![0; dies], ..Self::default() }
    }

    /// Whether a victim is being emptied.
    fn has_victim(&self) -> bool {
        self.parts.iter().any(|part| !part.victims.is_empty())
    }
}

/// Layout of `page` in superblocks over spans of dies.
#[derive(Clone)]
pub(in crate::ftl) struct Spans {
    page: PageFtl,
    /// Dies of a span.
    dies: u32,
    members: Members,
    spans: Vec<Span>,
    /// Dies that have failed.
    lost: Vec<u32>,
    /// Data of failed dies are not moved off now.
    rebuild_rests: bool,
    /// Pages of stripes that the controller's memory has, by block.
    held: Vec<(u32, u32)>,
    /// Rows that parity does not cover.
    uncovered: Vec<Uncovered>,
    /// Blocks that end early, with their last program under way.
    ending: Vec<u32>,
    /// Dies whose jobs are to be asked for work.
    calls: DieSet,
    /// Parts of the spare that handles may use, where each has one.
    quotas: Option<Quotas>,
    /// Stripes that are made whole early.
    whole: Whole,
}

impl Spans {
    /// Dies of a superblock: as many as the parameter says, of the `dies` of a drive.
    pub(in crate::ftl) fn dies_of(params: &PageParams, dies: u32) -> Result<u32> {
        // A superblock stays in its reclaim group. A count of groups that parts no dies is refused
        // where the groups are made.
        let of_group = dies / params.reclaim_groups.clamp(1, dies);
        let given = if params.superblock_dies == 0 { of_group } else { params.superblock_dies };
        if !dies.is_multiple_of(given) {
            let problem = format!("{given} dies of {dies}");
            let divisor =
                format!("a divisor of the {dies} dies of the drive, or 0 for all of them");
            return Err(Error::new("ftl.superblock_dies", problem).expected(divisor));
        }
        Ok(given)
    }

    /// Creates an empty drive with superblocks of `dies` dies, beside the blocks of `own`.
    pub(in crate::ftl) fn new(
        context: Context,
        params: &PageParams,
        own: Own,
        dies: u32,
    ) -> Result<Self> {
        let policy = context.policy.clone();
        let mut page = PageFtl::new(context, params, own)?;
        let geometry = &page.geometry;
        let planes = dies * geometry.planes_per_die;
        let shape = Shape {
            planes: geometry.planes() / planes,
            blocks_per_plane: geometry.blocks_per_plane,
            units_per_block: planes * geometry.units_per_block(),
        };
        let spare = (0..geometry.planes()).map(|plane| page.retirement.spare(Plane(plane)));
        // One block more than these is dead when collection begins.
        let spare = 1 + spare.min().unwrap_or(0);
        let (sets, set_units) = (shape.blocks_per_plane, shape.units_per_block);
        let group = page.placing.dies(0).len() as u32;
        if !group.is_multiple_of(dies) {
            let problem = format!("{dies} dies beside reclaim groups of {group}");
            return Err(Error::new("ftl.superblock_dies", problem)
                .expected(format!("a divisor of {group}, so that a superblock stays in its group"))
                .hint("use more dies, or fewer ftl.reclaim_groups"));
        }
        let quotas = Quotas::new(params, spare, sets, set_units, page.row_units)?;
        let of_all = || -> Result<OfSuperblocks> {
            Ok(OfSuperblocks::new(policy.victims(&shape)?, geometry, planes))
        };
        let victims: Box<dyn Victims> = match &quotas {
            None => Box::new(of_all()?),
            Some(quotas) => {
                let of = (0..quotas.handles()).map(|_| of_all()).collect::<Result<_>>()?;
                Box::new(ByHandle::new(of, geometry, planes))
            }
        };
        page.candidates.ask(victims);
        page.free.count_together(planes);
        let move_streams = page.streams - u32::from(page.host_streams);
        page.pace = Pace::new(&page.gc, page.reserve, move_streams, shape.units_per_block);
        Ok(Self {
            dies,
            members: Members::new(&page.geometry, planes),
            spans: vec![Span::new(dies as usize); shape.planes as usize],
            lost: Vec::new(),
            rebuild_rests: false,
            held: Vec::new(),
            uncovered: Vec::new(),
            ending: Vec::new(),
            calls: DieSet::none(page.geometry.dies),
            quotas,
            whole: Whole::new(page.stripes.are_written_early()),
            page,
        })
    }

    #[inline]
    pub(in crate::ftl) fn span_of(&self, die: Die) -> usize {
        (die.0 / self.dies) as usize
    }

    fn dies_in(&self, span: usize) -> impl Iterator<Item = Die> + use<> {
        (span as u32 * self.dies..(span as u32 + 1) * self.dies).map(Die)
    }

    /// Has the jobs of all dies of a span asked for work.
    fn call_dies(&mut self, span: usize) {
        self.dies_in(span).for_each(|die| self.calls.insert(die));
    }

    /// Has the jobs of all dies asked for work.
    pub(in crate::ftl) fn call_all(&mut self) {
        (0..self.spans.len()).for_each(|span| self.call_dies(span));
    }

    /// Takes in the report of a program, whose units are mapped, or taken back where it has failed.
    pub(in crate::ftl) fn reported(
        &mut self,
        program: &Program,
        carried: Carried,
        has_failed: bool,
    ) {
        if has_failed {
            self.hold_program(program);
        }
        if let Carried::Moves(..) = carried {
            // Units of a failed program are placed again.
            self.landed(program.die, if has_failed { 0 } else { program.units });
        }
        self.close_full(program);
        self.row_reported(program);
    }

    /// Takes in the report of a program: its blocks may be full.
    fn close_full(&mut self, program: &Program) {
        if self.page.rows_in(program.mode).is_last(program) {
            program.blocks().iter().for_each(|&block| self.is_filled(block));
        } else if !self.ending.is_empty() {
            self.close_ended(program);
        }
    }

    /// Notes that a block takes nothing more. With the last block of a superblock all of them are
    /// candidates, but those of a cache.
    fn is_filled(&mut self, block: Block) {
        let Some(superblock) = self.members.filled(block) else { return };
        let is_cached = self.is_cached(superblock);
        let (page, mut is_due) = (&mut self.page, false);
        if self.quotas.is_some() {
            let handle = page.handle_of_block(block);
            page.candidates.turn_to(handle);
        }
        for member in self.members.blocks(superblock) {
            if !is_cached {
                page.candidates.closed(page.geometry.plane_of(member), member, page.clock);
            }
            is_due |= page.retirement.is_doomed(member);
        }
        if is_due || self.stands_on_lost(superblock) || !self.is_covered(superblock) {
            self.mark(superblock);
        }
        if is_cached {
            let span = self.span_of(self.page.geometry.die_of(block));
            self.call_dies(span);
        }
    }

    /// Full superblock that a block is in, if it has not begun to be emptied.
    fn full_with(&self, block: Block) -> Option<u32> {
        let is_settled = |&superblock: &u32| {
            self.page.candidates.word(block).is_closed()
                || self.is_cached(superblock) && self.members.is_full(superblock)
        };
        self.members.of(block).filter(is_settled)
    }
}

impl State for Spans {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            page,
            dies: _,
            members,
            spans,
            lost,
            held,
            uncovered,
            // At rest no program is under way.
            rebuild_rests: _,
            ending: _,
            calls: _,
            quotas: _,
            whole: _,
        } = self;
        page.exchange(archive)?;
        archive.value(lost)?;
        archive.value(held)?;
        archive.value(uncovered)?;
        members.exchange(archive)?;
        archive.value(spans)?;
        self.bound_groups();
        Ok(())
    }
}

impl Layout for Spans {
    #[inline]
    fn page(&self) -> &PageFtl {
        &self.page
    }

    #[inline]
    fn page_mut(&mut self) -> &mut PageFtl {
        &mut self.page
    }

    fn ask(&mut self, policy: Box<dyn Victims>) {
        let planes = self.dies * self.page.geometry.planes_per_die;
        let policy = OfSuperblocks::new(policy, &self.page.geometry, planes);
        self.page.candidates.ask(Box::new(policy));
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.place_host(key, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_moved(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.page.map_program(program, self.page.pages_per_program, carried, |_, _| ());
        self.reported(program, carried, false);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.take_back(program, self.page.pages_per_program, carried);
        self.reported(program, carried, true);
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.has_work(Die(job.0), urgency, |_| false)
    }

    fn wanted(&mut self) -> Option<Job> {
        let die = self.calls.next_from(0)?;
        self.calls.remove(die);
        Some(Job::of(die))
    }

    fn step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        self.next_step(job, urgency, work, stream_of)
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let (page, span) = (&self.page, self.span_of(die));
        let of_data = ((page.streams + 1) * page.groups) as usize;
        let left = |die| {
            let parts = &page.frontiers_of(die)[..of_data];
            parts.iter().map(Frontier::left_pages).sum()
        };
        let pages: u32 = self.dies_in(span).map(|die| -> u32 { left(die) }).sum();
        let planes = self.dies * page.geometry.planes_per_die;
        let erased = self.free(span) * planes * page.geometry.pages_per_block + pages;
        let Span { parts, drained, erasing, .. } = &self.spans[span];
        let passed: u32 = parts.iter().map(|part| part.passed_units(&page.geometry)).sum();
        let blocks = (drained.len() + erasing.len()) as u32;
        let passed = passed + blocks * page.geometry.units_per_block();
        page.pace.is_kept(erased * page.geometry.units_per_page, passed)
    }

    fn erased(&mut self, block: Block) -> Option<u32> {
        self.is_erased(block)
    }

    fn number_of(&self, block: Block) -> Option<u32> {
        self.members.of(block)
    }

    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.page.retirement.doom(&self.page.geometry, block);
        // An open or a free block waits until its superblock is full; a victim goes with its erase.
        if is_doomed && let Some(superblock) = self.full_with(block) {
            self.mark(superblock);
        }
        is_doomed
    }

    fn renew(&mut self, handle: u32, is_busy: &dyn Fn(Block) -> bool) -> Vec<Block> {
        self.renew_spans(handle, is_busy)
    }

    fn reclaim(&mut self, block: Block) -> bool {
        let span = self.span_of(self.page.geometry.die_of(block));
        if self.members.of(block).is_none() || !self.can_be_roomy(span) {
            return false;
        }
        let at = &mut self.spans[span];
        let is_new = if at.parts.iter().any(|part| part.victims.contains(&block)) {
            !std::mem::replace(&mut at.is_due, true)
        } else {
            self.full_with(block).is_some_and(|superblock| self.mark(superblock))
        };
        self.page.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn jobs_with(&self, job: Job) -> Range<u32> {
        let first = job.0 / self.dies * self.dies;
        first..first + self.dies
    }

    fn lead(&self) -> Option<Lead> {
        self.lead_by_span()
    }

    fn parity(&self) -> Option<&dyn Parity> {
        if self.page.stripes.are_on() { Some(self) } else { None }
    }

    fn parity_mut(&mut self) -> Option<&mut dyn Parity> {
        if self.page.stripes.are_on() { Some(self) } else { None }
    }

    fn ram(&self) -> Vec<Ram> {
        vec![Ram { name: "superblocks", bytes: self.members.bytes() as u64 }]
    }

    fn tag(&self, block: Block) -> u64 {
        self.tag_of(block)
    }

    fn recover(&mut self, found: &Found) -> Result<Vec<Block>> {
        self.rebuild(found)
    }
}
