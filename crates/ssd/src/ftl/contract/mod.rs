//! The contract of an FTL: a pure state machine that maps logical units to flash.
//!
//! It has no clock, no queue and no thread. The controller asks for the place of a unit (`lookup`),
//! the cost of this lookup (`access`), the place of new data (`place`, then `programmed` when they
//! are on flash), and for internal work (`step` of a job, then `erased`). No call has time as an
//! argument, so the same code runs under the engine and, through `write_untimed`, as fast as memory
//! allows: preconditioning is exact.

mod answers;
mod context;
mod names;
mod program;
mod withdrawal;
mod zones;

pub use answers::{Access, Known, Place, Reason, Step, Until, Urgency, Work};
pub use context::{Build, Context, DieKind, FtlConfig, overprovisioning_for};
pub use names::{Hint, Job, Key, Lpn, MOST_STREAMS, Stream};
pub use program::{Carried, Move, Program};
pub use withdrawal::Withdrawal;
pub use zones::{
    Status, ZoneCosts, ZoneEmptied, ZoneLayout, ZoneState, ZoneView, Zones, check_buffer,
};

pub use super::account::{
    CacheCounts, CacheState, DenseCounts, FtlCounts, MapCounts, Merges, Occupancy, Ram, Wear,
};
use super::untimed;
pub use super::untimed::{Device, Flawless, Untimed};
use crate::drive::request::Op;
pub use crate::flash::die_set::DieSet;
use crate::recovery::Found;
use base::archive::State;
use base::{Error, Result};
use dyn_clone::DynClone;
use nand::chip::BlockMode;
use nand::chip::coded::CodedPages;
use nand::geometry::{Block, Die, Ppn};

/// Where data live.
///
/// Promises to the controller: `lookup` names the place of the newest data that were reported
/// `programmed`; a place handed out is not handed out again before its block was reported `erased`,
/// or `recycled`: then each group of its coded pages is handed out once more, in order, with
/// nothing mapped in it; pages of a block are handed out in order; a block is given to erase only
/// when nothing in it is mapped; if `place` refuses, some job has work, or a program is under way;
/// no two jobs move one unit at a time; and internal work ends while the host waits. For that it
/// must gain space: a victim set frees its invalid units, minus the padding of the rows that move
/// its data. If the last row of each set is padded, the gain may be zero, and collection never
/// ends. So rows are filled across victims (`Draining`), and a set with less than a row to gain is
/// not started.
///
/// Its reports are correct: `counts`, `wear`, `filled_pages` and `occupancy` are compared with an
/// account of the calls, and with the flash.
///
/// Space taken by failed programs is not promised: if it comes from the reserve of collection,
/// `place_moves` may refuse a move.
///
/// The controller promises: every `Program` is reported once, `programmed` or `not_programmed`, two
/// programs of the same logical unit in the order in which they were placed; `step` of a job is
/// called again only when its last answer has been carried out; and units are written and trimmed
/// only after `access` has called their entries known.
pub trait Ftl: Send + DynClone + State {
    /// Logical units of the drive.
    fn logical_units(&self) -> u32;

    /// Units of the largest program, which a caller of `place` should bring.
    fn row_units(&self) -> u32;

    /// Whether the units of a row are to come in order of their numbers.
    fn sorts_rows(&self) -> bool {
        false
    }

    /// Number of keys.
    fn keys(&self) -> u32 {
        1
    }

    /// Streams of the host whose data it keeps apart: its placement handles.
    fn streams(&self) -> u32 {
        1
    }

    /// The key of data of `lpn` that the host writes with this hint. Asked when they
    /// enter the write buffer, and not again if they are rewritten there. The FTL may use its own
    /// knowledge, such as rewrite counts or the units that it was asked about before: it must take
    /// any unit under any key. The answer is taken modulo `keys`; it is not asked if that is 1.
    fn key_of(&mut self, _lpn: Lpn, hint: Hint) -> Key {
        Key(hint.stream.into())
    }

