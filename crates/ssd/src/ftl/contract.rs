//! The contract of an FTL: a pure state machine that maps logical units to flash.
//!
//! It has no clock, no queue and no thread. The controller asks for the place of a unit (`lookup`),
//! the cost of this lookup (`access`), the place of new data (`place`, then `programmed` when they
//! are on flash), and for internal work (`step` of a job, then `erased`). No call has time as an
//! argument, so the same code runs under the engine and, through `write_untimed`, as fast as memory
//! allows: preconditioning is exact.

pub use super::account::{
    CacheCounts, CacheState, FtlCounts, MapCounts, Merges, Occupancy, Ram, Wear,
};
use super::untimed;
pub use super::untimed::{Device, Flawless, Untimed};
pub use crate::flash::die_set::DieSet;
use crate::recovery::Found;
use crate::space::gc::{GcConfig, Victims};
use base::archive::State;
use base::params::Table;
use base::{Error, Result};
use dyn_clone::DynClone;
use nand::chip::BlockMode;
use nand::geometry::{Block, Die, Geometry, MAX_PLANES, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A logical unit. Units from `logical_units` on are the FTL's own: pages of its map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

impl Lpn {
    /// No unit: a slot of a program that is left empty.
    pub const HOLE: Self = Self(u32::MAX);
}

/// The write frontier that a program belongs to: programs of one frontier reach the die in the
/// order in which they were placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream(pub u8);

impl Stream {
    /// Data moved by internal jobs, in separate blocks.
    pub const GC: Self = Self(0);
    /// Map pages, in separate blocks.
    pub const MAP: Self = Self(u8::MAX);

    /// Data that wear levelling moves, in separate blocks.
    pub const COLD: Self = Self(u8::MAX - 1);
    /// Records that the drive itself writes, in blocks of its log.
    pub const LOG: Self = Self(u8::MAX - 2);

    /// Data written by the host under key `key`, in blocks that the host writes to.
    pub const fn host(key: u8) -> Self {
        Self(1 + key)
    }

    /// Whether its blocks are those of internal jobs.
    pub const fn is_internal(self) -> bool {
        self.0 == Self::GC.0 || self.0 == Self::MAP.0 || self.0 == Self::COLD.0
    }
}

/// Hint of the host about data that it writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// Data of one stream die together; 0 where the host says nothing.
    pub stream: u8,
    /// Somebody waits for the write.
    pub is_urgent: bool,
}

/// The write buffer gathers units of one key into rows: a stream, a logical block, a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub u32);

/// Keys up to which the controller knows room by key: see [`Place::NoRoom`].
pub const MOST_STREAMS: u32 = 8;

/// Internal work, by number: that of die `d` has number `d`, and the work that belongs to no die
/// has the numbers above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job(pub u32);

impl Job {
    /// The work of a die: its collection.
    pub const fn of(die: Die) -> Self {
        Self(die.0)
    }
}

/// What every FTL shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Bytes of a mapping unit; 0 is the smaller of 4096 and the page size.
    pub unit_bytes: u32,
    /// Over-provisioning (OP): physical / logical capacity - 1, all good blocks counted.
    pub overprovisioning: f64,
    /// Free blocks of each plane that only garbage collection may open.
    pub gc_reserve_blocks: u32,
    /// Controller memory for the tables of the FTL in bytes: one that needs more is refused. 0 is
    /// no limit.
    pub ram_bytes: u64,
}

impl Default for FtlConfig {
    fn default() -> Self {
        Self { unit_bytes: 0, overprovisioning: 0.07, gc_reserve_blocks: 1, ram_bytes: 0 }
    }
}

/// What an FTL is built from.
pub struct Context {
    /// Layout of the flash.
    pub geometry: Geometry,
    /// Planes that one program command joins.
    pub planes_per_program: u32,
    /// Pages of each plane that one program command writes.
    pub pages_per_program: u32,
    /// Pages of a block in single-level mode; each is programmed by a command of its own.
    pub single_level_pages: u32,
    /// Which pages of a block are fast: the first of their cells. All of them, where a program
    /// takes all pages of a wordline.
    pub fast_pages: Vec<bool>,
    /// The family's parameters.
    pub config: FtlConfig,
    /// When to collect.
    pub gc: GcConfig,
    /// Whom to collect.
    pub victims: Box<dyn Victims>,
    /// Blocks that cannot be used, by block number: bad from the factory.
    pub bad: Vec<bool>,
    /// Blocks that have failed since, of the others. They cannot be used either, but the capacity
    /// that the host was sold counts them.
    pub failed: Vec<Block>,
    /// Program/erase cycles of every block at the start.
    pub pe_cycles: u32,
}

/// Builds an FTL from its context and its own checked parameters.
pub type Build = fn(Context, &Table) -> Result<Box<dyn Ftl>>;

/// One program command: where its units go.
///
/// Unit `i` lies in slot `i % units_per_page` of a page; pages go through the planes first, then
/// through the pages of a one-shot wordline.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The die.
    pub die: Die,
    /// Slots that it fills from the first on, holes between them counted; the rest of the last
    /// page is padding.
    pub units: u32,
    /// First page number, the same in every plane.
    pub page: u32,
    /// Planes joined.
    pub planes: u8,
    /// The frontier it belongs to.
    pub stream: Stream,
    /// How many bits the cells of its blocks hold: the same for all programs of a block between
    /// two erases. Pages and rows are those of the mode.
    pub mode: BlockMode,
    /// Block in each joined plane.
    pub blocks: [Block; MAX_PLANES],
}

