//! Failures of a drive: lost data, failed blocks, read reclaim, refresh, and rereading.
//!
//! In come codewords that do not decode, blocks that chips report failed, and blocks that are read
//! too often or hold old data. Out go reads that are repeated with other references (`retry`, a
//! family), units whose data are lost, and blocks that are retired or written anew.

mod failed_blocks;
pub mod failed_words;
mod given_up;
pub(crate) mod lost;
pub(crate) mod read_only;
pub(crate) mod read_reclaim;
pub mod refresh;
pub mod retry;

use base::Result;
use base::archive::{Archive, State};
use given_up::GivenUp;
use lost::LostUnits;
use nand::geometry::Block;
use read_only::ReadOnly;
use read_reclaim::ReadReclaim;
use refresh::Refresh;
use std::collections::BTreeSet;

/// The failures of a drive so far.
#[derive(Clone)]
pub(crate) struct Failures {
    /// Units whose data are lost.
    pub(crate) lost: LostUnits,
    /// Pages that could not be read, by block.
    pub(crate) given_up: GivenUp,
    /// Sets of dies that take no writes.
    pub(crate) read_only: ReadOnly,
    /// Blocks that are read too often.
    pub(crate) reclaim: ReadReclaim,
    /// Blocks with old data, or with many errors.
    pub(crate) refresh: Refresh,
    /// Blocks that have been given up, those that are retired by now too.
    pub(crate) doomed: BTreeSet<u32>,
}

impl State for Failures {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { lost, given_up, read_only, reclaim, refresh, doomed } = self;
        archive.value(lost)?;
        archive.value(given_up)?;
        read_only.exchange(archive)?;
        archive.value(doomed)?;
        reclaim.exchange(archive)?;
        refresh.exchange(archive)
    }
}

impl Failures {
    /// Creates the failures of a drive that has none yet.
    pub(crate) fn new(reclaim: ReadReclaim, refresh: Refresh, read_only: ReadOnly) -> Self {
        let (lost, given_up) = (LostUnits::default(), GivenUp::default());
        let doomed = BTreeSet::new();
        Self { lost, given_up, read_only, reclaim, refresh, doomed }
    }

    /// Forgets the failures of a block that has a new one in its place.
    pub(crate) fn replaced(&mut self, block: Block) {
        self.reclaim.erased(block);
        self.refresh.replaced(block);
        self.given_up.forget(block);
        self.doomed.remove(&block.0);
    }

    /// Stops refresh and moves past times to zero, as the clock begins anew.
    pub(crate) fn restart_clock(&mut self) {
        self.refresh.stop();
        self.read_only.restart_clock();
    }
}
