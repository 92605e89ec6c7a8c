//! Placement handles of a disk: events of their reclaim units, and units changed on demand.

use super::Disk;
use crate::device::message::Failure;
use base::{Result, Time};
use nand::geometry::Block;
use ssd::Renewed;
use ssd::request::{Request, SECTOR_BYTES};
use std::collections::VecDeque;

/// Most events that are kept of each side; the oldest go first.
pub const MOST_EVENTS: usize = 63;

/// Flushes after which a unit that cannot be changed stays.
const MOST_TRIES: u32 = 3;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The host has changed a unit that was not full.
    NotFull,
    /// A start-up goes on in other blocks than those that were open at the power cut.
    Reset,
    /// A write has named a handle that is not there.
    WrongHandle,
    /// The drive has moved data to other units.
    Moved,
}

impl Kind {
    /// All kinds of events, by their numbers.
    pub const ALL: [Self; 4] = [Self::NotFull, Self::Reset, Self::WrongHandle, Self::Moved];

    /// Number of the kind in NVM Express.
    pub const fn number(self) -> u8 {
        match self {
            Self::NotFull => 0x00,
            Self::Reset => 0x02,
            Self::WrongHandle => 0x03,
            Self::Moved => 0x80,
        }
    }

    /// Whether the event is of the host's doing.
    pub const fn is_of_host(self) -> bool {
        self.number() < 0x80
    }
}

/// An event of a reclaim unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Kind of the event.
    pub kind: Kind,
    /// Simulated time of the event.
    pub at: Time,
    /// Placement identifier that the host has named and that no handle has, if any.
    pub identifier: Option<u16>,
    /// Handle whose unit it is, where one is, counted over all reclaim groups.
    pub handle: Option<u8>,
    /// Sectors that were moved.
    pub sectors: u64,
}

/// Events of the placement handles of a drive.
#[derive(Debug, Default)]
pub struct Placement {
    /// By kind: handles whose events are kept, as bits.
    kept: [u16; Kind::ALL.len()],
    of_host: VecDeque<Event>,
    of_drive: VecDeque<Event>,
    /// Units moved, up to the last event of that.
    moved_units: u64,
    /// Blocks erased, up to the last look.
    erased_blocks: u64,
    /// By handle: blocks that were open when the power was cut.
    open: Vec<Vec<Block>>,
}

impl Placement {
    /// Whether events of a kind are kept for a handle.
    pub fn keeps(&self, kind: Kind, handle: u8) -> bool {
        self.kept[kind as usize] >> handle & 1 != 0
    }

    /// Events of the host or of the drive, the oldest first.
    pub fn events(&self, is_of_host: bool) -> &VecDeque<Event> {
        if is_of_host { &self.of_host } else { &self.of_drive }
    }

    fn note(&mut self, event: Event) {
        let events = if event.kind.is_of_host() { &mut self.of_host } else { &mut self.of_drive };
        if events.len() == MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }
}

impl Disk {
    /// Keeps events of a kind for a handle from now on, or keeps them no longer.
    pub fn keep_events(&mut self, kind: Kind, handle: u8, keeps: bool) {
        let moved_units = self.session.run.ssd.ftl_counts().moved_units;
        let placement = &mut self.placement;
        if kind == Kind::Moved && placement.kept[kind as usize] == 0 {
            placement.moved_units = moved_units;
        }
        let bit = 1 << handle;
        match keeps {
            true => placement.kept[kind as usize] |= bit,
            false => placement.kept[kind as usize] &= !bit,
        }
    }

    /// Whether events of a kind are kept for a handle, counted over all reclaim groups.
    fn keeps(&self, kind: Kind, handle: u8) -> bool {
        let ssd = &self.session.run.ssd;
        let of_group = ssd.handles() / ssd.reclaim_groups();
        self.placement.keeps(kind, (u32::from(handle) % of_group.max(1)) as u8)
    }

    /// Notes a write whose placement identifier names no handle: it goes to the first.
    pub fn note_wrong_handle(&mut self, identifier: u16) {
        if self.placement.keeps(Kind::WrongHandle, 0) {
            let (kind, at) = (Kind::WrongHandle, self.now());
            let (identifier, handle) = (Some(identifier), Some(0));
            self.placement.note(Event { kind, at, identifier, handle, sectors: 0 });
        }
    }

    /// Changes the reclaim unit of a handle after the flush before it, and finishes the request. A
    /// unit with programs under way is tried again after another flush.
    pub(super) fn renew(&mut self, owner: u32) -> Result<()> {
        let (kind, at) = (Kind::NotFull, self.now());
        let pending = &mut self.pending[owner as usize];
        let handle = pending.head.handle;
        pending.tries += 1;
        let tries = pending.tries;
        match self.run().ssd.renew(handle.into()) {
            Renewed::WasEmpty => self.finish(owner, None),
            Renewed::Closed => {
                if self.keeps(kind, handle) {
                    let (identifier, handle) = (None, Some(handle));
                    self.placement.note(Event { kind, at, identifier, handle, sectors: 0 });
                }
                self.finish(owner, None)
            }
            Renewed::Stays if tries < MOST_TRIES => self.send(owner, Request::FLUSH, None),
            Renewed::Stays => self.finish(owner, Some(Failure::Busy)),
        }
    }

    /// Notes data that the drive has moved since the last look, once a block of them is erased.
    pub(super) fn look_for_moves(&mut self) {
        if self.placement.kept[Kind::Moved as usize] == 0 {
            return;
        }
        let ssd = &self.session.run.ssd;
        let (counts, unit_bytes) = (ssd.ftl_counts(), ssd.unit_bytes());
        let blocks = counts.reclaimed_blocks + counts.retired_blocks;
        let placement = &mut self.placement;
        if std::mem::replace(&mut placement.erased_blocks, blocks) == blocks {
            return;
        }
        let moved = counts.moved_units;
        let units = moved.saturating_sub(std::mem::replace(&mut placement.moved_units, moved));
        if units > 0 {
            let (kind, at) = (Kind::Moved, self.session.run.ssd.now());
            let sectors = units * unit_bytes / SECTOR_BYTES;
            self.placement.note(Event { kind, at, identifier: None, handle: None, sectors });
        }
    }

    /// Notes which blocks are open, before the power is cut.
    pub(super) fn note_open_blocks(&mut self) {
        let ssd = &self.session.run.ssd;
        self.placement.open = (0..ssd.handles()).map(|handle| ssd.open_blocks(handle)).collect();
    }

    /// Notes units that a start-up does not go on with.
    pub(super) fn look_for_lost_units(&mut self) {
        let (kind, at) = (Kind::Reset, self.now());
        let before = std::mem::take(&mut self.placement.open);
        for (handle, blocks) in (0..).zip(before) {
            let after = self.session.run.ssd.open_blocks(u32::from(handle));
            let is_changed = blocks.iter().any(|block| !after.contains(block));
            if is_changed && self.keeps(kind, handle) {
                self.placement.note(Event { kind, at, identifier: None, handle: None, sectors: 0 });
            }
        }
    }
}
