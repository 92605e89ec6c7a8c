//! A whole FTL around the decisions of a user, which are checked before they are carried out.
//!
//! Written by the rules of `page`: data that are on their way are mapped at their old place until
//! the flash has the new one, rows of collection are filled across victims, and a program that is
//! not full takes only the planes that it needs.

use super::decide::{Decide, Facts};
use super::view::{PADDING, Status, View};
use super::{broken, raised};
use crate::ftl::contract;
use crate::ftl::contract::parts::parts;
use crate::ftl::contract::{
    Account, Carried, Context, DieSet, Ftl, FtlCounts, Hint, Job, Key, Lpn, MOST_STREAMS, Move,
    Occupancy, Place, Program, Ram, Step, Stream, Until, Urgency, Wear, Work,
};
use crate::space::draining::Draining;
use base::{Error, Result, Time};
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Ppn};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Most numbers of a list that a message shows.
const SHOWN: usize = 8;

/// Decisions of the user, until a promise is broken.
pub(super) struct Deciding {
    pub(super) decide: Option<Box<dyn Decide>>,
    pub(super) fault: Option<Error>,
}

/// FTL that carries out the decisions of a user, and checks them.
pub(super) struct Placed {
    pub(super) name: String,
    pub(super) view: Arc<View>,
    pub(super) facts: Facts,
    pub(super) constants: contract::Facts,
    pub(super) deciding: RefCell<Deciding>,
    /// By die: blocks that are being emptied.
    pub(super) collections: Vec<Draining>,
    /// By die: victim that comes next.
    pub(super) next: Vec<Cell<Option<u32>>>,
    /// By die: a step is being carried out.
    pub(super) at_work: Vec<Cell<bool>>,
    /// By die: the host was refused, and no block has been erased since.
    pub(super) refused: Vec<bool>,
    /// By die: units that were moved since the host last wrote to it, and steps.
    pub(super) effort: Vec<u64>,
    /// Programs that are not reported yet.
    pub(super) flying: u32,
    /// By die: programs of the host that are not reported yet.
    pub(super) of_host: Vec<u32>,
    /// The last row that was refused: its stream and units.
    pub(super) refusal: Option<(u32, usize)>,
    /// Working space: the units of one program.
    pub(super) lpns: Vec<Lpn>,
}

impl Placed {
    pub(super) fn new(context: Context, name: &str, mut decide: Box<dyn Decide>) -> Result<Self> {
        let facts = decide.facts();
        for (key, value, least, most) in [
            ("streams", facts.streams, 1, MOST_STREAMS),
            ("open_blocks", facts.open_blocks, 1, 1000),
        ] {
            if !(least..=most).contains(&value) {
                return Err(Error::new(format!("{name}.{key}"), value.to_string())
                    .expected(format!("{least} to {most}")));
            }
        }
        let view = Arc::new(View::new(context, facts.open_blocks, !facts.picks)?);
        decide.begin(&view).map_err(|error| raised(error, || format!("{name}.begin()")))?;
        let units_per_page = view.geometry.units_per_page;
        let (units, row_units, dies) = (view.logical_units(), view.row_units(), view.dies());
        let constants = contract::Facts {
            keys: facts.streams,
            streams: facts.streams,
            ..contract::Facts::new(units, row_units, dies, units_per_page)
        };
        let dies = dies as usize;
        Ok(Self {
            name: name.to_owned(),
            facts,
            constants,
            deciding: RefCell::new(Deciding { decide: Some(decide), fault: None }),
            collections: vec![Draining::default(); dies],
            next: vec![Cell::new(None); dies],
            at_work: vec![Cell::new(false); dies],
            refused: vec![false; dies],
            effort: vec![0; dies],
            flying: 0,
            of_host: vec![0; dies],
            refusal: None,
            lpns: Vec::new(),
            view,
        })
    }

    /// Asks for a decision; `None` once a promise has been broken.
    pub(super) fn ask<T>(
        &self,
        call: impl FnOnce() -> String,
        question: impl FnOnce(&mut dyn Decide, &Arc<View>) -> Result<T>,
    ) -> Option<T> {
        let mut deciding = self.deciding.borrow_mut();
        match question(&mut **deciding.decide.as_mut()?, &self.view) {
            Ok(answer) => Some(answer),
            Err(error) => {
                deciding.fail(raised(error, call));
                None
            }
        }
    }

