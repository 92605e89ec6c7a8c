//! Refresh: data that are old, or read with many errors, are written anew before they are lost.
//!
//! Blocks come in two ways. A look over all blocks finds those whose data are older than
//! `refresh.after_hours`; reads of the host, and patrol reads (`patrol`), find pages with a raw bit
//! error rate above `refresh.rber`. They wait in a queue (`queue`): those with many errors first,
//! then the oldest. A few dies at a time rewrite theirs, through the FTL's read reclaim and its
//! jobs, beside the host. Time is simulated time; `untimed` does the same for hours that pass at
//! once.

mod patrol;
mod queue;
mod untimed;

pub use untimed::Refreshed;

use crate::config::RefreshConfig;
use crate::drive::{Ssd, Step};
use crate::flash::command::{Command, Kind};
use crate::ftl::Lpn;
use base::archive::{Archive, State};
use base::{Result, Time, counts};
use nand::chip::Chips;
use nand::geometry::{Block, Die};
use patrol::Patrol;
use queue::Queue;
pub(crate) use queue::Reason;

/// Minutes of an hour.
const MINUTES: f64 = 60.0;

/// Time between two looks while blocks wait that could not be taken.
const BETWEEN_LOOKS: Time = Time(60_000_000_000);

/// Blocks of the queue among which one on an idle die is looked for.
const MOST_LOOKED_AT: usize = 64;

/// Blocks of the queue among which those of the other planes of a die are looked for.
const MOST_BESIDE: usize = 256;

/// Counts of refresh and patrol since the start of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefreshCounts {
    /// Blocks that the FTL has taken to be rewritten, by reason: old, many errors, many retries.
    pub blocks: [u64; 3],
    /// Units that were moved out of blocks to be rewritten.
    pub units: u64,
    /// Patrol reads of pages.
    pub patrol_reads: u64,
    /// Patrol reads that found a block to be rewritten.
    pub patrol_finds: u64,
    /// Array time of patrol reads, retries included.
    pub patrol_array: Time,
    /// Bus time of patrol reads, retries included.
    pub patrol_bus: Time,
}

counts!(RefreshCounts { blocks, units, patrol_reads, patrol_finds, patrol_array, patrol_bus });

impl RefreshCounts {
    /// Blocks taken to be rewritten, for all reasons.
    pub fn all_blocks(&self) -> u64 {
        self.blocks.iter().sum()
    }
}

/// The limits, and the blocks that are to be rewritten.
#[derive(Debug, Clone)]
pub(crate) struct Refresh {
    /// Age at which data are old, in minutes; `u32::MAX` is never.
    after_minutes: u32,
    /// Raw bit error rate above which a page is poor; infinite is never.
    pub(crate) rber: f64,
    /// Most dies that rewrite blocks at the same time.
    at_once: usize,
    /// Whether refresh is at work: a run goes on.
    is_on: bool,
    queue: Queue,
    /// Blocks that the FTL is to move, and that are not erased yet, with their dies.
    under_way: Vec<(Die, Block)>,
    /// Time of the next look for old blocks.
    next_look: Time,
    patrol: Option<Patrol>,
}

impl State for Refresh {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            after_minutes: _,
            rber: _,
            at_once: _,
            is_on: _,
            queue,
            under_way,
            next_look: _,
            patrol,
        } = self;
        queue.exchange(archive)?;
        archive.value(under_way)?;
        patrol.as_mut().map_or(Ok(()), |patrol| patrol.exchange(archive))
    }
}

impl Refresh {
    /// Creates the refresh of a drive with these chips, with the limits of `config`.
    pub(crate) fn new(config: &RefreshConfig, chips: &Chips) -> Self {
        let minutes = (config.after_hours * MINUTES).ceil();
        Self {
            after_minutes: if minutes > 0.0 { minutes as u32 } else { u32::MAX },
            rber: if config.rber > 0.0 { config.rber } else { f64::INFINITY },
            at_once: config.at_once as usize,
            is_on: false,
            queue: Queue::default(),
            under_way: Vec::new(),
            next_look: Time::LIMIT,
            patrol: (config.patrol_hours > 0.0).then(|| Patrol::new(config, chips)),
        }
    }

