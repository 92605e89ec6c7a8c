//! The contract of an FTL: a pure state machine that says where data live.
//!
//! It has no clock, no queue and no thread. The controller asks it where a unit is (`lookup`), what
//! finding that out costs (`access`), where new data go (`place`, then `programmed` when the flash
//! has them), and what it wants done inside (`step` of a job, then `erased`). Because time is
//! nobody's argument, the same code runs under the engine and, through `write_untimed`, as fast as
//! memory allows: preconditioning is exact.

pub use super::account::{FtlCounts, MapCounts, Merges, Occupancy, Ram, Wear};
use super::untimed;
pub use super::untimed::Untimed;
pub use crate::flash::die_set::DieSet;
use crate::space::gc::{GcConfig, Victims};
use base::Result;
use base::params::Table;
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
    /// Data moved by internal jobs, in blocks of their own.
    pub const GC: Self = Self(0);
    /// Pages of the map, in blocks of their own.
    pub const MAP: Self = Self(u8::MAX);

    /// Data written by the host under key `key`, in blocks that the host writes to.
    pub const fn host(key: u8) -> Self {
        Self(1 + key)
    }

    /// Whether its blocks are those of internal jobs.
    pub const fn is_internal(self) -> bool {
        self.0 == Self::GC.0 || self.0 == Self::MAP.0
    }
}

/// The write buffer gathers units of one key into rows: a stream, a logical block, a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub u32);

/// Keys up to which the controller knows room by key: see [`Place::NoRoom`].
pub const MOST_STREAMS: u32 = 8;

/// Internal work, by number: that of die `d` has number `d`, and the work that belongs to no die
/// has the numbers above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Bytes of a mapping unit; 0 takes the smaller of 4096 and the page.
    pub unit_bytes: u32,
    /// Physical over logical capacity, minus one, all good blocks counted.
    pub overprovisioning: f64,
    /// Free blocks of each plane that only garbage collection may open.
    pub gc_reserve_blocks: u32,
}

impl Default for FtlConfig {
    fn default() -> Self {
        Self { unit_bytes: 0, overprovisioning: 0.07, gc_reserve_blocks: 1 }
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
    /// None of these dies takes data of this key before an internal job has erased a block of it.
    /// An FTL with more than [`MOST_STREAMS`] keys says so of all keys alike.
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
    /// Nothing for so many of the units from the first on, at least one.
    Units(u32),
    /// A read of this page of the map, for the first of them.
    Read(Lpn),
    /// It cannot be found out before an internal job has done a step.
    Later,
}

/// How much room collection is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// As much as the host needs to go on: what a drive is left with when writes never pause.
    /// Preconditioning works so.
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

/// A unit to be moved: what it is and where it was.
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
/// unit at a time; and internal work comes to an end while the host waits. For that it must gain: a
/// victim set gives back its dead units, less the padding of the rows that move it. Where the last
/// row of each set is padded that may be nothing, and collection goes round in circles. So rows are
/// filled across victims (`Draining`), and no set is begun that has less than a row to gain.
///
/// What it says of itself is what it has done: `counts`, `wear`, `filled_pages` and `occupancy` are
/// held against an account of the calls, and against the flash.
///
/// Room that failed programs take is not promised: where it comes from what is kept for collection,
/// `place_moves` may refuse what a job moves.
///
/// The controller promises: every `Program` is reported once, `programmed` or `not_programmed`, two
/// programs of the same logical unit in the order in which they were placed; `step` of a job is
/// called again only when its last answer has been carried out; and units are written and trimmed
/// only after `access` has called their entries known.
pub trait Ftl: Send + DynClone {
    /// Logical units of the drive.
    fn logical_units(&self) -> u32;

    /// Units that the largest program carries: what a caller of `place` should bring.
    fn row_units(&self) -> u32;

    /// How many keys there are.
    fn keys(&self) -> u32 {
        1
    }

    /// The key of data of `lpn` that the host writes under stream hint `hint`. Asked when they
    /// enter the write buffer, and not again if they are rewritten there. The FTL may go by what it
    /// knows itself, such as how often units are rewritten. The answer is taken modulo `keys`;
    /// nobody asks where that is 1.
    fn key_of(&self, _lpn: Lpn, hint: u8) -> Key {
        Key(hint.into())
    }

    /// Where the newest data of a unit, or a page of the map, are; `None` where there are none.
    /// The truth, free of cost: `access` says what a drive must do to know it.
    fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

    /// Whether `access` may have a cost. Nobody asks it where not.
    fn has_map_on_flash(&self) -> bool {
        false
    }

    /// What knowing the places of `count` units from `first` on costs: asked once by every request.
    fn access(&mut self, _first: Lpn, count: u32, _access: Access) -> Known {
        Known::Units(count)
    }

