//! A superblock: its virtual blocks, and the open one, which takes the host's writes.

use super::pass::Kind;
use crate::ftl::blocks::layout::Cursor;
use crate::ftl::blocks::pool::{NONE, Virtual};
use serde::{Deserialize, Serialize};

/// What is being done with a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// It takes data of the host.
    Open,
    /// It is to be collected. The host waits.
    Queued(Kind),
    /// A job collects it. The host waits.
    Collected,
}

/// A superblock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Superblock {
    /// Its logical blocks: so many virtual blocks it may always have.
    pub size: u32,
    pub state: State,
    /// Its virtual blocks, in the order in which they came; not those that a job empties.
    pub blocks: Vec<Virtual>,
    /// The one that is written to, if any, and where the next program goes.
    pub open: Virtual,
    pub cursor: Cursor,
    /// Virtual blocks beyond its size. While a job collects it: as many as there were before.
    pub updates: u32,
    /// Programs of the host that have not been reported.
    pub flying: u32,
    /// When the host last wrote to it: counts up.
    pub written: u64,
    /// It has blocks whose data are to be moved.
    pub is_forced: bool,
}

impl Superblock {
    /// An empty one with room for `most` virtual blocks.
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

    /// Whether it can be collected now.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Open && self.flying == 0
    }

    /// The open block takes nothing more.
    pub(super) fn close(&mut self) {
        self.open = NONE;
    }
}