    /// Whether data are written anew because of their age.
    fn has_limit(&self) -> bool {
        self.after_minutes != u32::MAX
    }

    /// Whether there is anything to do in a run.
    pub(crate) fn is_wanted(&self) -> bool {
        self.has_limit() || self.rber < f64::INFINITY || self.patrol.is_some()
    }

    /// Whether a block is being rewritten.
    #[inline]
    pub(crate) fn is_under_way(&self, block: Block) -> bool {
        self.under_way.iter().any(|&(_, other)| other == block)
    }

    /// Whether any block is being rewritten.
    #[inline]
    pub(crate) fn any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Notes that a block has been erased. Returns whether others wait that may be taken now.
    #[inline]
    pub(crate) fn erased(&mut self, block: Block) -> bool {
        if !self.under_way.is_empty() {
            self.under_way.retain(|&(_, other)| other != block);
        }
        self.is_on && !self.queue.is_empty()
    }

    /// Forgets a block that has a new one in its place.
    pub(crate) fn replaced(&mut self, block: Block) {
        self.erased(block);
        self.queue.forget(block);
    }

    /// The power is gone, and with it what the drive knew.
    pub(crate) fn cut(&mut self) {
        self.queue = Queue::default();
        self.under_way.clear();
        self.is_on = false;
    }

    /// A run is over: nothing more is begun.
    pub(crate) fn stop(&mut self) {
        self.is_on = false;
    }

    /// Time at which refresh or patrol has something to do next.
    fn next(&self) -> Time {
        let patrol = self.patrol.as_ref().map_or(Time::LIMIT, |patrol| patrol.next);
        if self.is_on { patrol.min(self.next_look) } else { Time::LIMIT }
    }

    /// Whether a die is rewriting a block.
    fn is_at_work(&self, die: Die) -> bool {
        self.under_way.iter().any(|&(other, _)| other == die)
    }

    /// Number of dies that are rewriting blocks.
    fn dies_at_work(&self) -> usize {
        let is_first = |&(i, &(die, _)): &(usize, &(Die, Block))| {
            self.under_way[..i].iter().all(|&(other, _)| other != die)
        };
        self.under_way.iter().enumerate().filter(is_first).count()
    }
}

impl Ssd {
    /// A run begins: refresh and patrol go on.
    pub(crate) fn begin_upkeep(&mut self) {
        if !self.failures.refresh.is_wanted() {
            return;
        }
        let now = self.now();
        let refresh = &mut self.failures.refresh;
        refresh.is_on = true;
        refresh.next_look = if refresh.has_limit() { now } else { Time::LIMIT };
        if let Some(patrol) = &mut refresh.patrol {
            patrol.begin(now);
        }
        // Blocks that the last run has left half moved.
        let under_way = refresh.under_way.clone();
        self.schedule_upkeep();
        for (die, _) in under_way {
            self.collect_anew(die);
        }
    }

    /// Begins nothing more until `resume_upkeep`. Returns whether upkeep was at work.
    pub(crate) fn pause_upkeep(&mut self) -> bool {
        let was_on = std::mem::replace(&mut self.failures.refresh.is_on, false);
        self.schedule_upkeep();
        was_on
    }

    /// Ends a pause; upkeep goes on if it was at work before.
    pub(crate) fn resume_upkeep(&mut self, was_on: bool) {
        self.failures.refresh.is_on = was_on;
        self.schedule_upkeep();
    }

    /// Looks for old blocks at once, as all stored data have become older.
    pub(crate) fn look_again(&mut self) {
        let now = self.now();
        let refresh = &mut self.failures.refresh;
        if refresh.is_on && refresh.has_limit() {
            refresh.next_look = now;
            self.schedule_upkeep();
        }
    }

    fn schedule_upkeep(&mut self) {
        self.upkeep_at = self.failures.refresh.next().max(self.now());
    }

