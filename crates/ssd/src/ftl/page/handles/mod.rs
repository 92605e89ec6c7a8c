//! Placement handles of the host, block by block: the handle whose data each block takes, and the
//! units written, moved and erased for each handle.
//!
//! A drive whose handles are *initially isolated* (NVM Express, Flexible Data Placement) moves the
//! data of all handles to the same blocks: these belong to no handle. With *persistently isolated*
//! handles moved data stay in blocks of their handle: victims are superblocks, of one die or more,
//! which hold data of one handle each. A drive with several reclaim groups has the handles once for
//! each group.

use super::PageFtl;
use crate::ftl::contract::{
    Carried, DieSet, HandleCounts, HeldBlocks, Key, Move, Place, Program, Until,
};
use crate::space::candidates::Candidates;
use crate::space::groups::Groups;
use crate::space::wear::BlockWear;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod held;

use held::Held;

/// Isolation of the host's streams from each other, once collection moves their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::ftl) enum Isolation {
    /// Moved data of all streams share blocks: handles are initially isolated.
    #[default]
    Initial,
    /// Moved data of a stream have blocks of their own: handles are persistently isolated.
    Persistent,
}

impl Isolation {
    /// Whether moved data of all streams share blocks.
    pub(in crate::ftl) fn is_initial(&self) -> bool {
        *self == Self::Initial
    }
}

/// Mark of a block that belongs to no handle.
const NOBODY: u8 = u8::MAX;

/// Handles of the host in all reclaim groups, where there are several.
#[derive(Clone)]
pub(super) struct HandleTable {
    pub(super) isolation: Isolation,
    /// Handles of a reclaim group.
    of_group: u32,
    /// Handle of each block; empty where the host has one stream.
    of_block: Vec<u8>,
    counts: Vec<HandleCounts>,
    /// Blocks that each handle holds; they follow from the state of the blocks.
    held: Vec<Held>,
}

impl HandleTable {
    /// Table of so many handles in each reclaim group, and of so many blocks.
    pub(super) fn new(isolation: Isolation, handles: u8, groups: &Groups, blocks: u32) -> Self {
        let of_group = u32::from(handles);
        let all = (of_group * groups.count()) as usize;
        let (handles, blocks) = if all > 1 { (all, blocks as usize) } else { (0, 0) };
        Self {
            isolation,
            of_group,
            of_block: vec![NOBODY; blocks],
            counts: vec![HandleCounts::default(); handles],
            held: vec![Held::default(); handles],
        }
    }

    /// Whether moved data stay with their handle.
    #[inline]
    pub(super) fn is_persistent(&self) -> bool {
        self.isolation == Isolation::Persistent && self.of_group > 1
    }

    /// Handle whose data the blocks of a stream take; streams of moved data stand behind those of
    /// the host.
    #[inline]
    fn of_stream(&self, group: u32, stream: u32) -> u8 {
        let (handles, first) = (self.of_group, group * self.of_group);
        match stream.checked_sub(handles) {
            None => (first + stream) as u8,
            // A group with one handle has no other data.
            Some(_) if handles == 1 => first as u8,
            Some(moved) if self.is_persistent() && moved < handles => (first + moved) as u8,
            Some(_) => NOBODY,
        }
    }

    /// Notes that an erased block of a reclaim group belongs to a stream from now on.
    #[inline]
    pub(super) fn opened(&mut self, block: Block, group: u32, stream: u32, wear: &BlockWear) {
        if self.of_block.is_empty() {
            return;
        }
        let handle = self.of_stream(group, stream);
        self.of_block[block.0 as usize] = handle;
        if let Some(held) = self.held.get_mut(usize::from(handle)) {
            held.add(wear.cycles(block));
        }
    }

    /// Counts the blocks that the handles hold anew, where these or their cycles have changed
    /// otherwise than by an erase (slow).
    pub(super) fn count_again(&mut self, candidates: &Candidates, wear: &BlockWear) {
        self.held.iter_mut().for_each(Held::clear);
        for (block, &handle) in (0..).map(Block).zip(&self.of_block) {
            let is_free = candidates.word(block).is_free();
            if let Some(held) = self.held.get_mut(usize::from(handle)).filter(|_| !is_free) {
                held.add(wear.cycles(block));
            }
        }
    }

    /// Counts of the handle that a block belongs to. New data of the FTL come from no block.
    #[inline]
    fn of(&mut self, block: Block) -> Option<&mut HandleCounts> {
        let handle = *self.of_block.get(block.0 as usize)?;
        self.counts.get_mut(usize::from(handle))
    }

