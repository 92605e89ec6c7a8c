//! Choices of hooks: a user chooses the streams of written and moved units, the victims, and when
//! to collect, and is told what has been programmed, erased and trimmed.
//!
//! A hook that is left out costs nothing: the policy of `gc` and the levels of `page` decide then.
//! With superblocks of several dies the blocks of hooks are superblocks, and their planes the spans
//! of dies that have them.

use super::decide::{Candidate, HookFacts, Hooks};
use super::{broken, raised};
use crate::ftl::contract::{Context, Ftl, Hint, Job, Key, Lpn, MOST_STREAMS, Program, Urgency};
use crate::ftl::page::{Own, PageFtl, PageParams};
use crate::ftl::paged::{self, Choices, Flat, Layout};
use crate::space::gc::contract::{CandidateSet, Shape};
use crate::space::gc::{BlockWord, GcConfig, Victims};
use base::archive::{Archive, State};
use base::params::{self, Table};
use base::{Error, Result};
use nand::geometry::{Block, Ppn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The hooks of a drive with what they need, shared by its FTL and its victim policy.
struct Hooking {
    name: String,
    hooks: Option<Box<dyn Hooks>>,
    fault: Option<Error>,
    /// Full blocks that can be collected.
    candidates: CandidateSet,
    /// By block: the clock when it became full.
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

/// Victim policy that asks the hook. Its state is saved and cloned by its FTL.
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

/// Hooks of a drive, as the choices of its FTL.
pub(super) struct Hooked {
    facts: HookFacts,
    shared: Shared,
    /// Working space: units of one block of a program.
    told: Vec<Lpn>,
}

/// Builds `page` with hooks.
pub(super) fn build(
    mut context: Context,
    params: &Table,
    name: &str,
    hooks: Box<dyn Hooks>,
) -> Result<Box<dyn Ftl>> {
    let facts = hooks.facts();
    let mut params: PageParams = params::read(params, "ftl")?;
    check(&facts, name)?;
    params.host_streams = facts.streams as u8;
    if facts.has_collect {
        // As many as `page` lets a die have.
        let most = context.geometry.blocks_per_plane;
        context.gc = GcConfig { background_free_blocks: most, ..context.gc };
    }
    let own = Own { move_streams: facts.move_streams, ..Own::NOTHING };
    paged::build(context, &params, own, Hooked::new(name, hooks), |_, _| Flat)
}

/// Refuses facts that are out of range.
fn check(facts: &HookFacts, name: &str) -> Result<()> {
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
    Ok(())
}

impl Hooked {
    /// Hooks of a drive that is yet to begin.
    fn new(name: &str, hooks: Box<dyn Hooks>) -> Self {
        let facts = hooks.facts();
        let shared = Shared(Arc::new(Mutex::new(Hooking {
            name: name.to_owned(),
            hooks: Some(hooks),
            fault: None,
            candidates: CandidateSet::default(),
            closed_at: Vec::new(),
            listed: Vec::new(),
            collects: Vec::new(),
        })));
        Self { facts, shared, told: Vec::new() }
    }

    /// Urgency with which collection goes on: the hook decides, except where the host must wait.
    fn urgency_of(&self, job: Job, urgency: Urgency) -> Urgency {
        if !self.facts.has_collect || urgency == Urgency::Blocked {
            return urgency;
        }
        let collects = self.shared.lock().collects[job.0 as usize];
        if collects { Urgency::Idle } else { Urgency::Blocked }
    }

    /// Asks the hook whether to collect a die.
    fn ask_collect(&self, page: &PageFtl, job: Job, urgency: Urgency) {
        if !self.facts.has_collect || urgency == Urgency::Blocked {
            return;
        }
        let first = job.0 * page.groups;
        let free = (first..first + page.groups).map(|group| page.free.fewest(group)).min();
        let (die, free, is_idle) = (job.0, free.unwrap_or(0), urgency == Urgency::Idle);
        let call = || format!("collect({die}, {free}, {is_idle})");
        let mut hooking = self.shared.lock();
        let answer = hooking.ask(call, |hooks| hooks.collect(die, free, is_idle));
        hooking.collects[die as usize] = answer.unwrap_or(false);
    }

    /// Tells the hooks of the units whose newest data a block has among these places.
    fn tell<L: Layout>(
        &mut self,
        data: &L,
        block: Block,
        places: impl Iterator<Item = Ppn>,
        is_moved: bool,
    ) {
        let (page, mut told) = (data.page(), std::mem::take(&mut self.told));
        told.clear();
        told.extend(places.filter_map(|ppn| {
            let lpn = Lpn(page.owner[ppn.0 as usize]);
            let is_here = page.geometry.block_of(ppn) == block;
            (is_here && page.map.get(lpn.0 as usize) == Some(&ppn.0)).then_some(lpn)
        }));
        if let (false, Some(number)) = (told.is_empty(), data.number_of(block)) {
            let call = || format!("programmed({number}, {} units)", told.len());
            let mut hooking = self.shared.lock();
            hooking.ask(call, |hooks| hooks.programmed(number, &told, is_moved));
        }
        self.told = told;
    }
}

impl State for Hooked {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { facts: _, shared, told: _ } = self;
        let mut hooking = shared.lock();
        let Hooking { name: _, hooks, fault: _, candidates, closed_at, listed: _, collects } =
            &mut *hooking;
        match hooks {
            Some(hooks) => hooks.exchange(archive)?,
            None => return Err(super::decide::not_saved()),
        }
        candidates.exchange(archive)?;
        archive.table(closed_at)?;
        archive.value(collects)
    }
}

impl Choices for Hooked {
    const IS_ASIDE: bool = false;

    fn twin(&self, page: &mut PageFtl) -> Self {
        let shared = Shared(Arc::new(Mutex::new(self.shared.lock().twin())));
        if self.facts.has_victim {
            page.candidates.replace_innermost(Box::new(Asking(shared.clone())));
        }
        Self { facts: self.facts, shared, told: Vec::new() }
    }

    fn begin<L: Layout>(&mut self, data: &mut L) -> Result<()> {
        let (geometry, units) = (&data.page().geometry, data.page().logical_units);
        let shape = Shape {
            planes: geometry.planes(),
            blocks_per_plane: geometry.blocks_per_plane,
            units_per_block: geometry.units_per_block(),
        };
        let (dies, blocks) = (geometry.dies as usize, geometry.blocks() as usize);
        let mut hooking = self.shared.lock();
        hooking.candidates = CandidateSet::new(&shape);
        (hooking.closed_at, hooking.collects) = (vec![0; blocks], vec![false; dies]);
        let Hooking { name, hooks, .. } = &mut *hooking;
        if let Some(hooks) = hooks {
            hooks.begin(units).map_err(|error| raised(error, || format!("{name}.begin()")))?;
        }
        drop(hooking);
        if self.facts.has_victim {
            data.ask(Box::new(Asking(self.shared.clone())));
        }
        Ok(())
    }

    fn keys(&self) -> Option<u32> {
        Some(self.facts.streams)
    }

    fn key_of(&mut self, lpn: Lpn, Hint { stream: hint, .. }: Hint) -> Option<Key> {
        if !self.facts.has_stream {
            return Some(Key(hint.into()));
        }
        let mut hooking = self.shared.lock();
        let call = || format!("stream({}, {hint})", lpn.0);
        let stream = hooking.ask(call, |hooks| hooks.stream(lpn, hint)).unwrap_or(0);
        if stream >= self.facts.streams {
            let rule = format!("a stream, 0 to {} (`streams`)", self.facts.streams - 1);
            hooking.fail(&call(), format!("{stream} is no stream"), &rule);
        }
        Some(Key(stream))
    }

    fn stream_of(&mut self, unit: Lpn) -> u32 {
        let mut hooking = self.shared.lock();
        let call = || format!("stream_moves({})", unit.0);
        let stream = hooking.ask(call, |hooks| hooks.stream_moves(unit)).unwrap_or(0);
        if stream < self.facts.move_streams {
            return stream;
        }
        let rule = format!("a stream, 0 to {} (`move_streams`)", self.facts.move_streams - 1);
        hooking.fail(&call(), format!("{stream} is no stream"), &rule);
        0
    }

    fn wants<L: Layout>(&self, data: &L, job: Job, urgency: Urgency) -> bool {
        if self.is_broken() {
            return false;
        }
        if !self.facts.has_collect || data.wants(job, Urgency::Blocked) {
            return data.wants(job, urgency);
        }
        // There is nothing to ask where there is nothing to gain.
        data.wants(job, Urgency::Idle) && {
            self.ask_collect(data.page(), job, urgency);
            data.wants(job, self.urgency_of(job, urgency))
        }
    }

    fn urgency(&self, job: Job, urgency: Urgency) -> Urgency {
        self.urgency_of(job, urgency)
    }

    fn is_broken(&self) -> bool {
        self.shared.lock().fault.is_some()
    }

    fn programmed<L: Layout>(&mut self, data: &L, program: &Program, is_moved: bool) {
        if !self.facts.is_told {
            return;
        }
        let geometry = &data.page().geometry;
        for &block in program.blocks() {
            let places = (0..program.units).map(|unit| program.ppn(geometry, unit));
            self.tell(data, block, places, is_moved);
        }
    }

    fn trimmed(&mut self, lpn: Lpn) {
        if self.facts.is_told {
            let call = || format!("trimmed({})", lpn.0);
            self.shared.lock().ask(call, |hooks| hooks.trimmed(lpn));
        }
    }

    fn erased(&mut self, number: u32) {
        if self.facts.is_told {
            let call = || format!("erased({number})");
            self.shared.lock().ask(call, |hooks| hooks.erased(number));
        }
    }

    /// Begins the hooks anew with the drive, and tells them what it holds.
    fn recovered<L: Layout>(&mut self, data: &L) {
        if !self.facts.is_told {
            return;
        }
        let geometry = &data.page().geometry;
        for block in (0..geometry.blocks()).map(Block) {
            let first = geometry.ppn(block, 0, 0).0;
            let places = (first..first + geometry.units_per_block()).map(Ppn);
            self.tell(data, block, places, false);
        }
    }

    fn fault(&self) -> Option<Error> {
        self.shared.lock().fault.clone()
    }
}
