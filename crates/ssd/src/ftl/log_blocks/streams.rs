//! Streams of writes in order: recognised as units enter the write buffer, one log block for each.
//!
//! A unit that follows the last one of a stream belongs to it. The first unit of a logical block
//! begins a stream, in place of the one that has rested longest.

use crate::ftl::blocks::pool::NONE;
use base::Result;
use base::archive::{self, Archive};
use serde::{Deserialize, Serialize};

/// A stream of writes in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Run {
    /// Unit that continues the stream.
    next: u32,
    /// Time of the last write, which counts up.
    at: u64,
    /// Log block that the stream is written to.
    log: u32,
}

/// Streams of a drive, by number.
#[derive(Clone)]
pub(super) struct Streams {
    runs: Vec<Run>,
    now: u64,
}

impl archive::State for Streams {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { runs, now } = self;
        archive.value(runs)?;
        archive.value(now)
    }
}

impl Streams {
    /// Creates `count` streams, none of them begun.
    pub(super) fn new(count: u32) -> Self {
        Self { runs: vec![Run { next: NONE, at: 0, log: NONE }; count as usize], now: 0 }
    }

    /// Stream of a unit that the host writes, which lies at `offset` in its logical block.
    pub(super) fn of(&mut self, unit: u32, offset: u32) -> Option<u32> {
        let found = self.runs.iter().position(|run| run.next == unit);
        let oldest = || (0..self.runs.len()).min_by_key(|&stream| self.runs[stream].at);
        let stream = found.or_else(|| (offset == 0).then(oldest).flatten())?;
        self.now += 1;
        let run = &mut self.runs[stream];
        (run.next, run.at) = (unit + 1, self.now);
        Some(stream as u32)
    }

    /// Log block of a stream, or `NONE`.
    pub(super) fn log(&self, stream: u32) -> u32 {
        self.runs[stream as usize].log
    }

    /// Sets the log block that a stream is written to, or `NONE`.
    pub(super) fn set_log(&mut self, stream: u32, log: u32) {
        self.runs[stream as usize].log = log;
    }

    /// Takes a log block away from the stream that is written to it.
    pub(super) fn forget(&mut self, log: u32) {
        self.runs.iter_mut().filter(|run| run.log == log).for_each(|run| run.log = NONE);
    }
}
