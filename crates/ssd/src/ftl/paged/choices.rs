//! Choices: decisions of a page-mapped FTL that its parameters make, a member, or a user.

use super::Layout;
use crate::ftl::contract::{Hint, Job, Key, Lpn, Program, Ram, Urgency};
use crate::ftl::page::PageFtl;
use base::archive::{Archive, State};
use base::{Error, Result};

/// Decisions of a page-mapped FTL that a member or a user may take over, and events that they are
/// told of.
pub(in crate::ftl) trait Choices: Send + State + 'static {
    /// Copyback and the exchange of a chip change nothing that these choices must hear of.
    const IS_ASIDE: bool = true;

    /// Collection picks its blocks by the policy alone, and moves all data alike.
    const LEAVE_THE_POLICY: bool = false;

    /// Creates a copy for a clone of the drive, whose page map asks the copy from now on.
    fn twin(&self, page: &mut PageFtl) -> Self;

    /// Begins with a new drive, whose data are laid out.
    fn begin<L: Layout>(&mut self, _data: &mut L) -> Result<()> {
        Ok(())
    }

    /// Keys of the host's rows; `None` where there are as many as the layout has.
    fn keys(&self) -> Option<u32> {
        None
    }

    /// Placement handles of the host among the keys.
    fn handles(&self) -> Option<u32> {
        self.keys()
    }

    /// Key of data that the host writes; `None` where it follows from the hint.
    fn key_of(&mut self, _lpn: Lpn, _hint: Hint) -> Option<Key> {
        None
    }

    /// Key under which a row of `units` units is placed.
    #[inline]
    fn key_of_row(&mut self, key: Key, _units: usize) -> Key {
        key
    }

    /// Stream of a unit that collection moves.
    fn stream_of(&mut self, _lpn: Lpn) -> u32 {
        0
    }

    /// Whether a job, which has work by the `wants` of its layout, is to do it at this urgency.
    #[inline]
    fn wants<L: Layout>(&self, data: &L, job: Job, urgency: Urgency) -> bool {
        data.wants(job, urgency)
    }

    /// Urgency with which a job goes on.
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

    /// Memory that the firmware needs for these choices.
    fn ram(&self) -> Option<Ram> {
        None
    }

    /// Error of the promise that was broken.
    fn fault(&self) -> Option<Error> {
        None
    }
}

/// Choices that the parameters make.
#[derive(Clone)]
pub(in crate::ftl) struct Ours;

impl State for Ours {
    fn exchange(&mut self, _: &mut Archive<'_>) -> Result<()> {
        Ok(())
    }
}

impl Choices for Ours {
    const LEAVE_THE_POLICY: bool = true;

    fn twin(&self, _: &mut PageFtl) -> Self {
        Self
    }
}
