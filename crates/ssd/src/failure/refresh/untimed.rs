//! Refresh while hours pass at once: what an idle drive with power would have done in them.
//!
//! The device's age goes on from one block that is due to the next. A block is due when its data
//! are `refresh.after_hours` old, or at the first patrol that finds a page with an error rate
//! above `refresh.rber`. It is rewritten at that age through the FTL, without time, on flash that
//! wears and fails. What is moved is taken as read without errors: with limits below what the
//! decoder corrects that is so.

use super::{MINUTES, Refresh};
use crate::ageing::Worn;
use crate::drive::Ssd;
use crate::ftl::contract::Device;
use crate::ftl::{Job, Program, Untimed, Urgency};
use base::Result;
use base::units::Hours;
use nand::chip::Chips;
use nand::geometry::{Block, Die};
use std::collections::{BTreeSet, VecDeque};

/// Minutes until a block that could not be taken is asked about again: an open one, mostly.
const AGAIN_MINUTES: u32 = 60;

/// Steps of a search for the age at which a page becomes poor: to a minute in a century.
const BISECTIONS: u32 = 26;

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

impl Refresh {
    /// Age in minutes at which the data of a block are due; `u32::MAX` is never.
    fn due_minutes(&self, chips: &Chips, block: Block) -> u32 {
        self.after_minutes.min(self.poor_minutes(chips, block))
    }

    /// Age in minutes at which a patrol finds the data of a block poor; `u32::MAX` is never.
    fn poor_minutes(&self, chips: &Chips, block: Block) -> u32 {
        let Some(patrol) = self.patrol.as_ref().filter(|_| self.rber < f64::INFINITY) else {
            return u32::MAX;
        };
        let is_poor = |minutes: u32| {
            patrol.sample().any(|page| chips.rber_after(block, page, minutes) > self.rber)
        };
        let (mut good, mut poor) = (0, 1 << BISECTIONS);
        if self.after_minutes < poor {
            poor = self.after_minutes;
        }
        if !is_poor(poor) {
            return u32::MAX;
        }
        while good + 1 < poor {
            let middle = good.midpoint(poor);
            *(if is_poor(middle) { &mut poor } else { &mut good }) = middle;
        }
        // The patrol comes by once in so many minutes.
        let every = patrol.minutes().max(1);
        let born = chips.age_minutes().saturating_sub(chips.data_minutes(block).unwrap_or(0));
        let found = born.saturating_add(poor).div_ceil(every).saturating_mul(every);
        found.saturating_sub(born)
    }
}

impl Ssd {
    /// Lets `hours` pass at once for a drive with power that nobody uses, and does what its
    /// refresh and patrol do in them. Without either this is [`Ssd::age`]. Refused while anything
    /// is under way: internal work would be done twice.
    pub fn refresh_untimed(&mut self, hours: Hours) -> Result<Refreshed> {
        self.check_rest()?;
        let minutes = (hours.0.max(0.0) * MINUTES).round() as u32;
        let mut done = Refreshed::default();
        if !self.failures.refresh.is_wanted() {
            self.age(hours);
            return Ok(done);
        }
        let begin = self.flash.chips.age_minutes();
        let end = begin.saturating_add(minutes);
        let mut untimed = Untimed::new(self.dies());
        let mut calendar = Calendar::new();
        for block in (0..self.flash.chips.geometry.blocks()).map(Block) {
            self.enter(block, &mut calendar);
        }
        let moved = self.ftl.counts().moved_units;
        while let Some(&(at, _)) = calendar.first()
            && at <= end
            && !self.failures.is_read_only()
        {
            let now = self.flash.chips.age_minutes();
            self.flash.chips.age_by_minutes(at.saturating_sub(now));
            let due = self.take_due(&mut calendar);
            self.rewrite_untimed(due, &mut calendar, &mut untimed, &mut done)?;
        }
        let left = end.saturating_sub(self.flash.chips.age_minutes());
        self.flash.chips.age_by_minutes(left);
        done.units = self.ftl.counts().moved_units - moved;
        done.patrol_reads = self.patrol_untimed(begin);
        self.note_stored();
        self.look_again();
        Ok(done)
    }

