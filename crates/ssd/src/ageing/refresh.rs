//! Refresh while hours pass at once: what an idle drive with power would have done in them.
//!
//! The device's age goes on from one block that is due to the next. A block is due when its data
//! are `refresh.after_hours` old, or at the first patrol that finds a page with an error rate
//! above `refresh.rber`. It is rewritten at that age through the FTL, without time, on flash that
//! wears and fails. What is moved is taken as read without errors: with limits below what the
//! decoder corrects that is so.

use super::rewriting::{Rewriting, by_plane};
use crate::drive::Ssd;
use crate::failure::refresh::MINUTES;
use base::Result;
use base::units::Hours;
use nand::geometry::Block;
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
    let rewriting = Rewriting::of(ssd);
    let begin = rewriting.chips.age_minutes();
    let end = begin.saturating_add(minutes);
    let (calendar, done) = (Calendar::new(), Refreshed::default());
    let mut passing = Passing { rewriting, calendar, done };
    for block in (0..passing.rewriting.chips.geometry.blocks()).map(Block) {
        passing.enter(block);
    }
    let moved = passing.rewriting.ftl.counts().moved_units;
    while let Some(&(at, _)) = passing.calendar.first()
        && at <= end
        && passing.rewriting.failures.read_only.all_since().is_none()
    {
        let chips = &mut *passing.rewriting.chips;
        let now = chips.age_minutes();
        chips.age_by_minutes(at.saturating_sub(now));
        let due = passing.take_due();
        passing.rewrite(due)?;
    }
    let chips = &mut *passing.rewriting.chips;
    chips.age_by_minutes(end.saturating_sub(chips.age_minutes()));
    let mut done = passing.done;
    done.units = passing.rewriting.ftl.counts().moved_units - moved;
    done.patrol_reads = passing.patrol(begin);
    ssd.end_untimed();
    ssd.look_again();
    Ok(done)
}

/// A drive whose hours pass at once.
struct Passing<'a> {
    rewriting: Rewriting<'a>,
    calendar: Calendar,
    done: Refreshed,
}

impl Passing<'_> {
    /// Enters a block into the calendar, if it has data of the FTL.
    fn enter(&mut self, block: Block) {
        let Rewriting { chips, ftl, failures, .. } = &self.rewriting;
        if let Some(age) = chips.data_minutes(block)
            && !ftl.is_bad(block)
        {
            let left = failures.refresh.due_minutes(chips, block).saturating_sub(age);
            self.calendar.insert((chips.age_minutes().saturating_add(left), block.0));
        }
    }

    /// Blocks that are due now, by plane, the oldest first.
    fn take_due(&mut self) -> Vec<VecDeque<Block>> {
        let Rewriting { chips, failures, .. } = &self.rewriting;
        let now = chips.age_minutes();
        let mut found = Vec::new();
        while let Some(&(at, block)) = self.calendar.first()
            && at <= now
        {
            self.calendar.pop_first();
            let block = Block(block);
            let due = failures.refresh.due_minutes(chips, block);
            match chips.data_minutes(block) {
                Some(age) if age >= due => found.push((age, block)),
                Some(age) => {
                    self.calendar.insert((now.saturating_add(due - age), block.0));
                }
                None => {}
            }
        }
        found.sort_by_key(|&(age, block)| (u32::MAX - age, block.0));
        by_plane(&chips.geometry, found.into_iter().map(|(_, block)| block))
    }

    /// Rewrites blocks, one of each plane of a die together.
    fn rewrite(&mut self, due: Vec<VecDeque<Block>>) -> Result<()> {
        let tried: Vec<Block> = due.iter().flatten().copied().collect();
        let rewritten = self.rewriting.rewrite(due, true)?;
        self.done.blocks += rewritten.blocks;
        self.done.erases += rewritten.erases;
        rewritten.born.into_iter().for_each(|block| self.enter(block));
        let again = self.rewriting.chips.age_minutes().saturating_add(AGAIN_MINUTES);
        tried.into_iter().for_each(|block| self.enter_again(block, again));
        Ok(())
    }

    /// Enters a block for the minute `again` if its data are still due, as the FTL has not taken
    /// it.
    fn enter_again(&mut self, block: Block, again: u32) {
        let Rewriting { chips, failures, .. } = &self.rewriting;
        let due = failures.refresh.due_minutes(chips, block);
        if chips.data_minutes(block).is_some_and(|age| age >= due) {
            self.calendar.insert((again, block.0));
        }
    }

    /// Counts the reads of patrols since the device had the age `begin`, and lets them disturb
    /// their blocks.
    fn patrol(&mut self, begin: u32) -> u64 {
        let mut all = 0;
        let Rewriting { chips, ftl, failures, .. } = &mut self.rewriting;
        for block in (0..chips.geometry.blocks()).map(Block) {
            let (Some(age), false) = (chips.data_minutes(block), ftl.is_bad(block)) else {
                continue;
            };
            let passed = age.min(chips.age_minutes() - begin);
            let reads = failures.refresh.patrol_reads_in(passed);
            chips.disturb(block, reads as u32);
            all += reads as u64;
        }
        all
    }
}