    /// Counts the erase of a block, which had so many cycles before.
    #[inline]
    pub(super) fn erased(&mut self, block: Block, cycles: u32) {
        if let Some(counts) = self.of(block) {
            counts.erased_blocks += 1;
            self.held[usize::from(self.of_block[block.0 as usize])].remove(cycles);
        }
    }

    /// Resets the counts of all handles.
    pub(super) fn start_run(&mut self) {
        self.counts.fill(HandleCounts::default());
    }
}

impl State for HandleTable {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { isolation: _, of_group: _, of_block, counts, held: _ } = self;
        if counts.is_empty() {
            return Ok(());
        }
        archive.value(of_block)?;
        archive.value(counts)
    }
}

impl PageFtl {
    /// Counts of a handle of the host ([`Handles::counts`]).
    ///
    /// [`Handles::counts`]: crate::ftl::contract::Handles::counts
    pub(in crate::ftl) fn counts_of_handle(&self, handle: u32) -> HandleCounts {
        self.handles.counts[handle as usize]
    }

    /// Whether collection keeps the data of the host's handles apart.
    pub(in crate::ftl) fn has_persistent_handles(&self) -> bool {
        self.handles.is_persistent() || (self.placing.are_several() && self.handles.of_group == 1)
    }

    /// Group whose dies take rows of a key now, and their stream.
    #[inline]
    pub(super) fn home_of(&self, key: Key) -> (u32, u32) {
        let (group, stream) = self.placing.parts(key);
        (self.placing.home(group, self.row_units, &self.retirement), stream)
    }

    /// Key of the dies that take rows of a key now ([`Handles::home`]).
    ///
    /// [`Handles::home`]: crate::ftl::contract::Handles::home
    pub(in crate::ftl) fn home(&self, key: Key) -> Key {
        let (group, stream) = self.home_of(key);
        Key(group * u32::from(self.host_streams) + stream)
    }

    /// Die of a group from which on one is looked for that takes a row.
    #[inline]
    pub(super) fn next_die_of(&self, group: u32) -> u32 {
        self.placing.next_die(group).unwrap_or(self.next_die)
    }

    /// Answer for a row of a group where none of `dies` takes it: its dies are at work, or full.
    pub(super) fn none_of(&self, group: u32, dies: &DieSet) -> Place {
        let its = || self.placing.dies(group).map(Die);
        match its().find(|&die| !dies.contains(die)) {
            Some(die) if !its().any(|die| dies.contains(die)) => Place::Later(Until::Die(die)),
            _ => Place::NoRoom,
        }
    }

    /// Dies that take the data of a handle, and its stream on them.
    pub(super) fn dies_of_handle(&self, handle: u32) -> (impl Iterator<Item = Die> + use<>, u32) {
        let (group, stream) = self.placing.parts(Key(handle));
        (self.placing.dies(group).map(Die), stream)
    }

    /// Handle of a unit that is moved, counted from 0 as the streams of moved data are; `None`
    /// where moved data lose their handle.
    #[inline]
    pub(super) fn handle_of_move(&self, unit: &Move) -> Option<u32> {
        if !self.handles.is_persistent() {
            return None;
        }
        Some(self.handle_of_block(self.geometry.block_of(unit.from)))
    }

    /// Handle that the data of a block belong to, counted in its reclaim group. Data without a
    /// handle go with the first.
    pub(super) fn handle_of_block(&self, block: Block) -> u32 {
        match self.handles.of_block[block.0 as usize] {
            NOBODY => 0,
            handle => u32::from(handle) % self.handles.of_group,
        }
    }

    /// Blocks that belong to a handle and are not erased.
    pub(in crate::ftl) fn held_by_handle(&self, handle: u32) -> HeldBlocks {
        self.handles.held[handle as usize].blocks()
    }

    /// Counts the units of a program that is on flash, for the handles that they belong to.
    #[inline]
    pub(super) fn count_for_handles(&mut self, program: &Program, carried: Carried) {
        if self.handles.counts.is_empty() {
            return;
        }
        match carried {
            Carried::Host => {
                if let Some(counts) = self.handles.of(program.blocks()[0]) {
                    counts.host_units += u64::from(program.units);
                }
            }
            _ => {
                for unit in &carried.moves()[..program.units as usize] {
                    if let Some(counts) = self.handles.of(self.geometry.block_of(unit.from)) {
                        counts.moved_units += 1;
                    }
                }
            }
        }
    }
}