    /// The place of the newest data of a unit, or of a map page; `None` without data. It is the
    /// truth, free of cost: `access` gives the cost of the lookup in a drive.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Whether `access` may have a cost. Nobody asks it where not.
    fn has_map_on_flash(&self) -> bool {
        false
    }

    /// What knowing the places of `count` units from `first` on costs: asked once by every request.
    fn access(&mut self, _first: Lpn, count: u32, _access: Access) -> Known {
        Known::Units(count)
    }

    /// The page of data, other than that of its place, where the map expects a unit: it was
    /// programmed, and says where the unit is. It is not given to erase as long as it is the answer
    /// here. `None` where the map is right.
    fn mispredicted(&self, _lpn: Lpn) -> Option<Ppn> {
        None
    }

    /// The page that `access` has asked for was read. The entries that it has of `count`
    /// units from `first` on are in memory now: for how many of them, at least one, they are known.
    fn map_read(&mut self, _first: Lpn, count: u32, _access: Access) -> u32 {
        count
    }

    /// Whether the units of a row may end with holes.
    fn takes_holes(&self) -> bool {
        false
    }

    /// Reserves places for the first of `lpns`, all of one key (as many as one program carries), on
    /// one of `dies`. Holes at their end ([`Lpn::HOLE`], see `takes_holes`) take room as units do,
    /// and the program has padding for them.
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place;

    /// The same for the first units that a job moves, to any die.
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place;

    /// The program that `place_moves` would answer now for the first of so many units of a job, if
    /// it is known and takes any units in any order: then those of a plane may stay in it.
    fn next_of_moves(&self, _job: Job, _units: u32) -> Option<Program> {
        None
    }

    /// Whether it ever answers that.
    fn can_copy_back(&self) -> bool {
        false
    }

    /// The flash holds the data of `program`. A unit that a job has moved and that is elsewhere by
    /// now stays there.
    fn programmed(&mut self, program: &Program, carried: Carried);

    /// The program failed: its places become padding, and its data must be placed again; the map
    /// still has their old places. Failed blocks are retired separately.
    fn not_programmed(&mut self, program: &Program, carried: Carried);

    /// Forgets the data of a unit.
    fn trim(&mut self, lpn: Lpn);

    /// How many jobs there are; the first are those of the dies.
    fn jobs(&self) -> u32;

    /// Whether a job has work of this urgency.
    fn wants(&self, job: Job, urgency: Urgency) -> bool;

    /// A job with work that needs no call of `wants`: a job of the drive, or of a die that blocks
    /// others. Each is returned once. Ask after any other call.
    fn wanted(&mut self) -> Option<Job> {
        None
    }

    /// A key whose rows can be asked about again, of those that wait for that. Each is returned
    /// once.
    fn called(&mut self) -> Option<Key> {
        None
    }

    /// The next step of a job.
    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step;

    /// Units of its own behind the logical ones: pages of its map.
    fn own_units(&self) -> u32 {
        0
    }

    /// Whether what a job moves are new versions of units, and no copies: pages of the map that are
    /// written anew.
    fn renews(&self, _job: Job) -> bool {
        false
    }

    /// A mark that the drive stores beside the pages of a block, for `recover`; 0 leaves that of
    /// before.
    fn tag(&self, _block: Block) -> u64 {
        0
    }

    /// Mode of a block that is open or full: bits that its cells hold.
    fn mode(&self, _block: Block) -> BlockMode {
        BlockMode::Native
    }

    /// Whether jobs have work in idle times beyond the room that `gc` asks for.
    fn works_when_idle(&self) -> bool {
        false
    }

    /// Its cache of blocks in single-level mode, where it has one.
    fn cache(&self) -> Option<CacheState> {
        None
    }

    /// Whether a block is out of use.
    fn is_bad(&self, _block: Block) -> bool {
        false
    }

