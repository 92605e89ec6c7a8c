//! Superblocks of `page`: blocks of several dies that are opened, filled, collected and erased
//! together, `ftl.superblock_dies`.
//!
//! A superblock has one block in each plane of a span: dies whose numbers follow each other. Any
//! free block of a plane may take its place, so a bad block is stood in for by another one of its
//! plane, and the poorest plane says how many superblocks there can be. Map, programs and counts
//! are those of `page`; its free blocks and its victims are counted by superblocks here. `members`
//! knows which blocks belong together, `policy` asks the policy of `gc` about them, `placement`
//! opens and fills them, `collection` empties and erases them.

mod collection;
mod members;
mod placement;
mod policy;

use super::{Own, PageFtl, PageParams};
use crate::ftl::contract::{
    Carried, Context, DieSet, Ftl, FtlCounts, Hint, Job, Key, Lpn, Move, Occupancy, Place, Program,
    Ram, Step, Urgency, Wear, Work,
};
use crate::space::draining::Draining;
use crate::space::gc::contract::Shape;
use crate::space::pace::Pace;
use base::archive::{Archive, State};
use base::{Error, Result};
use members::Members;
use nand::geometry::{Block, Die, Ppn};
use policy::OfSuperblocks;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Dies that have superblocks together, and the one that they empty.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Span {
    /// By die: its blocks of the superblock that is emptied.
    parts: Vec<Draining>,
    /// That one is collected for wear levelling: its data are cold.
    is_levelling: bool,
    /// It is to be moved off: it is emptied even if no space is needed.
    is_due: bool,
    /// Blocks of superblocks that hold no data, to be erased.
    drained: Vec<Block>,
    /// Units that jobs are moving.
    in_flight: u32,
    /// By die: rows of moved data that are on their way to it.
    rows: Vec<u32>,
    /// Blocks that are being erased.
    erasing: u32,
    /// Superblocks that are to be moved off, even if that gives no space back.
    due: VecDeque<u32>,
    /// The one that is, if blocks of it are to be retired.
    moving: Option<u32>,
    /// One has been moved off since others were collected.
    had_turn: bool,
    /// The die, counted from the first, that takes the next row of moved data.
    next_die: u32,
}

impl Span {
    /// Of so many dies.
    fn new(dies: usize) -> Self {
        Self { parts: vec![Draining::default(); dies], rows: vec![0; dies], ..Self::default() }
    }

    /// Whether a victim is at hand.
    fn has_victim(&self) -> bool {
        self.parts.iter().any(|part| !part.victims.is_empty())
    }
}

/// The page-mapped FTL with superblocks.
#[derive(Clone)]
pub(super) struct Superblocks {
    page: PageFtl,
    /// Dies of a span.
    dies: u32,
    members: Members,
    spans: Vec<Span>,
    /// Dies whose jobs are to be asked for work.
    calls: DieSet,
}

/// Dies of a superblock: as many as the parameter says of the `dies` of a drive.
pub(super) fn dies_of(params: &PageParams, dies: u32) -> Result<u32> {
    let given = if params.superblock_dies == 0 { dies } else { params.superblock_dies };
    if !dies.is_multiple_of(given) {
        let problem = format!("{given} dies of {dies}");
        return Err(Error::new("ftl.superblock_dies", problem)
            .expected(format!("a divisor of the {dies} dies of the drive, or 0 for all of them")));
    }
    if given > 1 && params.fast_pages {
        return Err(Error::new("ftl.fast_pages", "true, with ftl.superblock_dies")
            .expected("false, or ftl.superblock_dies = 1"));
    }
    Ok(given)
}

impl Superblocks {
    /// With blocks of so many dies together.
    pub(super) fn new(context: Context, params: &PageParams, dies: u32) -> Result<Self> {
        let policy = context.policy.clone();
        let mut page = PageFtl::new(context, params, Own::NOTHING)?;
        let geometry = &page.geometry;
        let planes = dies * geometry.planes_per_die;
        let shape = Shape {
            planes: geometry.planes() / planes,
            blocks_per_plane: geometry.blocks_per_plane,
            units_per_block: planes * geometry.units_per_block(),
        };
        let victims = OfSuperblocks::new(policy.victims(&shape)?, geometry, planes);
        page.candidates.ask(Box::new(victims));
        page.free.count_together(planes);
        let move_streams = u32::from(params.separate_gc_stream);
        page.pace = Pace::new(&page.gc, page.reserve, move_streams, shape.units_per_block);
        Ok(Self {
            dies,
            members: Members::new(&page.geometry, planes),
            spans: vec![Span::new(dies as usize); shape.planes as usize],
            calls: DieSet::none(page.geometry.dies),
            page,
        })
    }

    #[inline]
    fn span_of(&self, die: Die) -> usize {
        (die.0 / self.dies) as usize
    }

    fn dies_of(&self, span: usize) -> impl Iterator<Item = Die> + use<> {
        (span as u32 * self.dies..(span as u32 + 1) * self.dies).map(Die)
    }

    /// The jobs of all dies of a span are to be asked for work.
    fn call_dies(&mut self, span: usize) {
        self.dies_of(span).for_each(|die| self.calls.insert(die));
    }

