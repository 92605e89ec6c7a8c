//! NVM sets: FTLs side by side, each over dies of its own.
//!
//! In come FTLs of any kind, each built for a range of the drive's dies as if these were a drive.
//! Out comes one FTL for the whole drive, which hands each call to the set that it is about. A set
//! has its own map, free blocks, frontiers and collection, and shares nothing with others here;
//! what sets share lies in the drive: cores, link, write buffer, and the buses of the channels.
//! `span` translates numbers between drive and set, `account` adds up what the sets report,
//! `parts` hands on the calls of parts, and `zones` those of zones.

mod account;
mod parts;
mod span;
mod zones;

use super::contract::{
    Carried, DieSet, Facts, Ftl, Hint, Job, Key, Lpn, Move, Place, Program, SetFacts, Step, Until,
    Urgency, Work, key_among,
};
use base::archive::{Archive, State};
use base::{Error, Result, Time};
use nand::geometry::{Block, Die, Geometry, Ppn};
use span::{Ends, Span};
use std::ops::Range;

/// FTLs side by side.
#[derive(Clone)]
pub(crate) struct NvmSets {
    sets: Vec<Set>,
    /// Set of each die.
    of_dies: Vec<u32>,
    ends: Ends,
    facts: Facts,
    blocks_per_die: u32,
    units_per_die: u32,
}

/// FTL of some dies, and the numbers that the drive has for what is the FTL's.
#[derive(Clone)]
struct Set {
    ftl: Box<dyn Ftl>,
    span: Span,
    geometry: Geometry,
    /// Working space: dies of the set, units and moves, by its own numbers.
    dies: DieSet,
    lpns: Vec<Lpn>,
    moves: Vec<Move>,
}

impl NvmSets {
    /// Composes FTLs, each for the dies beside it: those of the first set come first, and all dies
    /// of `geometry` are some set's.
    pub(crate) fn new(geometry: &Geometry, members: Vec<(Range<u32>, Box<dyn Ftl>)>) -> Self {
        let blocks_per_die = geometry.planes_per_die * geometry.blocks_per_plane;
        let units_per_die = blocks_per_die * geometry.units_per_block();
        let logical = members.iter().map(|(_, ftl)| ftl.facts().logical_units).sum();
        let mut next = Next { unit: 0, page: logical, key: 0, job: geometry.dies };
        let mut sets: Vec<Set> = Vec::new();
        for (dies, ftl) in members {
            let span = next.span(ftl.facts(), dies.clone());
            let mut own = geometry.clone();
            own.dies = dies.len() as u32;
            let dies = DieSet::none(own.dies);
            sets.push(Set { ftl, span, geometry: own, dies, lpns: Vec::new(), moves: Vec::new() });
        }
        let facts = facts(&sets, logical, &next);
        let ends = Ends::of(sets.iter().map(|set| &set.span));
        let numbered = (0u32..).zip(&sets);
        let of_dies = numbered.flat_map(|(number, set)| set.span.dies.clone().map(move |_| number));
        let of_dies = of_dies.collect();
        Self { sets, of_dies, ends, facts, blocks_per_die, units_per_die }
    }

    #[inline]
    fn of_unit(&self, lpn: Lpn) -> usize {
        self.ends.of_unit(lpn)
    }

    #[inline]
    fn of_key(&self, key: Key) -> usize {
        self.ends.of_key(key)
    }

    #[inline]
    fn of_die(&self, die: Die) -> usize {
        self.of_dies[die.0 as usize] as usize
    }

    fn of_block(&self, block: Block) -> usize {
        self.of_die(Die(block.0 / self.blocks_per_die))
    }

    fn of_job(&self, job: Job) -> usize {
        let of_die = self.of_dies.get(job.0 as usize);
        of_die.map_or_else(|| self.ends.of_job(job), |&set| set as usize)
    }

    /// Blocks and units of the drive before the first die of a set.
    fn before(&self, set: usize) -> (u32, u32) {
        let dies = self.sets[set].span.dies.start;
        (dies * self.blocks_per_die, dies * self.units_per_die)
    }

    /// A block by the number that its set has for it.
    fn inside(&self, set: usize, block: Block) -> Block {
        Block(block.0 - self.before(set).0)
    }