    /// Whether it knows that dies may be of several kinds.
    fn knows_kinds(&self) -> bool {
        false
    }

    /// Whether it can be rebuilt after a power cut.
    fn can_recover(&self) -> bool {
        false
    }

    /// Rebuilds its tables from what a start-up has found on flash. Asked once, of an FTL that has
    /// done nothing yet. Afterwards `lookup` names, for each unit, one of the places that
    /// [`Found::current`] has, and nothing is under way.
    fn recover(&mut self, _found: &Found) -> Result<()> {
        Err(Error::unsupported("recovery.name", "this FTL cannot be rebuilt"))
    }

    /// Whether collection of `die` keeps pace with the host. While it is at work and does not, the
    /// controller sends the die no host data.
    fn keeps_pace(&self, _die: Die) -> bool {
        true
    }

    /// A block given by `step` has been erased.
    fn erased(&mut self, block: Block);

    /// A block given by `step` can be programmed again: the coded pages of a full block in mode
    /// [`BlockMode::Coded`] or [`BlockMode::Recoded`], by programs in mode [`BlockMode::Recoded`].
    /// Its code has a generation left for that.
    fn recycled(&mut self, _block: Block) {}

    /// The pages that it codes, where it writes blocks in these modes.
    fn coded_pages(&self) -> Option<&CodedPages> {
        None
    }

    /// Groups of coded pages of a block that have been handed out again, through all generations.
    fn rewritten_groups(&self, _block: Block) -> u32 {
        0
    }

    /// Retires a block: its pages could not be read, or a program of it failed. A job moves its
    /// data later, and after the block is reported `erased` it is bad. A block whose erase failed
    /// is retired just before it is reported `erased`: at once, or, if collection needs its space,
    /// after one more use. `erased` counts it in `retired_blocks` if it is retired, otherwise in
    /// `reclaimed_blocks`. True if the block is being retired or bad, now or before; false if the
    /// remaining space would be too small: a drive whose erase failed then accepts no more writes.
    fn retire(&mut self, _block: Block) -> bool {
        false
    }

    /// Moves the data of a full block elsewhere (read reclaim), because it was read very often or
    /// with many retries; the block is used again after its erase. True if this is new; false if
    /// the block is already being moved, is open, or there is no space to move it now.
    fn reclaim(&mut self, _block: Block) -> bool {
        false
    }

    /// Closes an open block before it is full, so that `reclaim` can move its data: whether it has
    /// done so. No program of the block is under way.
    fn close(&mut self, _block: Block) -> bool {
        false
    }

    /// Whether it has `reclaim`: a drive that refreshes its data needs it.
    fn can_reclaim(&self) -> bool {
        false
    }

    /// Its part that gives dies back, where it has one: a chip can be replaced while the drive is
    /// in use.
    fn withdrawal(&mut self) -> Option<&mut dyn Withdrawal> {
        None
    }

    /// Its zones, where it has any.
    fn zones(&self) -> Option<&dyn Zones> {
        None
    }

    /// Whether a request for `units` units from `first` on is carried out: the unit that it begins
    /// with, which an append is told here, or how it ends. Asked by a drive with zones before
    /// anything is acknowledged or enters the buffer. What changes a zone has done so with the
    /// answer.
    fn admit(&mut self, op: Op, first: Lpn, _units: u32) -> std::result::Result<Lpn, Status> {
        if op.is_of_zones() { Err(Status::InvalidOpcode) } else { Ok(first) }
    }

    /// Pages of `block` that have been handed out since its erase.
    fn filled_pages(&self, block: Block) -> u32;

    /// Brings near what `lookup` will touch.
    fn prefetch(&self, _lpn: Lpn) {}

    /// Brings near what overwriting will touch, once `prefetch` has had time to act: the block
    /// that the data are in, as far as that is known without consequences.
    fn prefetch_old(&self, _lpn: Lpn) -> Option<Block> {
        None
    }

