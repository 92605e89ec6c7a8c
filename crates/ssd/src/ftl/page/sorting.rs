//! Sorting of moved data: each unit that collection moves goes to the open blocks of its stream.
//!
//! A row takes units of one stream, so the units of a victim wait until their stream fills a row,
//! with those of later victims. They stay valid in their old blocks meanwhile, which are erased
//! when nothing in them waits any more. A die with blocks to spare may keep one set of drained
//! blocks for each stream. Beyond that, and on a die without, the oldest units share a row whatever
//! their streams, so that collection takes no more room than without sorting. Cold data that wait
//! while other victims are begun may go to blocks of other data, and the other way around.

use super::{Die, Draining, Job, Lpn, PageFtl, Ppn};
use crate::ftl::{Move, Reason, Step, Urgency, Work};
use nand::geometry::Block;
use serde::{Deserialize, Serialize};

/// A moved unit that waits for a row.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Waiting {
    stream: u32,
    lpn: u32,
    from: u32,
}

/// Units that wait for a row of their stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Sorting {
    /// Streams of moved data; with one nothing is sorted.
    pub(super) streams: u32,
    dies: Vec<Bins>,
}

/// Units of one die that wait for a row, from the oldest on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Bins {
    waiting: Vec<Waiting>,
    /// Stream of the row that is placed now.
    placed: u32,
}

impl Sorting {
    /// Creates empty bins for moved data of `streams` streams.
    pub(super) fn new(streams: u32, dies: u32) -> Self {
        Self { streams, dies: vec![Bins::default(); dies as usize] }
    }

    /// Stream of the row that a die moves.
    #[inline]
    pub(super) fn stream(&self, die: Die) -> u32 {
        self.dies[die.0 as usize].placed
    }
}

impl Bins {
    /// First stream whose units fill a row.
    fn full(&self, streams: u32, row: usize) -> Option<u32> {
        let count = |stream| self.waiting.iter().filter(|unit| unit.stream == stream).count();
        (0..streams).find(|&stream| count(stream) >= row)
    }

    /// Takes the oldest units, at most `row`: those of a stream, or all.
    fn take(&mut self, stream: Option<u32>, row: usize, moves: &mut Vec<Move>) {
        self.placed = stream.or(self.waiting.first().map(|unit| unit.stream)).unwrap_or(0);
        self.waiting.retain(|unit| {
            let is_taken = moves.len() < row && stream.is_none_or(|stream| unit.stream == stream);
            if is_taken {
                moves.push(Move { lpn: Lpn(unit.lpn), from: Ppn(unit.from) });
            }
            !is_taken
        });
    }
}

impl PageFtl {
    /// Blocks of a die, without data of their own, that may be kept for units that wait.
    #[inline]
    pub(super) fn kept_blocks(&self, die: Die) -> usize {
        let Sorting { streams, .. } = self.sorting;
        let rows = self.geometry.pages_per_block / self.pages_per_program;
        let is_kept = streams > 1 && streams <= rows && self.is_roomy(die);
        if is_kept { (streams * self.joined) as usize } else { 0 }
    }

    /// The next step of a die's collection, which sorts what it moves: `stream_of` says the stream
    /// of each unit.
    pub(in crate::ftl) fn sorted_step(
        &mut self,
        job: Job,
        urgency: Urgency,
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let die = Die(job.0);
        work.clear();
        let mut collection = std::mem::take(&mut self.collections[die.0 as usize]);
        let mut bins = std::mem::take(&mut self.sorting.dies[die.0 as usize]);
        let answer = self.next_row(die, urgency, (&mut collection, &mut bins), work, stream_of);
        if answer == Step::Move && collection.is_levelling {
            work.reason = Reason::Levelling;
        }
        self.sorting.dies[die.0 as usize] = bins;
        self.collections[die.0 as usize] = collection;
        answer
    }

    fn next_row(
        &mut self,
        die: Die,
        urgency: Urgency,
        (collection, bins): (&mut Draining, &mut Bins),
        work: &mut Work,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Step {
        let (streams, row) = (self.sorting.streams, self.row_units as usize);
        let mut gathered = Vec::with_capacity(row);
        loop {
            // What the host has written anew needs no row.
            bins.waiting.retain(|unit| self.map[unit.lpn as usize] == unit.from);
            if self.erase_empty(collection, bins, &mut work.blocks) {
                return Step::Erase;
            }
            let must_go = collection.drained.len() > self.kept_blocks(die);
            if must_go && bins.waiting.len() >= row {
                bins.take(None, row, &mut work.moves);
                return Step::Move;
            }
            if let Some(stream) = bins.full(streams, row) {
                bins.take(Some(stream), row, &mut work.moves);
                return Step::Move;
            }
            let is_drained = collection.victims.is_empty();
            if is_drained && collection.is_due && !bins.waiting.is_empty() {
                // A block that is to be moved off does not wait for others.
                bins.take(None, row, &mut work.moves);
                return Step::Move;
            }
            if is_drained {
                self.pick_victims(die, urgency, must_go, collection);
                if collection.victims.is_empty() {
                    if !must_go {
                        return Step::Done;
                    }
                    bins.take(None, row, &mut work.moves);
                    return Step::Move;
                }
            }
            collection.gather(&self.geometry, &self.map, &self.owner, row, &mut gathered);
            bins.waiting.extend(gathered.drain(..).map(|unit| Waiting {
                stream: stream_of(unit.lpn),
                lpn: unit.lpn.0,
                from: unit.from.0,
            }));
        }
    }

    /// Lists drained blocks from which no unit waits, for their erase. True if there are any.
    fn erase_empty(&self, collection: &mut Draining, bins: &Bins, blocks: &mut Vec<Block>) -> bool {
        let holds = |block: &Block| {
            bins.waiting.iter().any(|unit| self.geometry.block_of(Ppn(unit.from)) == *block)
        };
        let (kept, empty) = std::mem::take(&mut collection.drained).into_iter().partition(holds);
        collection.drained = empty;
        collection.erase(&self.geometry, self.joined as usize, blocks);
        // Those of the same planes wait for the next erase.
        collection.drained.splice(0..0, kept);
        !blocks.is_empty()
    }
}