    /// Does the upkeep that is due before the next event. Returns `Step::Idle` if there is no
    /// event.
    #[cold]
    pub(crate) fn keep_up(&mut self) -> Option<Step> {
        let due = self.upkeep_at;
        // Time passes with the events of others only.
        let next = self.events.next_time().filter(|&next| next < Time::LIMIT);
        if due >= Time::LIMIT || next.is_none() {
            return Some(Step::Idle);
        }
        self.events.advance_to(due);
        self.flash.chips.advance_to(due);
        if due >= self.failures.refresh.next_look {
            self.look_for_old();
        }
        self.rewrite();
        self.patrol();
        self.schedule_upkeep();
        None
    }

    /// Puts blocks with old data into the queue, the oldest first.
    fn look_for_old(&mut self) {
        let Ssd { flash, failures, .. } = self;
        let (chips, refresh) = (&flash.chips, &mut failures.refresh);
        let after = refresh.after_minutes;
        let mut found = Vec::new();
        let mut least = after;
        for block in (0..chips.geometry.blocks()).map(Block) {
            match chips.data_minutes(block) {
                Some(age) if age < after => least = least.min(after - age),
                Some(age) if !refresh.queue.has(block) && !refresh.is_under_way(block) => {
                    found.push((age, block));
                }
                _ => {}
            }
        }
        let in_plane = |block: Block| block.0 % chips.geometry.blocks_per_plane;
        // Blocks of one row of planes are mostly as old as each other: together they cost least.
        found.sort_by_key(|&(age, block)| (u32::MAX - age, in_plane(block), block.0));
        for (_, block) in found {
            refresh.queue.push(block, chips.pe_cycles(block), Reason::Age);
        }
        let next = chips.time_at_age(chips.age_minutes().saturating_add(least));
        let now = self.events.now();
        let is_waiting = !refresh.queue.is_empty();
        refresh.next_look = if is_waiting { next.min(now + BETWEEN_LOOKS) } else { next };
    }

    /// Has blocks of the queue rewritten, as far as dies are free for that.
    pub(crate) fn rewrite(&mut self) {
        let refresh = &self.failures.refresh;
        if !refresh.is_on || refresh.queue.is_empty() || self.failures.is_read_only() {
            return;
        }
        let mut tries = refresh.queue.len().min(MOST_LOOKED_AT);
        let mut refused = Vec::new();
        while tries > 0 && self.failures.refresh.dies_at_work() < self.failures.refresh.at_once {
            let Some(at) = self.next_to_rewrite() else { break };
            tries -= 1;
            let Some((block, reason)) = self.take_waiting(at) else { continue };
            if !self.begin_rewrite(block, reason) {
                refused.push((block, reason));
                continue;
            }
            let die = self.flash.chips.geometry.die_of(block);
            self.rewrite_beside(block);
            self.collect_anew(die);
        }
        // They go behind the others, and are asked about again later.
        let Ssd { flash, failures, .. } = self;
        for (block, reason) in refused {
            failures.refresh.queue.push(block, flash.chips.pe_cycles(block), reason);
        }
    }

    /// Place in the queue of the block that goes next: on an idle die, or else the first.
    fn next_to_rewrite(&self) -> Option<usize> {
        let (refresh, geometry) = (&self.failures.refresh, &self.flash.chips.geometry);
        let free = |block: Block| {
            let die = geometry.die_of(block);
            (!refresh.is_at_work(die)).then_some(die)
        };
        let on_idle = |block| free(block).is_some_and(|die| self.flash.is_idle(die));
        let first =
            |of: &dyn Fn(Block) -> bool| refresh.queue.blocks().take(MOST_LOOKED_AT).position(of);
        first(&on_idle).or_else(|| first(&|block| free(block).is_some()))
    }

    /// Takes a block out of the queue, if it is still as it was found.
    fn take_waiting(&mut self, at: usize) -> Option<(Block, Reason)> {
        let Ssd { flash, failures, .. } = self;
        let (block, cycle, reason) = failures.refresh.queue.take(at)?;
        (flash.chips.pe_cycles(block) == cycle).then_some((block, reason))
    }

