//! `page` with hooks: a user chooses the streams of written and moved units, the victims, and when
//! to collect, and is told what has been programmed, erased and trimmed.
//!
//! A hook that is left out costs nothing: the policy of `gc` and the levels of `page` decide then.

use super::decide::{Candidate, HookFacts, Hooks};
use super::{broken, raised};
use crate::ftl::contract::{
    Carried, Context, DieSet, Ftl, FtlCounts, Hint, Job, Key, Lpn, MOST_STREAMS, Move, Occupancy,
    Place, Program, Ram, Step, Urgency, Wear, Work,
};
use crate::ftl::page::{Own, PageFtl, PageParams};
use crate::space::gc::contract::{CandidateSet, Shape};
use crate::space::gc::{BlockWord, GcConfig, Victims};
use base::archive::{Archive, State};
use base::params::{self, Table};
use base::{Error, Result};
use nand::geometry::{Block, Die, Ppn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The hooks of a drive with what they need, shared by its FTL and its victim policy.
struct Hooking {
    name: String,
    hooks: Option<Box<dyn Hooks>>,
    fault: Option<Error>,
    /// Full blocks, and the clock when each became so.
    candidates: CandidateSet,
    closed_at: Vec<u64>,
    /// Working space of `victim`.
    listed: Vec<Candidate>,
    /// By die: the last answer of `collect`.
    collects: Vec<bool>,
}

impl Hooking {
    fn ask<T>(
        &mut self,
        call: impl FnOnce() -> String,
        question: impl FnOnce(&mut dyn Hooks) -> Result<T>,
    ) -> Option<T> {
        match question(&mut **self.hooks.as_mut()?) {
            Ok(answer) => Some(answer),
            Err(error) => {
                let name = &self.name;
                self.fault = Some(raised(error, || format!("{name}.{}", call())));
                self.hooks = None;
                None
            }
        }
    }

    fn fail(&mut self, call: &str, did: String, rule: &str) {
        self.fault = Some(broken(format!("{}.{call}", self.name), did, rule));
        self.hooks = None;
    }

    fn twin(&self) -> Self {
        let (hooks, fault) = match self.hooks.as_ref().map(|hooks| hooks.twin()) {
            Some(Ok(hooks)) => (Some(hooks), None),
            Some(Err(error)) => (None, Some(raised(error, || format!("{}: a clone", self.name)))),
            None => (None, self.fault.clone()),
        };
        Self {
            name: self.name.clone(),
            hooks,
            fault,
            candidates: self.candidates.clone(),
            closed_at: self.closed_at.clone(),
            listed: Vec::new(),
            collects: self.collects.clone(),
        }
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Hooking>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Hooking> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policy that asks the hook. Its state is saved and cloned by its FTL.
#[derive(Clone)]
struct Asking(Shared);

impl State for Asking {
    fn exchange(&mut self, _: &mut Archive<'_>) -> Result<()> {
        Ok(())
    }
}

impl Victims for Asking {
    fn closed(&mut self, plane: u32, block: u32, _: u32, clock: u64) {
        let mut hooking = self.0.lock();
        hooking.candidates.insert(plane, block);
        hooking.closed_at[block as usize] = clock;
    }

    #[inline]
    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}

    fn withdraw(&mut self, plane: u32, block: u32, _: u32) {
        self.0.lock().candidates.remove(plane, block);
    }

    fn pick(&mut self, plane: u32, blocks: &[BlockWord], clock: u64) -> Option<u32> {
        let mut hooking = self.0.lock();
        let mut listed = std::mem::take(&mut hooking.listed);
        listed.clear();
        listed.extend(hooking.candidates.of(plane).iter().map(|&block| Candidate {
            block,
            valid: blocks[block as usize].valid(),
            age: clock - hooking.closed_at[block as usize],
        }));
        // Their order tells what was collected before: by number, a run is easier to follow.
        listed.sort_unstable_by_key(|candidate| candidate.block);
        let first = listed.first().map(|candidate| candidate.block);
        let call = || format!("victim({plane}, {} blocks)", listed.len());
        let answer = match first {
            Some(_) => hooking.ask(call, |hooks| hooks.victim(plane, &listed)),
            None => None,
        };
        let is_known = |block| listed.binary_search_by_key(&block, |at| at.block).is_ok();
        let picked = match answer {
            Some(block) if is_known(block) => Some(block),
            Some(block) => {
                let did = format!("block {block} is not among the blocks");
                hooking.fail(&call(), did, "one of the blocks that the call lists");
                first
            }
            None => first,
        };
        picked.into_iter().for_each(|block| hooking.candidates.remove(plane, block));
        hooking.listed = listed;
        picked
    }
}

/// `page` with hooks.
pub(super) struct Hooked {
    page: PageFtl,
    facts: HookFacts,
    shared: Shared,
    /// Working space: units of one block of a program.
    told: Vec<Lpn>,
}

impl Hooked {
    pub(super) fn new(
        mut context: Context,
        params: &Table,
        name: &str,
        mut hooks: Box<dyn Hooks>,
    ) -> Result<Self> {
        let facts = hooks.facts();
        let mut params: PageParams = params::read(params, "ftl")?;
        if !(1..=MOST_STREAMS).contains(&facts.streams) {
            let problem = facts.streams.to_string();
            let expected = format!("1 to {MOST_STREAMS}");
            return Err(Error::new(format!("{name}.streams"), problem).expected(expected));
        }
        if facts.has_stream && facts.streams == 1 {
            return Err(Error::new(format!("{name}.stream"), "it is never asked")
                .expected("`streams`, 2 to 16, beside a method `stream`"));
        }
        if !(1..=MOST_STREAMS).contains(&facts.move_streams) {
            let problem = facts.move_streams.to_string();
            let expected = format!("1 to {MOST_STREAMS}");
            return Err(Error::new(format!("{name}.move_streams"), problem).expected(expected));
        }
        if facts.move_streams > 1 && !params.separate_gc_stream {
            let problem = format!("false, with {} streams of moved data", facts.move_streams);
            return Err(Error::new("ftl.separate_gc_stream", problem).expected("true"));
        }
        params.host_streams = facts.streams as u8;
        let geometry = &context.geometry;
        let shape = Shape {
            planes: geometry.planes(),
            blocks_per_plane: geometry.blocks_per_plane,
            units_per_block: geometry.units_per_block(),
        };
        let (dies, blocks) = (geometry.dies as usize, geometry.blocks() as usize);
        let shared = Shared(Arc::new(Mutex::new(Hooking {
            name: name.to_owned(),
            hooks: None,
            fault: None,
            candidates: CandidateSet::new(&shape),
            closed_at: vec![0; blocks],
            listed: Vec::new(),
            collects: vec![false; dies],
        })));
        if facts.has_victim {
            context.victims = Box::new(Asking(shared.clone()));
        }
        if facts.has_collect {
            // As many as `page` lets a die have.
            let most = context.geometry.blocks_per_plane;
            context.gc = GcConfig { background_free_blocks: most, ..context.gc };
        }
        if params.fast_pages {
            // The hooks say which stream data go to.
            return Err(Error::new("ftl.fast_pages", format!("true, with the hooks of `{name}`"))
                .expected("false"));
        }
        if params.superblock_dies != 1 {
            // The hooks are asked about blocks and dies.
            let problem = format!("{} dies, with the hooks of `{name}`", params.superblock_dies);
            return Err(Error::new("ftl.superblock_dies", problem).expected("1"));
        }
        let own = Own { move_streams: facts.move_streams, ..Own::NOTHING };
        let page = PageFtl::new(context, &params, own)?;
        let begun = hooks.begin(page.logical_units);
        begun.map_err(|error| raised(error, || format!("{name}.begin()")))?;
        shared.lock().hooks = Some(hooks);
        Ok(Self { page, facts, shared, told: Vec::new() })
    }

    /// How urgent collection of a die is by the hook: `page` decides where the host must wait.
    fn urgency(&self, job: Job, urgency: Urgency, is_asked: bool) -> Urgency {
        if !self.facts.has_collect || urgency == Urgency::Blocked {
            return urgency;
        }
        let mut hooking = self.shared.lock();
        if is_asked {
            let groups = self.page.groups;
            let first = job.0 * groups;
            let free = (first..first + groups).map(|group| self.page.free.fewest(group)).min();
            let (die, free, is_idle) = (job.0, free.unwrap_or(0), urgency == Urgency::Idle);
            let call = || format!("collect({die}, {free}, {is_idle})");
            let answer = hooking.ask(call, |hooks| hooks.collect(die, free, is_idle));
            hooking.collects[die as usize] = answer.unwrap_or(false);
        }
        if hooking.collects[job.0 as usize] { Urgency::Idle } else { Urgency::Blocked }
    }

    fn is_broken(&self) -> bool {
        self.shared.lock().fault.is_some()
    }

    /// The next step of a job whose moved data have several streams.
    fn sorted_step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let Self { page, shared, facts, .. } = self;
        let mut stream_of = |unit: Lpn| {
            let mut hooking = shared.lock();
            let call = || format!("stream_moves({})", unit.0);
            let stream = hooking.ask(call, |hooks| hooks.stream_moves(unit)).unwrap_or(0);
            if stream < facts.move_streams {
                return stream;
            }
            let rule = format!("a stream, 0 to {} (`move_streams`)", facts.move_streams - 1);
            hooking.fail(&call(), format!("{stream} is no stream"), &rule);
            0
        };
        page.sorted_step(job, urgency, work, &mut stream_of)
    }

    /// Tells which units each block of a program holds the newest data of.
    #[cold]
    fn tell_programmed(&mut self, program: &Program, is_moved: bool) {
        let mut told = std::mem::take(&mut self.told);
        for &block in program.blocks() {
            told.clear();
            told.extend((0..program.units).filter_map(|unit| {
                let ppn = program.ppn(&self.page.geometry, unit);
                let lpn = Lpn(self.page.owner[ppn.0 as usize]);
                let is_here = self.page.geometry.block_of(ppn) == block;
                (is_here && self.page.map.get(lpn.0 as usize) == Some(&ppn.0)).then_some(lpn)
            }));
            if !told.is_empty() {
                let call = || format!("programmed({}, {} units)", block.0, told.len());
                let mut hooking = self.shared.lock();
                hooking.ask(call, |hooks| hooks.programmed(block.0, &told, is_moved));
            }
        }
        self.told = told;
    }
}

impl Clone for Hooked {
    fn clone(&self) -> Self {
        let shared = Shared(Arc::new(Mutex::new(self.shared.lock().twin())));
        let mut page = self.page.clone();
        if self.facts.has_victim {
            page.candidates.ask(Box::new(Asking(shared.clone())));
        }
        Self { page, facts: self.facts, shared, told: Vec::new() }
    }
}

impl State for Hooked {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { page, facts: _, shared, told: _ } = self;
        let mut hooking = shared.lock();
        let Hooking { name: _, hooks, fault: _, candidates, closed_at, listed: _, collects } =
            &mut *hooking;
        match hooks {
            Some(hooks) => hooks.exchange(archive)?,
            None => return Err(super::decide::not_saved()),
        }
        candidates.exchange(archive)?;
        archive.table(closed_at)?;
        archive.value(collects)?;
        drop(hooking);
        page.exchange(archive)
    }
}

