//! Stripes that are made whole early: `parity.partial = "written"`.
//!
//! The rows that open stripes lack are written without data, and their parity behind them, before
//! flash is erased and whenever the drive asks. So older data stay until the stripes of newer ones
//! are on flash, and what is on flash needs nothing of the controller's memory. One request is
//! under way at a time; another one that comes meanwhile begins behind it.

use super::Spans;
use crate::ftl::contract::{Place, Program, Until};
use nand::geometry::{Block, Die};
use std::ops::Range;

/// Open stripes that lack rows, and the requests to make them whole.
#[derive(Clone, Default)]
pub(super) struct Whole {
    /// Stripes are made whole early.
    is_on: bool,
    /// Number of the last request that was made.
    asked: u64,
    /// Number of the request that has begun last.
    begun: u64,
    /// Number of the request whose stripes are whole.
    done: u64,
    /// Number of the request of the drive.
    of_drive: u64,
    /// Number of the request that fills rows which a start-up has found short.
    until_filled: u64,
    /// Superblocks that lack rows for the request that has begun.
    lacking: Vec<Lacking>,
    /// Number of the next program.
    next: u64,
    /// Programs under way: first block, page, and number.
    under_way: Vec<(Block, u32, u64)>,
    /// Programs from this number on came after the stripes had all their rows.
    limit: u64,
}

/// Open superblock whose dies are to have the same rows, in one group of joined planes.
#[derive(Clone, Copy)]
struct Lacking {
    span: usize,
    stream: u32,
    group: u32,
    /// Page up to which each die is to be filled.
    end: u32,
}

impl Whole {
    /// Creates an account without requests, for stripes that are made whole early or late.
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Whether all stripes are whole that had data when a request was made.
    pub(super) fn is_done(&self, request: u64) -> bool {
        self.done >= request
    }

    /// Page up to which a group of planes of an open superblock is to be filled on all dies.
    pub(super) fn end_of(&self, span: usize, stream: u32, group: u32) -> Option<u32> {
        let mut lacking = self.lacking.iter();
        lacking.find(|of| (of.span, of.stream, of.group) == (span, stream, group)).map(|of| of.end)
    }

    /// Whether any superblock lacks rows.
    #[inline]
    pub(super) fn lacks_rows(&self) -> bool {
        !self.lacking.is_empty()
    }

    /// Notes that the open superblock of a stream is full: it lacks no rows, but the last of them
    /// may be under way.
    pub(super) fn was_filled(&mut self, span: usize, stream: u32) {
        if self.lacks_rows() {
            self.lacking.retain(|of| (of.span, of.stream) != (span, stream));
            self.limit = self.next;
        }
    }

    /// Takes in a program that has been placed.
    #[inline]
    pub(super) fn placed(&mut self, program: &Program) {
        if self.is_on {
            self.under_way.push((program.blocks()[0], program.page, self.next));
            self.next += 1;
        }
    }
}

impl Spans {
    /// Takes in the report of a program, for the stripes that are to be whole.
    #[inline]
    pub(super) fn row_reported(&mut self, program: &Program) {
        if !self.whole.is_on {
            return;
        }
        let place = (program.blocks()[0], program.page);
        self.whole.under_way.retain(|&(block, page, _)| (block, page) != place);
        self.go_on_whole();
    }

    /// Asks for the rows that open stripes lack now. Returns the number of the request.
    pub(super) fn ask_for_whole(&mut self) -> u64 {
        self.whole.asked = self.whole.begun + 1;
        if self.whole.begun == self.whole.done {
            self.begin_whole();
        }
        self.go_on_whole();
        self.whole.asked
    }

    /// Makes a request of the drive.
    pub(super) fn ask_for_drive(&mut self) {
        self.whole.of_drive = self.ask_for_whole();
    }

    /// Whether the request of the drive is done.
    pub(super) fn is_whole_for_drive(&self) -> bool {
        self.whole.is_done(self.whole.of_drive)
    }

