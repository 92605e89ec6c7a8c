//! Refresh while hours pass at once: what an idle drive with power would have done in them.
//!
//! The device's age goes on from one block that is due to the next. A block is due when its data
//! are `refresh.after_hours` old, or at the first patrol that finds a page with an error rate
//! above `refresh.rber`. It is rewritten at that age through the FTL, without time, on flash that
//! wears and fails. What is moved is taken as read without errors: with limits below what the
//! decoder corrects that is so.

use super::Worn;
use crate::drive::Ssd;
use crate::failure::Failures;
use crate::failure::refresh::MINUTES;
use crate::ftl::contract::Device;
use crate::ftl::{Ftl, Job, Program, Untimed, Urgency};
use base::units::Hours;
use base::{Result, Time};
use nand::chip::Chips;
use nand::geometry::{Block, Die};
use std::collections::{BTreeSet, VecDeque};

/// Minutes until a block that could not be taken is asked about again: an open one, mostly.
const AGAIN_MINUTES: u32 = 60;

/// Work of refresh in hours that have passed at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Blocks that the FTL has taken to be rewritten.
    pub blocks: u64,
    /// Units that were moved, those of blocks that collection has taken with them included.
    pub units: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Patrol reads of pages.
    pub patrol_reads: u64,
}

/// Calendar of blocks: minute of the device's age at which a block is due, and the block. An entry
/// may be out of date.
type Calendar = BTreeSet<(u32, u32)>;

/// Lets `hours` pass at once for a drive with power that nobody uses, and does what its refresh and
/// patrol do in them. Without either this is [`Ssd::age`]. Refused while anything is under way:
/// internal work would be done twice.
pub fn refresh(ssd: &mut Ssd, hours: Hours) -> Result<Refreshed> {
    ssd.check_rest()?;
    let minutes = (hours.0.max(0.0) * MINUTES).round() as u32;
    if !ssd.failures.refresh.is_wanted() {
        ssd.age(hours);
        return Ok(Refreshed::default());
    }
    let now = ssd.now();
    let Ssd { flash, ftl, failures, .. } = ssd;
    let chips = &mut flash.chips;
    let begin = chips.age_minutes();
    let end = begin.saturating_add(minutes);
    let (calendar, untimed) = (Calendar::new(), Untimed::new(chips.geometry.dies));
    let done = Refreshed::default();
    let mut passing = Passing { chips, ftl: &mut **ftl, failures, now, calendar, untimed, done };
    for block in (0..passing.chips.geometry.blocks()).map(Block) {
        passing.enter(block);
    }
    let moved = passing.ftl.counts().moved_units;
    while let Some(&(at, _)) = passing.calendar.first()
        && at <= end
        && passing.failures.read_only.all_since().is_none()
    {
        let now = passing.chips.age_minutes();
        passing.chips.age_by_minutes(at.saturating_sub(now));
        let due = passing.take_due();
        passing.rewrite(due)?;
    }
    let left = end.saturating_sub(passing.chips.age_minutes());
    passing.chips.age_by_minutes(left);
    let mut done = passing.done;
    done.units = passing.ftl.counts().moved_units - moved;
    done.patrol_reads = passing.patrol(begin);
    ssd.end_untimed();
    ssd.look_again();
    Ok(done)
}

/// A drive whose hours pass at once.
struct Passing<'a> {
    chips: &'a mut Chips,
    ftl: &'a mut dyn Ftl,
    failures: &'a mut Failures,
    /// Simulated time, which stands still meanwhile.
    now: Time,
    calendar: Calendar,
    untimed: Untimed,
    done: Refreshed,
}

