//! A superblock: its virtual blocks, and the open one, which takes the host's writes.

use super::pass::Kind;
use crate::ftl::blocks::layout::Cursor;
use crate::ftl::blocks::pool::{NONE, Virtual};
use serde::{Deserialize, Serialize};

/// Present state of a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// The superblock takes data of the host.
    Open,
    /// The superblock is to be collected; the host waits.
    Queued(Kind),
    /// A job collects the superblock; the host waits.
    Collected,
}

/// State of a superblock: its virtual blocks, and the open one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Superblock {
    /// Number of logical blocks: the virtual blocks that the superblock may always have.
    pub size: u32,
    pub state: State,
    /// Virtual blocks, in the order in which they came, without those that a job empties.
    pub blocks: Vec<Virtual>,
    /// Virtual block that is written to; `NONE` if there is none.
    pub open: Virtual,
    /// Place of the next program in the open block.
    pub cursor: Cursor,
    /// Virtual blocks beyond `size`. While a job collects the superblock: as many as there were
    /// before.
    pub updates: u32,
    /// Programs of the host that have not been reported.
    pub flying: u32,
    /// Order of the last write of the host, which counts up.
    pub written: u64,
    /// Blocks of the superblock hold data that are to be moved.
    pub is_forced: bool,
}

impl Superblock {
    /// Creates an empty superblock with room for `most` virtual blocks.
    pub(super) fn new(size: u32, most: u32) -> Self {
        Self {
            size,
            state: State::Open,
            blocks: Vec::with_capacity(most as usize),
            open: NONE,
            cursor: Cursor::default(),
            updates: 0,
            flying: 0,
            written: 0,
            is_forced: false,
        }
    }

    /// Whether the superblock can be collected now.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Open && self.flying == 0
    }

    /// Closes the open block: it takes nothing more.
    pub(super) fn close(&mut self) {
        self.open = NONE;
    }
}
