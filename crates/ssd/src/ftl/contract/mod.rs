//! The contract of an FTL: a pure state machine that maps logical units to flash.
//!
//! An FTL has no clock, no queue and no thread. The controller asks for the place of a unit
//! (`lookup`), for the place of new data (`place`, then `programmed` when they are on flash), and
//! for internal work (`step` of a job, then `erased`). No call has time as an argument, so the same
//! code runs under the engine and, driven by [`Untimed`](super::untimed::Drive), as fast as memory
//! allows: preconditioning is exact.
//!
//! [`Ftl`] is the core that every member means. [`Facts`] holds constants, [`Account`] is
//! bookkeeping for reports, and [`parts`] are what only some members have: a map on flash, block
//! service, recovery, zones. A part that an FTL names has code, for the compiler asks for it.

mod account;
mod context;
mod facts;
mod parity;
pub mod parts;
mod withdrawal;
mod zones;

pub use account::{Account, Lead};
pub use context::{Build, CodeStage, Context, DieKind, FtlConfig, overprovisioning_for};
pub use facts::{Facts, SetFacts};
pub use parity::Parity;
pub use parts::{
    BlockService, Calls, CopyBack, Handles, MapOnFlash, Parts, Recovery, Recycling, Relocation,
};
pub use withdrawal::Withdrawal;
pub use zones::{
    AreaLayout, ZoneCosts, ZoneEmptied, ZoneLayout, ZoneState, ZoneView, Zones, check_buffer,
};

pub use super::account::{
    CacheCounts, CacheState, CodeStageCounts, DenseCounts, FtlCounts, HandleCounts, HeldBlocks,
    MapCounts, Merges, Occupancy, Ram, StripeCounts,
};
pub use super::untimed::{Device, Drive, Flawless, Untimed};
pub use crate::space::wear::Wear;
pub use crate::terms::request::Status;
pub use crate::terms::{
    Access, Carried, DieSet, Hint, Job, Key, Known, Lpn, MOST_STREAMS, Move, Place, Program,
    Reason, Step, Stream, Until, Urgency, Work,
};
use base::archive::State;
use base::{Error, Time};
use dyn_clone::DynClone;
use nand::geometry::{Block, Die, Ppn};

/// Core of a flash translation layer: where data live, and the internal work that makes room.
///
/// Promises to the controller: `lookup` names the place of the newest data that were reported
/// `programmed`; a place handed out is not handed out again before its block was reported `erased`,
/// or `recycled` ([`Recycling`]); pages of a block are handed out in order; a block is given to
/// erase only when nothing in it is mapped; if `place` refuses, some job has work, or a program is
/// under way; no two jobs move one unit at a time; and internal work ends while the host waits. For
/// that it must gain space: a victim set frees its invalid units, minus the padding of the rows
/// that move its data. If the last row of each set is padded, the gain may be zero, and collection
/// never ends. So rows are filled across victims (`Draining`), and a set with less than a row to
/// gain is not started.
///
/// Reports of an FTL are correct: `counts`, `wear`, `filled_pages` and `occupancy` are compared
/// with an account of the calls, and with the flash.
///
/// Space taken by failed programs is not promised: if it comes from the reserve of collection,
/// `place_moves` may refuse a move.
///
/// The controller promises: every `Program` is reported once, `programmed` or `not_programmed`, two
/// programs of the same logical unit in the order in which they were placed; `step` of a job is
/// called again only when its last answer has been carried out; and units are written and trimmed
/// only after [`MapOnFlash::access`], where there is one, has called their entries known.
pub trait Ftl: Send + DynClone + State + Account + Parts + Drive {
    /// Constants of this FTL: they do not change after it was built.
    fn facts(&self) -> &Facts;

    /// Key of data of `lpn` that the host writes with this hint. Asked when they enter the write
    /// buffer, and not again if they are rewritten there. The FTL may use its own knowledge, such
    /// as rewrite counts or the units that it was asked about before: it must take any unit under
    /// any key. The answer is taken modulo `Facts::keys`; it is not asked if that is 1.
    fn key_of(&mut self, _lpn: Lpn, hint: Hint) -> Key {
        Key(hint.stream.into())
    }

    /// Place of the newest data of a unit, or of a map page; `None` without data. The answer is the
    /// truth, free of cost: [`MapOnFlash::access`] gives the cost of the lookup in a drive.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Reserves places for the first of `lpns`, all of one key (as many as one program carries), on
    /// one of `dies`. Holes at their end ([`Lpn::HOLE`], see `Facts::takes_holes`) take room as
    /// units do, and the program has padding for them.
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place;

    /// Reserves places for the first units that a job moves, on any die.
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place;

    /// The flash holds the data of `program`. A unit that a job has moved and that is elsewhere by
    /// now stays there.
    fn programmed(&mut self, program: &Program, carried: Carried);

    /// The program failed: its places become padding, and its data must be placed again; the map
    /// still has their old places. Failed blocks are retired separately.
    fn not_programmed(&mut self, program: &Program, carried: Carried);

    /// Forgets the data of a unit.
    fn trim(&mut self, lpn: Lpn);

    /// Whether a job has work of this urgency.
    fn wants(&self, job: Job, urgency: Urgency) -> bool;

    /// Next step of a job.
    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step;

    /// Takes back a block that `step` has given to erase: its erase is over, and took so long on
    /// its die; 0 where no time passes.
    fn erased(&mut self, block: Block, took: Time);

    /// A job with work that needs no call of `wants`: a job of the drive, or of a die that blocks
    /// others. Each is returned once. Ask after any other call.
    fn wanted(&mut self) -> Option<Job> {
        None
    }

    /// Whether collection of `die` keeps pace with the host. While it is at work and does not, the
    /// controller sends the die no host data.
    fn keeps_pace(&self, _die: Die) -> bool {
        true
    }

    /// Prefetches the memory that `lookup` of a unit will touch.
    fn prefetch(&self, _lpn: Lpn) {}

    /// Prefetches the memory that overwriting a unit will touch, once `prefetch` has had time to
    /// act. Returns the block of its old data, as far as that is known without consequences.
    fn prefetch_old(&self, _lpn: Lpn) -> Option<Block> {
        None
    }

    /// Error of a promise that decisions from outside of the roster have broken. With `is_stalled`
    /// requests wait and nothing is under way, which may break one as well. After an error the FTL
    /// takes no data and has no work, and the run ends with it.
    fn fault(&mut self, _is_stalled: bool) -> Option<Error> {
        None
    }
}

dyn_clone::clone_trait_object!(Ftl);

/// Key of data of `lpn`, below `keys`, the number of keys that `ftl` has.
#[inline]
pub fn key_among<F: Ftl + ?Sized>(ftl: &mut F, keys: u32, lpn: Lpn, hint: Hint) -> Key {
    if keys == 1 { Key(0) } else { Key(ftl.key_of(lpn, hint).0 % keys) }
}