    /// What has been done.
    fn counts(&self) -> FtlCounts;

    /// Resets the counts, and sets the wear of every block if one is given.
    fn start_run(&mut self, pe_cycles: Option<u32>);

    /// Where every physical unit is accounted for, by counting (slow).
    fn occupancy(&self) -> Occupancy;

    /// Wear of the good blocks (slow).
    fn wear(&self) -> Wear;

    /// Adds cycles to every block, listed by block: erases that are not carried out one by one.
    /// False where it cannot, and nothing has changed.
    fn wear_on(&mut self, _more: &[u32]) -> bool {
        false
    }

    /// Difference of cycles inside a plane that wear levelling leaves; 0 is any.
    fn levels_to(&self) -> u32 {
        0
    }

    /// Memory that the firmware needs, by use.
    fn ram(&self) -> Vec<Ram>;

    /// Bytes that it keeps beside the data of a page, for a start-up without its memory: by default
    /// the owner of each unit and the number of the program.
    fn spare_bytes(&self, units_per_page: u32) -> u32 {
        4 * units_per_page + 8
    }

    /// Bytes of the simulator's own tables for each logical unit.
    fn bytes_per_unit(&self) -> f64;

    /// Writes units without time: place, programmed, and all internal work they cause; those of a
    /// key in order. Refuses when no die takes data and internal work changes nothing: a broken
    /// promise.
    fn write_untimed(&mut self, lpns: &[Lpn], untimed: &mut Untimed) -> Result<()> {
        untimed::write(self, lpns, untimed, &mut Flawless)
    }

    /// Trims a unit without time, including reads of map pages.
    fn trim_untimed(&mut self, lpn: Lpn, untimed: &mut Untimed) -> Result<()> {
        untimed::trim(self, lpn, untimed, &mut Flawless)
    }

    /// Overwrites `count` units drawn by `draw`, without time.
    fn overwrite_untimed(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
    ) -> Result<()> {
        untimed::overwrite(self, count, draw, untimed, &mut Flawless)
    }

    /// The same on a device that wears and fails.
    fn overwrite_on(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()> {
        untimed::overwrite(self, count, draw, untimed, device)
    }

    /// Writes units of one key in order, on a device that wears and fails.
    fn write_on(
        &mut self,
        key: Key,
        lpns: &[Lpn],
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<()> {
        untimed::write_key(self, key, lpns, untimed, device)
    }

    /// Trims a unit on such a device.
    fn trim_on(&mut self, lpn: Lpn, untimed: &mut Untimed, device: &mut dyn Device) -> Result<()> {
        untimed::trim(self, lpn, untimed, device)
    }

    /// The promise that was broken by whoever decides outside of the roster. From then on the FTL
    /// takes no data and has no work, and the run ends with this.
    fn fault(&mut self) -> Option<Error> {
        None
    }

    /// The promise that is broken if requests wait and nothing is under way, where that is known.
    fn stalled(&mut self) -> Option<Error> {
        None
    }

    /// Carries out a job that is so urgent, without time: how many steps it took.
    fn settle_untimed(&mut self, job: Job, urgency: Urgency, untimed: &mut Untimed) -> Result<u64> {
        untimed::settle(self, job, urgency, untimed, &mut Flawless)
    }

    /// The same on a device that wears and fails.
    fn settle_on(
        &mut self,
        job: Job,
        urgency: Urgency,
        untimed: &mut Untimed,
        device: &mut dyn Device,
    ) -> Result<u64> {
        untimed::settle(self, job, urgency, untimed, device)
    }
}

dyn_clone::clone_trait_object!(Ftl);

/// The key, of `keys` that `ftl` has, of data of `lpn`.
#[inline]
pub fn key_among<F: Ftl + ?Sized>(ftl: &mut F, keys: u32, lpn: Lpn, hint: Hint) -> Key {
    if keys == 1 { Key(0) } else { Key(ftl.key_of(lpn, hint).0 % keys) }
}