impl Passing<'_> {
    /// Enters a block into the calendar, if it has data of the FTL.
    fn enter(&mut self, block: Block) {
        let chips = &self.chips;
        if let Some(age) = chips.data_minutes(block)
            && !self.ftl.is_bad(block)
        {
            let left = self.failures.refresh.due_minutes(chips, block).saturating_sub(age);
            self.calendar.insert((chips.age_minutes().saturating_add(left), block.0));
        }
    }

    /// Blocks that are due now, by plane, the oldest first.
    fn take_due(&mut self) -> Vec<VecDeque<Block>> {
        let chips = &self.chips;
        let now = chips.age_minutes();
        let mut found = Vec::new();
        while let Some(&(at, block)) = self.calendar.first()
            && at <= now
        {
            self.calendar.pop_first();
            let block = Block(block);
            let due = self.failures.refresh.due_minutes(chips, block);
            match chips.data_minutes(block) {
                Some(age) if age >= due => found.push((age, block)),
                Some(age) => {
                    self.calendar.insert((now.saturating_add(due - age), block.0));
                }
                None => {}
            }
        }
        found.sort_by_key(|&(age, block)| (u32::MAX - age, block.0));
        let mut planes = vec![VecDeque::new(); chips.geometry.planes() as usize];
        for (_, block) in found {
            planes[chips.geometry.plane_of(block).0 as usize].push_back(block);
        }
        planes
    }

    /// Rewrites blocks, one of each plane of a die together.
    fn rewrite(&mut self, mut due: Vec<VecDeque<Block>>) -> Result<()> {
        let again = self.chips.age_minutes().saturating_add(AGAIN_MINUTES);
        let planes = self.chips.geometry.planes_per_die as usize;
        for die in 0..self.chips.geometry.dies {
            let of_die = die as usize * planes..(die as usize + 1) * planes;
            loop {
                let taken: Vec<Block> =
                    due[of_die.clone()].iter_mut().filter_map(VecDeque::pop_front).collect();
                if taken.is_empty() {
                    break;
                }
                let mut is_new = false;
                for &block in &taken {
                    let ftl = &mut *self.ftl;
                    let is_taken = !self.failures.read_only.has_block(block)
                        && (ftl.reclaim(block) || (ftl.close(block) && ftl.reclaim(block)));
                    self.done.blocks += u64::from(is_taken);
                    is_new |= is_taken;
                }
                if is_new {
                    self.settle(Die(die))?;
                }
                for block in taken {
                    self.enter_again(block, again);
                }
            }
        }
        Ok(())
    }

    /// Enters a block for the minute `again` if its data are still due, as the FTL has not taken
    /// it.
    fn enter_again(&mut self, block: Block, again: u32) {
        let due = self.failures.refresh.due_minutes(self.chips, block);
        if self.chips.data_minutes(block).is_some_and(|age| age >= due) {
            self.calendar.insert((again, block.0));
        }
    }

    /// Lets the jobs of the FTL do all that is due, on the flash.
    fn settle(&mut self, die: Die) -> Result<()> {
        let worn = Worn { chips: &mut *self.chips, erases: 0, kept: Vec::new() };
        let mut flash = Begun { worn, born: Vec::new() };
        self.ftl.settle_on(Job::of(die), Urgency::Due, &mut self.untimed, &mut flash)?;
        while let Some(job) = self.ftl.wanted() {
            self.ftl.settle_on(job, Urgency::Due, &mut self.untimed, &mut flash)?;
        }
        let Begun { worn: Worn { erases, kept, .. }, born } = flash;
        self.done.erases += erases;
        kept.into_iter().for_each(|block| self.failures.read_only.set(block, self.now));
        born.into_iter().for_each(|block| self.enter(block));
        self.ftl.fault(false).map_or(Ok(()), Err)
    }

    /// Counts the reads of patrols since the device had the age `begin`, and lets them disturb
    /// their blocks.
    fn patrol(&mut self, begin: u32) -> u64 {
        let mut all = 0;
        for block in (0..self.chips.geometry.blocks()).map(Block) {
            let (Some(age), false) = (self.chips.data_minutes(block), self.ftl.is_bad(block))
            else {
                continue;
            };
            let passed = age.min(self.chips.age_minutes() - begin);
            let reads = self.failures.refresh.patrol_reads_in(passed);
            self.chips.disturb(block, reads as u32);
            all += reads as u64;
        }
        all
    }
}

/// Chips that wear, and the blocks that were begun.
struct Begun<'a> {
    worn: Worn<'a>,
    born: Vec<Block>,
}

impl Device for Begun<'_> {
    fn program(&mut self, program: &Program, failed: &mut Vec<Block>) -> Result<()> {
        if program.page == 0 {
            self.born.extend(program.blocks());
        }
        self.worn.program(program, failed)
    }

    fn erase(&mut self, block: Block) -> bool {
        self.worn.erase(block)
    }

    fn cannot_spare(&mut self, block: Block) {
        self.worn.cannot_spare(block);
    }
}