    /// Ends the decisions with an error, as a promise has been broken.
    #[cold]
    pub(super) fn fail(&self, error: Error) {
        self.deciding.borrow_mut().fail(error);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.deciding.borrow().fault.is_some()
    }

    /// Checks by the rules a block that is to take a row.
    fn check(&self, block: u32, is_moved: bool) -> std::result::Result<(), (String, String)> {
        let view = &*self.view;
        let die = view.die_of(block);
        let rule = |did: String, rule: &str| Err((did, rule.to_owned()));
        if block >= view.blocks() {
            let most = view.blocks() - 1;
            return Err((format!("there is no block {block}"), format!("a block, 0 to {most}")));
        }
        let status = view.status(block);
        match status {
            Status::Open if view.room(block) == 0 => {
                rule(format!("block {block} is full"), "a free block, or an open one with room")
            }
            Status::Open if view.sets[block as usize].stream.is_none() && !is_moved => rule(
                format!("block {block} was opened by `place_moves`"),
                "a block that `place` has opened, or a free one: moved data wait for the host",
            ),
            Status::Open => Ok(()),
            Status::Free if view.open[die as usize].len() >= view.open_blocks as usize => rule(
                format!("{} blocks of die {die} are open already", view.open[die as usize].len()),
                "as many open blocks of a die as `open_blocks` says; fill one, or raise it",
            ),
            Status::Free if !is_moved && view.free_blocks(die) <= view.reserve => rule(
                format!("block {block} is one of the last {} free ones", view.free_blocks(die)),
                "free blocks beyond the reserve (ftl.gc_reserve_blocks), which collection needs",
            ),
            Status::Free => Ok(()),
            Status::Bad | Status::Full | Status::Victim => rule(
                format!("block {block} is {}", status.name()),
                "a free block, or an open one with room",
            ),
        }
    }

    /// Refuses a row of the host, which has no place: these dies are collected. Some job must have
    /// work.
    fn refuse(&mut self, call: impl FnOnce(&Self) -> String, dies: &DieSet, said: &str) -> Place {
        for die in members(dies) {
            self.refused[die.0 as usize] = true;
        }
        if !self.is_broken() && !self.has_work() {
            self.fail(broken(
                call(self),
                format!("{said}, and no job has work"),
                "a block, or a victim of some die: if a row is refused, collection must have work",
            ));
        }
        Place::NoRoom
    }

    fn place_call(&self, stream: u32, lpns: &[Lpn], dies: &DieSet) -> String {
        let units = listed(lpns.iter().map(|lpn| lpn.0));
        let dies = listed(members(dies).map(|die| die.0));
        format!("{}.place({stream}, {units}, {dies})", self.name)
    }

    /// The next program of a block, for the first of `lpns`.
    fn take(
        &mut self,
        block: u32,
        of: Option<u32>,
        mut lpns: impl ExactSizeIterator<Item = Lpn>,
    ) -> Program {
        let view = Arc::make_mut(&mut self.view);
        if view.sets[block as usize].status == Status::Free {
            view.open(block, of);
        }
        let is_internal = view.sets[block as usize].stream.is_none();
        let stream = if is_internal { Stream::GC } else { Stream::host(0) };
        let pages = view.pages_per_program;
        let die = view.die(block);
        let frontier = &mut view.sets[block as usize].frontier;
        let page_units = view.geometry.units_per_page;
        let plane_units = page_units * pages;
        let place = (die, stream, BlockMode::Native);
        let program = frontier.program(place, lpns.len() as u32);
        let planes = u32::from(program.planes);
        frontier.advance(planes);
        if !frontier.open {
            view.open[die.0 as usize].retain(|&other| other != block);
        }
        for page in program.page..program.page + pages {
            for &block in program.blocks() {
                let first = view.geometry.ppn(block, page, 0).0 as usize;
                for owner in &mut view.owner[first..first + page_units as usize] {
                    *owner = lpns.next().map_or(PADDING, |lpn| lpn.0);
                }
            }
        }
        view.counts.padding_units += u64::from(planes * plane_units - program.units);
        self.flying += 1;
        program
    }

    /// Takes in the report of a program. Returns its block, which may be full now.
    fn reported(&mut self, program: &Program, is_host: bool) -> u32 {
        self.flying -= 1;
        self.of_host[program.die.0 as usize] -= u32::from(is_host);
        let view = Arc::make_mut(&mut self.view);
        let block = view.set_of(program.blocks[0]).unwrap_or_default();
        let set = &mut view.sets[block as usize];
        set.reported += u32::from(program.planes) * view.pages_per_program;
        if set.reported == view.joined * view.geometry.pages_per_block {
            view.filled(block);
        }
        block
    }
}

