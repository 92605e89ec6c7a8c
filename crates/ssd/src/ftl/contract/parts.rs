//! Parts of an FTL beside its core: each is a trait with promises of its own.
//!
//! [`Parts`] answers whether an FTL has a part, and gives it. A member names its parts with
//! [`parts!`](crate::ftl::contract::parts::parts), and the compiler asks for the code of each.

use super::{
    Access, Ftl, HandleCounts, HeldBlocks, Job, Key, Known, Lpn, Parity, Program, Withdrawal, Zones,
};
use crate::recovery::Found;
use base::Result;
use nand::geometry::{Block, Ppn};

/// A map that is not all in memory: knowing the place of a unit may cost a read.
///
/// Promise: `access` answers for at least one unit; a page that it asks for holds data, and once it
/// was read, or its entries have come from the host's memory, at least one unit is known.
pub trait MapOnFlash {
    /// Cost of knowing the places of `count` units from `first` on: asked once by every request.
    fn access(&mut self, first: Lpn, count: u32, access: Access) -> Known;

    /// Takes in what `access` has asked for, once it is there: the entries of `count` units from
    /// `first` on are in memory now. Returns for how many of the units, at least one.
    fn map_read(&mut self, first: Lpn, count: u32, access: Access) -> u32;

    /// Page of data where the map wrongly expects a unit: it was programmed, and says where the
    /// unit is. The page is not given to erase as long as it is the answer here. `None` where the
    /// map is right.
    fn mispredicted(&self, _lpn: Lpn) -> Option<Ppn> {
        None
    }

    /// Pages of the map that were copied to the memory of the host since the last call: they cross
    /// the link.
    fn copied_to_host(&mut self) -> u32 {
        0
    }
}

/// Retirement of blocks, and wear that is added in one step.
pub trait BlockService {
    /// Retires a block: its pages could not be read, or a program of it failed. A job moves its
    /// data later, and after the block is reported `erased` it is bad. A block whose erase failed
    /// is retired just before it is reported `erased`: at once, or, if collection needs its space,
    /// after one more use. `erased` counts it in `retired_blocks` if it is retired, otherwise in
    /// `reclaimed_blocks`. True if the block is being retired or bad, now or before; false if the
    /// remaining space would be too small: a drive whose erase failed then accepts no more writes.
    fn retire(&mut self, block: Block) -> bool;

    /// Adds cycles to every block, listed by block: erases that are not carried out one by one.
    fn wear_on(&mut self, more: &[u32]);

    /// Stage of the code of a block, where codes change with age (`ecc.stages`): 0 is the code of
    /// new blocks. It changes between an erase and the first program.
    fn code_stage(&self, _block: Block) -> u8 {
        0
    }

    /// Whether a block of the set of dies that `_block` is in needs a stronger code than the
    /// remaining space has room for: the set then accepts no more writes.
    fn has_outgrown(&self, _block: Block) -> bool {
        false
    }
}

/// Relocation of the data of single blocks: a drive that refreshes its data needs it.
pub trait Relocation {
    /// Moves the data of a full block elsewhere (read reclaim), because it was read very often or
    /// with many retries; the block is used again after its erase. True if this is new; false if
    /// the block is already being moved, is open, or there is no space to move it now.
    fn reclaim(&mut self, block: Block) -> bool;

    /// Closes an open block before it is full, so that `reclaim` can move its data: whether it has
    /// done so. No program of the block is under way.
    fn close(&mut self, _block: Block) -> bool {
        false
    }
}

/// Recovery after a power cut.
pub trait Recovery {
    /// Mark that the drive stores beside the pages of a block, for `recover`; 0 leaves the earlier
    /// mark.
    fn tag(&self, block: Block) -> u64;

    /// Words that no page on flash tells, of an FTL whose drive has a power-protected buffer: the
    /// drive writes them when the power is cut, and `recover` finds them in [`Found::words`].
    fn protected(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Rebuilds the tables of the FTL from what a start-up has found on flash. Asked once, of an
    /// FTL that has done nothing yet. Afterwards `lookup` names, for each unit, one of the places
    /// that [`Found::current`] has, and nothing is under way.
    fn recover(&mut self, found: &Found) -> Result<()>;
}

/// Calls of keys: rows that wait ([`Until::Called`](super::Until::Called)) until their key is
/// called.
pub trait Calls {
    /// Next key that is called: its waiting rows can be asked about again. Each call is returned
    /// once.
    fn called(&mut self) -> Option<Key>;
}

/// Moves inside a plane by copyback.
pub trait CopyBack {
    /// Program that `place_moves` would answer now for the first of `units` units of a job, if it
    /// is known and takes any units in any order: then units of a plane may stay in it.
    fn next_of_moves(&self, job: Job, units: u32) -> Option<Program>;
}

/// Blocks that a write-once-memory code fills more than once between two erases.
///
/// Promise: each group of coded pages of a recycled block is handed out once more, in order, with
/// nothing mapped in it.
pub trait Recycling {
    /// A block given by `step` can be programmed again: the coded pages of a full block in mode
    /// `Coded` or `Recoded`, by programs in mode `Recoded`. Its code has a generation left for
    /// that.
    fn recycled(&mut self, block: Block);

