//! Sorting of moved data: each unit that collection moves goes to the open blocks of its stream.
//!
//! A row takes units of one stream, so the units of a victim wait until their stream fills a row,
//! with those of later victims. They stay valid in their old blocks meanwhile, which are erased
//! when nothing in them waits any more. A die with blocks to spare may keep one set of drained
//! blocks for each stream. Beyond that, and on a die without, the oldest units share a row whatever
//! their streams, so that collection takes no more room than without sorting. Cold data that wait
//! while other victims are begun may go to blocks of other data, and the other way around.
//!
//! Superblocks sort as well (`superblocks/sorted.rs`), but keep none that is drained.

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
    /// By die, or by span of dies with superblocks: units of its victims.
    bins: Vec<Bins>,
    /// By die: stream of the row that its job moves.
    rows: Vec<u32>,
}

/// Units of the victims of one die, or of one span, that wait for a row, from the oldest on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Bins {
    waiting: Vec<Waiting>,
}

impl Sorting {
    /// Creates empty bins for moved data of `streams` streams, on `dies` dies that are collected in
    /// `spans` spans.
    pub(super) fn new(streams: u32, dies: u32, spans: u32) -> Self {
        let bins = vec![Bins::default(); spans as usize];
        Self { streams, bins, rows: vec![0; dies as usize] }
    }

    /// Whether moved data have several streams.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.streams > 1
    }

    /// Stream of the row that the job of a die moves.
    #[inline]
    pub(super) fn stream(&self, die: Die) -> u32 {
        self.rows[die.0 as usize]
    }

    /// Streams whose blocks may take the row that the job of a die moves: its own one first, others
    /// where that has no room.
    pub(super) fn streams_for(&self, die: Die) -> impl Iterator<Item = u32> + use<> {
        let (own, streams) = (self.stream(die), self.streams);
        (own..own + streams).map(move |stream| stream % streams)
    }

    /// Notes the stream of the row that the job of a die moves.
    pub(super) fn set_stream(&mut self, die: Die, stream: u32) {
        self.rows[die.0 as usize] = stream;
    }

    /// Bins of a die, or of a span.
    pub(super) fn bins(&self, span: usize) -> &Bins {
        &self.bins[span]
    }

    /// Takes the bins of a die or of a span out, to be put back.
    pub(super) fn take_bins(&mut self, span: usize) -> Bins {
        std::mem::take(&mut self.bins[span])
    }

    /// Puts the bins of a die or of a span back.
    pub(super) fn put_bins(&mut self, span: usize, bins: Bins) {
        self.bins[span] = bins;
    }
}

impl Bins {
    /// Adds gathered units, each to the stream that `stream_of` says.
    pub(super) fn add(&mut self, gathered: &mut Vec<Move>, stream_of: &mut dyn FnMut(Lpn) -> u32) {
        self.waiting.extend(gathered.drain(..).map(|unit| Waiting {
            stream: stream_of(unit.lpn),
            lpn: unit.lpn.0,
            from: unit.from.0,
        }));
    }

    /// Drops units that the host has written anew, as `map` says: they need no row.
    pub(super) fn drop_stale(&mut self, map: &[u32]) {
        self.waiting.retain(|unit| map[unit.lpn as usize] == unit.from);
    }

    /// Number of units that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Place on flash of the unit that waits longest.
    pub(super) fn oldest(&self) -> Option<Ppn> {
        self.waiting.first().map(|unit| Ppn(unit.from))
    }

    /// Takes a row of units: the oldest ones, whatever their streams, if they must go, or those of
    /// the first stream that fills it. Returns its stream; `None` where nothing fills a row.
    pub(super) fn take_row(
        &mut self,
        streams: u32,
        row: usize,
        must_go: bool,
        moves: &mut Vec<Move>,
    ) -> Option<u32> {
        if must_go && self.waiting.len() >= row {
            return Some(self.take(None, row, moves));
        }
        let count = |stream| self.waiting.iter().filter(|unit| unit.stream == stream).count();
        let full = (0..streams).find(|&stream| count(stream) >= row)?;
        Some(self.take(Some(full), row, moves))
    }

    /// Takes the oldest units, whatever their streams, though they fill no row. Returns the stream
    /// of the first.
    pub(super) fn take_rest(&mut self, row: usize, moves: &mut Vec<Move>) -> u32 {
        self.take(None, row, moves)
    }

    /// Takes the oldest units, at most `row`: those of a stream, or all.
    fn take(&mut self, stream: Option<u32>, row: usize, moves: &mut Vec<Move>) -> u32 {
        let placed = stream.or(self.waiting.first().map(|unit| unit.stream)).unwrap_or(0);
        self.waiting.retain(|unit| {
            let is_taken = moves.len() < row && stream.is_none_or(|stream| unit.stream == stream);
            if is_taken {
                moves.push(Move { lpn: Lpn(unit.lpn), from: Ppn(unit.from) });
            }
            !is_taken
        });
        placed
    }
}

impl PageFtl {
    /// Blocks of a die, without data of their own, that may be kept for units that wait.
    #[inline]
    pub(super) fn kept_blocks(&self, die: Die) -> usize {
        let streams = self.sorting.streams;
        let rows = self.geometry.pages_per_block / self.pages_per_program;
        let is_kept = self.sorting.is_on() && streams <= rows && self.is_roomy(die);
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
        let mut bins = self.sorting.take_bins(die.0 as usize);
        let answer = self.next_row(die, urgency, (&mut collection, &mut bins), work, stream_of);
        if answer == Step::Move && collection.is_levelling {
            work.reason = Reason::Levelling;
        }
        self.sorting.put_bins(die.0 as usize, bins);
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
        let stream = loop {
            bins.drop_stale(&self.map);
            if self.erase_empty(collection, bins, &mut work.blocks) {
                return Step::Erase;
            }
            let must_go = collection.drained.len() > self.kept_blocks(die);
            if let Some(stream) = bins.take_row(streams, row, must_go, &mut work.moves) {
                break stream;
            }
            if collection.victims.is_empty() {
                // A block that is to be moved off does not wait for others.
                if !(collection.is_due && bins.oldest().is_some()) {
                    self.pick_victims(die, urgency, must_go, collection);
                    if collection.victims.is_empty() && !must_go {
                        return Step::Done;
                    }
                }
                if collection.victims.is_empty() {
                    break bins.take_rest(row, &mut work.moves);
                }
            }
            collection.gather(&self.geometry, &self.map, &self.owner, row, &mut gathered);
            bins.add(&mut gathered, stream_of);
        };
        self.sorting.set_stream(die, stream);
        Step::Move
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