impl Deciding {
    fn fail(&mut self, error: Error) {
        self.fault.get_or_insert(error);
        self.decide = None;
    }
}

/// Dies of a set, from the first on.
fn members(dies: &DieSet) -> impl Iterator<Item = Die> {
    (0..dies.size()).map(Die).filter(|&die| dies.contains(die))
}

/// Numbers as a message lists them: as a tuple in Python.
fn listed(numbers: impl Iterator<Item = u32>) -> String {
    let mut shown: Vec<String> = numbers.take(SHOWN + 1).map(|number| number.to_string()).collect();
    if shown.len() > SHOWN {
        shown[SHOWN] = "...".into();
    }
    let end = if shown.len() == 1 { "," } else { "" };
    format!("({}{end})", shown.join(", "))
}

impl Ftl for Placed {
    fn facts(&self) -> &contract::Facts {
        &self.constants
    }

    fn key_of(&mut self, lpn: Lpn, Hint { stream: hint, .. }: Hint) -> Key {
        let call = || format!("{}.stream({}, {hint})", self.name, lpn.0);
        let stream = self.ask(call, |decide, view| decide.stream(view, lpn, hint)).unwrap_or(0);
        if stream >= self.facts.streams {
            let rule = format!("a stream, 0 to {} (`streams`)", self.facts.streams - 1);
            self.fail(broken(call(), format!("{stream} is no stream"), &rule));
        }
        Key(stream)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.view.map[lpn.0 as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let stream = key.0;
        let call = || self.place_call(stream, lpns, dies);
        let asked = self.ask(call, |decide, view| decide.place(view, stream, lpns, dies));
        let Some(answer) = asked else { return Place::NoRoom };
        let Some(block) = answer else {
            self.refusal = Some((stream, lpns.len()));
            return self.refuse(|ftl| ftl.place_call(stream, lpns, dies), dies, "None");
        };
        let die = self.view.die(block);
        if block < self.view.blocks() && !dies.contains(die) {
            self.refusal = Some((stream, lpns.len()));
            if self.of_host[die.0 as usize] > 0 {
                return Place::Later(Until::Die(die));
            }
            let mut asked = DieSet::none(dies.size());
            asked.insert(die);
            let said = format!("block {block} of die {}, which is not among the dies", die.0);
            self.refuse(|ftl| ftl.place_call(stream, lpns, dies), &asked, &said);
            return Place::Later(Until::Erase);
        }
        if let Err((did, rule)) = self.check(block, false) {
            self.fail(broken(call(), did, &rule));
            return Place::NoRoom;
        }
        let program = self.take(block, Some(stream), lpns.iter().copied());
        let index = die.0 as usize;
        (self.refusal, self.refused[index], self.effort[index]) = (None, false, 0);
        self.of_host[index] += 1;
        let view = Arc::make_mut(&mut self.view);
        view.counts.host_units += u64::from(program.units);
        view.clock += u64::from(program.units);
        Place::At(program)
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        let call = || {
            let units = listed(moves.iter().map(|unit| unit.lpn.0));
            format!("{}.place_moves({}, {units})", self.name, job.0)
        };
        let asked = self.ask(call, |decide, view| decide.place_moves(view, job.0, moves));
        let Some(block) = asked else { return Place::NoRoom };
        if let Err((did, rule)) = self.check(block, true) {
            self.fail(broken(call(), did, &rule));
            return Place::NoRoom;
        }
        let program = self.take(block, None, moves.iter().map(|unit| unit.lpn));
        Arc::make_mut(&mut self.view).counts.moved_units += u64::from(program.units);
        Place::At(program)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let moves = carried.moves();
        let is_moved = matches!(carried, Carried::Moves(..));
        let view = Arc::make_mut(&mut self.view);
        // First all of them: a unit that comes twice in a row kills its first copy at once.
        (0..program.units).for_each(|i| view.came(program.ppn(&view.geometry, i).0));
        self.lpns.clear();
        for i in 0..program.units {
            let ppn = program.ppn(&view.geometry, i).0;
            let lpn = view.owner[ppn as usize];
            let old = view.map[lpn as usize];
            // Rewritten or trimmed while it was on its way: this copy is stale at birth.
            if moves.get(i as usize).is_some_and(|unit| unit.from.0 != old) {
                view.died(ppn);
                continue;
            }
            view.map[lpn as usize] = ppn;
            if old != Ppn::NONE.0 {
                view.died(old);
            }
            if self.facts.is_told {
                self.lpns.push(Lpn(lpn));
            }
        }
        let block = self.reported(program, !is_moved);
        if self.facts.is_told {
            let units = std::mem::take(&mut self.lpns);
            let call = || {
                let listed = listed(units.iter().map(|lpn| lpn.0));
                format!("{}.programmed({block}, {listed}, {is_moved})", self.name)
            };
            self.ask(call, |decide, view| decide.programmed(view, block, &units, is_moved));
            self.lpns = units;
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        let is_host = matches!(carried, Carried::Host);
        let view = Arc::make_mut(&mut self.view);
        for i in 0..program.units {
            let ppn = program.ppn(&view.geometry, i).0;
            view.owner[ppn as usize] = PADDING;
        }
        let FtlCounts { host_units, moved_units, padding_units, .. } = &mut view.counts;
        let units = u64::from(program.units);
        *(if is_host { host_units } else { moved_units }) -= units;
        *padding_units += units;
        self.reported(program, is_host);
    }

    fn trim(&mut self, lpn: Lpn) {
        let view = Arc::make_mut(&mut self.view);
        let old = std::mem::replace(&mut view.map[lpn.0 as usize], Ppn::NONE.0);
        if old == Ppn::NONE.0 {
            return;
        }
        view.died(old);
        if self.facts.is_told {
            let call = || format!("{}.trimmed({})", self.name, lpn.0);
            self.ask(call, |decide, view| decide.trimmed(view, lpn));
        }
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        self.at_work[job.0 as usize].set(false);
        self.has_collection(job.0, urgency)
    }

    fn step(&mut self, job: Job, _urgency: Urgency, work: &mut Work) -> Step {
        self.collect(job.0, work)
    }

    fn keeps_pace(&self, die: Die) -> bool {
        let view = &*self.view;
        let open: u32 = view.open[die.0 as usize].iter().map(|&block| view.room(block)).sum();
        let erased = view.free_blocks(die.0) * view.block_units() + open;
        let passed = self.collections[die.0 as usize].passed_units(&view.geometry);
        view.pace.is_kept(erased, passed)
    }

    fn erased(&mut self, block: Block, _: Time) {
        let view = Arc::make_mut(&mut self.view);
        view.counts.reclaimed_blocks += 1;
        let die = view.geometry.die_of(block).0 as usize;
        let Some(number) = view.erased(block) else { return };
        self.refused[die] = false;
        if self.facts.is_told {
            let call = || format!("{}.erased({number})", self.name);
            self.ask(call, |decide, view| decide.erased(view, number));
        }
    }

    fn fault(&mut self, is_stalled: bool) -> Option<Error> {
        let fault = self.deciding.borrow().fault.clone();
        let (stream, units) = match self.refusal {
            Some(refusal) if fault.is_none() && is_stalled => refusal,
            _ => return fault,
        };
        let call = format!("{}.place({stream}, {units} units)", self.name);
        let did = "the last answer was a refusal, and nothing is under way";
        Some(broken(call, did, "a block once jobs have ended: a row that waits must go in the end"))
    }
}

impl Account for Placed {
    fn counts(&self) -> FtlCounts {
        self.view.counts
    }

    fn start_run(&mut self, pe_cycles: Option<u32>) {
        let view = Arc::make_mut(&mut self.view);
        view.counts = FtlCounts::default();
        pe_cycles.into_iter().for_each(|cycles| view.set_wear(cycles));
    }

    fn occupancy(&self) -> Occupancy {
        self.account()
    }

    fn wear(&self) -> Wear {
        self.view.wear.spread()
    }

    fn ram(&self) -> Vec<Ram> {
        self.tables()
    }

    fn bytes_per_unit(&self) -> f64 {
        let view = &self.view;
        let bytes = 4 * (view.map.len() + view.owner.len()) + size_of_val(&*view.sets);
        bytes as f64 / f64::from(view.logical_units())
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.pages_of(block)
    }

    fn valid_units(&self, block: Block) -> u32 {
        self.view.valid_in(block)
    }
}

parts!(Placed: );