    /// Fills rows that a power cut has left short, before any data go to their superblocks: a
    /// start-up cannot tell whether parity has counted a page that was torn.
    pub(super) fn fill_found(&mut self) {
        if self.whole.is_on {
            self.ask_for_whole();
            self.whole.until_filled = self.whole.asked;
        }
    }

    /// Whether rows that a power cut has left short are being filled in a span.
    pub(in crate::ftl) fn fills_found(&self, span: usize) -> bool {
        !self.whole.is_done(self.whole.until_filled)
            && self.whole.lacking.iter().any(|of| of.span == span && self.lacks(of))
    }

    /// Whether the drained superblocks of a span may be erased: the stripes of newer data are
    /// whole. Asks for that at the first call.
    pub(super) fn may_erase(&mut self, span: usize) -> bool {
        if !self.whole.is_on {
            return true;
        }
        let request = match self.spans[span].erase_after {
            Some(request) => request,
            None => self.ask_for_whole(),
        };
        self.spans[span].erase_after = Some(request);
        self.whole.is_done(request)
    }

    /// Whether the erase of drained superblocks waits for stripes to be whole.
    pub(super) fn waits_to_erase(&self, span: usize) -> bool {
        self.spans[span].erase_after.is_some_and(|request| !self.whole.is_done(request))
    }

    /// Place for data behind the rows that one of these dies is to fill, as a start-up has found
    /// them short.
    pub(in crate::ftl) fn behind_filling(&mut self, dies: Range<u32>) -> Option<Place> {
        let fills = |&die: &Die| self.fills_found(self.span_of(die)) && self.has_to_fill(die);
        let die = dies.map(Die).find(fills)?;
        self.call_dies(self.span_of(die));
        Some(Place::Later(Until::Die(die)))
    }

    fn begin_whole(&mut self) {
        self.whole.begun += 1;
        self.whole.limit = self.whole.next;
        let mut lacking = Vec::new();
        for span in 0..self.spans.len() {
            for stream in self.page.data_streams() {
                for group in 0..self.page.groups {
                    let at = |die| self.page.frontier_index(die, stream, group);
                    let parts = || self.dies_in(span).map(at).map(|at| self.page.frontiers[at]);
                    let end = parts().map(|part| part.page).max().unwrap_or(0);
                    if parts().any(|part| part.open && part.page < end) {
                        lacking.push(Lacking { span, stream, group, end });
                    }
                }
            }
        }
        for &Lacking { span, .. } in &lacking {
            self.call_dies(span);
        }
        self.whole.lacking = lacking;
    }

    /// Ends the request under way, if its rows are on flash, and begins the next one.
    fn go_on_whole(&mut self) {
        while self.whole.begun > self.whole.done {
            if self.whole.lacks_rows() {
                let mut lacking = std::mem::take(&mut self.whole.lacking);
                lacking.retain(|of| self.lacks(of));
                let is_filled = lacking.is_empty();
                self.whole.lacking = lacking;
                self.whole.limit = self.whole.next;
                if is_filled && !self.whole.is_done(self.whole.until_filled) {
                    // Collection has waited for these rows.
                    self.call_all();
                }
            }
            let limit = self.whole.limit;
            if self.whole.lacks_rows() || self.whole.under_way.iter().any(|&(.., at)| at < limit) {
                return;
            }
            self.whole.done = self.whole.begun;
            for span in 0..self.spans.len() {
                if self.spans[span].erase_after.is_some() {
                    self.call_dies(span);
                }
            }
            if self.whole.asked > self.whole.done {
                self.begin_whole();
            }
        }
    }

    fn lacks(&self, of: &Lacking) -> bool {
        self.dies_in(of.span).any(|die: Die| {
            let part = &self.page.frontiers[self.page.frontier_index(die, of.stream, of.group)];
            part.open && part.page < of.end
        })
    }
}
