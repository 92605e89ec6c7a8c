//! Decisions of an FTL, as a user makes them: a whole FTL ([`Decide`]), or some of `page`
//! ([`Hooks`]).

use super::view::View;
use crate::ftl::contract::{Lpn, Move};
use crate::terms::die_set::DieSet;
use base::archive::Archive;
use base::{Error, Result};
use std::sync::Arc;

/// Facts that a whole FTL states before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Streams of host data, 1 to 16: units of one stream share rows. With 1, `stream` is not
    /// called.
    pub streams: u32,
    /// Blocks of a die that may be open at a time.
    pub open_blocks: u32,
    /// `victim` is asked; otherwise the policy of `gc` picks.
    pub picks: bool,
    /// `collect` is asked; otherwise `gc.start_free_blocks` decides.
    pub collects: bool,
    /// `programmed`, `erased` and `trimmed` are called.
    pub is_told: bool,
}

impl Default for Facts {
    fn default() -> Self {
        Self { streams: 1, open_blocks: 2, picks: false, collects: false, is_told: false }
    }
}

/// A whole FTL: where rows go, which blocks are emptied, and when.
///
/// A *block* is here what one program command opens and one erase clears: the physical blocks of
/// all planes that the chip joins. The view has the state of all blocks.
///
/// An error without a place gets the call as its place. After an error nothing is asked any more.
pub trait Decide: Send {
    /// States the facts of this FTL.
    fn facts(&self) -> Facts;

    /// Begins a drive that is just built: the view is complete, and empty.
    fn begin(&mut self, _view: &Arc<View>) -> Result<()> {
        Ok(())
    }

    /// Stream of data of `unit` that the host writes under stream hint `hint`, when they enter the
    /// write buffer.
    fn stream(&mut self, _view: &Arc<View>, _unit: Lpn, _hint: u8) -> Result<u32> {
        Ok(0)
    }

    /// Block that takes the next row of host data: an open one with room, or a free one, which is
    /// opened. `dies` can take a program now; for a block of another die the row waits. `None` if
    /// there is no room before a block has been erased.
    fn place(
        &mut self,
        view: &Arc<View>,
        stream: u32,
        units: &[Lpn],
        dies: &DieSet,
    ) -> Result<Option<u32>>;

    /// Block, on any die, that takes the next row of the data that collection of `die` moves.
    fn place_moves(&mut self, view: &Arc<View>, die: u32, moves: &[Move]) -> Result<u32>;

    /// Next block of `die` to empty: a full one. `None` if nothing is to be collected. Asked where
    /// the facts say `picks`.
    fn victim(&mut self, view: &Arc<View>, die: u32) -> Result<Option<u32>> {
        Ok(view.emptiest(die))
    }

    /// Whether to collect `die`, which has more free blocks than its reserve. `is_idle`: it has
    /// nothing else to do.
    fn collect(&mut self, view: &Arc<View>, die: u32, is_idle: bool) -> Result<bool> {
        Ok(view.is_short(die, is_idle))
    }

    /// Learns that these units of `block` are on the flash; `is_moved` says that collection has
    /// moved them.
    fn programmed(
        &mut self,
        _view: &Arc<View>,
        _block: u32,
        _units: &[Lpn],
        _is_moved: bool,
    ) -> Result<()> {
        Ok(())
    }

    /// Learns that a block has been erased: it is free.
    fn erased(&mut self, _view: &Arc<View>, _block: u32) -> Result<()> {
        Ok(())
    }

    /// Learns that the data of a unit have been trimmed.
    fn trimmed(&mut self, _view: &Arc<View>, _unit: Lpn) -> Result<()> {
        Ok(())
    }

    /// Creates a copy of the decisions for a clone of the drive.
    fn twin(&self, view: &Arc<View>) -> Result<Box<dyn Decide>>;

    /// Exchanges its part of a saved drive, as [`base::archive::State`].
    fn exchange(&mut self, _archive: &mut Archive<'_>) -> Result<()> {
        Err(not_saved())
    }
}

/// Facts that hooks state before they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookFacts {
    /// Streams of host data, 1 to 16.
    pub streams: u32,
    /// Streams of the data that collection moves, 1 to 16. `stream_moves` is asked if there are
    /// several.
    pub move_streams: u32,
    /// `stream` is asked; otherwise the hint modulo `streams` decides.
    pub has_stream: bool,
    /// `programmed`, `erased` and `trimmed` are called.
    pub is_told: bool,
    /// `victim` is asked; otherwise the policy of `gc` picks.
    pub has_victim: bool,
    /// `collect` is asked; otherwise `gc.start_free_blocks` decides.
    pub has_collect: bool,
}

/// A full block that can be collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the block.
    pub block: u32,
    /// Valid units in the block.
    pub valid: u32,
    /// Units that the host has written since the block became full.
    pub age: u64,
}

/// Decisions of `page` that a user makes.
///
/// Blocks and planes are those of the chips. With `ftl.superblock_dies` a block is a superblock,
/// and a plane the dies that have it together. After a power cut new hooks begin, and are told
/// `programmed` for all data that were found.
pub trait Hooks: Send {
    /// States which decisions the hooks make.
    fn facts(&self) -> HookFacts;

    /// Begins a drive that is just built, with `logical_units` units.
    fn begin(&mut self, _logical_units: u32) -> Result<()> {
        Ok(())
    }

    /// Stream of data of `unit` that the host writes under stream hint `hint`.
    fn stream(&mut self, unit: Lpn, hint: u8) -> Result<u32>;

    /// Stream of moved data that `unit` goes to, which collection has found in a victim.
    fn stream_moves(&mut self, _unit: Lpn) -> Result<u32> {
        Ok(0)
    }

    /// Next block of `plane` to empty, of these candidates; there is at least one.
    fn victim(&mut self, plane: u32, candidates: &[Candidate]) -> Result<u32>;

    /// Whether to collect `die`, whose poorest planes have this many free blocks, more than their
    /// reserve.
    fn collect(&mut self, die: u32, free_blocks: u32, is_idle: bool) -> Result<bool>;

    /// Learns that the newest data of these units are in `block`; `is_moved` says that collection
    /// moved them.
    fn programmed(&mut self, _block: u32, _units: &[Lpn], _is_moved: bool) -> Result<()> {
        Ok(())
    }

    /// Learns that a block has been erased: it is free, or retired. Of a superblock its number is
    /// free: its first block was erased, and its others follow.
    fn erased(&mut self, _block: u32) -> Result<()> {
        Ok(())
    }

    /// Learns that the data of a unit have been trimmed.
    fn trimmed(&mut self, _unit: Lpn) -> Result<()> {
        Ok(())
    }

    /// Creates a copy of the hooks for a clone of the drive.
    fn twin(&self) -> Result<Box<dyn Hooks>>;

    /// Exchanges the hooks' part of a saved drive.
    fn exchange(&mut self, _archive: &mut Archive<'_>) -> Result<()> {
        Err(not_saved())
    }
}

/// Error of decisions that cannot be saved.
pub(super) fn not_saved() -> Error {
    Error::unsupported("drive", "saving a drive with an FTL of one's own that has no saved state")
        .hint("clone the drive, or give the FTL the methods that save and restore its state")
}
