//! Log blocks: which logical block each belongs to, and the map of what is in it.
//!
//! A log has a map of its logical block: where the newest data of each unit are that the data block
//! does not have. While the log is merged, the same map says what has been copied to where. So a
//! logical block is found by its log first, and then by its data block.

use super::layout::Cursor;
use super::pool::{NONE, Virtual};
use nand::geometry::Ppn;

/// What is being done with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It takes data of the host.
    Open,
    /// It is to be merged.
    Queued,
    /// It is being merged.
    Merging,
}

/// How a log is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The log becomes the data block once the rest is copied behind what it has.
    Partial,
    /// All is copied to a new virtual block.
    Full,
}

/// A log block, and the logical block that it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub block: u32,
    /// Whether the host has opened it. Without, it is here to move a data block.
    pub is_of_host: bool,
    pub state: State,
    /// What is written to: the log block, or what its data are copied to. `NONE` is none yet.
    pub target: Virtual,
    /// Where the next program goes.
    pub cursor: Cursor,
    /// All that was written to the target lies at its own position.
    pub is_aligned: bool,
    /// Programs of the host that have not been reported.
    pub flying: u32,
    /// Units that the map has.
    pub live: u32,
    /// Counts up: the oldest has the least.
    pub order: u64,
    pub kind: Kind,
    /// Virtual blocks that the merge empties, beside the data block.
    pub old: Vec<Virtual>,
    /// Earlier targets of this pass: failed programs have taken what was left of them.
    pub full: Vec<Virtual>,
    /// Virtual blocks that this pass has taken.
    pub lent: u32,
    /// What is to be copied next, and the row that is the last.
    pub next: Cursor,
    pub last_row: u32,
    /// There was no free virtual block for what is copied.
    pub is_stalled: bool,
}

impl Log {
    const UNUSED: Self = Self {
        block: NONE,
        is_of_host: false,
        state: State::Open,
        target: NONE,
        cursor: Cursor { row: 0, plane: 0 },
        is_aligned: true,
        flying: 0,
        live: 0,
        order: 0,
        kind: Kind::Full,
        old: Vec::new(),
        full: Vec::new(),
        lent: 0,
        next: Cursor { row: 0, plane: 0 },
        last_row: 0,
        is_stalled: false,
    };
}

/// All logs.
#[derive(Clone)]
pub(super) struct Logs {
    logs: Vec<Log>,
    units: usize,
    /// By log and offset: where the newest data of a unit are.
    map: Vec<u32>,
    /// By log and position: the offset of the unit that was placed there.
    owner: Vec<u32>,
    unused: Vec<u32>,
}

/// Nothing at a position of a log.
pub(super) const PADDING: u32 = u32::MAX;

impl Logs {
    /// For `count` logs of `units` units.
    pub(super) fn new(count: u32, units: u32) -> Self {
        let room =
            || Log { old: Vec::with_capacity(4), full: Vec::with_capacity(4), ..Log::UNUSED };
        let table = count as usize * units as usize;
        Self {
            logs: (0..count).map(|_| room()).collect(),
            units: units as usize,
            map: vec![Ppn::NONE.0; table],
            owner: vec![PADDING; table],
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

    /// The logs in use, by number.
    pub(super) fn used(&self) -> impl Iterator<Item = (u32, &Log)> {
        (0..).zip(&self.logs).filter(|(_, log)| log.block != NONE)
    }

    /// Takes a log for a logical block.
    pub(super) fn take(&mut self, block: u32, target: Virtual, order: u64) -> u32 {
        let number = self.unused.pop().expect("as many as are opened, and one for each job");
        let log = &mut self.logs[number as usize];
        let (old, full) = (std::mem::take(&mut log.old), std::mem::take(&mut log.full));
        let is_of_host = target != NONE;
        *log = Log { block, is_of_host, target, order, old, full, ..Log::UNUSED };
        number
    }

    /// Gives a log back: its map is empty.
    pub(super) fn release(&mut self, log: u32) {
        let first = log as usize * self.units;
        self.map[first..first + self.units].fill(Ppn::NONE.0);
        let entry = self.log_mut(log);
        entry.block = NONE;
        entry.old.clear();
        entry.full.clear();
        self.unused.push(log);
    }

    /// Where the newest data of a unit are, if the log has them.
    #[inline]
    pub(super) fn at(&self, log: u32, offset: u32) -> Option<Ppn> {
        let ppn = self.map[log as usize * self.units + offset as usize];
        (ppn != Ppn::NONE.0).then_some(Ppn(ppn))
    }

    /// Sets where they are.
    #[inline]
    pub(super) fn set(&mut self, log: u32, offset: u32, ppn: Option<Ppn>) {
        let entry = &mut self.map[log as usize * self.units + offset as usize];
        let is_there = ppn.is_some();
        let was_there = std::mem::replace(entry, ppn.unwrap_or(Ppn::NONE).0) != Ppn::NONE.0;
        let live = &mut self.logs[log as usize].live;
        *live = *live + u32::from(is_there) - u32::from(was_there);
    }

    /// The unit placed at a position.
    #[inline]
    pub(super) fn owner(&self, log: u32, position: u32) -> u32 {
        self.owner[log as usize * self.units + position as usize]
    }

    /// Notes the unit placed at a position.
    #[inline]
    pub(super) fn own(&mut self, log: u32, position: u32, offset: u32) {
        self.owner[log as usize * self.units + position as usize] = offset;
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.map.len() + self.owner.len()) + self.logs.len() * size_of::<Log>()
    }
}
