//! Ageing by reads, without time: a host reads all stored data, again and again.
//!
//! A pass reads each unit with data once, in aligned requests of one size. Each page that a request
//! touches is one read of its block. Passes go by at once up to the next one after which a block
//! is due: `gc.reclaim_reads` of its page reads are reached, or the bit error rate of one of its
//! pages is above `refresh.rber`. Then the FTL moves its data, on flash that wears and fails.
//!
//! Blocks are looked at after each pass, so a block is rewritten up to one pass late. Pages of a
//! map on flash are not counted. What is moved is taken as read without errors, so rounds of read
//! retry (`gc.reclaim_rounds`) reclaim nothing here.

use super::rewriting::{Rewriting, by_plane};
use crate::drive::Ssd;
use crate::ftl::Lpn;
use base::Result;
use nand::geometry::Block;

/// Work of a drive while its data were read over and over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Blocks that the FTL has taken to be rewritten.
    pub blocks: u64,
    /// Units that were moved, those of blocks that collection has taken with them included.
    pub units: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Page reads of the host.
    pub page_reads: u64,
}

/// Has all stored data read `passes` times, in requests of `request_units` units. Refused while
/// anything is under way. Ends early where the drive becomes read-only.
pub fn read_passes(ssd: &mut Ssd, passes: u32, request_units: u32) -> Result<Reclaimed> {
    ssd.check_rest()?;
    let blocks = ssd.flash.chips.geometry.blocks() as usize;
    let rewriting = Rewriting::of(ssd);
    let moved = rewriting.ftl.counts().moved_units;
    let done = Reclaimed::default();
    let of_block = vec![OfBlock::default(); blocks];
    let mut reading = Reading { rewriting, request_units, of_block, done };
    reading.count();
    let mut left = passes;
    while left > 0 && reading.rewriting.failures.read_only.all_since().is_none() {
        left -= reading.step(left)?;
    }
    let mut done = reading.done;
    done.units = reading.rewriting.ftl.counts().moved_units - moved;
    ssd.end_untimed();
    Ok(done)
}

/// Part of a block in each pass.
#[derive(Debug, Clone, Copy, Default)]
struct OfBlock {
    /// Page reads in a pass.
    reads: u32,
    /// Number of its pages up to the last one that is read.
    end: u32,
    /// Reads since its erase from which on it is rewritten.
    due: u32,
    /// Cycles and `end` that `due` holds for.
    due_of: Option<(u32, u32)>,
}

/// A drive whose data are read over and over.
struct Reading<'a> {
    rewriting: Rewriting<'a>,
    request_units: u32,
    of_block: Vec<OfBlock>,
    done: Reclaimed,
}

impl Reading<'_> {
    /// Counts the page reads of each block in a pass, and sets when it is due.
    fn count(&mut self) {
        let Rewriting { chips, ftl, failures, .. } = &self.rewriting;
        let geometry = &chips.geometry;
        self.of_block.iter_mut().for_each(|of| (of.reads, of.end) = (0, 0));
        let units = ftl.facts().logical_units;
        let mut pages = Vec::with_capacity(self.request_units as usize);
        let mut begin = 0;
        while begin < units {
            let end = begin.saturating_add(self.request_units).min(units);
            let places = (begin..end).filter_map(|unit| ftl.lookup(Lpn(unit)));
            pages.clear();
            pages.extend(places.map(|ppn| geometry.page_of(ppn)));
            pages.sort_unstable_by_key(|&(block, page)| (block.0, page));
            pages.dedup();
            for &(block, page) in &pages {
                let of = &mut self.of_block[block.0 as usize];
                of.reads += 1;
                of.end = of.end.max(page + 1);
            }
            begin = end;
        }
        for (block, of) in (0..).map(Block).zip(&mut self.of_block) {
            let state = (chips.pe_cycles(block), of.end);
            if of.reads > 0 && of.due_of != Some(state) {
                of.due_of = Some(state);
                let poor = failures.refresh.poor_reads(chips, block, of.end);
                of.due = failures.reclaim.limit().min(poor);
            }
        }
    }

    /// Lets passes go by up to the next one after which a block is due, `left` at most. Returns
    /// their number.
    fn step(&mut self, left: u32) -> Result<u32> {
        let chips = &mut *self.rewriting.chips;
        let read = || (0..).map(Block).zip(&self.of_block).filter(|(_, of)| of.reads > 0);
        let until = |(block, of): (Block, &OfBlock)| match of.due {
            u32::MAX => u32::MAX,
            due => due.saturating_sub(chips.reads(block)).div_ceil(of.reads),
        };
        let step = read().map(until).min().unwrap_or(left).clamp(1, left);
        for (block, of) in read() {
            chips.disturb(block, of.reads.saturating_mul(step));
            self.done.page_reads += u64::from(of.reads) * u64::from(step);
        }
        let is_due = |&(block, of): &(Block, &OfBlock)| {
            of.due < u32::MAX && chips.reads(block) >= of.due && !self.rewriting.ftl.is_bad(block)
        };
        let mut due: Vec<Block> = read().filter(is_due).map(|(block, _)| block).collect();
        // The most read goes first.
        due.sort_by_key(|&block| (u32::MAX - chips.reads(block), block.0));
        if !due.is_empty() {
            let due = by_plane(&chips.geometry, due.into_iter());
            let rewritten = self.rewriting.rewrite(due, false)?;
            self.done.blocks += rewritten.blocks;
            self.done.erases += rewritten.erases;
            if rewritten.blocks > 0 {
                self.count();
            }
        }
        Ok(step)
    }
}