    /// Enters a block into the calendar, if it has data of the FTL.
    fn enter(&self, block: Block, calendar: &mut Calendar) {
        let chips = &self.flash.chips;
        if let Some(age) = chips.data_minutes(block)
            && !self.ftl.is_bad(block)
        {
            let left = self.failures.refresh.due_minutes(chips, block).saturating_sub(age);
            calendar.insert((chips.age_minutes().saturating_add(left), block.0));
        }
    }

    /// Blocks that are due now, by plane, the oldest first.
    fn take_due(&mut self, calendar: &mut Calendar) -> Vec<VecDeque<Block>> {
        let chips = &self.flash.chips;
        let now = chips.age_minutes();
        let mut found = Vec::new();
        while let Some(&(at, block)) = calendar.first()
            && at <= now
        {
            calendar.pop_first();
            let block = Block(block);
            let due = self.failures.refresh.due_minutes(chips, block);
            match chips.data_minutes(block) {
                Some(age) if age >= due => found.push((age, block)),
                Some(age) => {
                    calendar.insert((now.saturating_add(due - age), block.0));
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
    fn rewrite_untimed(
        &mut self,
        mut due: Vec<VecDeque<Block>>,
        calendar: &mut Calendar,
        untimed: &mut Untimed,
        done: &mut Refreshed,
    ) -> Result<()> {
        let again = self.flash.chips.age_minutes().saturating_add(AGAIN_MINUTES);
        let (dies, planes) = (self.dies(), self.flash.chips.geometry.planes_per_die as usize);
        for die in 0..dies {
            let of_die = die as usize * planes..(die as usize + 1) * planes;
            loop {
                let taken: Vec<Block> =
                    due[of_die.clone()].iter_mut().filter_map(VecDeque::pop_front).collect();
                if taken.is_empty() {
                    break;
                }
                let mut is_new = false;
                for &block in &taken {
                    let ftl = &mut self.ftl;
                    let is_taken = ftl.reclaim(block) || (ftl.close(block) && ftl.reclaim(block));
                    done.blocks += u64::from(is_taken);
                    is_new |= is_taken;
                }
                if is_new {
                    self.settle_worn(Die(die), calendar, untimed, done)?;
                }
                for block in taken {
                    self.enter_again(block, again, calendar);
                }
            }
        }
        Ok(())
    }

    /// Enters a block for the minute `again` if its data are still due, as the FTL has not taken
    /// it.
    fn enter_again(&self, block: Block, again: u32, calendar: &mut Calendar) {
        let chips = &self.flash.chips;
        let due = self.failures.refresh.due_minutes(chips, block);
        if chips.data_minutes(block).is_some_and(|age| age >= due) {
            calendar.insert((again, block.0));
        }
    }

    /// Lets the jobs of the FTL do all that is due, on the flash.
    fn settle_worn(
        &mut self,
        die: Die,
        calendar: &mut Calendar,
        untimed: &mut Untimed,
        done: &mut Refreshed,
    ) -> Result<()> {
        let worn = Worn { chips: &mut self.flash.chips, erases: 0, is_full: false };
        let mut flash = Begun { worn, born: Vec::new() };
        self.ftl.settle_on(Job::of(die), Urgency::Due, untimed, &mut flash)?;
        while let Some(job) = self.ftl.wanted() {
            self.ftl.settle_on(job, Urgency::Due, untimed, &mut flash)?;
        }
        let Begun { worn: Worn { erases, is_full, .. }, born } = flash;
        done.erases += erases;
        if is_full {
            let now = self.now();
            self.failures.set_read_only(now);
        }
        born.into_iter().for_each(|block| self.enter(block, calendar));
        self.ftl.fault(false).map_or(Ok(()), Err)
    }

    /// Counts the reads of patrols since the device had the age `begin`, and lets them disturb
    /// their blocks.
    fn patrol_untimed(&mut self, begin: u32) -> u64 {
        let Some(patrol) = &self.failures.refresh.patrol else { return 0 };
        let chips = &mut self.flash.chips;
        let mut all = 0;
        for block in (0..chips.geometry.blocks()).map(Block) {
            let (Some(age), false) = (chips.data_minutes(block), self.ftl.is_bad(block)) else {
                continue;
            };
            let passed = f64::from(age.min(chips.age_minutes() - begin));
            let reads = passed * f64::from(patrol.pages()) / f64::from(patrol.minutes().max(1));
            chips.disturb(block, reads as u32);
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

    fn cannot_spare(&mut self) {
        self.worn.cannot_spare();
    }
}