    /// A program has been reported. With the last block of a superblock all of them are
    /// candidates.
    fn close_full(&mut self, program: &Program) {
        let page = &mut self.page;
        if program.page + page.pages_per_program < page.geometry.pages_per_block {
            return;
        }
        for &block in program.blocks() {
            let Some(superblock) = self.members.filled(block) else { continue };
            let mut is_due = false;
            for member in self.members.blocks(superblock) {
                page.candidates.closed(page.geometry.plane_of(member), member, page.clock);
                is_due |= page.retirement.is_doomed(member);
            }
            if is_due {
                self.mark(superblock);
            }
            return;
        }
    }
}

impl State for Superblocks {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { page, dies: _, members, spans, calls: _ } = self;
        page.exchange(archive)?;
        members.exchange(archive)?;
        archive.value(spans)
    }
}

impl Ftl for Superblocks {
    fn logical_units(&self) -> u32 {
        self.page.logical_units()
    }

    fn row_units(&self) -> u32 {
        self.page.row_units()
    }

    fn keys(&self) -> u32 {
        self.page.keys()
    }

    fn streams(&self) -> u32 {
        self.page.streams()
    }

    fn key_of(&mut self, lpn: Lpn, hint: Hint) -> Key {
        self.page.key_of(lpn, hint)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.page.lookup(lpn)
    }

    fn takes_holes(&self) -> bool {
        self.page.takes_holes()
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        self.place_host(key, lpns, dies)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.place_moved(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.page.map_program(program, self.page.pages_per_program, carried);
        if let Carried::Moves(..) = carried {
            self.landed(program.die, program.units);
        }
        self.close_full(program);
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.take_back(program, carried);
        if let Carried::Moves(..) = carried {
            // Its units are placed again.
            self.landed(program.die, 0);
        }
        self.close_full(program);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.page.trim(lpn);
    }

    fn jobs(&self) -> u32 {
        self.page.jobs()
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.has_work(Die(job.0), urgency)
    }

    fn wanted(&mut self) -> Option<Job> {
        let die = self.calls.next_from(0)?;
        self.calls.remove(die);
        Some(Job::of(die))
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        self.next_step(job, urgency, work)
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let (page, span) = (&self.page, self.span_of(die));
        let of_data = ((page.streams + 1) * page.groups) as usize;
        let left = |die| {
            let parts = &page.frontiers_of(die)[..of_data];
            let pages = page.pages_per_program;
            parts.iter().map(|part| part.left_pages(pages, page.joined, &page.geometry)).sum()
        };
        let pages: u32 = self.dies_of(span).map(|die| -> u32 { left(die) }).sum();
        let planes = self.dies * page.geometry.planes_per_die;
        let erased = self.free(span) * planes * page.geometry.pages_per_block + pages;
        let Span { parts, drained, erasing, .. } = &self.spans[span];
        let passed: u32 = parts.iter().map(|part| part.passed_units(&page.geometry)).sum();
        let blocks = drained.len() as u32 + erasing;
        let passed = passed + blocks * page.geometry.units_per_block();
        page.pace.is_kept(erased * page.geometry.units_per_page, passed)
    }

    fn erased(&mut self, block: Block) {
        self.is_erased(block);
    }

    fn retire(&mut self, block: Block) -> bool {
        let is_doomed = self.page.retirement.doom(&self.page.geometry, block);
        // An open or a free block waits until its superblock is full; a victim goes with its erase.
        if is_doomed
            && self.page.candidates.word(block).is_closed()
            && let Some(superblock) = self.members.of(block)
        {
            self.mark(superblock);
        }
        is_doomed
    }

    fn can_reclaim(&self) -> bool {
        true
    }

    fn reclaim(&mut self, block: Block) -> bool {
        let span = self.span_of(self.page.geometry.die_of(block));
        let Some(superblock) = self.members.of(block) else { return false };
        if !self.can_be_roomy(span) {
            return false;
        }
        let at = &mut self.spans[span];
        let is_new = if at.parts.iter().any(|part| part.victims.contains(&block)) {
            !std::mem::replace(&mut at.is_due, true)
        } else {
            self.page.candidates.word(block).is_closed() && self.mark(superblock)
        };
        self.page.counts.read_reclaims += u64::from(is_new);
        is_new
    }

    fn is_bad(&self, block: Block) -> bool {
        self.page.is_bad(block)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.page.filled_pages(block)
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.page.prefetch(lpn);
    }

    #[inline]
    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        self.page.prefetch_old(lpn)
    }

    fn counts(&self) -> FtlCounts {
        self.page.counts()
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        self.page.start_run(pe_cycles);
    }

    fn occupancy(&self) -> Occupancy {
        self.page.occupancy()
    }

    fn wear(&self) -> Wear {
        self.page.wear()
    }

    fn wear_on(&mut self, more: &[u32]) -> bool {
        self.page.wear_on(more)
    }

    fn levels_to(&self) -> u32 {
        self.page.levels_to()
    }

    fn ram(&self) -> Vec<Ram> {
        let mut parts = self.page.ram();
        parts.push(Ram { name: "superblocks", bytes: self.members.bytes() as u64 });
        parts
    }

    fn bytes_per_unit(&self) -> f64 {
        let units = f64::from(self.page.logical_units);
        self.page.bytes_per_unit() + self.members.bytes() as f64 / units
    }
}
