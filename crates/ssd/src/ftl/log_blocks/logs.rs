//! Log blocks: the set that each serves, how far it is written, and the units placed in it.

use crate::ftl::blocks::layout::Cursor;
use crate::ftl::blocks::pool::{NONE, Virtual};
use base::Result;
use base::archive::{self, Archive};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Present state of a log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// The log block takes data of the host, or is full.
    Open,
    /// A gap before the next write of the host is to be filled by copies.
    Filling,
    /// The log block is to be emptied.
    Queued,
    /// A merge copies to the log block.
    Taken,
}

/// State of a log block, which takes writes of the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Log {
    /// Set of logical blocks that the log serves; `NONE` if it is not in use.
    pub set: u32,
    /// Logical block of the first unit.
    pub block: u32,
    /// The log takes one logical block, in order.
    pub is_in_order: bool,
    /// The log takes a sequential stream, beside the log blocks of its set.
    pub is_sequential: bool,
    pub state: State,
    /// Virtual block of the log; `NONE` while a merge has it.
    pub target: Virtual,
    /// Place of the next program.
    pub cursor: Cursor,
    /// All units that were written to the log are of one logical block, and lie at their own
    /// positions.
    pub is_aligned: bool,
    /// Programs of the host that have not been reported.
    pub flying: u32,
    /// Merges under way that empty the log.
    pub merges: u32,
    /// Order of opening, which counts up: the oldest log has the least.
    pub order: u64,
    /// Position up to which the log is to be filled.
    pub until: u32,
    /// Further requests for a log until the row that this log was filled for counts as trimmed; 0
    /// if it does not wait for a row.
    pub patience: u32,
    /// Position from which on there may be valid units of a logical block that nobody merges.
    pub scan: u32,
    /// Position up to which a search from `scan` on has found no such unit: none comes before it as
    /// long as no merge ends.
    #[serde(skip)]
    pub searched: Cell<u32>,
}

impl Log {
    /// Whether the log has been filled for a row of the host that is still to come.
    pub(super) fn is_awaiting(&self) -> bool {
        self.patience > 0
    }

    fn unused() -> Self {
        Self {
            set: NONE,
            block: NONE,
            is_in_order: false,
            is_sequential: false,
            state: State::Open,
            target: NONE,
            cursor: Cursor { row: 0, plane: 0 },
            is_aligned: true,
            flying: 0,
            merges: 0,
            order: 0,
            until: 0,
            patience: 0,
            scan: 0,
            searched: Cell::new(0),
        }
    }
}

/// Log blocks of a drive, and the units placed in them.
#[derive(Clone)]
pub(super) struct Logs {
    logs: Vec<Log>,
    units: usize,
    /// By log and position: the unit that was placed there.
    owner: Vec<u32>,
    unused: Vec<u32>,
}

impl archive::State for Logs {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { logs, units: _, owner, unused } = self;
        archive.value(logs)?;
        archive.table(owner)?;
        archive.value(unused)
    }
}

impl Logs {
    /// Creates `count` logs of `units` units, none of them in use.
    pub(super) fn new(count: u32, units: u32) -> Self {
        Self {
            logs: vec![Log::unused(); count as usize],
            units: units as usize,
            owner: vec![NONE; count as usize * units as usize],
            unused: (0..count).rev().collect(),
        }
    }

    #[inline]
    pub(super) fn log(&self, log: u32) -> &Log {
        &self.logs[log as usize]
    }

    #[inline]
    pub(super) fn log_mut(&mut self, log: u32) -> &mut Log {
        &mut self.logs[log as usize]
    }

    /// Logs in use, each with its number.
    pub(super) fn used(&self) -> impl Iterator<Item = (u32, &Log)> {
        (0..).zip(&self.logs).filter(|(_, log)| log.set != NONE)
    }

    /// Number that the next log gets.
    pub(super) fn next(&self) -> u32 {
        *self.unused.last().expect("as many as may be opened")
    }

    /// Takes a log for a set, and a logical block in it.
    pub(super) fn take(&mut self, set: u32, block: u32, target: Virtual, order: u64) -> u32 {
        let number = self.unused.pop().expect("as many as may be opened");
        self.logs[number as usize] = Log { set, block, target, order, ..Log::unused() };
        number
    }

    /// Gives a log back.
    pub(super) fn release(&mut self, log: u32) {
        self.logs[log as usize] = Log::unused();
        self.unused.push(log);
    }

    /// The unit placed at a position.
    #[inline]
    pub(super) fn owner(&self, log: u32, position: u32) -> u32 {
        self.owner[log as usize * self.units + position as usize]
    }

    /// Notes the unit placed at a position.
    #[inline]
    pub(super) fn own(&mut self, log: u32, position: u32, unit: u32) {
        self.owner[log as usize * self.units + position as usize] = unit;
    }

    /// Bytes of logs and owners.
    pub(super) fn bytes(&self) -> usize {
        4 * self.owner.len() + self.logs.len() * size_of::<Log>()
    }
}