    /// Asks the FTL to move the data of a block. Returns whether it does that now.
    fn begin_rewrite(&mut self, block: Block, reason: Reason) -> bool {
        if !self.ftl.reclaim(block) && !self.closes_and_takes(block, reason) {
            return false;
        }
        let die = self.flash.chips.geometry.die_of(block);
        self.failures.refresh.under_way.push((die, block));
        self.counts.refresh.blocks[reason as usize] += 1;
        true
    }

    /// Closes an open block with old data, which nothing is being written to, and has it moved.
    fn closes_and_takes(&mut self, block: Block, reason: Reason) -> bool {
        let Ssd { flash, ftl, .. } = self;
        let is_written_to = |command: &Command| {
            command.kind == Kind::Program && flash.programs[command.job].blocks().contains(&block)
        };
        reason == Reason::Age
            && !flash.commands.taken().any(is_written_to)
            && ftl.close(block)
            && ftl.reclaim(block)
    }

    /// Takes a block of each other plane of a die together with one that is rewritten, as
    /// collection empties a block of each plane together.
    fn rewrite_beside(&mut self, block: Block) {
        let geometry = self.flash.chips.geometry.clone();
        let (die, first) = (geometry.die_of(block), geometry.plane_of(block));
        for plane in (0..geometry.planes_per_die).map(|plane| geometry.plane(die, plane)) {
            let queue = &self.failures.refresh.queue;
            let is_of = |other: Block| geometry.plane_of(other) == plane;
            let at = queue.blocks().take(MOST_BESIDE).position(is_of);
            if plane == first || at.is_none() {
                continue;
            }
            let Some((block, reason)) = at.and_then(|at| self.take_waiting(at)) else { continue };
            if !self.begin_rewrite(block, reason) {
                let cycle = self.flash.chips.pe_cycles(block);
                self.failures.refresh.queue.push(block, cycle, reason);
            }
        }
    }

    /// A read has found a page of a block that is to be rewritten.
    pub(crate) fn found_poor(&mut self, command: &Command, reason: Reason) {
        let Ssd { flash, failures, ftl, .. } = self;
        let block = flash.chips.geometry.block_of(command.ppn);
        let refresh = &mut failures.refresh;
        let is_patrol = command.is_patrol();
        // The data may have moved on since they were read.
        let is_there = is_patrol || ftl.lookup(Lpn(command.lpn)) == Some(command.ppn);
        if !refresh.is_on
            || !is_there
            || ftl.is_bad(block)
            || refresh.queue.has(block)
            || refresh.is_under_way(block)
        {
            return;
        }
        refresh.queue.push_first(block, flash.chips.pe_cycles(block), reason);
        self.counts.refresh.patrol_finds += u64::from(is_patrol);
        self.rewrite();
        let refresh = &mut self.failures.refresh;
        if !refresh.queue.is_empty() {
            refresh.next_look = refresh.next_look.min(self.events.now() + BETWEEN_LOOKS);
            self.schedule_upkeep();
        }
    }

    /// Number of blocks that wait to be rewritten.
    pub fn blocks_to_refresh(&self) -> u64 {
        self.failures.refresh.queue.len() as u64
    }

    /// Age of the oldest data that the FTL keeps in hours, at the temperature that they have
    /// (slow).
    pub fn oldest_hours(&mut self) -> f64 {
        self.flash.chips.advance_to(self.events.now());
        let (chips, ftl) = (&self.flash.chips, &self.ftl);
        let units = (0..ftl.facts().logical_units).filter_map(|unit| ftl.lookup(Lpn(unit)));
        let mut is_used = vec![false; chips.geometry.blocks() as usize];
        units.for_each(|ppn| is_used[chips.geometry.block_of(ppn).0 as usize] = true);
        let used = (0..).zip(is_used).filter(|&(_, is_used)| is_used);
        let ages = used.filter_map(|(block, _)| chips.data_minutes(Block(block)));
        f64::from(ages.max().unwrap_or(0)) / MINUTES
    }
}
