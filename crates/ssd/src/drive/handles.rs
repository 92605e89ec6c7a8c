//! Placement handles of the drive: room in the reclaim unit of each, and units that are changed
//! before they are full.

use super::Ssd;
use crate::flash::command::{Command, Task};
use crate::ftl::contract::{HandleCounts, HeldBlocks};
use crate::space::groups::stream_of;
use crate::terms::Key;
use nand::geometry::Block;

/// Reclaim unit of a handle, after it was to be changed for an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewed {
    /// The unit was empty, and stays.
    WasEmpty,
    /// The unit was begun, and is closed: the next write goes to an empty one.
    Closed,
    /// Some blocks of the unit are open: programs are under way, or there is no room for others.
    Stays,
}

impl Ssd {
    /// Placement handles of the host; 0 of a drive without.
    pub fn handles(&self) -> u32 {
        self.ftl.handles().map_or(0, |_| self.ftl.facts().streams)
    }

    /// Reclaim groups that the handles are parted among; 1 of a drive without. The handles of the
    /// first come first.
    pub fn reclaim_groups(&self) -> u32 {
        self.ftl.facts().groups
    }

    /// Stream hint of a write with a placement identifier, of those that [`Ssd::handles`] counts.
    pub fn stream_of(&self, identifier: u8) -> u8 {
        stream_of(identifier.into(), self.reclaim_groups())
    }

    /// Units of the host that went to another reclaim group than it had named, as that was full.
    pub fn redirected_units(&self) -> u64 {
        self.ftl.handles().map_or(0, |part| part.redirected_units())
    }

    /// Key whose dies take the next row of a key.
    #[inline]
    pub(super) fn home(&self, key: Key) -> Key {
        match self.gate.has_groups() {
            false => key,
            true => self.ftl.handles().map_or(key, |part| part.home(key)),
        }
    }

    /// Whether no block ever holds data of two handles: they are persistently isolated.
    pub fn has_persistent_handles(&self) -> bool {
        self.ftl.handles().is_some_and(|part| part.is_persistent())
    }

    /// Work for the data of a handle since the counts were reset; nothing of a drive without.
    pub fn handle_counts(&self, handle: u32) -> HandleCounts {
        self.ftl.handles().map_or_else(HandleCounts::default, |part| part.counts(handle))
    }

    /// Blocks that each handle holds, in the order of the handles; empty of a drive without.
    pub fn held_by_handles(&self) -> Vec<HeldBlocks> {
        (0..self.handles()).map(|handle| self.held_by_handle(handle)).collect()
    }

    /// Blocks that hold data of a handle, valid or dead, and their wear; none of a drive without.
    pub fn held_by_handle(&self, handle: u32) -> HeldBlocks {
        self.ftl.handles().map_or_else(HeldBlocks::default, |part| part.held(handle))
    }

    /// Units of a whole reclaim unit; 0 of a drive without handles.
    pub fn reclaim_unit_units(&self) -> u64 {
        self.ftl.handles().map_or(0, |part| part.unit_units())
    }

    /// Units that the host can still write to the reclaim unit of a handle. What the write buffer
    /// holds has its place in it already.
    pub fn left_units(&self, handle: u32) -> u64 {
        let Some(part) = self.ftl.handles() else { return 0 };
        let unit = part.unit_units().max(1);
        let left = part.left_units(handle).unwrap_or(unit);
        let buffered = u64::from(self.writer.buffer.rows.len(Key(handle)));
        match buffered.checked_sub(left) {
            None => left - buffered,
            Some(beyond) => unit - beyond % unit,
        }
    }

    /// Blocks of the reclaim unit of a handle that are open and hold data.
    pub fn open_blocks(&self, handle: u32) -> Vec<Block> {
        self.ftl.handles().map_or_else(Vec::new, |part| part.open_blocks(handle))
    }

    /// Closes the reclaim unit of a handle, so that its next write goes to an empty one.
    pub fn renew(&mut self, handle: u32) -> Renewed {
        let Some(part) = self.ftl.handles_mut() else { return Renewed::WasEmpty };
        if part.open_blocks(handle).is_empty() {
            return Renewed::WasEmpty;
        }
        let (commands, programs) = (&self.flash.commands, &self.flash.programs);
        part.renew(handle, &|block| {
            let is_written_to = |command: &Command| {
                matches!(command.task, Task::Program { place, .. }
                    if programs[place].blocks().contains(&block))
            };
            commands.taken().any(is_written_to)
        });
        if part.open_blocks(handle).is_empty() { Renewed::Closed } else { Renewed::Stays }
    }
}