    /// A program of the drive by the numbers of a set.
    fn program_inside(&self, set: usize, program: &Program) -> Program {
        let mut inside = *program;
        inside.die = Die(program.die.0 - self.sets[set].span.dies.start);
        for block in &mut inside.blocks[..usize::from(program.planes)] {
            *block = self.inside(set, *block);
        }
        inside
    }

    /// A program of a set by the numbers of the drive.
    fn program_outside(&self, set: usize, program: &Program) -> Program {
        let (blocks, _) = self.before(set);
        let mut outside = *program;
        outside.die = Die(program.die.0 + self.sets[set].span.dies.start);
        for block in &mut outside.blocks[..usize::from(program.planes)] {
            *block = Block(block.0 + blocks);
        }
        outside
    }

    fn place_outside(&self, set: usize, place: Place) -> Place {
        match place {
            Place::At(program) => Place::At(self.program_outside(set, &program)),
            Place::Later(Until::Die(die)) => {
                Place::Later(Until::Die(Die(die.0 + self.sets[set].span.dies.start)))
            }
            other => other,
        }
    }

    /// A place in a set by the number of the drive.
    fn ppn_outside(&self, set: usize, ppn: Ppn) -> Ppn {
        if ppn == Ppn::NONE { ppn } else { Ppn(ppn.0 + self.before(set).1) }
    }

    /// Takes moves of a job into the working space of its set, by the numbers there.
    fn take_moves(&mut self, set: usize, moves: &[Move]) -> Vec<Move> {
        let (_, units) = self.before(set);
        let Set { span, moves: space, .. } = &mut self.sets[set];
        let mut taken = std::mem::take(space);
        taken.clear();
        taken.extend(moves.iter().map(|&Move { lpn, from }| Move {
            lpn: span.unit_inside(lpn),
            from: if from == Ppn::NONE { from } else { Ppn(from.0 - units) },
        }));
        taken
    }

    /// Reports the end of a program to its set.
    fn report(
        &mut self,
        program: &Program,
        carried: Carried,
        report: fn(&mut dyn Ftl, &Program, Carried),
    ) {
        let set = self.of_die(program.die);
        let inside = self.program_inside(set, program);
        match carried {
            Carried::Host => report(&mut *self.sets[set].ftl, &inside, Carried::Host),
            Carried::Moves(job, moves) => {
                let moves = self.take_moves(set, moves);
                let Set { ftl, span, .. } = &mut self.sets[set];
                let carried = Carried::Moves(span.job_inside(job), &moves);
                report(&mut **ftl, &inside, carried);
                self.sets[set].moves = moves;
            }
        }
    }
}

/// Numbers of the drive that no set has yet.
struct Next {
    unit: u32,
    page: u32,
    key: u32,
    job: u32,
}

impl Next {
    /// Numbers for an FTL with these facts.
    fn span(&mut self, facts: &Facts, dies: Range<u32>) -> Span {
        let take = |next: &mut u32, count: u32| {
            *next += count;
            *next - count..*next
        };
        Span {
            units: take(&mut self.unit, facts.logical_units),
            pages: take(&mut self.page, facts.map_pages),
            keys: take(&mut self.key, facts.keys),
            jobs: take(&mut self.job, facts.jobs - dies.len() as u32),
            dies,
        }
    }
}

/// Constants of the whole: what a drive does for all sets alike, all of them must bear.
fn facts(sets: &[Set], logical: u32, next: &Next) -> Facts {
    let all = || sets.iter().map(|set| set.ftl.facts());
    let most = |of: fn(&Facts) -> u32| all().map(of).max().unwrap_or(1);
    let of_set = |set: &Set| {
        let Span { units, keys, jobs, dies, .. } = set.span.clone();
        SetFacts { units, keys, jobs, dies }
    };
    // Leaps of wear keep one distance: without one they are not made.
    let delta = most(|facts| facts.wear_delta);
    let is_same = all().all(|facts| facts.wear_delta == delta);
    Facts {
        logical_units: logical,
        map_pages: next.page - logical,
        row_units: most(|facts| facts.row_units),
        keys: next.key,
        streams: all().map(|facts| facts.streams).min().unwrap_or(1),
        groups: 1,
        jobs: next.job,
        sorts_rows: all().any(|facts| facts.sorts_rows),
        takes_holes: all().all(|facts| facts.takes_holes),
        skips_pages: all().any(|facts| facts.skips_pages),
        works_when_idle: all().any(|facts| facts.works_when_idle),
        jobs_can_wait: all().all(|facts| facts.jobs_can_wait),
        knows_kinds: false,
        has_reuse: all().all(|facts| facts.has_reuse),
        wear_delta: if is_same { delta } else { 0 },
        spare_bytes: most(|facts| facts.spare_bytes),
        coded_pages: all().find_map(|facts| facts.coded_pages.clone()),
        stationary: None,
        sets: sets.iter().map(of_set).collect(),
    }
}

