//! Rows of superblocks whose moved data are sorted: each unit goes to a superblock of its stream.
//!
//! All dies of a span fill rows from the same bins. What is left of a drained superblock shares
//! rows whatever its streams, so that no drained superblock is kept: there are a few rows of it, of
//! the many that a superblock has.

use super::Spans;
use crate::ftl::contract::{Job, Lpn, Move, Urgency};
use crate::ftl::page::sorting::Bins;
use nand::geometry::Die;

impl Spans {
    /// Whether units of drained superblocks wait for a row: their blocks cannot be erased.
    pub(super) fn keeps_drained(&self, span: usize) -> bool {
        self.is_drained(span, self.page.sorting.bins(span))
    }

    /// Whether units in these bins of a span come from drained superblocks.
    fn is_drained(&self, span: usize, bins: &Bins) -> bool {
        let drained = &self.spans[span].drained;
        // Units of an earlier superblock stand before those of a later one.
        let is_of_drained = |place| drained.contains(&self.page.geometry.block_of(place));
        !drained.is_empty() && bins.oldest().is_some_and(is_of_drained)
    }

    /// Lists units of one stream that fill a row for the job of a die, or of any streams where a
    /// drained superblock waits for them. Lists nothing where there is no work, or none before
    /// drained superblocks are erased.
    pub(super) fn gather_sorted(
        &mut self,
        span: usize,
        job: Job,
        urgency: Urgency,
        moves: &mut Vec<Move>,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) {
        let mut bins = self.page.sorting.take_bins(span);
        let stream = self.next_sorted((span, job, urgency), &mut bins, moves, stream_of);
        self.page.sorting.put_bins(span, bins);
        if let Some(stream) = stream {
            self.page.sorting.set_stream(Die(job.0), stream);
        }
    }

    fn next_sorted(
        &mut self,
        (span, job, urgency): (usize, Job, Urgency),
        bins: &mut Bins,
        moves: &mut Vec<Move>,
        stream_of: &mut dyn FnMut(Lpn) -> u32,
    ) -> Option<u32> {
        let (streams, row) = (self.page.sorting.streams, self.page.row_units as usize);
        let mut gathered = Vec::with_capacity(row);
        loop {
            bins.drop_stale(&self.page.map);
            let must_go = self.is_drained(span, bins);
            let at = &self.spans[span];
            if !must_go && !at.drained.is_empty() {
                return None;
            }
            let stream = bins.take_row(streams, row, must_go, moves);
            if stream.is_some() {
                return stream;
            }
            if !at.has_victim() {
                // A superblock that is to be moved off does not wait for others.
                let is_alone = (must_go && at.is_due) || !self.pick(span, urgency, must_go);
                if is_alone {
                    return must_go.then(|| bins.take_rest(row, moves));
                }
            }
            // The last units of a drained superblock get no more with them than fill the row: so
            // drained superblocks do not follow each other without an erase.
            let most = if must_go { row - bins.len() } else { row };
            self.gather(span, job, most, &mut gathered);
            bins.add(&mut gathered, stream_of);
        }
    }

    /// Stream of the superblock that takes the row that the job of a die moves: that of its units,
    /// or another one that is open where there is no superblock to be opened.
    pub(super) fn stream_of_moves(&self, span: usize, job: Job, handle: Option<u32>) -> u32 {
        let first = self.page.gc_frontier;
        if let Some(handle) = handle {
            return first + handle;
        }
        let sorting = &self.page.sorting;
        let has_room = |&stream: &u32| self.free(span) > 0 || self.is_open(span, first + stream);
        let stream = sorting.streams_for(Die(job.0)).find(has_room);
        first + stream.unwrap_or(0)
    }
}