impl Ftl for Hooked {
    fn logical_units(&self) -> u32 {
        self.page.logical_units
    }

    fn row_units(&self) -> u32 {
        self.page.row_units
    }

    fn keys(&self) -> u32 {
        self.facts.streams
    }

    fn streams(&self) -> u32 {
        self.facts.streams
    }

    fn key_of(&mut self, lpn: Lpn, Hint { stream: hint, .. }: Hint) -> Key {
        if !self.facts.has_stream {
            return Key(hint.into());
        }
        let mut hooking = self.shared.lock();
        let call = || format!("stream({}, {hint})", lpn.0);
        let stream = hooking.ask(call, |hooks| hooks.stream(lpn, hint)).unwrap_or(0);
        if stream >= self.facts.streams {
            let rule = format!("a stream, 0 to {} (`streams`)", self.facts.streams - 1);
            hooking.fail(&call(), format!("{stream} is no stream"), &rule);
        }
        Key(stream)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.page.lookup(lpn)
    }

    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        if self.is_broken() { Place::NoRoom } else { self.page.place(key, lpns, dies) }
    }

    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place {
        self.page.place_moves(job, moves)
    }

    fn programmed(&mut self, program: &Program, carried: Carried) {
        let is_moved = matches!(carried, Carried::Moves(..));
        self.page.programmed(program, carried);
        if self.facts.is_told {
            self.tell_programmed(program, is_moved);
        }
    }

    fn not_programmed(&mut self, program: &Program, carried: Carried) {
        self.page.not_programmed(program, carried);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.page.trim(lpn);
        if self.facts.is_told {
            let call = || format!("trimmed({})", lpn.0);
            self.shared.lock().ask(call, |hooks| hooks.trimmed(lpn));
        }
    }

    fn jobs(&self) -> u32 {
        self.page.jobs()
    }

    fn wants(&self, job: Job, urgency: Urgency) -> bool {
        if self.is_broken() {
            return false;
        }
        if !self.facts.has_collect || self.page.wants(job, Urgency::Blocked) {
            return self.page.wants(job, urgency);
        }
        // There is nothing to ask where there is nothing to gain.
        self.page.wants(job, Urgency::Idle)
            && self.page.wants(job, self.urgency(job, urgency, true))
    }

    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step {
        let urgency = self.urgency(job, urgency, false);
        let is_sorted = self.facts.move_streams > 1;
        let step = match is_sorted {
            true => self.sorted_step(job, urgency, work),
            false => self.page.step(job, urgency, work),
        };
        if (self.facts.has_victim || is_sorted) && self.is_broken() {
            work.clear();
            return Step::Done;
        }
        step
    }

    fn keeps_pace(&self, die: Die) -> bool {
        self.page.keeps_pace(die)
    }

    fn erased(&mut self, block: Block) {
        self.page.erased(block);
        if self.facts.is_told {
            let call = || format!("erased({})", block.0);
            self.shared.lock().ask(call, |hooks| hooks.erased(block.0));
        }
    }

    fn retire(&mut self, block: Block) -> bool {
        self.page.retire(block)
    }

    fn close(&mut self, block: Block) -> bool {
        self.page.close(block)
    }

    fn can_reclaim(&self) -> bool {
        true
    }

    fn reclaim(&mut self, block: Block) -> bool {
        self.page.reclaim(block)
    }

    fn filled_pages(&self, block: Block) -> u32 {
        self.page.filled_pages(block)
    }

    fn prefetch(&self, lpn: Lpn) {
        self.page.prefetch(lpn);
    }

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
        self.page.ram()
    }

    fn bytes_per_unit(&self) -> f64 {
        self.page.bytes_per_unit()
    }

    fn fault(&mut self) -> Option<Error> {
        self.shared.lock().fault.clone()
    }
}