impl Program {
    /// The blocks that it writes to, one in each joined plane.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.planes)]
    }

    /// The place of unit `i`.
    #[inline]
    pub fn ppn(&self, geometry: &Geometry, i: u32) -> Ppn {
        let upp = geometry.units_per_page;
        if i < upp {
            return geometry.ppn(self.blocks[0], self.page, i);
        }
        let (page, slot) = (i / upp, i % upp);
        let planes = u32::from(self.planes);
        geometry.ppn(self.blocks[(page % planes) as usize], self.page + page / planes, slot)
    }
}

/// The FTL's answer when data are to be placed.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Here.
    At(Program),
    /// Not now: once that has happened it can be asked again. Rows of other keys may go meanwhile.
    Later(Until),
    /// None of these dies can take data of this key before an internal job has erased a block. An
    /// FTL with more than [`MOST_STREAMS`] keys gives the same answer for all keys.
    NoRoom,
}

impl Place {
    /// The program, if there is one.
    pub fn program(self) -> Option<Program> {
        match self {
            Self::At(program) => Some(program),
            Self::Later(_) | Self::NoRoom => None,
        }
    }
}

/// The event that a row or a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The program of host data under way on this die is done.
    Die(Die),
    /// An internal job has done a step.
    Job,
    /// An internal job has erased blocks.
    Erase,
    /// The FTL calls the row's key: see [`Ftl::called`].
    Called,
}

/// The purpose of a request that needs entries of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Where units are, to read them.
    Read,
    /// Entries of units that are to be written.
    Write,
    /// Entries of units that are to be forgotten.
    Trim,
}

/// The cost of knowing the places of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Free for this many units from the first on, at least one.
    Units(u32),
    /// A read of this page of the map, for the first of them.
    Read(Lpn),
    /// A read of the page where the map wrongly expects this unit, the first of them: see
    /// [`Ftl::mispredicted`].
    Mispredicted(Lpn),
    /// It cannot be found out before an internal job has done a step.
    Later,
}

/// How much room collection is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// As much as the host needs to continue, as under writes that never pause. Preconditioning
    /// uses it.
    Blocked,
    /// As much as `gc.start_free_blocks` says.
    Due,
    /// As much as `gc.background_free_blocks` says: there is time.
    Idle,
}

/// The next step of a job; what it concerns is in [`Work`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is nothing more to do.
    Done,
    /// Read the units listed in `moves`, place them all (`place_moves`), program them, and ask
    /// again.
    Move,
    /// Erase `blocks`, report each, and ask again.
    Erase,
    /// Ask again when another job has done a step.
    Wait,
}

/// What a step of a job concerns: cleared and filled by `step`.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Units to be moved, of any dies. Units of one page that follow each other here are read at
    /// once.
    pub moves: Vec<Move>,
    /// Blocks to be erased, of any dies. Those of one die that follow each other, in different
    /// planes, are erased by one command.
    pub blocks: Vec<Block>,
}

impl Work {
    /// Forgets both.
    #[inline]
    pub fn clear(&mut self) {
        self.moves.clear();
        self.blocks.clear();
    }
}

/// A unit to move, and its old place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The unit, or [`Lpn::HOLE`].
    pub lpn: Lpn,
    /// Where it is read; [`Ppn::NONE`] where nothing is to be read for it.
    pub from: Ppn,
}

impl Move {
    /// A slot that is left empty.
    pub const HOLE: Self = Self { lpn: Lpn::HOLE, from: Ppn::NONE };
}

/// The origin of a program's data.
#[derive(Debug, Clone, Copy)]
pub enum Carried<'a> {
    /// The host's.
    Host,
    /// Those that a job moves: which, and where each unit came from.
    Moves(Job, &'a [Move]),
}

impl<'a> Carried<'a> {
    /// Where each unit came from; nothing for the host's.
    #[inline]
    pub fn moves(self) -> &'a [Move] {
        match self {
            Self::Host => &[],
            Self::Moves(_, moves) => moves,
        }
    }

    /// Units of `program` that carry data.
    #[inline]
    pub fn units(self, program: &Program) -> u32 {
        match self {
            Self::Host => program.units,
            Self::Moves(_, moves) => {
                moves.iter().filter(|unit| unit.lpn != Lpn::HOLE).count() as u32
            }
        }
    }
}

/// Where data live.
///
/// Promises to the controller: `lookup` names the place of the newest data that were reported
/// `programmed`; a place handed out is not handed out again before its block was reported `erased`;
/// pages of a block are handed out in order; a block is given to erase only when nothing in it is
/// mapped; if `place` refuses, some job has work, or a program is under way; no two jobs move one
/// unit at a time; and internal work ends while the host waits. For that it must gain space: a
/// victim set frees its invalid units, minus the padding of the rows that move its data. If the
/// last row of each set is padded, the gain may be zero, and collection never ends. So rows are
/// filled across victims (`Draining`), and a set with less than a row to gain is not started.
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

    /// Reserves places for the first of `lpns`, all of one key (as many as one program carries), on
    /// one of `dies`.
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place;

    /// The same for the first units that a job moves, to any die.
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place;

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