impl State for NvmSets {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { sets, of_dies: _, ends: _, facts: _, blocks_per_die: _, units_per_die: _ } =
            self;
        sets.iter_mut().try_for_each(|set| set.ftl.exchange(archive))
    }
}

impl Ftl for NvmSets {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn key_of(&mut self, lpn: Lpn, hint: Hint) -> Key {
        let set = self.of_unit(lpn);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let key = key_among(&mut **ftl, span.keys.len() as u32, span.unit_inside(lpn), hint);
        Key(span.keys.start + key.0)
    }

    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let set = self.of_unit(lpn);
        let Set { ftl, span, .. } = &self.sets[set];
        ftl.lookup(span.unit_inside(lpn)).map(|ppn| self.ppn_outside(set, ppn))
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let number = self.of_key(key);
        let Set { ftl, span, dies: own, lpns: row, .. } = &mut self.sets[number];
        if !own.take_over(dies, Die(span.dies.start)) {
            return Place::NoRoom;
        }
        row.clear();
        let most = ftl.facts().row_units as usize;
        row.extend(lpns.iter().take(most).map(|&lpn| span.unit_inside(lpn)));
        let place = ftl.place(Key(key.0 - span.keys.start), row, own);
        self.place_outside(number, place)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let set = self.of_job(job);
        let moves = self.take_moves(set, moves);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let place = ftl.place_moves(span.job_inside(job), &moves);
        self.sets[set].moves = moves;
        self.place_outside(set, place)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        self.report(program, carried, |ftl, program, carried| ftl.programmed(program, carried));
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.report(program, carried, |ftl, program, carried| {
            ftl.not_programmed(program, carried);
        });
    }

    fn trim(&mut self, lpn: Lpn) {
        let set = self.of_unit(lpn);
        let Set { ftl, span, .. } = &mut self.sets[set];
        ftl.trim(span.unit_inside(lpn));
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        let Set { ftl, span, .. } = &self.sets[self.of_job(job)];
        ftl.wants(span.job_inside(job), urgency)
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let set = self.of_job(job);
        let (blocks, units) = self.before(set);
        let Set { ftl, span, .. } = &mut self.sets[set];
        let step = ftl.step(span.job_inside(job), urgency, work);
        for Move { lpn, from } in &mut work.moves {
            *lpn = span.unit_outside(*lpn);
            if *from != Ppn::NONE {
                from.0 += units;
            }
        }
        work.blocks.iter_mut().for_each(|block| block.0 += blocks);
        step
    }

    fn erased(&mut self, block: Block, took: Time) {
        let set = self.of_block(block);
        let inside = self.inside(set, block);
        self.sets[set].ftl.erased(inside, took);
    }

    fn wanted(&mut self) -> Option<Job> {
        self.sets.iter_mut().find_map(|set| Some(set.span.job_outside(set.ftl.wanted()?)))
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let Set { ftl, span, .. } = &self.sets[self.of_die(die)];
        ftl.keeps_pace(Die(die.0 - span.dies.start))
    }

    fn prefetch(&self, lpn: Lpn) {
        let Set { ftl, span, .. } = &self.sets[self.of_unit(lpn)];
        ftl.prefetch(span.unit_inside(lpn));
    }

    fn prefetch_old(&self, lpn: Lpn) -> Option<Block> {
        let set = self.of_unit(lpn);
        let Set { ftl, span, .. } = &self.sets[set];
        let block = ftl.prefetch_old(span.unit_inside(lpn))?;
        Some(Block(block.0 + self.before(set).0))
    }

    fn fault(&mut self, is_stalled: bool) -> Option<Error> {
        self.sets.iter_mut().find_map(|set| set.ftl.fault(is_stalled))
    }
}