    /// Groups of coded pages of a block that have been handed out again, through all generations.
    fn rewritten_groups(&self, block: Block) -> u32;
}

/// Placement handles of the host: the reclaim unit of each, a block of every plane of the drive
/// that the data of its writes fill.
///
/// Promise: the open blocks of a handle take the host's data of no other handle, and after `renew`
/// has left none of them open its next data go to new blocks. Where handles are persistent, no
/// block ever holds data of two of them.
pub trait Handles {
    /// Units of a whole reclaim unit.
    fn unit_units(&self) -> u64;

    /// Open blocks of a handle that hold data.
    fn open_blocks(&self, handle: u32) -> Vec<Block>;

    /// Units that the open blocks of a handle still take; `None` where it has none, and its next
    /// data go to new ones.
    fn left_units(&self, handle: u32) -> Option<u64>;

    /// Closes open blocks of a handle before they are full: those where no program is under way, as
    /// `is_busy` says, and that there is room to replace. Returns them; what is left of them is not
    /// written before their erase, but for rows without data and parity that their stripes lack:
    /// these come before the next data of the handle.
    fn renew(&mut self, handle: u32, is_busy: &dyn Fn(Block) -> bool) -> Vec<Block>;

    /// Whether blocks hold data of one handle alone after collection as well: handles are
    /// persistently isolated. Otherwise moved data of all handles share blocks.
    fn is_persistent(&self) -> bool;

    /// Work for the data of a handle since the counts were reset. Data that share blocks with those
    /// of others belong to no handle.
    fn counts(&self, handle: u32) -> HandleCounts;

    /// Blocks that hold data of a handle, valid or dead, and their wear. Those that data share with
    /// others belong to no handle.
    fn held(&self, handle: u32) -> HeldBlocks;

    /// Key whose reclaim group takes the next row of a key: its own, or where that group is full of
    /// valid data the one of the same handle in another. `place` keeps to it.
    fn home(&self, key: Key) -> Key;

    /// Units of the host that went to another reclaim group than it had named, since the counts
    /// were reset.
    fn redirected_units(&self) -> u64;
}

/// Calls of parts that an FTL may be without, in which case nothing happens.
impl<'a> dyn Ftl + 'a {
    /// Retires a block: whether it is being retired, or bad ([`BlockService::retire`]).
    pub fn retire(&mut self, block: Block) -> bool {
        self.block_service_mut().is_some_and(|part| part.retire(block))
    }

    /// Stage of the code of a block ([`BlockService::code_stage`]).
    pub fn code_stage(&self, block: Block) -> u8 {
        self.block_service().map_or(0, |part| part.code_stage(block))
    }

    /// Whether a block needs a code that there is no room for ([`BlockService::has_outgrown`]).
    pub fn has_outgrown(&self, block: Block) -> bool {
        self.block_service().is_some_and(|part| part.has_outgrown(block))
    }

    /// Moves the data of a full block elsewhere: whether that is new ([`Relocation::reclaim`]).
    pub fn reclaim(&mut self, block: Block) -> bool {
        self.relocation_mut().is_some_and(|part| part.reclaim(block))
    }

    /// Closes an open block: whether it has done so ([`Relocation::close`]).
    pub fn close(&mut self, block: Block) -> bool {
        self.relocation_mut().is_some_and(|part| part.close(block))
    }

    /// Mark of a block for a start-up, 0 without one ([`Recovery::tag`]).
    pub fn tag(&self, block: Block) -> u64 {
        self.recovery().map_or(0, |part| part.tag(block))
    }

    /// Groups of coded pages of a block that were handed out again
    /// ([`Recycling::rewritten_groups`]).
    pub fn rewritten_groups(&self, block: Block) -> u32 {
        self.recycling().map_or(0, |part| part.rewritten_groups(block))
    }