    /// The page of the map that `access` has asked for was read. The entries that it has of `count`
    /// units from `first` on are in memory now: for how many of them, at least one, they are known.
    fn map_read(&mut self, _first: Lpn, count: u32, _access: Access) -> u32 {
        count
    }

    /// Reserves places for the first of `lpns`, all of one key (as many as one program carries), on
    /// one of `dies`.
    fn place(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place;

    /// The same for the first of what a job moves, wherever it is to go.
    fn place_moves(&mut self, job: Job, moves: &[Move]) -> Place;

    /// The flash holds the data of `program`. A unit that a job has moved and that is elsewhere by
    /// now stays there.
    fn programmed(&mut self, program: &Program, carried: Carried);

    /// The program has failed: its places hold nothing and are padding, and what it carried has
    /// yet to be placed again; what was mapped is mapped where it was. The blocks that failed are
    /// retired by themselves.
    fn not_programmed(&mut self, program: &Program, carried: Carried);

    /// Forgets the data of a unit.
    fn trim(&mut self, lpn: Lpn);

    /// How many jobs there are; the first are those of the dies.
    fn jobs(&self) -> u32;

    /// Whether a job has work of this urgency.
    fn wants(&self, job: Job, urgency: Urgency) -> bool;

    /// A job that has work now which no call of `wants` need be made for: one of the drive's, or
    /// that of a die without which something cannot go on. Each is told once. To be asked after any
    /// other call.
    fn wanted(&mut self) -> Option<Job> {
        None
    }

    /// The next step of a job.
    fn step(&mut self, job: Job, urgency: Urgency, work: &mut Work) -> Step;

    /// Whether collection of `die` keeps pace with the host. While it is at work and does not, the
    /// controller sends the die no host data.
    fn keeps_pace(&self, _die: Die) -> bool {
        true
    }

    /// A block given by `step` has been erased.
    fn erased(&mut self, block: Block);

    /// Takes a block out of use: pages of it could not be read, or a program of it has failed.
    /// A job moves its data off, in its own time, and once it has been reported `erased` it is
    /// bad. A block whose erase has failed is retired just before it is reported `erased`: it goes
    /// at once, or, where collection counts on what it gives, serves once more as if it had not.
    /// `erased` counts it in `retired_blocks` if it has gone, and else in `reclaimed_blocks`. True
    /// where the block is on its way out or bad, since now or before; false where what is left
    /// would be too small: a drive whose erase has failed then takes no more writes.
    fn retire(&mut self, _block: Block) -> bool {
        false
    }

    /// Has the data of a full block moved elsewhere, in its own time, for they have been read very
    /// often, or only just: once erased the block is used on. True where that is new; false where
    /// the block is on its way already, is being written to, or there is no room to move it now.
    fn reclaim(&mut self, _block: Block) -> bool {
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

    /// Starts counting anew, and sets the wear of every block, where it is not to go on from what
    /// it is.
    fn start_run(&mut self, pe_cycles: Option<u32>);

    /// Where every physical unit is accounted for, by counting (slow).
    fn occupancy(&self) -> Occupancy;

    /// Wear of the good blocks (slow).
    fn wear(&self) -> Wear;

    /// Memory that the firmware needs, by use.
    fn ram(&self) -> Vec<Ram>;

    /// Bytes of the simulator's own tables for each logical unit.
    fn bytes_per_unit(&self) -> f64;

    /// Writes units without time: place, programmed, and all internal work they cause; those of a
    /// key in order. Refuses when no die takes data and internal work changes nothing: a broken
    /// promise.
    fn write_untimed(&mut self, lpns: &[Lpn], untimed: &mut Untimed) -> Result<()> {
        untimed::write(self, lpns, untimed)
    }

    /// Forgets the data of a unit without time, whatever of the map must be read for it.
    fn trim_untimed(&mut self, lpn: Lpn, untimed: &mut Untimed) -> Result<()> {
        untimed::trim(self, lpn, untimed)
    }

    /// Overwrites `count` units drawn by `draw`, without time.
    fn overwrite_untimed(
        &mut self,
        count: u64,
        draw: &mut dyn FnMut() -> Lpn,
        untimed: &mut Untimed,
    ) -> Result<()> {
        untimed::overwrite(self, count, draw, untimed)
    }

    /// Carries out a job that is so urgent, without time: how many steps it took.
    fn settle_untimed(&mut self, job: Job, urgency: Urgency, untimed: &mut Untimed) -> Result<u64> {
        untimed::settle(self, job, urgency, untimed)
    }
}

dyn_clone::clone_trait_object!(Ftl);

/// The key, of `keys` that `ftl` has, of data of `lpn`.
#[inline]
pub fn key_among<F: Ftl + ?Sized>(ftl: &F, keys: u32, lpn: Lpn, hint: u8) -> Key {
    if keys == 1 { Key(0) } else { Key(ftl.key_of(lpn, hint).0 % keys) }
}
