//! Choices: who decides where an FTL may choose, the parameters or a user.

use super::Layout;
use crate::ftl::contract::{Hint, Job, Key, Lpn, Program, Urgency};
use crate::ftl::page::PageFtl;
use base::archive::{Archive, State};
use base::{Error, Result};

/// Decisions of a page-mapped FTL that a user may take over, and what he is told.
pub(in crate::ftl) trait Choices: Send + State + 'static {
    /// Copyback and the exchange of a chip change nothing that these choices must hear of.
    const IS_ASIDE: bool = true;

    /// A clone for a clone of the drive, whose page map asks the clone from now on.
    fn twin(&self, page: &mut PageFtl) -> Self;

    /// Begins with a new drive.
    fn begin<L: Layout>(&mut self, _data: &mut L) -> Result<()> {
        Ok(())
    }

    /// Keys of the host's rows; `None` where there are as many as the layout has.
    fn keys(&self) -> Option<u32> {
        None
    }

    /// Placement handles of the host among these keys.
    fn handles(&self) -> Option<u32> {
        self.keys()
    }

    /// Key of data that the host writes; `None` where it follows from the hint.
    fn key_of(&mut self, _lpn: Lpn, _hint: Hint) -> Option<Key> {
        None
    }

    /// Key under which a row of so many units is placed.
    #[inline]
    fn key_of_row(&mut self, key: Key, _units: usize) -> Key {
        key
    }

    /// Stream of a unit that collection moves.
    fn stream_of(&mut self, _lpn: Lpn) -> u32 {
        0
    }

    /// Whether a job whose layout says so in `wants` has work of this urgency.
    #[inline]
    fn wants<L: Layout>(&self, data: &L, job: Job, urgency: Urgency) -> bool {
        data.wants(job, urgency)
    }

    /// Urgency with which a job that has work goes on.
    #[inline]
    fn urgency(&self, _job: Job, urgency: Urgency) -> Urgency {
        urgency
    }

    /// Whether a promise was broken.
    #[inline]
    fn is_broken(&self) -> bool {
        false
    }

    /// Hears of a program that is on flash.
    #[inline]
    fn programmed<L: Layout>(&mut self, _data: &L, _program: &Program, _is_moved: bool) {}

    /// Hears of a unit that the host has trimmed.
    #[inline]
    fn trimmed(&mut self, _lpn: Lpn) {}

    /// Hears of a block, or a superblock, that was erased.
    #[inline]
    fn erased(&mut self, _number: u32) {}

    /// Hears, after a power cut, of the data that were found.
    #[inline]
    fn recovered<L: Layout>(&mut self, _data: &L) {}

    /// The promise that was broken.
    fn fault(&self) -> Option<Error> {
        None
    }
}

/// Choices of the parameters.
#[derive(Clone)]
pub(in crate::ftl) struct Ours;

impl State for Ours {
    fn exchange(&mut self, _: &mut Archive<'_>) -> Result<()> {
        Ok(())
    }
}

impl Choices for Ours {
    fn twin(&self, _: &mut PageFtl) -> Self {
        Self
    }
}
