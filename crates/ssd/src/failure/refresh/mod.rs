//! Refresh: data that are old, or read with many errors, are written anew before they are lost.
//!
//! Blocks come in two ways. A look over all blocks finds those whose data are older than
//! `refresh.after_hours`, or `refresh.reduced_after_hours` at reduced levels; reads of the host,
//! and patrol reads (`patrol`), find pages with a raw bit error rate above `refresh.rber`. They
//! wait in a queue (`queue`): those with many errors first, then the oldest. A few dies at a time
//! rewrite theirs, through the FTL's read reclaim and its jobs, beside the host (`rewriting`). Time
//! is simulated time; `due` says when blocks are due in hours that pass at once.

mod config;
mod due;
mod patrol;
mod queue;
mod rewriting;

pub use config::RefreshConfig;

use crate::ftl::Ftl;
use base::archive::{Archive, State};
use base::{Result, Time, counts};
use nand::chip::{BlockMode, Chips};
use nand::geometry::{Block, Die};
use patrol::Patrol;
use queue::Queue;
pub(crate) use queue::Reason;
use schemars::JsonSchema;
use serde::Serialize;

/// Minutes of an hour.
pub(crate) const MINUTES: f64 = 60.0;

/// Time between two looks while blocks wait that could not be taken.
const BETWEEN_LOOKS: Time = Time(60_000_000_000);

/// Counts of refresh and patrol since the start of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefreshCounts {
    /// Blocks that the FTL has taken to be rewritten, by reason. An FTL with a coarse map moves
    /// whole logical blocks for one of them.
    pub blocks: RefreshBlocks,
    /// Units that were moved out of these blocks; they are among `ftl.gc_copies`.
    pub units: u64,
    /// Patrol reads that put a block into the queue.
    pub patrol_finds: u64,
    /// Reads of the patrol, keys of the report's `nand`.
    #[serde(skip)]
    pub patrol: PatrolCounts,
}

/// Blocks taken to be rewritten, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RefreshBlocks {
    /// Blocks with old data (`refresh.after_hours`, `refresh.reduced_after_hours`).
    pub age: u64,
    /// Blocks with many bit errors (`refresh.rber`).
    pub rber: u64,
    /// Blocks of a patrol read that needed `gc.reclaim_rounds` retries.
    pub retries: u64,
}

/// Counts of patrol reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PatrolCounts {
    /// Patrol reads of pages; see `refresh`.
    pub patrol_reads: u64,
    /// Array time of patrol reads, retries included.
    #[serde(skip)]
    pub array: Time,
    /// Bus time of patrol reads, retries included.
    #[serde(skip)]
    pub bus: Time,
}

counts!(RefreshCounts { blocks, units, patrol_finds, patrol });
counts!(RefreshBlocks { age, rber, retries });
counts!(PatrolCounts { patrol_reads, array, bus });

impl RefreshBlocks {
    /// Blocks taken to be rewritten, for all reasons.
    pub fn all(&self) -> u64 {
        let Self { age, rber, retries } = self;
        age + rber + retries
    }

    /// Counts a block taken to be rewritten.
    fn count(&mut self, reason: Reason) {
        *match reason {
            Reason::Age => &mut self.age,
            Reason::Rber => &mut self.rber,
            Reason::Retries => &mut self.retries,
        } += 1;
    }
}

/// The limits, and the blocks that are to be rewritten.
#[derive(Debug, Clone)]
pub(crate) struct Refresh {
    /// Age at which data are old, in minutes, at full levels and at reduced ones; `u32::MAX` is
    /// never.
    after_minutes: [u32; 2],
    /// Raw bit error rate above which a page is poor; infinite is never.
    rber: f64,
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
        let minutes = |hours: f64| match (hours * MINUTES).ceil() {
            0.0 => u32::MAX,
            minutes => minutes as u32,
        };
        let after = minutes(config.after_hours);
        Self {
            after_minutes: [after, after.min(minutes(config.reduced_after_hours))],
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
        self.after_minutes[1] != u32::MAX
    }

    /// Age at which the data of a block are old, in minutes.
    #[inline]
    fn after_minutes(&self, chips: &Chips, block: Block) -> u32 {
        self.after_minutes[usize::from(chips.mode(block) == BlockMode::Reduced)]
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

    /// Goes on with refresh and patrol at the start of a run. Returns the dies with blocks that the
    /// last run has left half moved.
    pub(crate) fn begin(&mut self, now: Time) -> Vec<Die> {
        self.is_on = true;
        self.next_look = if self.has_limit() { now } else { Time::LIMIT };
        if let Some(patrol) = &mut self.patrol {
            patrol.begin(now);
        }
        self.under_way.iter().map(|&(die, _)| die).collect()
    }

    /// Begins nothing more. Returns whether refresh was at work.
    pub(crate) fn stop(&mut self) -> bool {
        std::mem::replace(&mut self.is_on, false)
    }

    /// Goes on after [`Refresh::stop`], if refresh was at work before.
    pub(crate) fn resume(&mut self, was_on: bool) {
        self.is_on = was_on;
    }

    /// Looks for old blocks at once, as all stored data have become older.
    pub(crate) fn look_again(&mut self, now: Time) {
        if self.is_on && self.has_limit() {
            self.next_look = now;
        }
    }

    /// Looks at the queue again soon, if blocks wait in it.
    pub(crate) fn look_soon(&mut self, now: Time) {
        if !self.queue.is_empty() {
            self.next_look = self.next_look.min(now + BETWEEN_LOOKS);
        }
    }

    /// Whether a page with this bit error rate is poor.
    #[inline]
    pub(crate) fn is_poor(&self, rber: f64) -> bool {
        rber > self.rber
    }

    /// Page that a patrol reads now, if a read of it is due.
    pub(crate) fn patrol_due(
        &mut self,
        chips: &Chips,
        ftl: &dyn Ftl,
        now: Time,
    ) -> Option<(Block, u32)> {
        self.patrol.as_mut()?.due(chips, ftl, now)
    }

    /// Notes that the patrol read of a die is done.
    pub(crate) fn patrolled(&mut self, die: Die, now: Time) {
        if let Some(patrol) = &mut self.patrol {
            patrol.done(die, now);
        }
    }

    /// Number of blocks that wait to be rewritten.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Time at which refresh or patrol has something to do next.
    pub(crate) fn next(&self) -> Time {
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

    /// Puts blocks with old data into the queue, the oldest first, if it is time to look for them.
    pub(crate) fn look_for_old(&mut self, chips: &Chips, now: Time) {
        if now < self.next_look {
            return;
        }
        let mut found = Vec::new();
        let mut least = self.after_minutes[1];
        for block in (0..chips.geometry.blocks()).map(Block) {
            let after = self.after_minutes(chips, block);
            match chips.data_minutes(block) {
                Some(age) if age < after => least = least.min(after - age),
                Some(age) if !self.queue.has(block) && !self.is_under_way(block) => {
                    found.push((age, block));
                }
                _ => {}
            }
        }
        let in_plane = |block: Block| block.0 % chips.geometry.blocks_per_plane;
        // Blocks of one row of planes are mostly as old as each other: together they cost least.
        found.sort_by_key(|&(age, block)| (u32::MAX - age, in_plane(block), block.0));
        for (_, block) in found {
            self.queue.push(block, chips.pe_cycles(block), Reason::Age);
        }
        let next = chips.time_at_age(chips.age_minutes().saturating_add(least));
        let is_waiting = !self.queue.is_empty();
        self.next_look = if is_waiting { next.min(now + BETWEEN_LOOKS) } else { next };
    }
}