    /// Takes back blocks that are programmed again without an erase ([`Recycling::recycled`]).
    pub fn recycled(&mut self, blocks: &[Block]) {
        if let Some(part) = self.recycling_mut() {
            blocks.iter().for_each(|&block| part.recycled(block));
        }
    }
}

/// Declares [`Parts`] from one table: a getter of each part for reading and one for calls that
/// change it, and the names of all.
macro_rules! declare {
    ($($(#[$doc:meta])* $part:ident, $part_mut:ident: $of:ident;)*) => {
        /// Parts that an FTL has beside its core.
        pub trait Parts {
            $(
                $(#[$doc])*
                fn $part(&self) -> Option<&dyn $of> {
                    None
                }

                /// Gives the same part for calls that change it.
                fn $part_mut(&mut self) -> Option<&mut dyn $of> {
                    None
                }
            )*
        }

        /// Names of all parts.
        pub const NAMES: &[&str] = &[$(stringify!($part)),*];

        /// Names of the parts that an FTL has.
        pub fn names(ftl: &dyn Ftl) -> Vec<&'static str> {
            [$((stringify!($part), ftl.$part().is_some())),*]
                .into_iter()
                .filter_map(|(name, has)| has.then_some(name))
                .collect()
        }
    };
}

declare! {
    /// Gives the map on flash.
    map_on_flash, map_on_flash_mut: MapOnFlash;
    /// Gives the retirement of blocks.
    block_service, block_service_mut: BlockService;
    /// Gives the relocation of single blocks.
    relocation, relocation_mut: Relocation;
    /// Gives the recovery after a power cut.
    recovery, recovery_mut: Recovery;
    /// Gives the calls of keys.
    calls, calls_mut: Calls;
    /// Gives the moves by copyback.
    copy_back, copy_back_mut: CopyBack;
    /// Gives the reuse of blocks without an erase.
    recycling, recycling_mut: Recycling;
    /// Gives the placement handles of the host.
    handles, handles_mut: Handles;
    /// Gives the zones of the drive.
    zones, zones_mut: Zones;
    /// Gives the parity over dies.
    parity, parity_mut: Parity;
    /// Gives the withdrawal of dies: a chip can be replaced while the drive is in use.
    withdrawal, withdrawal_mut: Withdrawal;
}

/// Names the parts of a member: `parts!(Zoned: block_service, calls, zones)`. A part may hang on a
/// condition: `parts!(Tally: zones if |tally| tally.ftl.zones().is_some())`.
macro_rules! parts {
    (@map_on_flash $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(map_on_flash map_on_flash_mut MapOnFlash $($when)*);
    };
    (@block_service $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(
            block_service block_service_mut BlockService $($when)*
        );
    };
    (@relocation $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(relocation relocation_mut Relocation $($when)*);
    };
    (@recovery $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(recovery recovery_mut Recovery $($when)*);
    };
    (@calls $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(calls calls_mut Calls $($when)*);
    };
    (@copy_back $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(copy_back copy_back_mut CopyBack $($when)*);
    };
    (@recycling $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(recycling recycling_mut Recycling $($when)*);
    };
    (@handles $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(handles handles_mut Handles $($when)*);
    };
    (@zones $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(zones zones_mut Zones $($when)*);
    };
    (@parity $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(parity parity_mut Parity $($when)*);
    };
    (@withdrawal $($when:tt)*) => {
        $crate::ftl::contract::parts::getters!(withdrawal withdrawal_mut Withdrawal $($when)*);
    };
    ($of:ident: $($part:ident $(if |$me:ident| $when:expr)?),* $(,)?) => {
        impl $crate::ftl::contract::Parts for $of {
            $($crate::ftl::contract::parts::parts!(@$part $(|$me| $when)?);)*
        }
    };
}
pub(crate) use parts;

/// Writes both getters of a part that an FTL has, always or on a condition.
macro_rules! getters {
    ($part:ident $part_mut:ident $of:ident) => {
        fn $part(&self) -> Option<&dyn $crate::ftl::contract::$of> {
            Some(self)
        }

        fn $part_mut(&mut self) -> Option<&mut dyn $crate::ftl::contract::$of> {
            Some(self)
        }
    };
    ($part:ident $part_mut:ident $of:ident |$me:ident| $when:expr) => {
        fn $part(&self) -> Option<&dyn $crate::ftl::contract::$of> {
            let $me = self;
            if $when { Some(self) } else { None }
        }

        fn $part_mut(&mut self) -> Option<&mut dyn $crate::ftl::contract::$of> {
            let $me = &*self;
            if $when { Some(self) } else { None }
        }
    };
}
pub(crate) use getters;
